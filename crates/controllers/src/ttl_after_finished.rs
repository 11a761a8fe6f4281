//! `ttl-after-finished-controller`: Jobs that have ended are deleted `spec.ttlSecondsAfterFinished` later.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use pintle_cache::Entry;
use pintle_meta::gvk::GroupVersionResource;
use pintle_meta::time::Time;
use pintle_meta::{Reason, Status, Value};
use pintle_metrics::{Error, Histogram, Registry, exponential_buckets};
use pintle_registry::{Result, Store};
use pintle_runtime::Clock;
use serde_json::json;

use crate::api::{ApiClient, Location};
use crate::runtime::{Controller, Key, Requeue, Source};

/// Deletes Jobs that have ended.
pub struct TtlAfterFinished {
    jobs: Arc<Store>,
    api: ApiClient,
    clock: Clock,
    /// How long after they were due Jobs were deleted.
    durations: Histogram,
}

impl TtlAfterFinished {
    pub const NAME: &'static str = "ttl-after-finished-controller";

    pub fn new(
        jobs: Arc<Store>,
        api: ApiClient,
        clock: Clock,
        registry: &Registry,
    ) -> std::result::Result<TtlAfterFinished, Error> {
        let durations = registry.histogram(
            "ttl_after_finished_controller_job_deletion_duration_seconds",
            "The time it took to delete the job since it became eligible for deletion",
            &exponential_buckets(0.1, 2.0, 14),
        )?;
        Ok(TtlAfterFinished { jobs, api, clock, durations })
    }

    /// Returns when a Job is due, and how long that is from now, or was ago.
    fn due(&self, job: &Value) -> Result<Option<Due>> {
        let Some(due) = due(job)? else { return Ok(None) };
        let left = due.nanos_since(&Time::from(self.clock.now()));
        Ok(Some(match u64::try_from(left) {
            Ok(left) if left > 0 => Due::In(Duration::from_nanos(left)),
            _ => Due::Since(Duration::from_nanos(left.unsigned_abs())),
        }))
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Due {
    In(Duration),
    Since(Duration),
}

/// Returns when a Job is due; `None` if it has not ended, may stay, or is being deleted.
fn due(job: &Value) -> Result<Option<Time>> {
    let ttl = job.at(&["spec", "ttlSecondsAfterFinished"]).and_then(Value::as_i64);
    let (Some(ttl), Some(end)) = (ttl.filter(|_| job.deletion_timestamp().is_none()), end(job)) else {
        return Ok(None);
    };
    let Ok(end) = Time::parse(end.text_at(&["lastTransitionTime"])) else {
        let (namespace, name) = (job.namespace(), job.name());
        let message = format!("unable to find the time when the Job {namespace}/{name} finished");
        return Err(Box::new(Status::plain(message)));
    };
    Ok(Some(Time::from_unix(end.unix_seconds().saturating_add(ttl), 0)))
}

/// Returns the condition of a Job's end.
fn end(job: &Value) -> Option<&Value> {
    job.items_at(&["status", "conditions"]).iter().find(|condition| {
        matches!(condition.text_at(&["type"]), "Complete" | "Failed")
            && condition.text_at(&["status"]) == "True"
    })
}

fn needs_cleanup(job: &Value) -> bool {
    job.deletion_timestamp().is_none()
        && job.at(&["spec", "ttlSecondsAfterFinished"]).is_some()
        && end(job).is_some()
}

#[async_trait]
impl Controller for TtlAfterFinished {
    fn name(&self) -> &'static str {
        "ttl_jobs_to_delete"
    }

    fn sources(&self) -> Vec<Source> {
        let jobs = self.jobs.clone();
        let keys = move |entry: &Entry, deleted: bool| {
            let job = jobs.object(entry).ok().filter(|_| !deleted)?;
            needs_cleanup(&job).then(|| Key::from(entry.key()))
        };
        vec![Source::informer(self.jobs.clone(), keys)]
    }

    async fn reconcile(&self, key: &str) -> Result<Requeue> {
        let Some((namespace, name)) = key.split_once('/') else { return Ok(Requeue::Never) };
        let location = Location::object(GroupVersionResource::new("batch", "v1", "jobs"), namespace, name);
        // Read as the store has it: the last moment to change the time to live is now.
        let Some(job) = self.api.find(&location).await? else { return Ok(Requeue::Never) };
        let late = match self.due(&job)? {
            None => return Ok(Requeue::Never),
            Some(Due::In(left)) => return Ok(Requeue::After(left)),
            Some(Due::Since(late)) => late,
        };
        let options = json!({"propagationPolicy": "Foreground", "preconditions": {"uid": job.uid()}});
        match self.api.delete(&location, options).await {
            Err(status) if status.reason == Reason::NotFound => {}
            Err(status) => return Err(status),
            Ok(()) => self.durations.observe(late.as_secs_f64()),
        }
        Ok(Requeue::Never)
    }

    fn failed(&self, key: &str, status: &Status) {
        tracing::error!("error cleaning up Job {key}, will retry: {}", status.message);
    }

    fn workers(&self) -> usize {
        5
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(spec: &str, conditions: &str) -> Value {
        let json = format!(
            r#"{{"metadata":{{"namespace":"n","name":"j"}},"spec":{{{spec}}},"status":{{"conditions":[{conditions}]}}}}"#
        );
        pintle_codec::json::decode_untyped(json.as_bytes()).expect("JSON").value
    }

    const COMPLETE: &str =
        r#"{"type":"Complete","status":"True","lastTransitionTime":"2026-01-01T00:00:00Z"}"#;

    #[test]
    fn a_job_is_due_some_seconds_after_its_end() {
        let due = |spec: &str, conditions: &str| {
            due(&job(spec, conditions)).expect("a time").map(|time| time.to_string())
        };
        let ttl = r#""ttlSecondsAfterFinished":90"#;
        assert_eq!(due(ttl, COMPLETE).as_deref(), Some("2026-01-01T00:01:30Z"));
        assert_eq!(due("", COMPLETE), None, "it may stay");
        assert_eq!(due(ttl, ""), None, "it has not ended");
        assert_eq!(due(ttl, &COMPLETE.replace("True", "False")), None);
        assert_eq!(due(ttl, &COMPLETE.replace("Complete", "Suspended")), None);
        assert!(due(ttl, &COMPLETE.replace("Complete", "Failed")).is_some());
    }

    #[test]
    fn an_end_without_a_time_is_an_error() {
        let ended = job(r#""ttlSecondsAfterFinished":0"#, r#"{"type":"Failed","status":"True"}"#);
        let status = due(&ended).expect_err("no time");
        assert_eq!(status.message, "unable to find the time when the Job n/j finished");
        assert!(needs_cleanup(&ended));
    }
}
