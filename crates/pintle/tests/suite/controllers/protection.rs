//! Objects that are in use are not removed, and go when nothing uses them any more.

use serde_json::{Value, json};

use super::{delete, delete_at_once, is_gone, merge, post, with_controllers};
use crate::support::shared::ready;
use crate::support::{Server, eventually};

const CLAIMS: &str = "/api/v1/namespaces/default/persistentvolumeclaims";
const VOLUMES: &str = "/api/v1/persistentvolumes";
const CLASSES: &str = "/apis/storage.k8s.io/v1/volumeattributesclasses";
const PODS: &str = "/api/v1/namespaces/default/pods";

async fn started(controllers: &str) -> Server {
    let gates = "--feature-gates=GenericWorkload=true,PersistentVolumeClaimUnusedSinceTime=true";
    let groups = "--runtime-config=scheduling.k8s.io/v1alpha2=true";
    let server = with_controllers(controllers).args(&[gates, groups]).start().await;
    ready(&server).await;
    server
}

fn claim(name: &str) -> Value {
    json!({"metadata": {"name": name}, "spec": {
        "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}},
    }})
}

fn pod(name: &str, node: &str, claim: &str) -> Value {
    let volume = json!({"name": "v", "persistentVolumeClaim": {"claimName": claim}});
    let containers = json!([{"name": "c", "image": "i"}]);
    let mut pod =
        json!({"metadata": {"name": name}, "spec": {"containers": containers, "volumes": [volume]}});
    if !node.is_empty() {
        pod["spec"]["nodeName"] = json!(node);
    }
    pod
}

/// Returns whether an object is still there and being deleted after a while.
async fn stays(server: &Server, path: &str) -> bool {
    tokio::time::sleep(std::time::Duration::from_millis(400)).await;
    let found = server.admin().get(path).await;
    found.code == 200 && !found.json()["metadata"]["deletionTimestamp"].is_null()
}

#[tokio::test]
async fn a_claim_goes_after_the_pods_that_use_it() {
    let server = started("pvc-protection").await;
    for (name, node, claim_name) in [("used", "n", "c"), ("pending", "", "d")] {
        post(&server, CLAIMS, &claim(claim_name)).await;
        post(&server, PODS, &pod(name, node, claim_name)).await;
    }
    let condition = async || {
        let found = server.admin().get(&format!("{CLAIMS}/c")).await.gives(200);
        found["status"]["conditions"][0]["reason"].as_str().unwrap_or_default().to_owned()
    };
    eventually("it is said to be used", async || condition().await == "PodUsingPVC").await;
    delete(&server, &format!("{CLAIMS}/c")).await;
    assert!(stays(&server, &format!("{CLAIMS}/c")).await);
    delete_at_once(&server, &format!("{PODS}/used")).await;
    eventually("it goes", async || is_gone(&server, &format!("{CLAIMS}/c")).await).await;
    // A pod without a node cannot start with a claim that is being deleted.
    delete(&server, &format!("{CLAIMS}/d")).await;
    eventually("the other goes", async || is_gone(&server, &format!("{CLAIMS}/d")).await).await;

    // One that lost the finalizer gets it again, and one that no pod uses goes at once.
    post(&server, CLAIMS, &claim("e")).await;
    let path = format!("{CLAIMS}/e");
    merge(&server, &path, &json!({"metadata": {"finalizers": null}})).await;
    eventually("the finalizer is there again", async || {
        let found = server.admin().get(&path).await.gives(200);
        found["metadata"]["finalizers"] == json!(["kubernetes.io/pvc-protection"])
    })
    .await;
    delete(&server, &path).await;
    eventually("it goes at once", async || is_gone(&server, &path).await).await;
}

#[tokio::test]
async fn volumes_and_classes_go_after_their_users() {
    let server = started("pv-protection,volumeattributesclass-protection-controller").await;
    let class =
        json!({"metadata": {"name": "gold"}, "driverName": "d.example.com", "parameters": {"a": "b"}});
    post(&server, CLASSES, &class).await;
    let volume = json!({"metadata": {"name": "v"}, "spec": {
        "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "volumeAttributesClassName": "gold",
        "csi": {"driver": "d.example.com", "volumeHandle": "h"},
    }});
    post(&server, VOLUMES, &volume).await;
    let (volume, class) = (format!("{VOLUMES}/v"), format!("{CLASSES}/gold"));
    merge(&server, &format!("{volume}/status"), &json!({"status": {"phase": "Bound"}})).await;
    delete(&server, &volume).await;
    delete(&server, &class).await;
    assert!(stays(&server, &volume).await && stays(&server, &class).await);
    merge(&server, &format!("{volume}/status"), &json!({"status": {"phase": "Released"}})).await;
    eventually("the volume goes", async || is_gone(&server, &volume).await).await;
    eventually("and the class", async || is_gone(&server, &class).await).await;
}

#[tokio::test]
async fn a_pod_group_goes_after_its_pods() {
    let server = started("podgroup-protection-controller").await;
    let groups = "/apis/scheduling.k8s.io/v1alpha2/namespaces/default/podgroups";
    let group = json!({"metadata": {"name": "g"}, "spec": {"schedulingPolicy": {"basic": {}}}});
    post(&server, groups, &group).await;
    let mut pod = pod("p", "n", "c");
    pod["spec"]["schedulingGroup"] = json!({"podGroupName": "g"});
    post(&server, PODS, &pod).await;
    let group = format!("{groups}/g");
    delete(&server, &group).await;
    assert!(stays(&server, &group).await);
    merge(&server, &format!("{PODS}/p/status"), &json!({"status": {"phase": "Succeeded"}})).await;
    eventually("it goes", async || is_gone(&server, &group).await).await;
}
