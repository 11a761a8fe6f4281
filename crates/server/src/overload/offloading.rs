//! Runs requests on the threads of the runtime, and moves those to the pool that turn out to be long.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;

use async_trait::async_trait;
use http::StatusCode;
use http_body::Body as _;
use pintle_auth::PRIVILEGED_GROUP;
use pintle_meta::Status;
use pintle_work::{Moved, Token, polled_inline};

use super::job::{Outcome, Work};
use super::pool::{Admitted, Pool};
use super::too_many_requests;
use crate::filter::Handler;
use crate::metrics::{Metrics, RequestTarget};
use crate::{Request, Response, respond};

/// Cost of a query in relation to as much JSON: it is decoded and parsed several times.
const QUERY: usize = 4;

/// A handler whose requests may be moved between any two of their polls.
pub(crate) struct OffloadingHandler {
    pub(crate) handler: Arc<dyn Handler>,
    pub(crate) pool: Arc<Pool>,
    pub(crate) metrics: Metrics,
}

#[async_trait]
impl Handler for OffloadingHandler {
    async fn handle(&self, request: Box<Request>) -> Response {
        let (user, slot) = (request.user.clone().unwrap_or_default(), request.slot.clone());
        let deadline = request.deadline;
        let target = RequestTarget::new(&request);
        let handler = self.handler.clone();
        let mutates = !matches!(request.info.verb.as_str(), "get" | "list" | "watch");
        // Selectors are parsed, and may be as long as all headers together. A request whose body is still to come would wait
        // for it on the pool.
        let query = request.parts.uri.query().filter(|_| request.body.is_end_stream());
        let query = query.map_or(0, str::len).saturating_mul(QUERY);
        let mut work: Work = Box::pin(async move {
            pintle_work::aside(query).await;
            handler.handle(request).await
        });
        let inline = poll_fn(|cx| match polled_inline(|| work.as_mut().poll(cx)) {
            (Poll::Ready(response), _) => Poll::Ready(Some(response)),
            (Poll::Pending, Moved(true)) => Poll::Ready(None),
            (Poll::Pending, Moved(false)) => Poll::Pending,
        });
        if let Some(response) = inline.await {
            return response;
        }
        // The pool has bounds of its own. A write keeps its slot instead: it may have changed something already, so that it
        // must not be refused any more.
        if let Some(slot) = slot.as_ref().filter(|_| !mutates) {
            slot.hand_to_pool();
        }
        let token = Token::new(deadline.map(tokio::time::Instant::into_std));
        let admitted = match (user.is_in(PRIVILEGED_GROUP), mutates) {
            (true, _) => Admitted::Exempt,
            (false, true) => Admitted::Already,
            (false, false) => Admitted::ByShare,
        };
        let response = match self.pool.run(user, admitted, token, work).await {
            Some(Outcome::Answered(response)) => response,
            Some(Outcome::Panicked(panic)) => std::panic::resume_unwind(panic),
            // The deadline filter says the same if it is faster.
            Some(Outcome::Interrupted) => {
                self.metrics.terminated(&target, StatusCode::GATEWAY_TIMEOUT.as_u16());
                return respond::status(&Status::timeout(
                    "request did not complete within the allotted timeout",
                ));
            }
            None => {
                self.metrics.dropped(&target);
                self.metrics.terminated(&target, StatusCode::TOO_MANY_REQUESTS.as_u16());
                return too_many_requests();
            }
        };
        match &slot {
            // It takes work until the last of it is sent.
            Some(slot) if response.body().is_stream() && slot.is_shared() => {
                match slot.return_from_pool().await {
                    Ok(()) => response,
                    Err(status) => respond::status(&status),
                }
            }
            _ => response,
        }
    }
}
