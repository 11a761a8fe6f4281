//! `kubectl get componentstatuses`.

use serde_json::{Value, json};

use crate::support::kubectl::Kubectl;
use crate::support::shared::{Shared, on_both_stores};

on_both_stores! {
    the_store_is_healthy_and_the_others_are_asked,
    component_statuses_can_be_selected_but_not_watched,
}

async fn the_store_is_healthy_and_the_others_are_asked(shared: &Shared) {
    let kubectl = Kubectl::of(&shared.server);
    let output = kubectl.run(&["get", "cs"], "").await;
    assert!(output.stderr.contains("v1 ComponentStatus is deprecated in v1.19+"), "{}", output.stderr);
    let table = output.succeeded("get cs");
    let mut lines = table.lines();
    let head = lines.next().unwrap_or_default();
    assert_eq!(head.split_whitespace().collect::<Vec<_>>(), ["NAME", "STATUS", "MESSAGE", "ERROR"]);
    let mut names: Vec<&str> = lines.filter_map(|line| line.split_whitespace().next()).collect();
    names.sort_unstable();
    assert_eq!(names, ["controller-manager", "etcd-0", "scheduler"]);
    assert_eq!(
        kubectl.json("get cs etcd-0").await,
        json!({
            "kind": "ComponentStatus", "apiVersion": "v1", "metadata": {"name": "etcd-0"},
            "conditions": [{"type": "Healthy", "status": "True", "message": "ok"}],
        })
    );
    let missing = kubectl.fails("get cs nobody").await;
    assert!(missing.contains("componentstatus \"nobody\" not found"), "{missing}");
}

async fn component_statuses_can_be_selected_but_not_watched(shared: &Shared) {
    let kubectl = Kubectl::of(&shared.server);
    assert_eq!(
        kubectl.ok("get cs --field-selector=metadata.name=etcd-0 -o name").await,
        "componentstatus/etcd-0\n"
    );
    assert_eq!(kubectl.ok("get cs -l a=b -o name").await, "");
    let refused = kubectl.fails("get cs --field-selector=spec.a=b").await;
    assert!(refused.contains("is not a known field selector"), "{refused}");
    let refused = kubectl.fails("get --raw /api/v1/componentstatuses?watch=1").await;
    assert!(
        refused.contains("watch is not supported on resources of kind \"componentstatuses\""),
        "{refused}"
    );
    let list = kubectl.ok("get --raw /api/v1/componentstatuses?fieldSelector=metadata.name%3Detcd-0").await;
    let list: Value = serde_json::from_str(&list).expect("a list");
    assert_eq!(
        list,
        json!({
            "kind": "ComponentStatusList", "apiVersion": "v1", "metadata": {},
            "items": [{
                "metadata": {"name": "etcd-0"},
                "conditions": [{"type": "Healthy", "status": "True", "message": "ok"}],
            }],
        })
    );
}
