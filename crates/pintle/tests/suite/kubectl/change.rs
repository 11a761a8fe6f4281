//! Commands that change a part of an object, each by a patch of its own making.

use serde_json::{Value, json};

use super::OBJECTS;
use crate::support::kubectl::Kubectl;
use crate::support::shared::{Shared, on_both_stores};

on_both_stores! {
    labels_and_annotations_come_and_go,
    images_and_variables_are_set,
    replicas_are_scaled,
    a_rollout_is_restarted_and_paused,
    an_editor_changes_an_object,
    an_editor_that_errs_is_told,
    nodes_are_cordoned_and_tainted,
    many_change_one_object_at_once,
}

async fn labels_and_annotations_come_and_go(shared: &Shared) {
    let kubectl = Kubectl::in_namespace(shared, "change-labels").await;
    kubectl.feed("create -f -", OBJECTS).await;
    assert_eq!(kubectl.ok("label pod web env=test").await, "pod/web labeled\n");
    assert_eq!(kubectl.ok("label pod web tier-").await, "pod/web unlabeled\n");
    let complaint = kubectl.fails("label pod web env=live").await;
    assert!(complaint.contains("'env' already has a value (test), and --overwrite is false"), "{complaint}");
    kubectl.ok("label pod web env=live --overwrite").await;
    assert_eq!(kubectl.json("get pod web").await["metadata"]["labels"], json!({"app": "web", "env": "live"}));
    kubectl.ok("label pods --all all=yes").await;
    assert_eq!(kubectl.ok("get pods -l all=yes -o name").await, "pod/db\npod/web\n");
    assert_eq!(kubectl.ok("annotate pod web note=x other=y").await, "pod/web annotated\n");
    kubectl.ok("annotate pod web note- other=z --overwrite").await;
    assert_eq!(kubectl.json("get pod web").await["metadata"]["annotations"], json!({"other": "z"}));
}

async fn images_and_variables_are_set(shared: &Shared) {
    let kubectl = Kubectl::in_namespace(shared, "change-image").await;
    kubectl.ok("create deployment web --image=nginx:1").await;
    let done = kubectl.ok("set image deployment/web nginx=nginx:2").await;
    assert_eq!(done, "deployment.apps/web image updated\n");
    kubectl.ok("set env deployment/web A=1 B=2").await;
    kubectl.ok("set env deployment/web A- C=3").await;
    kubectl.ok("set resources deployment web --limits=cpu=200m,memory=512Mi").await;
    kubectl.ok("create serviceaccount robot").await;
    kubectl.ok("set serviceaccount deployment web robot").await;
    let spec = kubectl.json("get deployment web").await["spec"]["template"]["spec"].clone();
    let container = &spec["containers"][0];
    assert_eq!(container["image"], "nginx:2");
    assert_eq!(container["env"], json!([{"name": "B", "value": "2"}, {"name": "C", "value": "3"}]));
    assert_eq!(container["resources"]["limits"], json!({"cpu": "200m", "memory": "512Mi"}));
    assert_eq!(spec["serviceAccountName"], "robot");
    kubectl.ok("create service clusterip web --tcp=80").await;
    kubectl.ok("set selector service web app=other").await;
    assert_eq!(kubectl.json("get service web").await["spec"]["selector"], json!({"app": "other"}));
}

async fn replicas_are_scaled(shared: &Shared) {
    let kubectl = Kubectl::in_namespace(shared, "change-scale").await;
    kubectl.ok("create deployment web --image=nginx").await;
    assert_eq!(kubectl.ok("scale deployment web --replicas=4").await, "deployment.apps/web scaled\n");
    let web = kubectl.json("get deployment web --show-managed-fields").await;
    assert_eq!((&web["spec"]["replicas"], &web["metadata"]["generation"]), (&4.into(), &2.into()));
    let managers = web["metadata"]["managedFields"].as_array().expect("managers");
    assert!(managers.iter().any(|entry| entry["subresource"] == "scale"), "{managers:?}");
    kubectl.ok("autoscale deployment web --min=2 --max=5").await;
    assert_eq!(kubectl.json("get hpa web").await["spec"]["maxReplicas"], 5);
}

async fn a_rollout_is_restarted_and_paused(shared: &Shared) {
    let kubectl = Kubectl::in_namespace(shared, "change-rollout").await;
    kubectl.ok("create deployment web --image=nginx").await;
    assert_eq!(kubectl.ok("rollout restart deployment/web").await, "deployment.apps/web restarted\n");
    let web = kubectl.json("get deployment web").await;
    let annotations = &web["spec"]["template"]["metadata"]["annotations"];
    assert!(annotations["kubectl.kubernetes.io/restartedAt"].is_string(), "{web}");
    assert_eq!(web["metadata"]["generation"], 2);
    kubectl.ok("rollout pause deployment/web").await;
    assert_eq!(kubectl.json("get deployment web").await["spec"]["paused"], true);
    kubectl.ok("rollout resume deployment/web").await;
    assert_eq!(kubectl.json("get deployment web").await["spec"]["paused"], Value::Null);
}

async fn an_editor_changes_an_object(shared: &Shared) {
    let kubectl = Kubectl::in_namespace(shared, "change-edit").await;
    kubectl.ok("create deployment web --image=nginx:1").await;
    let sed = |script: &str| kubectl.clone().with("KUBE_EDITOR", &format!("sed -i '{script}'"));
    let done = sed("s/replicas: 1/replicas: 3/;s/nginx:1/nginx:2/").ok("edit deployment web").await;
    assert_eq!(done, "deployment.apps/web edited\n");
    let web = kubectl.json("get deployment web").await;
    assert_eq!(web["spec"]["replicas"], 3);
    assert_eq!(web["spec"]["template"]["spec"]["containers"][0]["image"], "nginx:2");
    // A field that is gone goes.
    sed("/terminationMessagePath/d;/progressDeadlineSeconds/d").ok("edit deployment web -o json").await;
    let untouched = sed("s/no.such.text/x/").run(&["edit", "deployment", "web"], "").await;
    assert!(untouched.stderr.contains("Edit cancelled, no changes made"), "{untouched:?}");
    let complaint =
        sed("s/resourceVersion:.*/resourceVersion: \"1\"/").run(&["edit", "deployment", "web"], "").await;
    assert!(complaint.stderr.contains("the object has been modified"), "{complaint:?}");
}

async fn an_editor_that_errs_is_told(shared: &Shared) {
    let kubectl = Kubectl::in_namespace(shared, "change-edit-wrong").await;
    kubectl.feed("create -f -", OBJECTS).await;
    let editor = kubectl.clone().with("KUBE_EDITOR", "sed -i 's/first: .*/first: [1]/'");
    let output = editor.run(&["edit", "configmap", "settings"], "").await;
    assert_eq!(output.code, Some(1), "{output:?}");
    assert!(output.stderr.contains("Edit cancelled, no valid changes were saved"), "{output:?}");
    assert_eq!(kubectl.ok("get cm settings -o jsonpath={.data.first}").await, "1");
}

async fn nodes_are_cordoned_and_tainted(shared: &Shared) {
    let kubectl = Kubectl::in_namespace(shared, "change-nodes").await;
    kubectl
        .feed("create -f -", r#"{"apiVersion":"v1","kind":"Node","metadata":{"name":"change-node"}}"#)
        .await;
    kubectl.ok("cordon change-node").await;
    assert_eq!(kubectl.json("get node change-node").await["spec"]["unschedulable"], true);
    kubectl.ok("uncordon change-node").await;
    kubectl.ok("taint node change-node a=b:NoSchedule").await;
    // A new node has the not-ready taint until the node controller removes it.
    let not_ready = json!({"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"});
    let own = json!({"key": "a", "value": "b", "effect": "NoSchedule"});
    let mut taints = kubectl.json("get node change-node").await["spec"]["taints"].clone();
    taints.as_array_mut().expect("taints").sort_by_key(|taint| taint["key"].to_string());
    assert_eq!(taints, json!([own, not_ready]));
    kubectl.ok("taint node change-node a:NoSchedule-").await;
    assert_eq!(kubectl.json("get node change-node").await["spec"], json!({"taints": [not_ready]}));
}

/// Patches without a resource version are retried by the server until no other write intervenes.
async fn many_change_one_object_at_once(shared: &Shared) {
    let kubectl = Kubectl::in_namespace(shared, "change-many").await;
    kubectl.feed("create -f -", OBJECTS).await;
    let labels: Vec<_> = (0..8)
        .map(|n| {
            let kubectl = kubectl.clone();
            tokio::spawn(async move { kubectl.ok(&format!("label pod web l{n}=v{n}")).await })
        })
        .collect();
    for label in labels {
        label.await.expect("a label");
    }
    let pod = kubectl.json("get pod web").await;
    for n in 0..8 {
        assert_eq!(pod["metadata"]["labels"][format!("l{n}")], format!("v{n}"));
    }
}
