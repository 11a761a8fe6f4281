//! The body of a response: bytes that are there, or a stream.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use futures_core::Stream;
use http_body::{Body as HttpBody, Frame, SizeHint};

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
}

impl Body {
    pub fn empty() -> Body {
        Body::of(Inner::Full(None))
    }

    /// A body of unknown length, sent as it comes.
    pub fn stream(chunks: impl Stream<Item = Result<Bytes, Error>> + Send + 'static) -> Body {
        Body::of(Inner::Stream(Box::pin(chunks)))
    }

    fn of(inner: Inner) -> Body {
        Body { inner, guard: None, sent: 0, at_end: None }
    }

    /// Whether it is made while it is sent.
    pub(crate) fn is_stream(&self) -> bool {
        matches!(self.inner, Inner::Stream(_))
    }

    /// Calls `end` with the number of bytes that were sent, when no more will be. There is one such call to a body.
    #[must_use]
    pub(crate) fn at_end(mut self, end: impl FnOnce(u64) + Send + 'static) -> Body {
        self.at_end = Some(Box::new(end));
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
        Body::of(Inner::Full((!bytes.is_empty()).then_some(bytes)))
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
            Inner::Stream(chunks) => ready!(chunks.as_mut().poll_next(cx)),
        };
        if let Some(Ok(chunk)) = &chunk {
            self.sent += chunk.len() as u64;
        }
        Poll::Ready(chunk.map(|chunk| chunk.map(Frame::data)))
    }

    fn is_end_stream(&self) -> bool {
        matches!(&self.inner, Inner::Full(None))
    }

    fn size_hint(&self) -> SizeHint {
        match &self.inner {
            Inner::Full(bytes) => SizeHint::with_exact(bytes.as_ref().map_or(0, |bytes| bytes.len() as u64)),
            Inner::Stream(_) => SizeHint::default(),
        }
    }
}

impl Drop for Body {
    fn drop(&mut self) {
        if let Some(end) = self.at_end.take() {
            end(self.sent);
        }
    }
}
