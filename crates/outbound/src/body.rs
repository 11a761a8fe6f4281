//! Bodies of requests and responses that stream.
//!
//! A [`ResponseBody`] owns its exchange. Reading it to the end returns an HTTP/1.1 connection to the pool. Dropping it earlier
//! ends the exchange on both sides: the response is reset and the rest of the request body is not sent.

use std::pin::Pin;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use tokio::sync::oneshot;

use crate::error::broken;
use crate::limits::Limiter;
use crate::pool::Pool;
use crate::services::Address;
use crate::{Failure, StreamLimits};

/// The reason why a body could not be read to its end.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// The body of a request, of any origin.
pub struct RequestBody {
    inner: UnsyncBoxBody<Bytes, BoxError>,
    limiter: Limiter,
    /// Resolves when the response is not wanted any more. Absent where the whole body is in memory.
    abandoned: Option<oneshot::Receiver<()>>,
}

impl RequestBody {
    /// Returns a body that is sent as it is produced.
    pub fn stream<B>(body: B) -> RequestBody
    where
        B: Body<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        let inner = body.map_err(Into::into).boxed_unsync();
        RequestBody { inner, limiter: Limiter::unlimited(), abandoned: None }
    }

    /// Returns a body that is in memory.
    pub fn whole(bytes: Bytes) -> RequestBody {
        RequestBody::stream(Full::new(bytes))
    }

    pub fn empty() -> RequestBody {
        RequestBody::whole(Bytes::new())
    }

    /// Applies limits to a body, and ends it with an error once `abandoned` resolves.
    pub(crate) fn limited(self, limits: &StreamLimits, abandoned: oneshot::Receiver<()>) -> RequestBody {
        RequestBody { limiter: Limiter::new(limits), abandoned: Some(abandoned), ..self }
    }
}

impl Body for RequestBody {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let this = &mut *self;
        if let Some(abandoned) = &mut this.abandoned
            && Pin::new(abandoned).poll(context).is_ready()
        {
            this.abandoned = None;
            return Poll::Ready(Some(Err("the response was abandoned".into())));
        }
        ready!(this.limiter.poll_ready(context));
        match Pin::new(&mut this.inner).poll_frame(context) {
            Poll::Ready(Some(Ok(frame))) => {
                Poll::Ready(Some(this.limiter.account(&frame).map(|()| frame).map_err(Into::into)))
            }
            Poll::Pending => this.limiter.poll_idle(context).map(|failure| Some(Err(failure.into()))),
            other => other,
        }
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

/// The body of a response, read as it arrives.
pub struct ResponseBody {
    inner: Incoming,
    limiter: Limiter,
    exchange: Exchange,
}

/// Parts of an exchange that live as long as its response.
pub(crate) struct Exchange {
    /// Dropping it abandons the request body.
    pub(crate) _request: oneshot::Sender<()>,
    /// The HTTP/1.1 connection, to be used again.
    pub(crate) connection: Option<Reusable>,
}

/// A connection and the pool that it came from.
pub(crate) struct Reusable {
    pub(crate) pool: Weak<Pool>,
    pub(crate) address: Address,
    pub(crate) https: bool,
    pub(crate) sender: http1::SendRequest<RequestBody>,
}

impl Reusable {
    pub(crate) fn new(
        pool: &Arc<Pool>,
        address: &Address,
        https: bool,
        sender: http1::SendRequest<RequestBody>,
    ) -> Reusable {
        Reusable { pool: Arc::downgrade(pool), address: address.clone(), https, sender }
    }
}

impl ResponseBody {
    pub(crate) fn new(inner: Incoming, limits: &StreamLimits, exchange: Exchange) -> ResponseBody {
        let mut body = ResponseBody { inner, limiter: Limiter::new(limits), exchange };
        if body.inner.is_end_stream() {
            body.release();
        }
        body
    }

    /// Limits the rest of the body to a time and a size.
    pub(crate) fn within(mut self, time: Duration, size: u64) -> ResponseBody {
        self.limiter.restrict(time, size);
        self
    }

    /// Returns the connection to its pool.
    fn release(&mut self) {
        if let Some(Reusable { pool, address, https, sender }) = self.exchange.connection.take()
            && let Some(pool) = pool.upgrade()
        {
            pool.release(&address, https, sender);
        }
    }
}

impl Body for ResponseBody {
    type Data = Bytes;
    type Error = Failure;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Failure>>> {
        let this = &mut *self;
        if let Poll::Ready(failure) = this.limiter.poll_end(context) {
            return Poll::Ready(Some(Err(failure)));
        }
        ready!(this.limiter.poll_ready(context));
        match Pin::new(&mut this.inner).poll_frame(context) {
            Poll::Pending => this.limiter.poll_idle(context).map(|failure| Some(Err(failure))),
            Poll::Ready(None) => {
                this.release();
                Poll::Ready(None)
            }
            Poll::Ready(Some(Ok(frame))) => {
                let accounted = this.limiter.account(&frame);
                if accounted.is_ok() && this.inner.is_end_stream() {
                    this.release();
                }
                Poll::Ready(Some(accounted.map(|()| frame)))
            }
            Poll::Ready(Some(Err(error))) => Poll::Ready(Some(Err(broken(&error)))),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}
