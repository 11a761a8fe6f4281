//! The body of a response: bytes that are there, or a stream.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures_core::Stream;
use http_body::{Body as HttpBody, Frame, SizeHint};

/// Ends a response early; the client sees a broken stream.
pub type Error = Box<dyn std::error::Error + Send + Sync>;

type Chunks = Pin<Box<dyn Stream<Item = Result<Bytes, Error>> + Send>>;

/// What a handler answers with.
pub struct Body {
    inner: Inner,
    /// Held until the last byte is sent or the client has gone.
    guard: Option<Box<dyn std::any::Any + Send>>,
}

enum Inner {
    Full(Option<Bytes>),
    Stream(Chunks),
}

impl Body {
    pub fn empty() -> Body {
        Body { inner: Inner::Full(None), guard: None }
    }

    /// A body of unknown length, sent as it comes.
    pub fn stream(chunks: impl Stream<Item = Result<Bytes, Error>> + Send + 'static) -> Body {
        Body { inner: Inner::Stream(Box::pin(chunks)), guard: None }
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
        Body { inner: Inner::Full((!bytes.is_empty()).then_some(bytes)), guard: None }
    }
}

impl HttpBody for Body {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        match &mut self.inner {
            Inner::Full(bytes) => Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes)))),
            Inner::Stream(chunks) => {
                chunks.as_mut().poll_next(cx).map(|chunk| chunk.map(|chunk| chunk.map(Frame::data)))
            }
        }
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
