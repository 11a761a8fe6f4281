//! Documents that never change and that anybody may keep for a while.

use async_trait::async_trait;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue};
use http::{Method, Response as HttpResponse};
use pintle_meta::Status;

use crate::filter::Handler;
use crate::{Request, Response, respond};

/// One document under a path of its own.
pub struct StaticDocument {
    content: Vec<u8>,
    content_type: HeaderValue,
    cache_control: HeaderValue,
}

impl StaticDocument {
    /// `cache_control` is what the server says about everything else no longer applies to.
    pub const fn new(
        content: Vec<u8>,
        content_type: &'static str,
        cache_control: &'static str,
    ) -> StaticDocument {
        StaticDocument {
            content,
            content_type: HeaderValue::from_static(content_type),
            cache_control: HeaderValue::from_static(cache_control),
        }
    }
}

#[async_trait]
impl Handler for StaticDocument {
    async fn handle(&self, request: Box<Request>) -> Response {
        if request.parts.method != Method::GET {
            return respond::status(&Status::method_not_allowed());
        }
        let mut response = HttpResponse::new(self.content.clone().into());
        response.headers_mut().insert(CONTENT_TYPE, self.content_type.clone());
        response.headers_mut().insert(CACHE_CONTROL, self.cache_control.clone());
        response
    }
}
