//! Gathers small writes of a connection into one.
//!
//! On HTTP/2 many answers share a connection: a change that a hundred watches see is a hundred small frames. Written as they
//! come, each is a record of TLS and a call of the system. So small writes are kept until the connection is flushed, and
//! a flush first lets everybody else run who is ready to, once: what they add goes out with it.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// From this size on a write is not worth a copy.
const LARGE: usize = 16 * 1024;
/// What is kept at most.
const ROOM: usize = 64 * 1024;

pub(crate) struct Gather<S> {
    stream: S,
    kept: Vec<u8>,
    /// How much of it is written.
    written: usize,
    /// The others had their turn.
    waited: bool,
}

impl<S: AsyncWrite + Unpin> Gather<S> {
    pub(crate) fn new(stream: S) -> Gather<S> {
        Gather { stream, kept: Vec::new(), written: 0, waited: false }
    }

    /// Writes all that is kept.
    fn poll_empty(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while self.written < self.kept.len() {
            let count = ready!(Pin::new(&mut self.stream).poll_write(cx, &self.kept[self.written..]))?;
            if count == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.written += count;
        }
        self.written = 0;
        // An idle connection keeps no memory.
        self.kept = Vec::new();
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Gather<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Gather<S> {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        self.poll_write_vectored(cx, &[io::IoSlice::new(buf)])
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let size: usize = bufs.iter().map(|buf| buf.len()).sum();
        if size >= LARGE || self.kept.len() + size > ROOM {
            ready!(self.poll_empty(cx))?;
        }
        if size >= LARGE {
            return Pin::new(&mut self.stream).poll_write_vectored(cx, bufs);
        }
        bufs.iter().for_each(|buf| self.kept.extend_from_slice(buf));
        Poll::Ready(Ok(size))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if !self.kept.is_empty() && !std::mem::replace(&mut self.waited, true) {
            // Behind all that are ready already.
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        ready!(self.poll_empty(cx))?;
        self.waited = false;
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_empty(cx))?;
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use tokio::io::AsyncWriteExt;

    use super::*;

    type Writes = Arc<Mutex<Vec<Vec<u8>>>>;

    /// Remembers what was written at once; takes no more than so much of it.
    struct Log(Writes, usize);

    impl AsyncWrite for Log {
        fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
            let taken = buf.len().min(self.1);
            self.0.lock().unwrap().push(buf[..taken].to_vec());
            Poll::Ready(Ok(taken))
        }

        fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }

        fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }
    }

    fn gather(most: usize) -> (Gather<Log>, Writes) {
        let log = Writes::default();
        (Gather::new(Log(log.clone(), most)), log)
    }

    #[tokio::test]
    async fn small_writes_go_out_together_and_in_order() {
        let (mut stream, log) = gather(usize::MAX);
        stream.write_all(b"ab").await.unwrap();
        stream.write_all(b"cd").await.unwrap();
        assert!(log.lock().unwrap().is_empty());
        stream.flush().await.unwrap();
        assert_eq!(*log.lock().unwrap(), [b"abcd".to_vec()]);
        stream.flush().await.unwrap();
        assert_eq!(log.lock().unwrap().len(), 1);
    }

    #[tokio::test]
    async fn a_flush_lets_others_add_to_it() {
        let (stream, log) = gather(usize::MAX);
        let stream = Arc::new(tokio::sync::Mutex::new(stream));
        let first = stream.clone();
        stream.lock().await.write_all(b"a").await.unwrap();
        let mut flush = Box::pin(std::future::poll_fn(move |cx| {
            Pin::new(&mut *first.try_lock().unwrap()).poll_flush(cx)
        }));
        assert!(std::future::poll_fn(|cx| Poll::Ready(flush.as_mut().poll(cx).is_pending())).await);
        stream.lock().await.write_all(b"b").await.unwrap();
        flush.await.unwrap();
        assert_eq!(*log.lock().unwrap(), [b"ab".to_vec()]);
    }

    #[tokio::test]
    async fn large_writes_are_passed_on_behind_the_small_ones() {
        let (mut stream, log) = gather(10_000);
        stream.write_all(b"ab").await.unwrap();
        let large = vec![b'x'; LARGE];
        stream.write_all(&large).await.unwrap();
        stream.write_all(b"c").await.unwrap();
        stream.shutdown().await.unwrap();
        let written = log.lock().unwrap().concat();
        assert_eq!(written, [&b"ab"[..], &large, b"c"].concat());
        assert_eq!(log.lock().unwrap()[0], b"ab");
    }

    #[tokio::test]
    async fn what_is_kept_is_bounded() {
        let (mut stream, log) = gather(7);
        for _ in 0..100 {
            stream.write_all(&[b'y'; 1000]).await.unwrap();
            assert!(stream.kept.len() <= ROOM);
        }
        stream.flush().await.unwrap();
        assert_eq!(log.lock().unwrap().concat().len(), 100_000);
    }
}
