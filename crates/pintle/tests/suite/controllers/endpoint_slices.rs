//! EndpointSlices of services, from the pods that they select.

use http::Method;
use serde_json::{Value, json};

use super::{delete, delete_at_once, is_gone, make_namespace, merge, post, send, with_controllers};
use crate::support::shared::ready;
use crate::support::{Server, eventually};

const PODS: &str = "/api/v1/namespaces/a/pods";
const SERVICES: &str = "/api/v1/namespaces/a/services";
const SLICES: &str = "/apis/discovery.k8s.io/v1/namespaces/a/endpointslices";

async fn started() -> Server {
    let server = with_controllers("endpointslice").start().await;
    ready(&server).await;
    make_namespace(&server, "a").await;
    let labels = json!({"topology.kubernetes.io/zone": "east"});
    post(&server, "/api/v1/nodes", &json!({"metadata": {"name": "n", "labels": labels}})).await;
    server
}

async fn make_service(server: &Server, name: &str) {
    let ports = json!([{"name": "web", "port": 80, "targetPort": "http"}]);
    let spec = json!({"selector": {"app": name}, "ports": ports});
    let labels = json!({"team": "x"});
    post(server, SERVICES, &json!({"metadata": {"name": name, "labels": labels}, "spec": spec})).await;
}

async fn make_pod(server: &Server, name: &str, app: &str, ip: &str) {
    let port = json!({"name": "http", "containerPort": 8080});
    let container = json!({"name": "c", "image": "i", "ports": [port]});
    let spec = json!({"containers": [container], "nodeName": "n"});
    post(server, PODS, &json!({"metadata": {"name": name, "labels": {"app": app}}, "spec": spec})).await;
    let conditions =
        json!([{"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:00:07Z"}]);
    let status = json!({"phase": "Running", "podIP": ip, "podIPs": [{"ip": ip}], "conditions": conditions});
    merge(server, &format!("{PODS}/{name}/status"), &json!({"status": status})).await;
}

async fn slices(server: &Server, service: &str) -> Vec<Value> {
    let selector = format!("{SLICES}?labelSelector=kubernetes.io%2Fservice-name%3D{service}");
    let list = server.admin().get(&selector).await.gives(200);
    list["items"].as_array().cloned().unwrap_or_default()
}

/// Returns name and readiness of the pods in the slices of a service.
async fn endpoints(server: &Server, service: &str) -> Vec<(String, bool)> {
    let slices = slices(server, service).await;
    let all = slices.iter().flat_map(|slice| slice["endpoints"].as_array().cloned().unwrap_or_default());
    let mut found: Vec<_> = all
        .map(|endpoint| {
            let pod = endpoint["targetRef"]["name"].as_str().unwrap_or_default().to_owned();
            (pod, endpoint["conditions"]["ready"] == true)
        })
        .collect();
    found.sort();
    found
}

async fn has(server: &Server, service: &str, expected: &[(&str, bool)]) {
    let expected: Vec<_> = expected.iter().map(|(pod, ready)| ((*pod).to_owned(), *ready)).collect();
    eventually(&format!("{service} has {expected:?}"), async || {
        endpoints(server, service).await == expected && !slices(server, service).await.is_empty()
    })
    .await;
}

#[tokio::test]
async fn slices_follow_pods_and_their_labels() {
    let server = started().await;
    make_service(&server, "web").await;
    make_service(&server, "other").await;
    has(&server, "web", &[]).await;
    make_pod(&server, "p1", "web", "10.0.0.1").await;
    make_pod(&server, "p2", "web", "10.0.0.2").await;
    has(&server, "web", &[("p1", true), ("p2", true)]).await;
    let slice = slices(&server, "web").await.remove(0);
    assert_eq!(slice["addressType"], "IPv4");
    assert_eq!(slice["ports"], json!([{"name": "web", "port": 8080, "protocol": "TCP"}]));
    let metadata = &slice["metadata"];
    assert_eq!(
        metadata["labels"],
        json!({
            "team": "x", "kubernetes.io/service-name": "web",
            "endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io",
        })
    );
    let owner = &metadata["ownerReferences"][0];
    assert_eq!(
        (&owner["kind"], &owner["name"], &owner["controller"]),
        (&json!("Service"), &json!("web"), &json!(true))
    );
    let endpoint = &slice["endpoints"][0];
    assert_eq!((&endpoint["nodeName"], &endpoint["zone"]), (&json!("n"), &json!("east")));
    assert_eq!(endpoint["conditions"], json!({"ready": true, "serving": true, "terminating": false}));

    let not_ready = json!({"status": {"conditions": [{"type": "Ready", "status": "False"}]}});
    merge(&server, &format!("{PODS}/p1/status"), &not_ready).await;
    has(&server, "web", &[("p1", false), ("p2", true)]).await;
    merge(&server, &format!("{PODS}/p2"), &json!({"metadata": {"labels": {"app": "other"}}})).await;
    has(&server, "web", &[("p1", false)]).await;
    has(&server, "other", &[("p2", true)]).await;
    delete_at_once(&server, &format!("{PODS}/p1")).await;
    has(&server, "web", &[]).await;
    merge(&server, &format!("{SERVICES}/web"), &json!({"spec": {"selector": {"app": "other"}}})).await;
    has(&server, "web", &[("p2", true)]).await;
    // For clients that look at the label: the slices are those of kube-controller-manager.
    let manager = &slices(&server, "web").await[0]["metadata"]["managedFields"][0]["manager"];
    assert_eq!(manager, "kube-controller-manager");
}

#[tokio::test]
async fn slices_that_others_change_are_put_right() {
    let server = started().await;
    make_service(&server, "web").await;
    make_pod(&server, "p1", "web", "10.0.0.1").await;
    has(&server, "web", &[("p1", true)]).await;
    let name = slices(&server, "web").await[0]["metadata"]["name"].as_str().expect("a name").to_owned();
    delete(&server, &format!("{SLICES}/{name}")).await;
    assert!(is_gone(&server, &format!("{SLICES}/{name}")).await);
    has(&server, "web", &[("p1", true)]).await;
    let mut slice = slices(&server, "web").await.remove(0);
    let path = format!("{SLICES}/{}", slice["metadata"]["name"].as_str().expect("a name"));
    slice["endpoints"] = json!([]);
    send(&server, Method::PUT, &path, &slice).await.code_is(200);
    has(&server, "web", &[("p1", true)]).await;
}

#[tokio::test]
async fn two_hundred_pods_fill_slices_of_a_hundred() {
    let server = started().await;
    make_service(&server, "web").await;
    for number in 0..205 {
        make_pod(&server, &format!("p{number}"), "web", &format!("10.0.1.{number}")).await;
    }
    eventually("all are there", async || endpoints(&server, "web").await.len() == 205).await;
    let sizes = || async {
        let slices = slices(&server, "web").await;
        slices.iter().map(|slice| slice["endpoints"].as_array().map_or(0, Vec::len)).collect::<Vec<_>>()
    };
    let packed = sizes().await;
    assert!(packed.len() == 3 && packed.iter().all(|size| *size <= 100), "{packed:?}");
    delete_at_once(&server, PODS).await;
    has(&server, "web", &[]).await;
    assert_eq!(sizes().await, [0]);
    let metrics = server.admin().get("/metrics").await.body;
    assert!(metrics.contains("endpoint_slice_controller_endpoints_desired 0"), "{metrics}");
}

/// A pod whose node does not exist is no endpoint, unless the service publishes all of them.
#[tokio::test]
async fn pods_need_a_node() {
    let server = started().await;
    make_service(&server, "web").await;
    make_pod(&server, "p1", "web", "10.0.0.1").await;
    has(&server, "web", &[("p1", true)]).await;
    delete(&server, "/api/v1/nodes/n").await;
    merge(&server, &format!("{SERVICES}/web"), &json!({"metadata": {"labels": {"team": "y"}}})).await;
    has(&server, "web", &[]).await;
    eventually("an event says why", async || {
        let events = server.admin().get("/api/v1/namespaces/a/events").await.gives(200);
        events["items"].as_array().is_some_and(|events| {
            events.iter().any(|event| {
                event["reason"] == "FailedToUpdateEndpointSlices"
                    && event["message"]
                        == "Error updating Endpoint Slices for Service a/web: skipping Pod p1 for Service a/web: Node n Not Found"
            })
        })
    })
    .await;
    merge(&server, &format!("{SERVICES}/web"), &json!({"spec": {"publishNotReadyAddresses": true}})).await;
    has(&server, "web", &[("p1", true)]).await;
}
