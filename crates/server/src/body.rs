//! The body of a response: bytes that are there, or a stream.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use futures_core::Stream;
use http_body::{Body as HttpBody, Frame, SizeHint};
use http_body_util::combinators::UnsyncBoxBody;

/// Ends a response early; the client sees a broken stream.
pub type Error = Box<dyn std::error::Error + Send + Sync>;

type Chunks = Pin<Box<dyn Stream<Item = Result<Bytes, Error>> + Send>>;

/// The body of a response.
pub struct Body {
    inner: Inner,
    /// Held until the last byte is sent or the client has gone.
    guard: Option<Box<dyn std::any::Any + Send>>,
    sent: u64,
    /// Called with the number of bytes sent, once the body has ended or the client has gone.
    at_end: Option<Box<dyn FnOnce(u64) + Send>>,
}

enum Inner {
    Full(Option<Bytes>),
    Stream(Chunks),
    /// The answer of another server, with its trailers.
    PassedOn(UnsyncBoxBody<Bytes, Error>),
}

impl Body {
    pub fn empty() -> Body {
        Body::new(Inner::Full(None))
    }

    /// A body of unknown length, sent as it comes.
    pub fn stream(chunks: impl Stream<Item = Result<Bytes, Error>> + Send + 'static) -> Body {
        Body::new(Inner::Stream(Box::pin(chunks)))
    }

    /// A body of another server, sent as it comes.
    pub fn passed_on(body: UnsyncBoxBody<Bytes, Error>) -> Body {
        Body::new(Inner::PassedOn(body))
    }

    fn new(inner: Inner) -> Body {
        Body { inner, guard: None, sent: 0, at_end: None }
    }

    /// Returns whether the body is made while it is sent.
    pub(crate) fn is_stream(&self) -> bool {
        matches!(self.inner, Inner::Stream(_) | Inner::PassedOn(_))
    }

    /// Returns whether the body is another server's, which has encoded it as it wants to.
    pub(crate) fn is_passed_on(&self) -> bool {
        matches!(self.inner, Inner::PassedOn(_))
    }

    /// Calls `end` with the number of bytes that were sent, when no more will be. Calls that were asked for first come first.
    #[must_use]
    pub(crate) fn at_end(mut self, end: impl FnOnce(u64) + Send + 'static) -> Body {
        self.at_end = Some(match self.at_end.take() {
            None => Box::new(end),
            Some(first) => Box::new(move |sent| {
                first(sent);
                end(sent);
            }),
        });
        self
    }

    /// Keeps something alive for as long as this body is being sent, beside what it keeps already.
    #[must_use]
    pub(crate) fn holding(mut self, guard: impl Send + 'static) -> Body {
        let others = self.guard.take();
        self.guard = Some(Box::new((guard, others)));
        self
    }
}

impl<B: Into<Bytes>> From<B> for Body {
    fn from(bytes: B) -> Body {
        let bytes = bytes.into();
        Body::new(Inner::Full((!bytes.is_empty()).then_some(bytes)))
    }
}

impl HttpBody for Body {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        let chunk = match &mut self.inner {
            Inner::Full(bytes) => bytes.take().map(Ok),
            Inner::PassedOn(body) => {
                let frame = ready!(Pin::new(body).poll_frame(cx));
                let size = frame.as_ref().and_then(|frame| frame.as_ref().ok()?.data_ref().map(Bytes::len));
                self.sent += size.unwrap_or(0) as u64;
                return Poll::Ready(frame);
            }
            Inner::Stream(chunks) => match next_chunk(chunks, cx) {
                Ok(poll) => ready!(poll),
                Err(error) => {
                    self.inner = Inner::Full(None);
                    Some(Err(error))
                }
            },
        };
        if let Some(Ok(chunk)) = &chunk {
            self.sent += chunk.len() as u64;
        }
        Poll::Ready(chunk.map(|chunk| chunk.map(Frame::data)))
    }

    fn is_end_stream(&self) -> bool {
        match &self.inner {
            Inner::Full(bytes) => bytes.is_none(),
            Inner::Stream(_) => false,
            Inner::PassedOn(body) => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.inner {
            Inner::Full(bytes) => SizeHint::with_exact(bytes.as_ref().map_or(0, |bytes| bytes.len() as u64)),
            Inner::Stream(_) => SizeHint::default(),
            Inner::PassedOn(body) => body.size_hint(),
        }
    }
}

/// Polls a stream, whose panic is an error of the body. The task that polls it may be that of a connection with other
/// requests.
fn next_chunk(
    chunks: &mut Chunks,
    cx: &mut Context<'_>,
) -> Result<Poll<Option<Result<Bytes, Error>>>, Error> {
    catch_unwind(AssertUnwindSafe(|| chunks.as_mut().poll_next(cx))).map_err(|panic| {
        let reason = panic_message(&*panic);
        tracing::error!(reason, "apiserver panic'd while it sent an answer");
        Error::from("the answer could not be completed")
    })
}

/// Returns the message of a panic; empty if it has none.
pub(crate) fn panic_message(panic: &(dyn std::any::Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or_default()
}

impl Drop for Body {
    fn drop(&mut self) {
        if let Some(end) = self.at_end.take() {
            end(self.sent);
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::stream;
    use http_body_util::BodyExt;

    use super::*;

    #[tokio::test]
    async fn a_panic_while_a_chunk_is_made_is_an_error_of_that_body() {
        let mut number = 0;
        let chunks = stream::poll_fn(move |_| {
            number += 1;
            assert!(number < 2, "on purpose");
            Poll::Ready(Some(Ok(Bytes::from_static(b"first"))))
        });
        let mut body = Body::stream(chunks);
        assert_eq!(body.frame().await.unwrap().unwrap().into_data().unwrap(), "first");
        let error = body.frame().await.unwrap().unwrap_err();
        assert_eq!(error.to_string(), "the answer could not be completed");
        assert!(body.frame().await.is_none(), "the stream is not polled again");
    }
}
