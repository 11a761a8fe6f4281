//! Removal of service account tokens in secrets that were made automatically by older releases and that nothing uses any more.
//!
//! ```text
//! created, used and tracked longer ago than the period, listed by its account, used by no pod
//!   -> marked: kubernetes.io/legacy-token-invalid-since=DATE, from when on the token is refused
//! marked longer ago than the period, and not used since
//!   -> deleted
//! ```
//!
//! Each token comes up when it may be due, so nothing happens where there are none.

use std::time::Duration;

use async_trait::async_trait;
use pintle_auth::authorizer::node::{Kind, used_by};
use pintle_cache::Entry;
use pintle_meta::gvk::GroupVersionResource;
use pintle_meta::time::Time;
use pintle_meta::{Status, Value};
use pintle_registry::Result;
use pintle_runtime::Clock;
use serde_json::json;

use crate::api::{ApiClient, Location, PatchKind};
use crate::followed::Followed;
use crate::runtime::{Controller, Key, Requeue, Source};
use crate::service_account_tokens::{
    ACCOUNT_NAME, ACCOUNT_UID, SECRET_TYPE, TokenResources, lists, unless_changed,
};

const LAST_USED: &str = "kubernetes.io/legacy-token-last-used";
const INVALID_SINCE: &str = "kubernetes.io/legacy-token-invalid-since";

/// The ConfigMap with the day on which the tracking of uses began.
const TRACKING_NAMESPACE: &str = "kube-system";
const TRACKING: &str = "kube-apiserver-legacy-service-account-token-tracking";

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// When a token that is old enough, but used or unknown, is looked at again.
const NEXT_LOOK: Duration = DAY;

/// Marks and deletes unused tokens.
pub struct LegacyTokenCleaner {
    accounts: Followed,
    secrets: Followed,
    secret_type: usize,
    pods: Followed,
    api: ApiClient,
    /// How long a token must not have been used before it is marked, and then before it is deleted.
    period: Duration,
    clock: Clock,
}

/// The next step for a token.
#[derive(Debug, PartialEq, Eq)]
enum Step {
    /// Look again later.
    Wait(Duration),
    Mark,
    Delete,
}

impl LegacyTokenCleaner {
    pub const NAME: &'static str = "legacy-serviceaccount-token-cleaner-controller";
    /// Its service account.
    pub const ACCOUNT: &'static str = "legacy-service-account-token-cleaner";
    /// How long a token must not have been used by default.
    pub const PERIOD: Duration = Duration::from_secs(365 * 24 * 60 * 60);

    pub fn new(
        resources: TokenResources,
        pods: Followed,
        api: ApiClient,
        period: Duration,
        clock: Clock,
    ) -> LegacyTokenCleaner {
        let TokenResources { accounts, secrets, secret_type } = resources;
        LegacyTokenCleaner { accounts, secrets, secret_type, pods, api, period, clock }
    }

    async fn look_at(&self, key: &str) -> Result<Requeue> {
        let Some(secret) = self.secrets.find(key).await? else { return Ok(Requeue::Never) };
        if secret.deletion_timestamp().is_some() {
            return Ok(Requeue::Never);
        }
        let now = Time::from(self.clock.now());
        // Most tokens are too young, which they say themselves.
        if let Step::Wait(delay) = step(&secret, &now, self.period) {
            return Ok(Requeue::After(delay));
        }
        let wait = self.untracked(&now).await?;
        if !wait.is_zero() {
            return Ok(Requeue::After(wait));
        }
        if !self.is_own(&secret).await? || self.is_mounted(&secret).await? {
            return Ok(Requeue::After(NEXT_LOOK));
        }
        match step(&secret, &now, self.period) {
            Step::Wait(delay) => Ok(Requeue::After(delay)),
            // The change comes back, and the token is due again after another period.
            Step::Mark => self.mark(&secret, &date(&now)).await.map(|()| Requeue::Never),
            Step::Delete => self.delete(&secret).await.map(|()| Requeue::Never),
        }
    }

    /// Returns how long uses still have to be tracked until one that was not seen can be ruled out.
    async fn untracked(&self, now: &Time) -> Result<Duration> {
        let maps = GroupVersionResource::new("", "v1", "configmaps");
        let map = self.api.find(&Location::object(maps, TRACKING_NAMESPACE, TRACKING)).await?;
        let since = map.as_ref().map_or("", |map| map.text_at(&["data", "since"]));
        let Some(since) = day(since) else {
            tracing::error!(
                "Getting latest possible tracked_since time: the ConfigMap {TRACKING} has no date"
            );
            return Ok(NEXT_LOOK);
        };
        Ok(remaining(&since, DAY.saturating_add(self.period), now))
    }

    /// Returns whether the account of a token lists its secret, as it does for those that were made automatically.
    async fn is_own(&self, secret: &Value) -> Result<bool> {
        let annotation = |key: &str| secret.annotation(key).unwrap_or_default();
        let (name, uid) = (annotation(ACCOUNT_NAME), annotation(ACCOUNT_UID));
        if name.is_empty() {
            return Ok(false);
        }
        let account = self.accounts.find(&format!("{}/{name}", secret.namespace())).await?;
        let is_same = |account: &Value| uid.is_empty() || account.uid() == uid;
        Ok(account.is_some_and(|account| is_same(&account) && lists(&account, secret.name())))
    }

    /// Returns whether a pod names a secret.
    async fn is_mounted(&self, secret: &Value) -> Result<bool> {
        let names = |pod: &Value| {
            used_by(pod).iter().any(|(kind, name)| *kind == Kind::Secret && name == secret.name())
        };
        let pods = self.pods.list(&format!("{}/", secret.namespace()), |_| true).await?;
        Ok(pods.iter().any(names))
    }

    async fn mark(&self, secret: &Value, today: &str) -> Result<()> {
        let (namespace, name) = (secret.namespace(), secret.name());
        tracing::info!(namespace, name, today, "Mark the auto-generated service account token as invalid");
        let metadata = json!({
            "name": name, "namespace": namespace, "uid": secret.uid(), "labels": {INVALID_SINCE: today},
        });
        let patch = json!({"kind": "Secret", "apiVersion": "v1", "metadata": metadata});
        let patched = self.api.patch(&self.secrets.location(secret), PatchKind::Merge, &patch).await;
        unless_changed(patched.map(drop))
    }

    async fn delete(&self, secret: &Value) -> Result<()> {
        let (namespace, name) = (secret.namespace(), secret.name());
        let invalid_since = secret.label(INVALID_SINCE).unwrap_or_default();
        tracing::info!(namespace, name, invalid_since, "Delete auto-generated service account token");
        let options = json!({"preconditions": {"resourceVersion": secret.resource_version()}});
        unless_changed(self.api.delete(&self.secrets.location(secret), options).await)
    }
}

/// Returns what is to be done with a token that nothing uses, by its dates alone.
fn step(secret: &Value, now: &Time, period: Duration) -> Step {
    let created = Time::parse(secret.text_at(&["metadata", "creationTimestamp"]));
    let age = created.map_or(period, |created| remaining(&created, period, now));
    if !age.is_zero() {
        return Step::Wait(age);
    }
    if let Some(used) = secret.label(LAST_USED) {
        let Some(used) = day(used) else {
            tracing::error!(secret = secret.name(), used, "Parsing lastUsed time");
            return Step::Wait(NEXT_LOOK);
        };
        let rest = passed(&used, period, now);
        if !rest.is_zero() {
            return Step::Wait(rest);
        }
    }
    let Some(since) = secret.label(INVALID_SINCE).and_then(day) else { return Step::Mark };
    match passed(&since, period, now) {
        Duration::ZERO => Step::Delete,
        rest => Step::Wait(rest),
    }
}

/// Returns the time until a date is before the day that was a period ago.
fn passed(date: &Time, period: Duration, now: &Time) -> Duration {
    remaining(date, period.saturating_add(DAY), now)
}

/// Returns the time until a duration has passed since a time.
fn remaining(since: &Time, duration: Duration, now: &Time) -> Duration {
    let age = now.nanos_since(since);
    let nanos = Duration::from_nanos(age.unsigned_abs());
    if age < 0 { duration.saturating_add(nanos) } else { duration.saturating_sub(nanos) }
}

/// Reads a date, as `2006-01-02`.
fn day(text: &str) -> Option<Time> {
    (text.len() == "2006-01-02".len()).then(|| Time::parse(&format!("{text}T00:00:00Z")).ok()).flatten()
}

fn date(time: &Time) -> String {
    let mut text = time.truncated().to_string();
    text.truncate("2006-01-02".len());
    text
}

#[async_trait]
impl Controller for LegacyTokenCleaner {
    fn name(&self) -> &'static str {
        "legacy_service_account_token_cleaner"
    }

    fn sources(&self) -> Vec<Source> {
        let place = self.secret_type;
        let keys = move |entry: &Entry, deleted: bool| {
            (!deleted && entry.field(place) == Some(SECRET_TYPE)).then(|| Key::from(entry.key()))
        };
        vec![Source::informer(self.secrets.store().clone(), keys)]
    }

    async fn reconcile(&self, key: &str) -> Result<Requeue> {
        self.look_at(key).await
    }

    fn failed(&self, key: &str, status: &Status) {
        tracing::error!(secret = key, "Cleaning up a service account token failed: {}", status.message);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PERIOD: Duration = Duration::from_secs(365 * 24 * 3600);

    fn secret(created: &str, labels: &[(&str, &str)]) -> Value {
        let labels: Vec<_> = labels.iter().map(|(key, value)| format!("{key:?}:{value:?}")).collect();
        let json = format!(
            r#"{{"metadata":{{"name":"s","creationTimestamp":"{created}","labels":{{{}}}}}}}"#,
            labels.join(",")
        );
        pintle_codec::json::decode_untyped(json.as_bytes()).expect("JSON").value
    }

    fn step_at(now: &str, created: &str, labels: &[(&str, &str)]) -> Step {
        step(&secret(created, labels), &Time::parse(now).expect("a time"), PERIOD)
    }

    fn wait(days: u64, seconds: u64) -> Step {
        Step::Wait(DAY * u32::try_from(days).expect("few") + Duration::from_secs(seconds))
    }

    #[test]
    fn a_token_is_marked_when_it_is_old_and_was_not_used() {
        let now = "2026-06-15T12:00:00Z";
        assert_eq!(step_at(now, "2026-06-15T11:00:00Z", &[]), wait(364, 23 * 3600));
        assert_eq!(step_at(now, "2025-06-15T12:00:01Z", &[]), wait(0, 1));
        assert_eq!(step_at(now, "2025-06-15T12:00:00Z", &[]), Step::Mark);
        assert_eq!(step_at(now, "2020-01-01T00:00:00Z", &[(LAST_USED, "2026-06-15")]), wait(365, 12 * 3600));
        // The day a period ago still counts as used.
        assert_eq!(step_at(now, "2020-01-01T00:00:00Z", &[(LAST_USED, "2025-06-15")]), wait(0, 12 * 3600));
        assert_eq!(step_at(now, "2020-01-01T00:00:00Z", &[(LAST_USED, "2025-06-14")]), Step::Mark);
        assert_eq!(step_at(now, "2020-01-01T00:00:00Z", &[(LAST_USED, "never")]), Step::Wait(NEXT_LOOK));
    }

    #[test]
    fn a_marked_token_is_deleted_after_another_period() {
        let (now, created) = ("2026-06-15T12:00:00Z", "2020-01-01T00:00:00Z");
        assert_eq!(step_at(now, created, &[(INVALID_SINCE, "2026-06-14")]), wait(364, 12 * 3600));
        assert_eq!(step_at(now, created, &[(INVALID_SINCE, "2025-06-14")]), Step::Delete);
        assert_eq!(step_at(now, created, &[(INVALID_SINCE, "no date")]), Step::Mark);
        // It was used after it had been marked.
        let used = [(INVALID_SINCE, "2024-01-01"), (LAST_USED, "2026-06-14")];
        assert_eq!(step_at(now, created, &used), wait(364, 12 * 3600));
    }

    #[test]
    fn a_step_that_waits_is_due_when_it_said() {
        let times =
            ["2024-02-28T23:59:59Z", "2024-12-31T00:00:00Z", "2025-03-01T06:00:00Z", "2026-01-01T00:00:01Z"];
        let days = ["2024-02-29", "2024-12-31", "2025-07-01", "2025-12-31"];
        for created in times {
            for used in days {
                for now in times {
                    let secret = secret(created, &[(LAST_USED, used)]);
                    let mut now = Time::parse(now).expect("a time");
                    let mut waits = 0;
                    while let Step::Wait(delay) = step(&secret, &now, PERIOD) {
                        assert!(!delay.is_zero());
                        now = Time::from_unix(
                            now.unix_seconds() + i64::try_from(delay.as_secs()).expect("small"),
                            0,
                        );
                        waits += 1;
                    }
                    assert!(waits <= 2, "{created} {used}");
                }
            }
        }
    }
}
