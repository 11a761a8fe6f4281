//! Acting as somebody else, by the `Impersonate-*` headers, for those who may.
//!
//! There are several ways of being allowed to ([`Mode`]). The older one asks whether somebody may be whom they name, whatever
//! they do then. The constrained ones (`ConstrainedImpersonation`) ask in addition whether they may do just this as somebody
//! else; they come first, and what last let a user through is tried first the next time.

mod mode;
mod remembered;
mod wanted;

use std::sync::Arc;
use std::time::Instant;

use async_trait::async_trait;
use pintle_auth::{Attributes, Authorizer, User, Verdict};
use pintle_meta::Status;

use self::mode::{CONSTRAINED, LEGACY, Mode};
use self::remembered::Remembered;
use super::authorization::{forbidden, refusal};
use crate::filter::{Filter, Next};
use crate::metrics::Metrics;
use crate::{Request, Response, respond};

pub struct Impersonation {
    authorizer: Arc<dyn Authorizer>,
    metrics: Metrics,
    /// Of each user, by which mode they last acted as somebody else; `None` where there is only one mode.
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
        if !wanted::is_asked_for(&request.parts.headers) {
            return next.run(request).await;
        }
        let wanted = match wanted::take(&mut request.parts.headers, self.last.is_some()) {
            Ok(Some(wanted)) => wanted,
            // An empty name is none, and so nobody is asked for.
            Ok(None) => return next.run(request).await,
            Err(status) => return respond::status(&status),
        };
        let Some(user) = request.user.clone() else {
            return respond::internal_error(&request.parts.uri, &"no User found in the context");
        };
        let start = Instant::now();
        let selectors = request.info.selectors();
        let attributes = request.info.attributes(&user, &selectors);
        let found = self.find(&wanted, &attributes).await;
        let mode = found.as_ref().map_or("", |(mode, _)| mode.name);
        self.metrics.impersonated(mode, found.is_ok(), start.elapsed());
        match found {
            Ok((_, actual)) => {
                tracing::trace!(user = user.name, "is impersonating {}", actual.name);
                request.user = Some(Arc::new(actual));
                next.run(request).await
            }
            Err(status) => {
                tracing::debug!(path = attributes.path, why = status.message, "Forbidden");
                refusal(&status)
            }
        }
    }
}

impl Impersonation {
    /// The first mode that lets the user through, and whom they are then; or why the first that could have did not.
    async fn find(
        &self,
        wanted: &User,
        attributes: &Attributes<'_>,
    ) -> Result<(&'static Mode, User), Box<Status>> {
        let Some(remembered) = &self.last else {
            return Ok((&LEGACY, LEGACY.check(self, wanted, attributes).await?));
        };
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
        let start = Instant::now();
        let verdict = self.authorizer.authorize(attributes).await;
        self.metrics.impersonation_asked(mode.name, verdict.is_allowed(), start.elapsed());
        match verdict.is_allowed() {
            true => Ok(()),
            false => Err(Box::new(forbidden(attributes, &why(&verdict)))),
        }
    }
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
