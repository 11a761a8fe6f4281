//! Pods and the nodes that they are bound to: PodTopologyLabels, PodResizeValidator and NodeDeclaredFeatureValidator.

use http::Method;
use serde_json::{Value, json};

use crate::support::shared::ready;
use crate::support::{Answer, Launch, Server};

const NODES: &str = "/api/v1/nodes";
const PODS: &str = "/api/v1/namespaces/default/pods";

async fn send(server: &Server, method: Method, path: &str, body: &Value) -> Answer {
    let kind = match method {
        Method::PATCH => "application/strategic-merge-patch+json",
        _ => "application/json",
    };
    server.admin().request(method, path, &[("content-type", kind)], body.to_string()).await
}

async fn make_node(server: &Server, name: &str, labels: Value, features: &[&str]) {
    let node = json!({"metadata": {"name": name, "labels": labels}});
    send(server, Method::POST, NODES, &node).await.code_is(201);
    let status = json!({"allocatable": {"cpu": "4", "memory": "8Gi"}, "declaredFeatures": features});
    send(server, Method::PATCH, &format!("{NODES}/{name}/status"), &json!({"status": status}))
        .await
        .code_is(200);
}

fn pod(name: &str, node: Option<&str>) -> Value {
    let container = |name: &str| json!({"name": name, "image": "i", "resources": {"requests": {"cpu": "1", "memory": "1Gi"}}});
    json!({
        "metadata": {"name": name, "labels": {"app": "x", "topology.kubernetes.io/zone": "own"}},
        "spec": {"nodeName": node, "containers": [container("c")], "initContainers": [container("i")]},
    })
}

async fn bind(server: &Server, name: &str, node: &str) {
    let binding = json!({"metadata": {"name": name}, "target": {"kind": "Node", "name": node}});
    send(server, Method::POST, &format!("{PODS}/{name}/binding"), &binding).await.code_is(201);
}

async fn labels(server: &Server, pod: &str) -> Value {
    server.admin().get(&format!("{PODS}/{pod}")).await.gives(200)["metadata"]["labels"].clone()
}

#[tokio::test]
async fn bound_pods_have_the_topology_of_their_node() {
    for (gate, zone, region) in [(true, "z", Some("r")), (false, "own", None)] {
        let launch = Launch::new().arg(format!("--feature-gates=PodTopologyLabelsAdmission={gate}"));
        let server = launch.start().await;
        ready(&server).await;
        let topology = json!({
            "topology.kubernetes.io/zone": "z", "topology.kubernetes.io/region": "r",
            "topology.kubernetes.io/rack": "k", "kubernetes.io/hostname": "n",
        });
        make_node(&server, "n", topology, &[]).await;
        make_node(&server, "plain", json!({}), &[]).await;
        let mut expected = json!({"app": "x", "topology.kubernetes.io/zone": zone});
        if let Some(region) = region {
            expected["topology.kubernetes.io/region"] = json!(region);
        }
        send(&server, Method::POST, PODS, &pod("bound", None)).await.code_is(201);
        bind(&server, "bound", "n").await;
        assert_eq!(labels(&server, "bound").await, expected, "{gate}");
        send(&server, Method::POST, PODS, &pod("placed", Some("n"))).await.code_is(201);
        assert_eq!(labels(&server, "placed").await, expected, "{gate}");

        let own = json!({"app": "x", "topology.kubernetes.io/zone": "own"});
        for (name, node) in [("a", "plain"), ("b", "none")] {
            send(&server, Method::POST, PODS, &pod(name, None)).await.code_is(201);
            bind(&server, name, node).await;
            assert_eq!(labels(&server, name).await, own, "{node}");
        }
        // The older resource has no topology in the reference either.
        send(&server, Method::POST, PODS, &pod("legacy", None)).await.code_is(201);
        let binding = json!({"metadata": {"name": "legacy"}, "target": {"kind": "Node", "name": "n"}});
        send(&server, Method::POST, "/api/v1/namespaces/default/bindings", &binding).await.code_is(201);
        assert_eq!(labels(&server, "legacy").await, own);
    }
}

async fn resize(server: &Server, pod: &str, list: &str, name: &str, cpu: &str) -> Answer {
    let container = json!({"name": name, "resources": {"requests": {"cpu": cpu}}});
    send(server, Method::PATCH, &format!("{PODS}/{pod}/resize"), &json!({"spec": {list: [container]}})).await
}

#[tokio::test]
async fn a_resize_must_fit_the_node() {
    let server = Launch::new().start().await;
    ready(&server).await;
    make_node(&server, "n", json!({"kubernetes.io/os": "linux"}), &[]).await;
    make_node(&server, "w", json!({"kubernetes.io/os": "windows"}), &[]).await;
    for (name, node) in [("p", Some("n")), ("other", Some("w")), ("lost", Some("none")), ("free", None)] {
        send(&server, Method::POST, PODS, &pod(name, node)).await.code_is(201);
    }
    let resized = resize(&server, "p", "containers", "c", "4").await.gives(200);
    assert_eq!(resized["spec"]["containers"][0]["resources"]["requests"]["cpu"], "4");
    let refused = |pod: &str, why: &str| format!("pods \"{pod}\" is forbidden: {why}");
    let large = resize(&server, "p", "containers", "c", "4001m").await;
    let why = "node didn't have enough allocatable resources: cpu, requested: 4001, allocatable: 4000";
    large.is_status(403, "Forbidden", &refused("p", why));
    assert_eq!(large.json()["details"]["causes"], json!([{"reason": "NodeCapacity"}]));
    let foreign = resize(&server, "other", "containers", "c", "2").await;
    let why = "pod resize is only supported on linux nodes, node \"w\" is \"windows\"";
    foreign.is_status(403, "Forbidden", &refused("other", why));
    assert_eq!(foreign.json()["details"]["causes"], json!([{"reason": "UnsupportedPlatform"}]));
    let lost = resize(&server, "lost", "containers", "c", "2").await;
    lost.is_status(403, "Forbidden", &refused("lost", "node \"none\" not found"));
    resize(&server, "free", "containers", "c", "100").await.code_is(200);
}

#[tokio::test]
async fn a_resize_of_init_containers_needs_a_node_that_declares_it() {
    const FEATURE: &str = "InPlacePodVerticalScalingInitContainers";
    let server = Launch::new().start().await;
    ready(&server).await;
    make_node(&server, "new", json!({}), &[FEATURE]).await;
    make_node(&server, "old", json!({}), &[]).await;
    for node in ["new", "old"] {
        send(&server, Method::POST, PODS, &pod(node, Some(node))).await.code_is(201);
        resize(&server, node, "containers", "c", "2").await.code_is(200);
    }
    resize(&server, "new", "initContainers", "i", "2").await.code_is(200);
    let why = format!(
        "pods \"old\" is forbidden: pod update requires features {FEATURE} which are not available on node \"old\""
    );
    resize(&server, "old", "initContainers", "i", "2").await.is_status(403, "Forbidden", &why);
    // Other changes need no feature.
    let image = json!({"spec": {"containers": [{"name": "c", "image": "j"}]}});
    send(&server, Method::PATCH, &format!("{PODS}/old"), &image).await.code_is(200);
}
