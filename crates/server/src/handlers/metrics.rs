//! `/metrics` and `/metrics/slis`.

use async_trait::async_trait;
use http::StatusCode;
use http::header::{CONTENT_TYPE, HeaderValue};

use crate::filter::Handler;
use crate::metrics::Metrics;
use crate::{Request, Response, respond};

pub struct MetricsEndpoint(pub Metrics);

/// Service level indicators, which are scraped more often than the rest.
pub struct IndicatorsEndpoint(pub Metrics);

#[async_trait]
impl Handler for MetricsEndpoint {
    async fn handle(&self, request: Box<Request>) -> Response {
        self.0.refresh().await;
        answer(&request, self.0.render())
    }
}

#[async_trait]
impl Handler for IndicatorsEndpoint {
    async fn handle(&self, request: Box<Request>) -> Response {
        answer(&request, self.0.render_indicators())
    }
}

fn answer(request: &Request, text: Result<Vec<u8>, prometheus::Error>) -> Response {
    match text {
        Ok(text) => {
            let mut response = respond::text(StatusCode::OK, text);
            let content_type = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
            response.headers_mut().insert(CONTENT_TYPE, content_type);
            response
        }
        Err(error) => respond::internal_error(&request.parts.uri, &error),
    }
}
