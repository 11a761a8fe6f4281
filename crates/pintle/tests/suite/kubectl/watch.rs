//! `kubectl get --watch`.

use serde_json::json;

use super::OBJECTS;
use crate::support::eventually;
use crate::support::kubectl::Kubectl;
use crate::support::shared::{Shared, on_both_stores};

on_both_stores! {
    a_watch_shows_what_is_there_and_every_change,
    only_changes_are_shown_where_asked_for,
    objects_no_longer_selected_are_deleted_events,
    one_object_is_watched,
}

async fn a_watch_shows_what_is_there_and_every_change(shared: &Shared) {
    let kubectl = Kubectl::in_namespace(shared, "watch-all").await;
    kubectl.feed("create -f -", OBJECTS).await;
    let mut watch = kubectl.follow("get pods --watch --output-watch-events");
    assert_eq!(watch.line().await, "EVENT NAME READY STATUS RESTARTS AGE");
    assert!(watch.line().await.starts_with("ADDED db 0/2 Pending "));
    assert!(watch.line().await.starts_with("ADDED web 0/1 Pending "));
    let replaced = OBJECTS.replace("nginx:1.29", "nginx:1.30");
    kubectl.feed("replace -f -", &replaced).await;
    assert!(watch.line().await.starts_with("MODIFIED web 0/1 Pending "));
    kubectl.ok("delete pod db --now").await;
    // The deletion timestamp is stored before the pod is deleted, even if no kubelet runs it.
    assert!(watch.line().await.starts_with("MODIFIED db 0/2 Terminating "));
    assert!(watch.line().await.starts_with("DELETED db 0/2 Terminating "));
    kubectl.ok("run late --image=busybox").await;
    assert!(watch.line().await.starts_with("ADDED late 0/1 Pending "));
}

async fn only_changes_are_shown_where_asked_for(shared: &Shared) {
    let kubectl = Kubectl::in_namespace(shared, "watch-only").await;
    kubectl.feed("create -f -", OBJECTS).await;
    let mut watch = kubectl.follow("get configmaps --watch-only -o name");
    // Only a change shows that it has begun, so changes are made until one is shown.
    let mut first = None;
    eventually("a change", async || {
        kubectl.ok("create configmap another").await;
        kubectl.ok("delete configmap another").await;
        first = watch.line_if_any().await;
        first.is_some()
    })
    .await;
    assert_eq!(first.as_deref(), Some("configmap/another"), "not what was there before");
}

async fn objects_no_longer_selected_are_deleted_events(shared: &Shared) {
    let kubectl = Kubectl::in_namespace(shared, "watch-selected").await;
    let object = |app: &str| {
        let metadata = json!({"name": "moving", "labels": {"app": app}});
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}).to_string()
    };
    kubectl.feed("create -f -", &object("here")).await;
    let mut watch = kubectl.follow("get cm -l app=here --watch --output-watch-events --no-headers");
    assert!(watch.line().await.starts_with("ADDED moving 0 "));
    kubectl.feed("replace -f -", &object("there")).await;
    assert!(watch.line().await.starts_with("DELETED moving 0 "));
    kubectl.feed("replace -f -", &object("here")).await;
    assert!(watch.line().await.starts_with("ADDED moving 0 "));
}

async fn one_object_is_watched(shared: &Shared) {
    let kubectl = Kubectl::in_namespace(shared, "watch-one").await;
    kubectl.feed("create -f -", OBJECTS).await;
    let mut watch = kubectl.follow("get pod web --watch --no-headers");
    assert!(watch.line().await.starts_with("web 0/1 Pending "));
    kubectl.ok("run other --image=busybox").await;
    kubectl.ok("delete pod web --now --wait=false").await;
    // Bound to a node, it waits for its end to be confirmed.
    assert!(watch.line().await.starts_with("web 0/1 Terminating "));
    kubectl.ok("delete pod web --force --grace-period=0").await;
    assert!(watch.line().await.starts_with("web 0/1 Terminating "));
}
