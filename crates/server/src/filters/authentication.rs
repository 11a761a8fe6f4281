//! Finds out who is asking. Wrong credentials end here with 401.

use std::sync::Arc;
use std::time::{Instant, SystemTime};

use async_trait::async_trait;
use http::header::{AUTHORIZATION, HeaderName};
use http::{HeaderMap, Version};
use pintle_auth::{Authenticator, Credentials, Identity};
use pintle_meta::Status;

use super::warning_headers::warn;
use crate::filter::{Filter, Next};
use crate::metrics::Metrics;
use crate::{Request, Response, respond};

pub struct Authentication {
    pub authenticator: Arc<dyn Authenticator>,
    /// Whether who has not shown credentials gets one request per HTTP/2 connection: streams are cheap for a client
    /// and not for us.
    pub close_unauthenticated: bool,
    pub metrics: Metrics,
}

#[async_trait]
impl Filter for Authentication {
    async fn handle(&self, mut request: Box<Request>, next: Next<'_>) -> Response {
        let start = Instant::now();
        let credentials = Credentials {
            headers: &request.parts.headers,
            path: &request.info.path,
            certificates: &request.connection.certificates,
            now: SystemTime::now(),
        };
        let result = self.authenticator.authenticate(credentials).await;
        self.metrics.authenticated(&result, start.elapsed());
        if let Err(error) = &result {
            tracing::error!(%error, audit_id = request.audit_id, "Unable to authenticate the request");
        }
        let Ok(Some(Identity { user, notes, .. })) = result else {
            self.close_if_cheap_to_open(&request);
            return respond::status(&Status::unauthorized());
        };
        if user.is_anonymous() {
            self.close_if_cheap_to_open(&request);
        }
        forget_credentials(&mut request.parts.headers);
        request.user = Some(user);
        let mut response = next.run(request).await;
        if let Some(notes) = notes {
            warn(&mut response, notes.warnings.clone());
        }
        response
    }
}

impl Authentication {
    fn close_if_cheap_to_open(&self, request: &Request) {
        if self.close_unauthenticated && request.parts.version == Version::HTTP_2 {
            request.connection.close_when_idle();
        }
    }
}

/// Nothing behind this filter may see what the client proved itself with, or claim to come from a front proxy.
fn forget_credentials(headers: &mut HeaderMap) {
    const FRONT_PROXY: [HeaderName; 3] = [
        HeaderName::from_static("x-remote-user"),
        HeaderName::from_static("x-remote-uid"),
        HeaderName::from_static("x-remote-group"),
    ];
    headers.remove(AUTHORIZATION);
    for name in FRONT_PROXY {
        headers.remove(name);
    }
    let extra: Vec<HeaderName> =
        headers.keys().filter(|name| name.as_str().starts_with("x-remote-extra-")).cloned().collect();
    for name in extra {
        headers.remove(name);
    }
}
