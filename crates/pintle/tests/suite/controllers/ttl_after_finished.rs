//! Jobs are deleted some time after they have ended.

use std::time::{Duration, Instant};

use http::Method;
use serde_json::{Value, json};

use super::{merge, post, send, with_controllers};
use crate::support::shared::ready;
use crate::support::{Server, eventually};

const JOBS: &str = "/apis/batch/v1/namespaces/default/jobs";

async fn make_finished_job(server: &Server, name: &str, ttl: Option<u32>) {
    let template = json!({"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}});
    let mut job = json!({"metadata": {"name": name}, "spec": {"template": template}});
    if let Some(ttl) = ttl {
        job["spec"]["ttlSecondsAfterFinished"] = json!(ttl);
    }
    let mut job = post(server, JOBS, &job).await;
    let now = job["metadata"]["creationTimestamp"].clone();
    let condition =
        |kind: &str| json!({"type": kind, "status": "True", "lastProbeTime": now, "lastTransitionTime": now});
    job["status"] = json!({
        "startTime": now, "completionTime": now, "succeeded": 1, "uncountedTerminatedPods": {}, "terminating": 0,
        "conditions": [condition("SuccessCriteriaMet"), condition("Complete")],
    });
    send(server, Method::PUT, &format!("{JOBS}/{name}/status"), &job).await.code_is(200);
}

/// Returns whether a Job is gone, or waits for its pods to be deleted before.
async fn is_deleted(server: &Server, name: &str) -> bool {
    let found = server.admin().get(&format!("{JOBS}/{name}")).await;
    found.code == 404 || !found.json()["metadata"]["deletionTimestamp"].is_null()
}

#[tokio::test]
async fn jobs_are_deleted_when_their_time_has_come() {
    let server = with_controllers("ttl-after-finished").start().await;
    ready(&server).await;
    let started = Instant::now();
    make_finished_job(&server, "now", Some(0)).await;
    make_finished_job(&server, "soon", Some(3)).await;
    make_finished_job(&server, "late", Some(3600)).await;
    make_finished_job(&server, "never", None).await;
    eventually("the first is deleted", async || is_deleted(&server, "now").await).await;
    let found = server.admin().get(&format!("{JOBS}/now")).await;
    assert!(found.code == 404 || found.json()["metadata"]["finalizers"] == json!(["foregroundDeletion"]));
    eventually("the second is deleted", async || is_deleted(&server, "soon").await).await;
    assert!(started.elapsed() >= Duration::from_secs(2), "not before");
    // A shorter time counts at once.
    let shorter: Value = json!({"spec": {"ttlSecondsAfterFinished": 0}});
    merge(&server, &format!("{JOBS}/late"), &shorter).await;
    eventually("the third is deleted", async || is_deleted(&server, "late").await).await;
    assert!(!is_deleted(&server, "never").await);
    let metrics = server.admin().get("/metrics").await.body;
    assert!(metrics.contains("ttl_after_finished_controller_job_deletion_duration_seconds_count 3"));
}
