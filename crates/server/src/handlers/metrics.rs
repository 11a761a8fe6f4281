//! `/metrics` and `/metrics/slis`.

use async_trait::async_trait;
use http::StatusCode;
use http::header::{CONTENT_TYPE, HeaderValue};
use pintle_metrics::Registry;

use crate::filter::Handler;
use crate::{Request, Response, respond};

/// Serves the metrics of a registry as text.
pub struct MetricsEndpoint(pub Registry);

#[async_trait]
impl Handler for MetricsEndpoint {
    async fn handle(&self, request: Box<Request>) -> Response {
        self.0.refresh().await;
        match self.0.render() {
            Ok(text) => {
                let mut response = respond::text(StatusCode::OK, text);
                let content_type = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
                response.headers_mut().insert(CONTENT_TYPE, content_type);
                response
            }
            Err(error) => respond::internal_error(&request.parts.uri, &error),
        }
    }
}
