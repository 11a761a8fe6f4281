//! A webhook that authorizes requests by SubjectAccessReviews.
//!
//! Its answers are cached by the whole spec of the review. A webhook that fails has no opinion, or denies, as configured.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use pintle_outbound::Webhook;
use pintle_outbound::webhook::Attempt;
use pintle_runtime::{Clock, Stopwatch};
use serde::Deserialize;
use smol_str::SmolStr;

use super::{Attributes, Authorizer, Decision, Rules, Verdict};
use crate::User;
use crate::review::{self, Version};

mod cache;
mod conditions;
mod spec;
#[cfg(test)]
mod tests;

use cache::Cache;
pub use conditions::Conditions;
pub use spec::Spec;

const GROUP: &str = "authorization.k8s.io";
const KIND: &str = "SubjectAccessReview";
/// Number of answers that are kept.
const MOST_KEPT: usize = 8192;
/// Longer attributes are not cached, since they could fill the memory.
const LONGEST_KEPT: usize = 10_000;

/// Receives events of webhooks for metrics.
pub trait WebhookEvents: Send + Sync + 'static {
    /// One attempt: `success`, `timeout` or `error`.
    fn evaluated(&self, webhook: &str, result: &'static str, took: Duration);
    /// It could not be asked, and others decide.
    fn failed_open(&self, webhook: &str, result: &'static str);
    /// Its conditions were looked at.
    fn conditions_evaluated(&self, webhook: &str, matched: &Result<bool, String>, took: Duration);
}

/// Whether a webhook is to be asked at all.
pub trait MatchConditions: Send + Sync + 'static {
    /// An error if it cannot be told: then the webhook counts as failed.
    fn matches(&self, spec: &Spec<'_>) -> Result<bool, String>;
}

pub struct WebhookOptions {
    /// In figures; empty for the one that flags configure.
    pub name: String,
    pub version: Version,
    pub allowed_ttl: Duration,
    pub denied_ttl: Duration,
    /// The decision where the webhook fails.
    pub on_error: Decision,
    /// Whether reviews carry selectors (`AuthorizeWithSelectors`).
    pub selectors: bool,
}

pub struct WebhookAuthorizer {
    webhook: Webhook,
    options: WebhookOptions,
    condition: Option<Arc<dyn MatchConditions>>,
    events: Option<Arc<dyn WebhookEvents>>,
    cache: Cache<Answer>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase")]
struct Status {
    allowed: Option<bool>,
    denied: Option<bool>,
    reason: Option<String>,
}

/// The answer of the webhook.
#[derive(Clone)]
struct Answer {
    allowed: bool,
    denied: bool,
    reason: SmolStr,
}

impl From<Answer> for Verdict {
    fn from(answer: Answer) -> Verdict {
        let (decision, error) = match answer {
            Answer { denied: true, allowed: true, .. } => (
                Decision::Deny,
                Some("webhook subject access review returned both allow and deny response".to_owned()),
            ),
            Answer { denied: true, .. } => (Decision::Deny, None),
            Answer { allowed: true, .. } => (Decision::Allow, None),
            _ => (Decision::NoOpinion, None),
        };
        Verdict { decision, reason: answer.reason, error }
    }
}

impl WebhookAuthorizer {
    pub fn new(
        webhook: Webhook,
        options: WebhookOptions,
        condition: Option<Arc<dyn MatchConditions>>,
        events: Option<Arc<dyn WebhookEvents>>,
        clock: Clock,
    ) -> WebhookAuthorizer {
        let cache = Cache::new(MOST_KEPT, clock);
        WebhookAuthorizer { webhook, options, condition, events, cache }
    }

    fn failed(&self, error: String) -> Verdict {
        Verdict { decision: self.options.on_error, reason: SmolStr::default(), error: Some(error) }
    }

    async fn ask(&self, review: Vec<u8>) -> Result<Answer, String> {
        let mut last = "error";
        let observe = |attempt: Attempt<'_>| {
            last = match attempt.error {
                None => "success",
                Some(error) if error.is_timeout() || attempt.code == Some(504) => "timeout",
                Some(_) => "error",
            };
            if let Some(events) = &self.events {
                events.evaluated(&self.options.name, last, attempt.duration);
            }
        };
        let answer = self.webhook.post(review.into(), observe).await.map_err(|error| error.to_string());
        let status = answer.and_then(|answer| {
            let status: Result<Status, _> = review::status(&answer, KIND, GROUP, self.options.version);
            status.inspect_err(|_| last = "error")
        });
        let status = status.inspect_err(|error| {
            tracing::error!(%error, "Failed to make webhook authorizer request");
            if let (Decision::NoOpinion, Some(events)) = (self.options.on_error, &self.events) {
                events.failed_open(&self.options.name, last);
            }
        })?;
        Ok(Answer {
            allowed: status.allowed.unwrap_or_default(),
            denied: status.denied.unwrap_or_default(),
            reason: status.reason.unwrap_or_default().into(),
        })
    }
}

#[async_trait]
impl Authorizer for WebhookAuthorizer {
    async fn authorize(&self, attributes: &Attributes<'_>) -> Verdict {
        let spec = Spec::new(attributes, self.options.selectors);
        if let Some(condition) = &self.condition {
            let watch = Stopwatch::start();
            let matched = condition.matches(&spec);
            if let Some(events) = &self.events {
                events.conditions_evaluated(&self.options.name, &matched, watch.elapsed());
            }
            match matched {
                Ok(true) => {}
                Ok(false) => return Verdict::no_opinion(""),
                Err(error) => return self.failed(error),
            }
        }
        let key = match spec.key() {
            Ok(key) => key,
            Err(error) => return self.failed(error.to_string()),
        };
        if let Some(answer) = self.cache.get(&key) {
            return answer.into();
        }
        let review = match spec.review(self.options.version) {
            Ok(review) => review,
            Err(error) => return self.failed(error.to_string()),
        };
        let answer = match self.ask(review).await {
            Ok(answer) => answer,
            Err(error) => return self.failed(error),
        };
        if may_be_kept(attributes) {
            let life = if answer.allowed { self.options.allowed_ttl } else { self.options.denied_ttl };
            self.cache.keep(key, answer.clone(), life);
        }
        answer.into()
    }

    async fn add_rules(&self, _: &User, _: &str, rules: &mut Rules) {
        rules.incomplete = true;
        rules.errors.push("webhook authorizer does not support user rule resolution".into());
    }
}

fn may_be_kept(attributes: &Attributes<'_>) -> bool {
    let Attributes { namespace, verb, group, version, resource, subresource, name, path, .. } = attributes;
    let parts = [namespace, verb, group, version, resource, subresource, name, path];
    parts.iter().map(|part| part.len()).sum::<usize>() < LONGEST_KEPT
}
