//! `--cors-allowed-origins`: lets pages of these origins call the API from a browser.

use async_trait::async_trait;
use http::header::{
    ACCESS_CONTROL_ALLOW_CREDENTIALS, ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS,
    ACCESS_CONTROL_ALLOW_ORIGIN, ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue, ORIGIN,
};
use http::{Method, StatusCode};
use pintle_regex::Regex;

use crate::filter::{Filter, Next};
use crate::{Body, Request, Response};

pub struct Cors {
    pub allowed_origins: Vec<Regex>,
}

#[async_trait]
impl Filter for Cors {
    async fn handle(&self, request: Box<Request>, next: Next<'_>) -> Response {
        let origin = match request.parts.headers.get(ORIGIN) {
            Some(origin) if self.allows(origin) => origin.clone(),
            _ => return next.run(request).await,
        };
        let mut response = if request.parts.method == Method::OPTIONS {
            let mut preflight = Response::new(Body::empty());
            *preflight.status_mut() = StatusCode::NO_CONTENT;
            preflight
        } else {
            next.run(request).await
        };
        let headers = response.headers_mut();
        headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        for (name, value) in [
            (ACCESS_CONTROL_ALLOW_METHODS, "POST, GET, OPTIONS, PUT, DELETE, PATCH"),
            (
                ACCESS_CONTROL_ALLOW_HEADERS,
                "Content-Type, Content-Length, Accept-Encoding, X-CSRF-Token, Authorization, X-Requested-With, \
                 If-Modified-Since",
            ),
            (ACCESS_CONTROL_EXPOSE_HEADERS, "Date"),
            (ACCESS_CONTROL_ALLOW_CREDENTIALS, "true"),
        ] {
            headers.insert(name, HeaderValue::from_static(value));
        }
        response
    }
}

impl Cors {
    fn allows(&self, origin: &HeaderValue) -> bool {
        origin
            .to_str()
            .is_ok_and(|origin| self.allowed_origins.iter().any(|allowed| allowed.is_match(origin)))
    }
}
