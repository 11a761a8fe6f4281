//! Authenticates requests. Wrong credentials end here with 401.

use std::sync::Arc;

use async_trait::async_trait;
use http::header::{AUTHORIZATION, HeaderValue, WWW_AUTHENTICATE};
use http::{HeaderMap, Version};
use pintle_audit::Auditor;
use pintle_auth::authenticator::{Bearer, FrontProxyHeaders, forget_protocol_token};
use pintle_auth::{Authenticator, Credentials, Identity};
use pintle_meta::Status;
use pintle_runtime::{Clock, Stopwatch};

use super::warning_headers::warn;
use crate::filter::{Filter, Next};
use crate::metrics::{MeasuredFilter, Metrics};
use crate::{Request, Response, audit, respond};

pub struct Authentication {
    pub authenticator: Arc<dyn Authenticator>,
    /// Whether a client without credentials gets one request per HTTP/2 connection: streams are cheap for a client and not
    /// for the server.
    pub close_unauthenticated: bool,
    /// Every header in which a front proxy could name the user.
    pub front_proxy: Vec<FrontProxyHeaders>,
    /// The `WWW-Authenticate` header of a 401.
    pub challenge: Option<HeaderValue>,
    /// Records requests whose credentials are wrong.
    pub auditor: Option<Arc<Auditor>>,
    pub metrics: Metrics,
    pub clock: Clock,
}

#[async_trait]
impl Filter for Authentication {
    async fn handle(&self, mut request: Box<Request>, next: Next<'_>) -> Response {
        if request.is_in_process {
            return next.run(request).await;
        }
        let start = Stopwatch::start();
        let credentials = Credentials {
            headers: &request.parts.headers,
            path: &request.info.path,
            certificates: &request.connection.certificates,
            now: self.clock.now(),
        };
        // Sent whichever authenticator accepts the request: the reference looks for its own token in this header first.
        let spaces = credentials.bearer() == Bearer::BehindSpaces;
        let warning = spaces.then(|| Bearer::SPACES_WARNING.to_owned());
        let result = self.authenticator.authenticate(credentials).await;
        let took = start.elapsed();
        self.metrics.auth().authenticated(&result, took);
        self.metrics.filtered(MeasuredFilter::Authentication, took);
        if let Err(error) = &result {
            tracing::error!(%error, audit_id = request.audit_id, "Unable to authenticate the request");
        }
        let failure = result.as_ref().err().cloned();
        let Ok(Some(Identity { user, notes, .. })) = result else {
            self.close_if_cheap_to_open(&request);
            let mut response = respond::status(&Status::unauthorized());
            if let Some(challenge) = &self.challenge {
                response.headers_mut().insert(WWW_AUTHENTICATE, challenge.clone());
            }
            warn(&mut response, warning.into_iter().collect());
            let annotations = failure.map(|error| error.annotations()).unwrap_or_default();
            audit::refused(self.auditor.as_ref(), &request, &response, &annotations).await;
            return response;
        };
        if user.is_anonymous() {
            self.close_if_cheap_to_open(&request);
        }
        self.forget_credentials(&mut request.parts.headers);
        request.user = Some(user);
        request.identity_notes.clone_from(&notes);
        request.authentication_took = took;
        let mut response = next.run(request).await;
        if let Some(notes) = notes {
            warn(&mut response, notes.warnings.clone());
        }
        warn(&mut response, warning.into_iter().collect());
        response
    }
}

impl Authentication {
    fn close_if_cheap_to_open(&self, request: &Request) {
        if self.close_unauthenticated && request.parts.version == Version::HTTP_2 {
            request.connection.close_when_idle();
        }
    }

    /// Nothing behind this filter may see what the client proved itself with, or claim to come from a front proxy.
    fn forget_credentials(&self, headers: &mut HeaderMap) {
        headers.remove(AUTHORIZATION);
        for names in &self.front_proxy {
            names.forget(headers);
        }
        forget_protocol_token(headers);
    }
}
