//! Counts requests, so that a shutdown knows when the last one is answered: first until its answer begins, then until
//! the last byte of it is sent. The second depends on the client, which gets less patience.

use async_trait::async_trait;
use http::header::RETRY_AFTER;
use pintle_meta::Status;

use super::is_exempt_from_shutdown;
use crate::filter::{Filter, Next};
use crate::lifecycle::Draining;
use crate::{Request, Response, respond};

pub struct InFlight {
    pub requests: Draining,
    pub answers: Draining,
}

#[async_trait]
impl Filter for InFlight {
    async fn handle(&self, request: Box<Request>, next: Next<'_>) -> Response {
        if request.info.is_long_running() {
            return next.run(request).await;
        }
        match self.requests.enter() {
            Some(guard) => {
                let response = next.run(request).await;
                let answer = self.answers.enter();
                drop(guard);
                response.map(|body| body.holding(answer))
            }
            None if is_exempt_from_shutdown(&request) => next.run(request).await,
            None => {
                let mut response =
                    respond::status(&Status::service_unavailable("apiserver is shutting down"));
                response.headers_mut().insert(RETRY_AFTER, 1.into());
                response.headers_mut().insert(http::header::X_CONTENT_TYPE_OPTIONS, respond::NOSNIFF);
                response
            }
        }
    }
}
