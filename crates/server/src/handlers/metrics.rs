//! `/metrics`.

use async_trait::async_trait;
use http::StatusCode;
use http::header::{CONTENT_TYPE, HeaderValue};

use crate::filter::Handler;
use crate::metrics::Metrics;
use crate::{Request, Response, respond};

pub struct MetricsEndpoint(pub Metrics);

#[async_trait]
impl Handler for MetricsEndpoint {
    async fn handle(&self, request: Request) -> Response {
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
