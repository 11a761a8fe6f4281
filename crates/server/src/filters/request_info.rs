//! Finds out what the request is about, for all filters behind.

use async_trait::async_trait;

use crate::filter::{Filter, Next};
use crate::request_info::RequestInfo;
use crate::{Request, Response, respond};

pub struct ParseRequestInfo;

#[async_trait]
impl Filter for ParseRequestInfo {
    async fn handle(&self, mut request: Box<Request>, next: Next<'_>) -> Response {
        match RequestInfo::parse(&request.parts.method, &request.parts.uri) {
            Ok(info) => request.info = info,
            Err(error) => {
                let error = format!("failed to create RequestInfo: {error}");
                return respond::internal_error(&request.parts.uri, &error);
            }
        }
        next.run(request).await
    }
}
