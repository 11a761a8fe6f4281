//! Forbids caching: answers depend on the user and change at any time. A handler may say otherwise.

use async_trait::async_trait;
use http::header::{CACHE_CONTROL, HeaderValue};

use crate::filter::{Filter, Next};
use crate::{Request, Response};

pub struct CacheControl;

#[async_trait]
impl Filter for CacheControl {
    async fn handle(&self, request: Box<Request>, next: Next<'_>) -> Response {
        let mut response = next.run(request).await;
        let headers = response.headers_mut();
        headers.entry(CACHE_CONTROL).or_insert(HeaderValue::from_static("no-cache, private"));
        response
    }
}
