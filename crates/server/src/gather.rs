//! Gathers the writes of a connection into few large ones.
//!
//! On HTTP/2 many answers share a connection: a change that a hundred watches see is a hundred small frames, and a long
//! list is thousands that are a few bytes longer than a record of TLS. Its library writes and flushes them one by one; each
//! would be a record or two and a system call that wakes the client. So writes are buffered until there is no room for more
//! or until the task of the connection, at the end of its turn, sends them. It first yields once to the tasks that are
//! ready: their writes go out with it.
//!
//! HTTP/1.1 has one answer at a time, and its library flushes when there is nothing more to add. There is no other sender then.

use std::cell::Cell;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Maximum size of the buffer: whole records of TLS.
const CAPACITY: usize = 4 * 16 * 1024;
/// The number of buffered bytes from which they are sent without yielding first.
const SEND_AT_ONCE: usize = 16 * 1024;

thread_local! {
    /// A buffer that no connection uses at the moment. A connection has one only while it has something to send.
    static SPARE: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// The stream that the HTTP library reads and writes. Clones are the same stream.
pub(crate) struct GatheringStream<S>(Arc<Mutex<State<S>>>);

/// Sends the gathered writes at the end of each turn of the connection.
pub(crate) struct GatheredSender<S>(Arc<Mutex<State<S>>>);

struct State<S> {
    stream: S,
    buffer: Vec<u8>,
    /// Bytes of the buffer that are written.
    written: usize,
    /// Whether other tasks had their turn before this send.
    has_yielded: bool,
    /// Whether a [`GatheredSender`] sends at the end of each turn, so that a flush need not.
    has_sender: bool,
}

fn lock<S>(state: &Mutex<State<S>>) -> MutexGuard<'_, State<S>> {
    // Both sides are of one task, so the lock is never contended; and a panic ends that task.
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<S> Clone for GatheringStream<S> {
    fn clone(&self) -> Self {
        GatheringStream(self.0.clone())
    }
}

impl<S: AsyncWrite + Unpin> GatheringStream<S> {
    /// Wraps a stream, as HTTP/1.1 needs it.
    pub(crate) fn new(stream: S) -> GatheringStream<S> {
        let state = State { stream, buffer: Vec::new(), written: 0, has_yielded: false, has_sender: false };
        GatheringStream(Arc::new(Mutex::new(state)))
    }

    /// Returns the sender of an HTTP/2 connection, which sends from now on.
    pub(crate) fn sender(&self) -> GatheredSender<S> {
        lock(&self.0).has_sender = true;
        GatheredSender(self.0.clone())
    }
}

impl<S: AsyncWrite + Unpin> GatheredSender<S> {
    /// Sends the buffered bytes. The next write returns errors.
    pub(crate) fn poll(&self, cx: &mut Context<'_>) {
        let mut state = lock(&self.0);
        if !state.buffer.is_empty() {
            let _ = state.poll_send(cx);
        }
    }
}

impl<S: AsyncWrite + Unpin> State<S> {
    /// Buffers as many bytes as fit, and returns their number.
    fn fill(&mut self, bufs: &[io::IoSlice<'_>]) -> usize {
        if self.buffer.capacity() == 0 {
            self.buffer = SPARE.take();
        }
        let before = self.buffer.len();
        for buf in bufs {
            let free = CAPACITY - self.buffer.len();
            self.buffer.extend_from_slice(&buf[..buf.len().min(free)]);
        }
        self.buffer.len() - before
    }

    /// Writes the whole buffer.
    fn poll_empty(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while self.written < self.buffer.len() {
            let count = ready!(Pin::new(&mut self.stream).poll_write(cx, &self.buffer[self.written..]))?;
            if count == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.written += count;
        }
        self.written = 0;
        self.buffer.clear();
        Poll::Ready(Ok(()))
    }

    fn poll_send(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let few = (1..SEND_AT_ONCE).contains(&self.buffer.len()) && self.written == 0;
        if few && !std::mem::replace(&mut self.has_yielded, true) {
            // After all tasks that are ready already.
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        ready!(self.poll_empty(cx))?;
        self.has_yielded = false;
        // An idle connection keeps no memory.
        SPARE.set(std::mem::take(&mut self.buffer));
        Pin::new(&mut self.stream).poll_flush(cx)
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for GatheringStream<S> {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut lock(&self.0).stream).poll_read(cx, buf)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for GatheringStream<S> {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        self.poll_write_vectored(cx, &[io::IoSlice::new(buf)])
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let mut state = lock(&self.0);
        if state.buffer.len() == CAPACITY {
            ready!(state.poll_empty(cx))?;
        }
        let size: usize = bufs.iter().map(|buf| buf.len()).sum();
        if state.buffer.is_empty() && size >= CAPACITY {
            return Pin::new(&mut state.stream).poll_write_vectored(cx, bufs);
        }
        Poll::Ready(Ok(state.fill(bufs)))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut state = lock(&self.0);
        if state.has_sender { Poll::Ready(Ok(())) } else { state.poll_send(cx) }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut state = lock(&self.0);
        ready!(state.poll_empty(cx))?;
        Pin::new(&mut state.stream).poll_shutdown(cx)
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

    fn gather(most: usize) -> (GatheringStream<Log>, Writes) {
        let log = Writes::default();
        (GatheringStream::new(Log(log.clone(), most)), log)
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
    async fn long_answers_fill_records() {
        let (mut stream, log) = gather(usize::MAX);
        let frame = vec![b'x'; 16 * 1024 + 9];
        for _ in 0..9 {
            stream.write_all(&frame).await.unwrap();
        }
        stream.flush().await.unwrap();
        let sizes: Vec<usize> = log.lock().unwrap().iter().map(Vec::len).collect();
        assert_eq!(sizes, [CAPACITY, CAPACITY, 9 * frame.len() - 2 * CAPACITY]);
    }

    #[tokio::test]
    async fn writes_that_do_not_fit_are_passed_on_after_the_buffer() {
        let (mut stream, log) = gather(10_000);
        stream.write_all(b"ab").await.unwrap();
        let large: Vec<u8> = (0..3 * CAPACITY).map(|number| (number % 251) as u8).collect();
        stream.write_all(&large).await.unwrap();
        stream.write_all(b"c").await.unwrap();
        stream.shutdown().await.unwrap();
        assert_eq!(log.lock().unwrap().concat(), [&b"ab"[..], &large, b"c"].concat());
    }

    #[tokio::test]
    async fn an_idle_connection_keeps_no_memory() {
        let (mut stream, _) = gather(usize::MAX);
        stream.write_all(b"ab").await.unwrap();
        stream.flush().await.unwrap();
        assert_eq!(lock(&stream.0).buffer.capacity(), 0);
    }

    #[tokio::test]
    async fn the_buffer_is_bounded() {
        let (mut stream, log) = gather(7);
        for _ in 0..100 {
            stream.write_all(&[b'y'; 1000]).await.unwrap();
            assert!(lock(&stream.0).buffer.len() <= CAPACITY);
        }
        stream.flush().await.unwrap();
        assert_eq!(log.lock().unwrap().concat().len(), 100_000);
    }

    async fn end_of_turn<S: AsyncWrite + Unpin>(sender: &GatheredSender<S>) {
        std::future::poll_fn(|cx| {
            sender.poll(cx);
            Poll::Ready(())
        })
        .await;
    }

    #[tokio::test]
    async fn with_a_sender_a_flush_waits_for_the_end_of_the_turn() {
        let log = Writes::default();
        let mut stream = GatheringStream::new(Log(log.clone(), 10_000));
        let sender = stream.sender();
        for _ in 0..100 {
            stream.write_all(&[b'z'; 500]).await.unwrap();
            stream.flush().await.unwrap();
        }
        assert!(log.lock().unwrap().is_empty());
        end_of_turn(&sender).await;
        assert_eq!(log.lock().unwrap().iter().map(Vec::len).collect::<Vec<_>>(), [10_000; 5]);

        // A few bytes wait once for those of others.
        stream.write_all(b"a").await.unwrap();
        end_of_turn(&sender).await;
        assert_eq!(log.lock().unwrap().len(), 5);
        stream.write_all(b"b").await.unwrap();
        end_of_turn(&sender).await;
        assert_eq!(log.lock().unwrap()[5], b"ab");
    }
}
