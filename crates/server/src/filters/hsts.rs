//! `--strict-transport-security-directives`.

use async_trait::async_trait;
use http::header::{HeaderValue, STRICT_TRANSPORT_SECURITY};

use crate::filter::{Filter, Next};
use crate::{Request, Response};

pub struct Hsts(pub HeaderValue);

#[async_trait]
impl Filter for Hsts {
    async fn handle(&self, request: Box<Request>, next: Next<'_>) -> Response {
        let mut response = next.run(request).await;
        response.headers_mut().entry(STRICT_TRANSPORT_SECURITY).or_insert_with(|| self.0.clone());
        response
    }
}
