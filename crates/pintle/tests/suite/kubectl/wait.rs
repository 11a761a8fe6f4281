//! `kubectl wait`, which lists and then watches.

use serde_json::json;

use super::OBJECTS;
use crate::support::kubectl::Kubectl;
use crate::support::shared::{Shared, on_both_stores};

on_both_stores! {
    conditions_fields_and_ends_are_waited_for,
    a_condition_that_holds_is_not_waited_for,
    a_rollout_is_followed,
}

async fn conditions_fields_and_ends_are_waited_for(shared: &Shared) {
    let kubectl = Kubectl::in_namespace(shared, "wait-changes").await;
    kubectl.feed("create -f -", &OBJECTS.replace("  nodeName: worker\n", "")).await;
    let waits = [
        "wait --for=condition=Ready pod/web --timeout=15s",
        "wait --for=jsonpath={.status.phase}=Running pod -l app=web --timeout=15s",
        "wait --for=delete pod/db --timeout=15s",
    ];
    let waiting: Vec<_> = waits.map(|words| kubectl.follow(words)).into_iter().collect();
    let mut pod = kubectl.json("get pod web").await;
    pod["status"]["phase"] = "Running".into();
    pod["status"]["conditions"] = json!([{"type": "Ready", "status": "True"}]);
    let path = "/api/v1/namespaces/wait-changes/pods/web/status";
    kubectl.feed(&format!("replace --raw {path} -f -"), &pod.to_string()).await;
    kubectl.ok("delete pod db").await;
    for (waited, expect) in waiting.into_iter().zip(["pod/web condition met", "pod/web condition met", ""]) {
        let lines = waited.rest().await.join("\n");
        // Newer ones also say what they saw deleted.
        assert!(lines == expect || (expect.is_empty() && lines == "pod/db condition met"), "{lines}");
    }
}

async fn a_condition_that_holds_is_not_waited_for(shared: &Shared) {
    let kubectl = Kubectl::in_namespace(shared, "wait-nothing").await;
    kubectl.ok("wait --for=delete pod/none --timeout=5s").await;
    kubectl.ok("wait --for=jsonpath={.status.phase}=Active namespace/wait-nothing --timeout=5s").await;
    kubectl.ok("run pod --image=busybox").await;
    let complaint = kubectl.fails("wait --for=condition=Ready pod/pod --timeout=1s").await;
    assert!(complaint.contains("timed out waiting for the condition on pods/pod"), "{complaint}");
    let complaint = kubectl.fails("wait --for=condition=Ready pod/none --timeout=1s").await;
    assert!(complaint.contains("pods \"none\" not found"), "{complaint}");
}

async fn a_rollout_is_followed(shared: &Shared) {
    let kubectl = Kubectl::in_namespace(shared, "wait-rollout").await;
    kubectl.ok("create deployment web --image=nginx").await;
    let mut rollout = kubectl.follow("rollout status deployment/web --timeout=15s");
    assert!(rollout.line().await.starts_with("Waiting for deployment"));
    let mut deployment = kubectl.json("get deployment web").await;
    deployment["status"] = json!({"observedGeneration": 1, "replicas": 1, "updatedReplicas": 1, "readyReplicas": 1,
        "availableReplicas": 1});
    let path = "/apis/apps/v1/namespaces/wait-rollout/deployments/web/status";
    kubectl.feed(&format!("replace --raw {path} -f -"), &deployment.to_string()).await;
    let lines = rollout.rest().await;
    assert_eq!(
        lines.last().map(String::as_str),
        Some("deployment \"web\" successfully rolled out"),
        "{lines:?}"
    );
}
