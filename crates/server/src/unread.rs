//! Reads the rest of a request body when the answer is there already.
//!
//! A request may be answered before its body has come: a refused body need not be read. But an answer is lost to some
//! clients while they send: a stream of HTTP/2 is reset behind it, and closing a socket with bytes unread makes the system
//! reset the connection. So the bytes on their way are read and discarded, for a moment and up to some size.

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Buf;
use http_body::{Body, Frame, SizeHint};
use http_body_util::BodyExt;
use tokio::io::{AsyncRead, AsyncReadExt};

/// Maximum number of bytes read and discarded.
const MAX_DISCARDED: usize = 1 << 20;
/// Time that the answer waits for the rest of a body. Most of it has arrived already, or is on its way.
const BODY_TIMEOUT: Duration = Duration::from_millis(100);
/// Time for a client to see that its connection was closed.
const CONNECTION_TIMEOUT: Duration = Duration::from_secs(1);

/// The slot to which a lent body returns from its reader.
pub(crate) struct UnreadBody<B>(Arc<Mutex<Option<B>>>);

/// A body that returns to its [`UnreadBody`] when its reader drops it.
pub(crate) struct LentBody<B: Body> {
    body: Option<B>,
    to: Arc<Mutex<Option<B>>>,
}

pub(crate) fn lend<B: Body + Unpin>(body: B) -> (LentBody<B>, UnreadBody<B>) {
    let to = Arc::default();
    (LentBody { body: Some(body), to: Arc::clone(&to) }, UnreadBody(to))
}

impl<B: Body + Unpin> Body for LentBody<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        match &mut self.body {
            Some(body) => Pin::new(body).poll_frame(cx),
            None => Poll::Ready(None),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.body.as_ref().is_none_or(Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.body.as_ref().map_or_else(SizeHint::default, Body::size_hint)
    }
}

impl<B: Body> Drop for LentBody<B> {
    fn drop(&mut self) {
        let unread = self.body.take().filter(|body| !body.is_end_stream());
        if unread.is_some() {
            *self.to.lock().unwrap_or_else(PoisonError::into_inner) = unread;
        }
    }
}

impl<B: Body + Unpin> UnreadBody<B> {
    /// Reads and discards the unread rest of the body, if its reader has dropped it.
    pub(crate) async fn discard(self) {
        let unread = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(mut body) = unread else { return };
        let mut left = MAX_DISCARDED;
        let reading = async {
            while let Some(Ok(frame)) = body.frame().await {
                let size = frame.data_ref().map_or(0, Buf::remaining);
                let Some(after) = left.checked_sub(size) else { return };
                left = after;
            }
        };
        let _ = tokio::time::timeout(BODY_TIMEOUT, reading).await;
    }
}

/// Reads what comes on a connection that is closed to the other side, until the client has closed it too.
pub(crate) async fn discard_until_closed(mut stream: impl AsyncRead + Unpin) {
    let mut ignored = [0; 4096];
    let mut left = MAX_DISCARDED;
    let reading = async {
        while let Ok(size @ 1..) = stream.read(&mut ignored).await {
            let Some(after) = left.checked_sub(size) else { return };
            left = after;
        }
    };
    let _ = tokio::time::timeout(CONNECTION_TIMEOUT, reading).await;
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use http_body_util::{Full, StreamBody};
    use tokio::io::AsyncWriteExt;
    use tokio::sync::mpsc;
    use tokio::time::Instant;

    use super::*;

    type Parts = mpsc::UnboundedSender<Result<Frame<Bytes>, std::io::Error>>;

    fn body() -> (Parts, impl Body<Data = Bytes, Error = std::io::Error> + Unpin) {
        let (sender, mut receiver) = mpsc::unbounded_channel();
        (sender, StreamBody::new(futures_util::stream::poll_fn(move |cx| receiver.poll_recv(cx))))
    }

    fn send(parts: &Parts, size: usize) -> bool {
        parts.send(Ok(Frame::data(Bytes::from(vec![b'x'; size])))).is_ok()
    }

    #[tokio::test(start_paused = true)]
    async fn an_unread_body_is_read_to_its_end() {
        let (parts, body) = body();
        let (lent, rest) = lend(body);
        drop(lent);
        assert!(send(&parts, 1000));
        let forgetting = tokio::spawn(rest.discard());
        tokio::time::sleep(BODY_TIMEOUT / 2).await;
        assert!(send(&parts, 1000) && !forgetting.is_finished());
        drop(parts);
        let begun = Instant::now();
        forgetting.await.unwrap();
        assert!(begun.elapsed() < BODY_TIMEOUT / 2);
    }

    #[tokio::test(start_paused = true)]
    async fn a_slow_or_endless_body_is_not_waited_for() {
        let begun = Instant::now();
        let (_parts, body) = body();
        let (lent, rest) = lend(body);
        drop(lent);
        rest.discard().await;
        assert!(begun.elapsed() >= BODY_TIMEOUT && begun.elapsed() < 2 * BODY_TIMEOUT);

        let (parts, body) = self::body();
        let (lent, rest) = lend(body);
        drop(lent);
        for _ in 0..3 {
            assert!(send(&parts, MAX_DISCARDED / 2));
        }
        rest.discard().await;
        assert!(!send(&parts, 1), "the body is dropped");
    }

    #[tokio::test]
    async fn a_body_that_was_read_is_not_waited_for() {
        let (lent, rest) = lend(Full::new(Bytes::from_static(b"all")));
        assert_eq!(lent.size_hint().exact(), Some(3));
        assert_eq!(lent.collect().await.unwrap().to_bytes(), "all");
        assert!(rest.0.lock().unwrap().is_none());
        rest.discard().await;
    }

    #[tokio::test(start_paused = true)]
    async fn a_closed_connection_is_read_until_the_client_closes_it() {
        let begun = Instant::now();
        let (mut client, server) = tokio::io::duplex(64);
        let lingering = tokio::spawn(discard_until_closed(server));
        client.write_all(&[0; 1000]).await.unwrap();
        drop(client);
        lingering.await.unwrap();
        assert!(begun.elapsed() < CONNECTION_TIMEOUT);

        let (_client, server) = tokio::io::duplex(64);
        discard_until_closed(server).await;
        assert!(begun.elapsed() >= CONNECTION_TIMEOUT);
    }
}
