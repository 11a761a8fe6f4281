//! Short requests end by `--request-timeout`, or earlier if the client asks so with `?timeout=`.
//!
//! The rest of the chain is dropped where it stands; whatever it had handed to the store may still happen.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use pintle_audit::Auditor;
use pintle_meta::{Status, parse_duration};
use tokio::time::Instant;

use crate::filter::{Filter, Next};
use crate::metrics::{Metrics, RequestTarget};
use crate::{Request, Response, audit, respond};

pub struct Deadline {
    pub timeout: Duration,
    /// Records requests with a timeout that is none.
    pub auditor: Option<Arc<Auditor>>,
    pub metrics: Metrics,
}

#[async_trait]
impl Filter for Deadline {
    async fn handle(&self, mut request: Box<Request>, next: Next<'_>) -> Response {
        if request.info.is_long_running() {
            return next.run(request).await;
        }
        let requested = match request.query("timeout").next().filter(|value| !value.is_empty()) {
            None => None,
            Some(text) => match parse_duration(&text) {
                // Zero, or less, asks for no limit, which is not the client's to give.
                Ok(nanos) => u64::try_from(nanos).ok().filter(|nanos| *nanos > 0).map(Duration::from_nanos),
                Err(error) => {
                    let message = format!("invalid timeout specified in the request URL - {error}");
                    let response = respond::status(&Status::bad_request(message));
                    audit::refused(self.auditor.as_ref(), &request, &response, &[]).await;
                    return response;
                }
            },
        };
        let timeout = requested.map_or(self.timeout, |requested| requested.min(self.timeout));
        let deadline = request.received + timeout;
        request.deadline = Some(deadline);
        let target = RequestTarget::new(&request);
        // A request whose deadline has passed already is not begun.
        let answer = if Instant::now() < deadline {
            tokio::time::timeout_at(deadline, next.run(request)).await.ok()
        } else {
            None
        };
        match answer {
            Some(response) => response,
            None => {
                self.metrics.terminated(&target, 504);
                respond::status(&Status::timeout("request did not complete within the allotted timeout"))
            }
        }
    }
}
