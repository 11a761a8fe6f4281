//! Finds out what the request is about, for all filters behind.

use async_trait::async_trait;
use http::header::HOST;
use http::request::Parts;
use http::{Method, Version};

use crate::filter::{Filter, Next};
use crate::request_info::{RequestInfo, escapes_are_whole};
use crate::{Request, Response, respond};

pub struct ParseRequestInfo;

#[async_trait]
impl Filter for ParseRequestInfo {
    async fn handle(&self, mut request: Request, next: Next<'_>) -> Response {
        if let Some(reason) = malformed(&request.parts) {
            return respond::bad_request(reason);
        }
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

/// What the reference refuses before looking at anything else, with the end of its answer.
fn malformed(parts: &Parts) -> Option<&'static str> {
    if !escapes_are_whole(parts.uri.path()) {
        return Some("");
    }
    match parts.headers.get_all(HOST).iter().count() {
        0 if parts.version == Version::HTTP_11 && parts.method != Method::CONNECT => {
            Some(": missing required Host header")
        }
        0 | 1 => None,
        _ => Some(": too many Host headers"),
    }
}
