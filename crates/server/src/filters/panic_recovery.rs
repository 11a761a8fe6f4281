//! A panic ends one request and nothing else.

use std::panic::AssertUnwindSafe;

use async_trait::async_trait;
use futures_util::FutureExt;
use http::StatusCode;

use crate::body::panic_message;
use crate::filter::{Filter, Next};
use crate::{Request, Response, respond};

pub struct PanicRecovery;

#[async_trait]
impl Filter for PanicRecovery {
    async fn handle(&self, request: Box<Request>, next: Next<'_>) -> Response {
        let (method, uri) = (request.parts.method.clone(), request.parts.uri.clone());
        let audit_id = request.audit_id.clone();
        match AssertUnwindSafe(next.run(request)).catch_unwind().await {
            Ok(response) => response,
            Err(panic) => {
                let reason = panic_message(&*panic);
                tracing::error!(%method, path = uri.path(), audit_id, reason, "apiserver panic'd");
                let message = "This request caused apiserver to panic. Look in the logs for details.";
                respond::text_error(StatusCode::INTERNAL_SERVER_ERROR, message)
            }
        }
    }
}
