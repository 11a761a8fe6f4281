//! Acting as somebody else, by the `Impersonate-*` headers, for those who may.
//!
//! There are several ways of being allowed to ([`Mode`]). The oldest one asks whether somebody may be whom they name, whatever
//! they do then. The constrained ones ask in addition whether they may do just this as somebody else; they come first, and
//! what last let a user through is tried first the next time. With `ConstrainedImpersonation=false` there is [`older`] instead.

mod mode;
mod older;
mod remembered;
mod wanted;

use std::sync::Arc;

use async_trait::async_trait;
use pintle_auth::{ALL_AUTHENTICATED, ALL_UNAUTHENTICATED, ANONYMOUS, Attributes, Authorizer, User, Verdict};
use pintle_meta::Status;
use pintle_runtime::Stopwatch;

use self::mode::{CONSTRAINED, LEGACY, Mode};
use self::remembered::Remembered;
use super::authorization::{forbidden, refusal};
use crate::filter::{Filter, Next};
use crate::metrics::{Filtered, Metrics};
use crate::{Request, Response, respond};

/// Group and version of what is only known where users are authenticated.
const AUTHENTICATION: (&str, &str) = ("authentication.k8s.io", "v1");

pub struct Impersonation {
    authorizer: Arc<dyn Authorizer>,
    metrics: Metrics,
    /// Of each user, by which mode they last acted as somebody else; `None` without modes.
    last: Option<Remembered>,
}

impl Impersonation {
    pub fn new(authorizer: Arc<dyn Authorizer>, constrained: bool, metrics: Metrics) -> Impersonation {
        Impersonation { authorizer, metrics, last: constrained.then(Remembered::default) }
    }
}

#[async_trait]
impl Filter for Impersonation {
    async fn handle(&self, mut request: Box<Request>, next: Next<'_>) -> Response {
        let start = Stopwatch::start();
        if wanted::is_asked_for(&request.parts.headers)
            && let Err(response) = self.act(&mut request).await
        {
            return *response;
        }
        let name = match self.last {
            Some(_) => Filtered::ConstrainedImpersonation,
            None => Filtered::Impersonation,
        };
        self.metrics.filtered(name, start.elapsed());
        next.run(request).await
    }
}

impl Impersonation {
    /// Makes the request one of whom it names, if it names anybody; or answers why not.
    async fn act(&self, request: &mut Request) -> Result<(), Box<Response>> {
        let wanted = match wanted::take(&mut request.parts.headers, self.last.is_some()) {
            Ok(Some(wanted)) => wanted,
            // An empty name is none, and so nobody is asked for.
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
            Some(remembered) => {
                let selectors = request.info.selectors();
                let attributes = request.info.attributes(&user, &selectors);
                self.find_mode(remembered, &wanted, &attributes).await
            }
            None => older::check(&*self.authorizer, &wanted, &user).await,
        };
        match found {
            Ok(actual) => {
                tracing::trace!(user = user.name, "is impersonating {}", actual.name);
                request.user = Some(Arc::new(actual));
                Ok(())
            }
            Err(status) => {
                tracing::debug!(path = request.info.path, why = status.message, "Forbidden");
                Err(Box::new(refusal(&status)))
            }
        }
    }

    /// Whom the user is by the first mode that lets them through.
    async fn find_mode(
        &self,
        remembered: &Remembered,
        wanted: &User,
        attributes: &Attributes<'_>,
    ) -> Result<User, Box<Status>> {
        let start = Stopwatch::start();
        let found = self.find(remembered, wanted, attributes).await;
        let mode = found.as_ref().map_or("", |(mode, _)| mode.name);
        self.metrics.impersonated(mode, found.is_ok(), start.elapsed());
        found.map(|(_, actual)| actual)
    }

    /// The first mode that lets the user through, and whom they are then; or why the first that could have did not.
    async fn find(
        &self,
        remembered: &Remembered,
        wanted: &User,
        attributes: &Attributes<'_>,
    ) -> Result<(&'static Mode, User), Box<Status>> {
        let last = remembered.of(&attributes.user.name);
        let mut first = None;
        let others = (0..=CONSTRAINED.len()).filter(|place| Some(*place) != last);
        for place in last.into_iter().chain(others) {
            let mode = CONSTRAINED.get(place).unwrap_or(&LEGACY);
            if !mode.applies(wanted, attributes.user) {
                continue;
            }
            match mode.check(self, wanted, attributes).await {
                Ok(actual) => {
                    if last != Some(place) {
                        remembered.set(&attributes.user.name, place);
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
        self.metrics.impersonation_asked(mode.name, verdict.is_allowed(), start.elapsed());
        match verdict.is_allowed() {
            true => Ok(()),
            false => Err(Box::new(forbidden(attributes, &why(&verdict)))),
        }
    }
}

/// The user, with the group that everybody is in.
fn with_everybody(mut user: User) -> User {
    let everybody = match user.name == ANONYMOUS {
        true => Some(ALL_UNAUTHENTICATED),
        false => (!user.is_in(ALL_UNAUTHENTICATED)).then_some(ALL_AUTHENTICATED),
    };
    if let Some(group) = everybody.filter(|group| !user.is_in(group)) {
        user.groups.push(group.to_owned());
    }
    user
}

fn why(verdict: &Verdict) -> String {
    match (&verdict.error, verdict.reason.as_str()) {
        (None, reason) => reason.to_owned(),
        (Some(error), "") => error.clone(),
        (Some(error), reason) => format!("{error}: {reason}"),
    }
}

#[cfg(test)]
mod tests;
