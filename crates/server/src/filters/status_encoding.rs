//! Errors in the form the client reads best: indented for `?pretty` and for people's own tools.

use async_trait::async_trait;
use http::header::CONTENT_LENGTH;
use pintle_meta::Status;

use crate::filter::{Filter, Next};
use crate::{Body, Request, Response};

pub struct StatusEncoding;

#[async_trait]
impl Filter for StatusEncoding {
    async fn handle(&self, request: Request, next: Next<'_>) -> Response {
        let pretty = wants_pretty(&request);
        let mut response = next.run(request).await;
        let Some(status) = response.extensions_mut().remove::<Status>().filter(|_| pretty) else {
            return response;
        };
        response.headers_mut().remove(CONTENT_LENGTH);
        response.map(|_| Body::from(status.to_pretty_json()))
    }
}

/// `?pretty` with any value but `false` and `0`; else by the tools that people read answers in.
fn wants_pretty(request: &Request) -> bool {
    match request.query("pretty").next() {
        Some(value) => !matches!(value.as_str(), "false" | "0"),
        None => ["curl", "Wget", "Mozilla/5.0"].iter().any(|tool| request.user_agent().starts_with(tool)),
    }
}
