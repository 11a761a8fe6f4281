//! Public documents that clients may cache for a while.

use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue};
use http::{Method, Response as HttpResponse};
use pintle_meta::Status;

use crate::filter::Handler;
use crate::{Request, Response, respond};

/// One document under a path of its own, as it is at the time of asking.
pub struct PublicDocument<F> {
    content_type: HeaderValue,
    read: F,
}

impl<F: Fn() -> (Bytes, Duration) + Send + Sync + 'static> PublicDocument<F> {
    /// `read` gives the content and how long it may be kept.
    pub const fn new(content_type: &'static str, read: F) -> PublicDocument<F> {
        PublicDocument { content_type: HeaderValue::from_static(content_type), read }
    }
}

#[async_trait]
impl<F: Fn() -> (Bytes, Duration) + Send + Sync + 'static> Handler for PublicDocument<F> {
    async fn handle(&self, request: Box<Request>) -> Response {
        if request.parts.method != Method::GET {
            return respond::status(&Status::method_not_allowed());
        }
        let (content, age) = (self.read)();
        let mut response = HttpResponse::new(content.into());
        response.headers_mut().insert(CONTENT_TYPE, self.content_type.clone());
        // Replaces the header that forbids caching.
        if let Ok(keep) = HeaderValue::try_from(format!("public, max-age={}", age.as_secs())) {
            response.headers_mut().insert(CACHE_CONTROL, keep);
        }
        response
    }
}
