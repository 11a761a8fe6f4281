//! Removal of certificate requests that are done with.
//!
//! ```text
//! issued, denied or failed    one hour after that
//! pending                     a day after its creation
//! approved but not issued     a day after its approval
//! issued                      when the certificate has expired
//! ```
//!
//! Each request comes up when its time is over.

use std::time::Duration;

use async_trait::async_trait;
use pintle_auth::x509::{Certificate, pem};
use pintle_meta::time::Time;
use pintle_meta::{Status, Value};
use pintle_registry::Result;
use pintle_runtime::Clock;
use serde_json::json;

use super::{certificate, conditions, has_condition, is_issued};
use crate::api::ApiClient;
use crate::followed::Followed;
use crate::runtime::{Controller, Key, Requeue, Source};
use crate::service_account_tokens::unless_changed;

const HOUR: Duration = Duration::from_secs(60 * 60);
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// Deletes requests whose time is over.
pub struct CertificateRequestCleaner {
    requests: Followed,
    api: ApiClient,
    clock: Clock,
}

impl CertificateRequestCleaner {
    pub const NAME: &'static str = "certificatesigningrequest-cleaner-controller";

    pub fn new(requests: Followed, api: ApiClient, clock: Clock) -> CertificateRequestCleaner {
        CertificateRequestCleaner { requests, api, clock }
    }
}

#[async_trait]
impl Controller for CertificateRequestCleaner {
    fn name(&self) -> &'static str {
        "csrcleaner"
    }

    fn sources(&self) -> Vec<Source> {
        let keys = |entry: &pintle_cache::Entry, deleted: bool| (!deleted).then(|| Key::from(entry.key()));
        vec![Source::informer(self.requests.store().clone(), keys)]
    }

    async fn reconcile(&self, key: &str) -> Result<Requeue> {
        let Some(request) = self.requests.find(key).await? else { return Ok(Requeue::Never) };
        let Some((end, why)) = end(&request) else { return Ok(Requeue::Never) };
        if let Some(left) = left(&end, &self.clock) {
            return Ok(Requeue::After(left));
        }
        tracing::info!(csr = key, "Cleaning CSR as {why}");
        let options = json!({"preconditions": {"uid": request.uid()}});
        unless_changed(self.api.delete(&self.requests.location(&request), options).await)?;
        Ok(Requeue::Never)
    }

    fn failed(&self, key: &str, status: &Status) {
        tracing::error!(csr = key, "Error while attempting to clean CSR: {}", status.message);
    }
}

/// Returns how long it takes until a time is over; `None` if it is.
pub(super) fn left(end: &Time, clock: &Clock) -> Option<Duration> {
    let over = Time::from(clock.now()).nanos_since(end);
    // One nanosecond more: the time itself is not over yet.
    (over <= 0).then(|| Duration::from_nanos(over.unsigned_abs().saturating_add(1)))
}

/// Returns when the time of a request is over, and why; `None` if nothing ends it.
fn end(request: &Value) -> Option<(Time, &'static str)> {
    let mut ends: Vec<(Time, &'static str)> = Vec::new();
    let is_issued = is_issued(request);
    let mut add = |since: &str, after: Duration, why: &'static str| {
        if let Ok(since) = Time::parse(since)
            && !since.is_zero()
        {
            let seconds = i64::try_from(after.as_secs()).unwrap_or(i64::MAX);
            ends.push((Time::from_unix(since.unix_seconds().saturating_add(seconds), 0), why));
        }
    };
    if conditions(request).is_empty() {
        let created = request.text_at(&["metadata", "creationTimestamp"]);
        add(created, DAY, "it is more than pendingExpiration duration old and unhandled.");
    }
    for condition in conditions(request) {
        let since = condition.text_at(&["lastUpdateTime"]);
        match condition.text_at(&["type"]) {
            "Approved" if is_issued => {
                add(since, HOUR, "it is more than approvedExpiration duration old and approved.");
            }
            "Approved" => {
                add(since, DAY, "it is approved but unissued for more than pendingExpiration duration.");
            }
            "Denied" => add(since, HOUR, "it is more than deniedExpiration duration old and denied."),
            "Failed" => add(since, HOUR, "it is more than deniedExpiration duration old and failed."),
            _ => {}
        }
    }
    if is_issued && has_condition(request, "Approved") {
        let block = pem::decode(certificate(request)).map(|(block, _)| block);
        let not_after =
            block.as_ref().and_then(|block| Some(Certificate::parse_first(&block.contents)?.0.not_after()));
        ends.extend(not_after.map(|end| (Time::from_unix(end, 0), "the associated certificate is expired.")));
    }
    ends.into_iter().min_by_key(|(end, _)| end.unix_seconds())
}

#[cfg(test)]
mod tests {
    use super::*;

    const CREATED: &str = "2026-01-01T00:00:00Z";

    /// Returns when a request ends. Conditions are of a type and a time.
    fn ends_at(certificate: &str, conditions: &[(&str, &str)]) -> Option<String> {
        let conditions: Vec<_> = conditions
            .iter()
            .map(|(kind, at)| format!(r#"{{"type":"{kind}","status":"True","lastUpdateTime":"{at}"}}"#))
            .collect();
        let json = format!(
            r#"{{"metadata":{{"name":"r","creationTimestamp":"{CREATED}"}},"status":{{"conditions":[{}]}}}}"#,
            conditions.join(",")
        );
        let mut request = pintle_codec::json::decode_untyped(json.as_bytes()).expect("JSON").value;
        let status = request.get_mut("status").and_then(Value::as_object_mut).expect("a status");
        status.insert("certificate", Value::bytes(certificate.as_bytes()));
        end(&request).map(|(end, _)| end.to_string())
    }

    #[test]
    fn requests_end_an_hour_after_their_decision_and_a_day_without_one() {
        let at = |time: &str| Some(format!("2026-01-{time}:00:00Z"));
        assert_eq!(ends_at("", &[]), at("02T00"));
        assert_eq!(ends_at("", &[("Denied", "2026-01-01T05:00:00Z")]), at("01T06"));
        assert_eq!(ends_at("", &[("Approved", "2026-01-01T05:00:00Z")]), at("02T05"));
        assert_eq!(ends_at("no PEM", &[("Approved", "2026-01-01T05:00:00Z")]), at("01T06"));
        let failed = [("Approved", "2026-01-01T05:00:00Z"), ("Failed", "2026-01-01T07:00:00Z")];
        assert_eq!(ends_at("", &failed), at("01T08"));
        assert_eq!(ends_at("", &[("Other", "2026-01-01T05:00:00Z")]), None);
    }

    #[test]
    fn an_issued_request_ends_with_its_certificate_at_the_latest() {
        let mut params = rcgen::CertificateParams::default();
        params.not_before = rcgen::date_time_ymd(2025, 1, 1);
        params.not_after = rcgen::date_time_ymd(2026, 1, 1);
        let key = rcgen::KeyPair::generate().expect("a key");
        let expired = params.self_signed(&key).expect("a certificate").pem();
        let approved = [("Approved", "2026-01-01T05:00:00Z")];
        assert_eq!(ends_at(&expired, &approved).as_deref(), Some("2026-01-01T00:00:00Z"));
        params.not_after = rcgen::date_time_ymd(2027, 1, 1);
        let good = params.self_signed(&key).expect("a certificate").pem();
        assert_eq!(ends_at(&good, &approved).as_deref(), Some("2026-01-01T06:00:00Z"));
    }
}
