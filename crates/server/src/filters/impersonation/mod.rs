//! Impersonation: acting as another user, by the `Impersonate-*` headers, for users that may.
//!
//! There are several modes that can allow it ([`Mode`]). The legacy mode asks whether the user may impersonate the named
//! one, whatever the request does. The constrained ones ask in addition whether the user may do this request as another;
//! they come first, and the mode that last allowed a user is tried first the next time. With
//! `ConstrainedImpersonation=false` there is [`unconstrained`] instead.

mod headers;
mod last_modes;
mod mode;
mod unconstrained;

use std::sync::Arc;

use async_trait::async_trait;
use pintle_audit::Layer;
use pintle_auth::{ALL_AUTHENTICATED, ALL_UNAUTHENTICATED, ANONYMOUS, Attributes, Authorizer, User, Verdict};
use pintle_meta::Status;
use pintle_runtime::Stopwatch;

use self::last_modes::LastModes;
use self::mode::{CONSTRAINED, LEGACY, Mode};
use super::authorization::{forbidden, refusal};
use crate::filter::{Filter, Next};
use crate::metrics::{MeasuredFilter, Metrics};
use crate::{Request, Response, respond};

/// Group and version of what is only known where users are authenticated.
const AUTHENTICATION: (&str, &str) = ("authentication.k8s.io", "v1");

pub struct Impersonation {
    authorizer: Arc<dyn Authorizer>,
    metrics: Metrics,
    /// The mode that last allowed each user; `None` without modes.
    last: Option<LastModes>,
}

impl Impersonation {
    pub fn new(authorizer: Arc<dyn Authorizer>, constrained: bool, metrics: Metrics) -> Impersonation {
        Impersonation { authorizer, metrics, last: constrained.then(LastModes::default) }
    }
}

#[async_trait]
impl Filter for Impersonation {
    async fn handle(&self, mut request: Box<Request>, next: Next<'_>) -> Response {
        let start = Stopwatch::start();
        let is_asked_for = headers::is_asked_for(&request.parts.headers);
        if is_asked_for && let Err(response) = self.impersonate(&mut request).await {
            return *response;
        }
        let name = match self.last {
            Some(_) => MeasuredFilter::ConstrainedImpersonation,
            None => MeasuredFilter::Impersonation,
        };
        let took = start.elapsed();
        if let Some(audit) = request.audit.as_ref().filter(|_| is_asked_for) {
            audit.took(Layer::Impersonation, took);
        }
        self.metrics.filtered(name, took);
        next.run(request).await
    }
}

impl Impersonation {
    /// Replaces the request's user by the one that its headers name, if they name one; or returns the refusal.
    async fn impersonate(&self, request: &mut Request) -> Result<(), Box<Response>> {
        let wanted = match headers::take(&mut request.parts.headers, self.last.is_some()) {
            Ok(Some(wanted)) => wanted,
            // An empty name counts as none.
            Ok(None) => return Ok(()),
            Err(status) => return Err(Box::new(respond::status(&status))),
        };
        let Some(user) = request.user.clone() else {
            let why = match self.last {
                Some(_) => "no User found in the context",
                None => "no user found for request",
            };
            return Err(Box::new(respond::internal_error(&request.parts.uri, &why)));
        };
        let found = match &self.last {
            Some(last_modes) => {
                let selectors = request.info.selectors();
                let attributes = request.info.attributes(&user, &selectors);
                self.find_mode(last_modes, &wanted, &attributes).await
            }
            None => unconstrained::check(&*self.authorizer, &wanted, &user).await.map(|actual| ("", actual)),
        };
        match found {
            Ok((constraint, actual)) => {
                tracing::trace!(user = user.name, "is impersonating {}", actual.name);
                let actual = Arc::new(actual);
                if let Some(audit) = &request.audit {
                    audit.impersonates(actual.clone(), constraint);
                }
                request.user = Some(actual);
                Ok(())
            }
            Err(status) => {
                tracing::debug!(path = request.info.path, why = status.message, "Forbidden");
                Err(Box::new(refusal(&status)))
            }
        }
    }

    /// Returns the impersonated user by the first mode that allows it, and the verb that did if the mode is a constrained one.
    async fn find_mode(
        &self,
        last_modes: &LastModes,
        wanted: &User,
        attributes: &Attributes<'_>,
    ) -> Result<(&'static str, User), Box<Status>> {
        let start = Stopwatch::start();
        let found = self.find(last_modes, wanted, attributes).await;
        let mode = found.as_ref().map_or("", |(mode, _)| mode.name);
        self.metrics.auth().impersonated(mode, found.is_ok(), start.elapsed());
        found.map(|(mode, actual)| (mode.constraint(), actual))
    }

    /// Returns the first mode that allows it and the impersonated user; or the refusal of the first mode that applied.
    async fn find(
        &self,
        last_modes: &LastModes,
        wanted: &User,
        attributes: &Attributes<'_>,
    ) -> Result<(&'static Mode, User), Box<Status>> {
        let last = last_modes.find(&attributes.user.name);
        let mut first = None;
        let others = (0..=CONSTRAINED.len()).filter(|index| Some(*index) != last);
        for index in last.into_iter().chain(others) {
            let mode = CONSTRAINED.get(index).unwrap_or(&LEGACY);
            if !mode.applies(wanted, attributes.user) {
                continue;
            }
            match mode.check(self, wanted, attributes).await {
                Ok(actual) => {
                    if last != Some(index) {
                        last_modes.set(&attributes.user.name, index);
                    }
                    return Ok((mode, actual));
                }
                Err(status) => first = first.or(Some(status)),
            }
        }
        Err(first.unwrap_or_else(|| Box::new(Status::internal("all impersonation modes failed"))))
    }

    /// Asks about one part of it; a refusal is the client's answer.
    async fn ask(&self, mode: &Mode, attributes: &Attributes<'_>) -> Result<(), Box<Status>> {
        let start = Stopwatch::start();
        let verdict = self.authorizer.authorize(attributes).await;
        self.metrics.auth().impersonation_asked(mode.name, verdict.is_allowed(), start.elapsed());
        if verdict.is_allowed() { Ok(()) } else { Err(Box::new(forbidden(attributes, &reason(&verdict)))) }
    }
}

/// The user, with the group that everybody is in.
fn with_authenticated_group(mut user: User) -> User {
    let everybody = if user.name == ANONYMOUS {
        Some(ALL_UNAUTHENTICATED)
    } else {
        (!user.is_in(ALL_UNAUTHENTICATED)).then_some(ALL_AUTHENTICATED)
    };
    if let Some(group) = everybody.filter(|group| !user.is_in(group)) {
        user.groups.push(group.to_owned());
    }
    user
}

fn reason(verdict: &Verdict) -> String {
    match (&verdict.error, verdict.reason.as_str()) {
        (None, reason) => reason.to_owned(),
        (Some(error), "") => error.clone(),
        (Some(error), reason) => format!("{error}: {reason}"),
    }
}

#[cfg(test)]
mod tests;
