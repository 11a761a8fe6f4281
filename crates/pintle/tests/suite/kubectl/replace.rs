//! `kubectl replace`, and `scale` where it does not patch.

use serde_json::Value;

use super::OBJECTS;
use crate::support::kubectl::Kubectl;
use crate::support::shared::{Shared, on_both_stores};

on_both_stores! {
    objects_are_replaced,
    a_stale_version_is_a_conflict,
    force_makes_another_object,
    status_is_replaced_apart,
    a_known_number_of_replicas_is_scaled,
    an_unchanged_object_keeps_its_version,
}

async fn objects_are_replaced(shared: &Shared) {
    let kubectl = Kubectl::in_namespace(shared, "replace-plain").await;
    kubectl.feed("create -f -", OBJECTS).await;
    let before = kubectl.json("get pod web").await;
    let replaced = kubectl.feed("replace -f -", &OBJECTS.replace("nginx:1.29", "nginx:1.30")).await;
    assert_eq!(replaced, "pod/web replaced\npod/db replaced\nconfigmap/settings replaced\n");
    let after = kubectl.json("get pod web").await;
    assert_eq!(after["spec"]["containers"][0]["image"], "nginx:1.30");
    assert_eq!(after["metadata"]["uid"], before["metadata"]["uid"]);
    assert_eq!((&before["metadata"]["generation"], &after["metadata"]["generation"]), (&1.into(), &2.into()));
    let none = kubectl.run(&["replace", "-f", "-"], &OBJECTS.replace("name: web", "name: none")).await;
    assert!(none.failed("replace").contains("pods \"none\" not found"));
}

async fn a_stale_version_is_a_conflict(shared: &Shared) {
    let kubectl = Kubectl::in_namespace(shared, "replace-stale").await;
    kubectl.feed("create -f -", OBJECTS).await;
    let mut object = kubectl.json("get configmap settings").await;
    object["data"]["first"] = "2".into();
    kubectl.feed("replace -f -", &object.to_string()).await;
    object["data"]["first"] = "3".into();
    let complaint = kubectl.run(&["replace", "-f", "-"], &object.to_string()).await.failed("replace");
    assert!(complaint.contains("(Conflict)"), "{complaint}");
    assert!(
        complaint.contains(
            "Operation cannot be fulfilled on configmaps \"settings\": the object has been modified; please apply \
             your changes to the latest version and try again"
        ),
        "{complaint}"
    );
    assert_eq!(kubectl.ok("get cm settings -o jsonpath={.data.first}").await, "2");
}

async fn force_makes_another_object(shared: &Shared) {
    let kubectl = Kubectl::in_namespace(shared, "replace-force").await;
    kubectl.feed("create -f -", OBJECTS).await;
    let before = kubectl.json("get pod db").await;
    kubectl.feed("replace --force -f -", OBJECTS.split("---").nth(1).expect("the second")).await;
    let after = kubectl.json("get pod db").await;
    assert_ne!(after["metadata"]["uid"], before["metadata"]["uid"]);
}

async fn status_is_replaced_apart(shared: &Shared) {
    let kubectl = Kubectl::in_namespace(shared, "replace-status").await;
    kubectl.feed("create -f -", OBJECTS).await;
    let mut pod = kubectl.json("get pod web").await;
    pod["status"]["phase"] = "Running".into();
    pod["spec"]["containers"][0]["image"] = "other".into();
    let path = "/api/v1/namespaces/replace-status/pods/web";
    kubectl.feed(&format!("replace --raw {path}/status -f -"), &pod.to_string()).await;
    let after = kubectl.json("get pod web").await;
    assert_eq!(after["status"]["phase"], "Running");
    assert_eq!(after["spec"]["containers"][0]["image"], "nginx:1.29", "only the status is taken");
    let status = kubectl.json("get pod web --subresource=status").await;
    assert_eq!(status["status"]["phase"], "Running");
    // And the other way round.
    let mut pod = after;
    pod["status"]["phase"] = "Failed".into();
    kubectl.feed("replace -f -", &pod.to_string()).await;
    assert_eq!(kubectl.ok("get pod web -o jsonpath={.status.phase}").await, "Running");
}

async fn a_known_number_of_replicas_is_scaled(shared: &Shared) {
    let kubectl = Kubectl::in_namespace(shared, "replace-scale").await;
    kubectl.ok("create deployment web --image=nginx --replicas=3").await;
    let scale: Value = kubectl.json("get deployment web --subresource=scale").await;
    assert_eq!((&scale["kind"], &scale["apiVersion"]), (&"Scale".into(), &"autoscaling/v1".into()));
    assert_eq!((&scale["spec"]["replicas"], &scale["status"]["selector"]), (&3.into(), &"app=web".into()));
    // With a condition it is a read and an update; without, it is a patch.
    let scaled = kubectl.ok("scale deployment web --current-replicas=3 --replicas=5").await;
    assert_eq!(scaled, "deployment.apps/web scaled\n");
    let object = kubectl.json("get deployment web").await;
    assert_eq!((&object["spec"]["replicas"], &object["metadata"]["generation"]), (&5.into(), &2.into()));
    let complaint = kubectl.fails("scale deployment web --current-replicas=3 --replicas=6").await;
    assert!(complaint.contains("Expected replicas to be 3, was 5"), "{complaint}");
}

async fn an_unchanged_object_keeps_its_version(shared: &Shared) {
    let kubectl = Kubectl::in_namespace(shared, "replace-same").await;
    kubectl.feed("create -f -", OBJECTS).await;
    let object = kubectl.json("get configmap settings --show-managed-fields").await;
    kubectl.feed("replace -f -", &object.to_string()).await;
    let once = kubectl.json("get configmap settings --show-managed-fields").await;
    kubectl.feed("replace -f -", &once.to_string()).await;
    let twice = kubectl.json("get configmap settings --show-managed-fields").await;
    assert_eq!(once, twice);
}
