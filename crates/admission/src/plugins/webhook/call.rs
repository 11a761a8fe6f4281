//! One call of a webhook: the time that it has, the review, and what its failure means.

use std::time::Duration;

use bytes::Bytes;
use pintle_meta::{Status, names, quote};
use pintle_outbound::webhook;
use pintle_runtime::Stopwatch;
use tokio::time::Instant;

use super::clients::LONGEST_CALL;
use super::hook::{Hook, SideEffects};
use super::review::Response;
use super::{Type, Webhooks};
use crate::Result;
use crate::attributes::{Attributes, Operation, Versioned};
use crate::matching::Match;
use crate::notes::Notes;
use crate::webhook_metrics::RejectionCause;

/// A call without a usable answer, or with one that rejects the request.
#[derive(Debug)]
pub(super) enum Failure {
    /// The webhook could not be asked, or its answer is none: `failurePolicy` decides. The code is for metrics.
    Calling { reason: String, code: u16 },
    /// The webhook rejected the request.
    Rejected(Box<Status>),
    /// An error of this server, which rejects the request in any case.
    Internal(Box<Status>),
}

impl Failure {
    pub(super) fn calling(reason: impl Into<String>, code: u16) -> Failure {
        Failure::Calling { reason: reason.into(), code }
    }

    pub(super) fn internal(error: impl std::fmt::Display) -> Failure {
        Failure::Internal(Box::new(Status::internal(error)))
    }
}

impl Webhooks {
    /// Asks a webhook about a request that it matches. Its warnings and annotations are noted, also if it rejects.
    pub(super) async fn ask(
        &self,
        hook: &Hook,
        attributes: &Attributes<'_>,
        seen_as: &Match,
        versioned: &Versioned,
    ) -> Result<Response, Failure> {
        if attributes.request.dry_run {
            match hook.side_effects {
                SideEffects::NotOnDryRun => {}
                SideEffects::Missing => return Err(Failure::calling("Webhook SideEffects is nil", 400)),
                SideEffects::Possible => {
                    let why = format!("admission webhook {} does not support dry run", quote(&hook.name));
                    return Err(Failure::Internal(Box::new(Status::bad_request(why))));
                }
            }
        }
        let Some(version) = hook.review else {
            return Err(Failure::calling(
                "could not create admission objects: webhook does not accept known AdmissionReview versions (v1, v1beta1)",
                400,
            ));
        };
        let client = hook
            .client(&self.clients)
            .map_err(|error| Failure::calling(format!("could not get REST client: {error}"), 500))?;
        let number = || u128::from(self.random.number());
        let uid = names::uuid((number() << 64) | number());
        let request: Bytes = pintle_work::run(|| version.request(&uid, attributes, seen_as, versioned)).await;
        let limit = time_left(hook, attributes.request.deadline);
        let failed = |error: &str, code| Failure::calling(format!("failed to call webhook: {error}"), code);
        let watch = Stopwatch::start();
        let posted = client.post_within(request, limit).await;
        attributes.request.notes.webhook_took(self.of == Type::Mutating, watch.elapsed());
        let answer = posted.map_err(|error| match &error {
            webhook::Error::Status(status) => failed(&status.message, status.code),
            other => failed(&other.to_string(), 503),
        })?;
        pintle_work::aside(answer.len()).await;
        let response = pintle_work::run(|| {
            let review = version.decode(&answer).map_err(|error| failed(&error, 503))?;
            version
                .response(self.of, &uid, &review)
                .map_err(|error| Failure::calling(format!("received invalid webhook response: {error}"), 503))
        })
        .await?;
        note(&attributes.request.notes, hook, &response);
        match response.is_allowed {
            true => Ok(response),
            false => Err(Failure::Rejected(response.rejection(&hook.name))),
        }
    }

    /// Counts a call by its outcome.
    pub(super) fn observe(
        &self,
        hook: &Hook,
        operation: Operation,
        failure: Option<&Failure>,
        watch: &Stopwatch,
    ) {
        let (label, took) = (self.of.label(), watch.elapsed());
        let (code, rejection) = match failure {
            None => (200, None),
            Some(Failure::Calling { code, .. }) if hook.ignores_failures => (*code, None),
            Some(Failure::Calling { code, .. }) => (*code, Some(RejectionCause::CallingWebhook)),
            Some(Failure::Rejected(status)) => (status.code, Some(RejectionCause::Webhook)),
            Some(Failure::Internal(_)) => (0, Some(RejectionCause::Internal)),
        };
        if let Some(cause) = rejection {
            self.metrics.rejected(&hook.name, label, operation, cause, code);
        }
        self.metrics.called(&hook.name, label, operation, (code, rejection.is_some()), took);
    }

    /// Returns the answer to a request whose webhook failed; `None` if the failure is ignored.
    pub(super) fn answer(
        &self,
        hook: &Hook,
        failure: Failure,
        annotation: &str,
        notes: &Notes,
    ) -> Option<Box<Status>> {
        match failure {
            Failure::Calling { reason, .. } => {
                let error = format!("failed calling webhook {}: {reason}", quote(&hook.name));
                if !hook.ignores_failures {
                    tracing::warn!(webhook = hook.name, error, "Failed calling webhook, failing closed");
                    return Some(Box::new(Status::internal(error)));
                }
                tracing::warn!(webhook = hook.name, error, "Failed calling webhook, failing open");
                self.metrics.failed_open(&hook.name, self.of.label());
                annotate(notes, annotation, &hook.name);
                None
            }
            Failure::Rejected(status) | Failure::Internal(status) => {
                if self.of == Type::Validating {
                    tracing::warn!(webhook = hook.name, %status, "rejected by webhook");
                }
                Some(status)
            }
        }
    }
}

/// Returns the time for a call: the webhook's own limit, within that of the request.
fn time_left(hook: &Hook, deadline: Option<Instant>) -> Duration {
    let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
    let own = hook.timeout.unwrap_or(LONGEST_CALL).min(LONGEST_CALL);
    left.map_or(own, |left| left.min(own))
}

/// Returns the answer to a request that has no time left; `None` if it has.
pub(super) fn expired(attributes: &Attributes<'_>) -> Option<Box<Status>> {
    let deadline = attributes.request.deadline?;
    (Instant::now() >= deadline)
        .then(|| Box::new(Status::timeout("request did not complete within requested timeout")))
}

/// Adds the annotations and warnings of an answer to the request.
fn note(notes: &Notes, hook: &Hook, response: &Response) {
    for (key, value) in &response.audit_annotations {
        annotate(notes, &format!("{}/{key}", hook.name), value);
    }
    for warning in &response.warnings {
        notes.warn(warning.as_str());
    }
}

pub(super) fn annotate(notes: &Notes, key: &str, value: &str) {
    if let Err(error) = notes.annotate(key, value) {
        tracing::warn!(%error, "Failed to set admission audit annotation of a webhook");
    }
}
