//! `kubectl delete`.

use serde_json::{Value, json};

use super::OBJECTS;
use crate::support::eventually;
use crate::support::kubectl::Kubectl;
use crate::support::shared::{Shared, on_both_stores};

on_both_stores! {
    objects_go_by_name_file_selector_and_all,
    a_bound_pod_waits_for_its_grace,
    finalizers_hold_an_object,
    dependents_are_orphaned_where_asked_for,
    a_namespace_goes_when_it_is_finalized,
}

async fn objects_go_by_name_file_selector_and_all(shared: &Shared) {
    let kubectl = Kubectl::in_namespace(shared, "delete-many").await;
    let objects = OBJECTS.replace("  nodeName: worker\n", "");
    kubectl.feed("create -f -", &objects).await;
    for name in ["a", "b", "c", "d"] {
        kubectl.ok(&format!("create configmap {name}")).await;
    }
    assert_eq!(
        kubectl.ok("delete configmap a").await.replace(" from delete-many namespace", ""),
        "configmap \"a\" deleted\n"
    );
    let complaint = kubectl.fails("delete configmap a").await;
    assert!(complaint.contains("configmaps \"a\" not found"), "{complaint}");
    assert_eq!(kubectl.ok("delete configmap a --ignore-not-found").await, "");
    kubectl.ok("delete pod -l app=web").await;
    assert_eq!(kubectl.ok("get pods -o name").await, "pod/db\n");
    kubectl.ok("delete configmap --field-selector=metadata.name=b").await;
    assert_eq!(kubectl.ok("get cm -o name").await, "configmap/c\nconfigmap/d\nconfigmap/settings\n");
    let gone = kubectl.feed("delete -f - --ignore-not-found -o name", &objects).await;
    assert_eq!(gone, "pod/db\nconfigmap/settings\n");
    kubectl.ok("delete configmaps,pods --all").await;
    assert_eq!(kubectl.ok("get pods,configmaps -o name").await, "");
    // The whole collection in one request, as no kubectl command does.
    kubectl.feed("create -f -", &objects).await;
    let list = kubectl.ok("delete --raw /api/v1/namespaces/delete-many/pods?labelSelector=app%3Ddb").await;
    let list: Value = serde_json::from_str(&list).expect("a list");
    assert_eq!((&list["kind"], list["items"].as_array().map(Vec::len)), (&"PodList".into(), Some(1)));
    assert_eq!(kubectl.ok("get pods -o name").await, "pod/web\n");
}

async fn a_bound_pod_waits_for_its_grace(shared: &Shared) {
    let kubectl = Kubectl::in_namespace(shared, "delete-grace").await;
    kubectl.feed("create -f -", OBJECTS).await;
    kubectl.ok("delete pod web --wait=false").await;
    let pod = kubectl.json("get pod web").await;
    assert_eq!(pod["metadata"]["deletionGracePeriodSeconds"], 30);
    assert!(pod["metadata"]["deletionTimestamp"].is_string(), "{pod}");
    kubectl.ok("delete pod web --grace-period=5 --wait=false").await;
    assert_eq!(kubectl.json("get pod web").await["metadata"]["deletionGracePeriodSeconds"], 5, "shorter");
    // Waits until the pod is deleted with no grace period, as its kubelet does once the pod has ended.
    let mut waiting = kubectl.follow("delete pod web");
    assert!(waiting.line().await.starts_with("pod \"web\" deleted"));
    kubectl.ok("delete pod web --force --grace-period=0").await;
    assert!(waiting.rest().await.is_empty());
    assert!(kubectl.fails("get pod web").await.contains("not found"));
}

async fn finalizers_hold_an_object(shared: &Shared) {
    let kubectl = Kubectl::in_namespace(shared, "delete-finalizers").await;
    let held = json!({"apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "held", "finalizers": ["example.org/hold"]}});
    kubectl.feed("create -f -", &held.to_string()).await;
    let complaint = kubectl.fails("delete configmap held --timeout=1s").await;
    assert!(complaint.contains("timed out waiting for the condition"), "{complaint}");
    let mut object = kubectl.json("get configmap held").await;
    assert!(object["metadata"]["deletionTimestamp"].is_string(), "{object}");
    let waiting = kubectl.clone();
    let waiting =
        tokio::spawn(async move { waiting.ok("wait --for=delete configmap/held --timeout=15s").await });
    object["metadata"]["finalizers"] = json!([]);
    kubectl.feed("replace -f -", &object.to_string()).await;
    waiting.await.expect("no panic");
    assert!(kubectl.fails("get configmap held").await.contains("not found"));
}

async fn dependents_are_orphaned_where_asked_for(shared: &Shared) {
    let kubectl = Kubectl::in_namespace(shared, "delete-cascade").await;
    kubectl.ok("create deployment web --image=nginx").await;
    // The garbage collector is another program, so the finalizer that it handles stays.
    for (cascade, finalizer) in [("orphan", "orphan"), ("foreground", "foregroundDeletion")] {
        kubectl.ok(&format!("delete deployment web --cascade={cascade} --wait=false")).await;
        let finalizers = kubectl.json("get deployment web").await["metadata"]["finalizers"].clone();
        assert_eq!(finalizers, json!([finalizer]), "{cascade}");
    }
    kubectl.ok("delete deployment web --cascade=background").await;
    assert!(kubectl.fails("get deployment web").await.contains("not found"));
}

async fn a_namespace_goes_when_it_is_finalized(shared: &Shared) {
    let kubectl = Kubectl::in_namespace(shared, "delete-namespace").await;
    kubectl.ok("create configmap before").await;
    kubectl.ok("delete namespace delete-namespace --wait=false").await;
    let mut namespace = kubectl.json("get namespace delete-namespace").await;
    assert_eq!(namespace["status"]["phase"], "Terminating");
    assert_eq!(namespace["spec"]["finalizers"], json!(["kubernetes"]));
    // As soon as every server has heard of it, nothing can be created there any more.
    eventually("a refusal", async || {
        let output = kubectl.run(&["create", "configmap", "late", "--dry-run=server"], "").await;
        output.stderr.contains(
            "configmaps \"late\" is forbidden: unable to create new content in namespace delete-namespace because it \
             is being terminated",
        )
    })
    .await;
    namespace["spec"]["finalizers"] = json!([]);
    let path = "/api/v1/namespaces/delete-namespace/finalize";
    kubectl.feed(&format!("replace --raw {path} -f -"), &namespace.to_string()).await;
    kubectl.ok("wait --for=delete namespace/delete-namespace --timeout=10s").await;
    assert!(kubectl.fails("get namespace delete-namespace").await.contains("not found"));
    for name in ["default", "kube-system", "kube-public"] {
        let complaint = kubectl.fails(&format!("delete namespace {name}")).await;
        assert!(complaint.contains("this namespace may not be deleted"), "{complaint}");
    }
}
