//! One line per request at `-v 4` and above.

use async_trait::async_trait;

use crate::filter::{Filter, Next};
use crate::{Request, Response};

pub struct Logging;

#[async_trait]
impl Filter for Logging {
    async fn handle(&self, request: Box<Request>, next: Next<'_>) -> Response {
        if !tracing::enabled!(tracing::Level::TRACE) {
            return next.run(request).await;
        }
        let (method, uri) = (request.parts.method.clone(), request.parts.uri.clone());
        let (verb, audit_id) = (request.info.verb.clone(), request.audit_id.clone());
        let user_agent = request.user_agent().into_owned();
        let (remote, received) = (request.connection.remote, request.received);
        let response = next.run(request).await;
        // The query is left out: tokens have been seen in it.
        tracing::trace!(
            verb,
            %method,
            path = uri.path(),
            latency = ?received.elapsed(),
            user_agent,
            audit_id,
            src_ip = %remote,
            resp = response.status().as_u16(),
            "HTTP"
        );
        response
    }
}
