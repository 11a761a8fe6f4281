//! `--shutdown-send-retry-after`: while the last requests drain, new ones are sent to another replica.

use async_trait::async_trait;
use http::StatusCode;
use http::header::{CONNECTION, HeaderValue, RETRY_AFTER};

use super::is_exempt_from_shutdown;
use crate::filter::{Filter, Next};
use crate::lifecycle::Signal;
use crate::{Request, Response, respond};

pub struct RetryAfter {
    pub not_accepting: Signal,
}

#[async_trait]
impl Filter for RetryAfter {
    async fn handle(&self, request: Box<Request>, next: Next<'_>) -> Response {
        if !self.not_accepting.is_set() || is_exempt_from_shutdown(&request) {
            return next.run(request).await;
        }
        let message = "The apiserver is shutting down, please try again later.";
        let mut response = respond::text_error(StatusCode::TOO_MANY_REQUESTS, message);
        response.headers_mut().insert(RETRY_AFTER, 5.into());
        response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        response
    }
}
