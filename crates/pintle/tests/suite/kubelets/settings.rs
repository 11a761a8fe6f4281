//! Flags and gates of connections to kubelets, pods and nodes.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use http::Method;
use pintle_kubelet_testing::Options;
use pintle_outbound::testing::proxies::{Behavior, Proxy};
use pintle_outbound::testing::{HttpsServer, Reply};
use serde_json::{Value, json};

use super::{Cluster, JSON, MERGE};
use crate::egress::{uds, with_ways};
use crate::support::{Launch, MASTER};

const PODS: &str = "/api/v1/namespaces/default/pods";

/// Makes a node with this status, and a pod on it.
async fn elsewhere(cluster: &Cluster, name: &str, status: Value) {
    cluster.send(Method::POST, "/api/v1/nodes", JSON, &json!({"metadata": {"name": name}})).await;
    let path = format!("/api/v1/nodes/{name}/status");
    cluster.send(Method::PATCH, &path, MERGE, &json!({"status": status})).await;
    let pod = json!({"metadata": {"name": format!("on-{name}")},
        "spec": {"nodeName": name, "containers": [{"name": "c", "image": "x"}]}});
    cluster.send(Method::POST, PODS, JSON, &pod).await;
}

#[tokio::test]
async fn the_rate_of_a_connection_is_limited() {
    let cluster = Cluster::start(&["--max-connection-bytes-per-sec=100000"]).await;
    for websocket in ["true", "false"] {
        let kubectl = cluster.kubectl.clone().with("KUBECTL_REMOTE_COMMAND_WEBSOCKETS", websocket);
        let begun = Instant::now();
        let ran = kubectl.run(&["exec", "web", "--", "head", "-c", "300000", "/dev/zero"], "").await;
        assert_eq!((ran.code, ran.stdout.len()), (Some(0), 300_000), "{}", ran.stderr);
        assert!(begun.elapsed() > Duration::from_secs(2), "{websocket}: {:?}", begun.elapsed());
    }
}

#[tokio::test]
async fn a_kubelet_is_at_the_preferred_address_and_else_at_the_port_of_the_flag() {
    let options = Options { address: Some(([127, 0, 0, 1], 0).into()), ..Options::default() };
    let cluster = Cluster::with(&["--kubelet-preferred-address-types=ExternalIP,InternalIP"], options).await;
    cluster.kubelet.log("there");
    let port = cluster.kubelet.address.port();
    let endpoints = json!({"kubeletEndpoint": {"Port": port}});
    let addresses = json!([
        {"type": "InternalIP", "address": "192.0.2.1"}, {"type": "ExternalIP", "address": "127.0.0.1"},
    ]);
    elsewhere(&cluster, "far", json!({"addresses": addresses, "daemonEndpoints": endpoints})).await;
    assert_eq!(cluster.kubectl.ok("logs on-far").await, "there\n");
    let unknown = json!([{"type": "Hostname", "address": "localhost"}]);
    elsewhere(&cluster, "lost", json!({"addresses": unknown})).await;
    let lost = cluster.server.client().token(MASTER).get(&format!("{PODS}/on-lost/log")).await;
    let message = "no preferred addresses found; known addresses: [{Hostname localhost}]";
    assert_eq!((lost.code, &lost.json()["message"]), (500, &json!(message)));

    let flag = format!("--kubelet-port={port}");
    let launch = Launch::new().tokens().arg(flag);
    let server = launch.start().await;
    crate::support::shared::ready(&server).await;
    let kubectl = crate::support::kubectl::Kubectl::of(&server);
    let cluster = Cluster { server, kubelet: cluster.kubelet, kubectl };
    elsewhere(&cluster, "near", json!({"addresses": [{"type": "InternalIP", "address": "127.0.0.1"}]})).await;
    // The kubelet refuses this server, which has no certificate: it was asked.
    let refused = cluster.server.client().token(MASTER).get(&format!("{PODS}/on-near/log")).await;
    assert_eq!(refused.code, 401, "{}", refused.body);
    let failed = cluster.kubectl.fails("logs on-near").await;
    assert!(
        failed.contains("You must be logged in to the server") || failed.contains("Unauthorized"),
        "{failed}"
    );
}

#[tokio::test]
async fn kubelets_and_pods_are_reached_through_the_proxy_of_the_cluster() {
    let launch = Launch::new();
    let socket = launch.path("cluster.sock");
    let proxy = Proxy::konnectivity(&socket, Behavior::Forward);
    let way = with_ways(launch, &[("cluster", uds("GRPC", &socket))]);
    let cluster = Cluster::launched(way, &[], Options::default()).await;
    let target = HttpsServer::start(|seen| Reply::text(200, &format!("{} {}", seen.method, seen.path))).await;
    let to = |name: &str, address: SocketAddr| proxy.knows(name, address);
    to("localhost:10250", cluster.kubelet.address);
    to("10.9.9.9:8443", target.address);
    let endpoints = json!({"kubeletEndpoint": {"Port": 10250}});
    let addresses = json!([{"type": "Hostname", "address": "localhost"}]);
    elsewhere(&cluster, "inside", json!({"addresses": addresses, "daemonEndpoints": endpoints})).await;
    cluster.kubelet.log("inside");
    assert_eq!(cluster.kubectl.ok("logs on-inside").await, "inside\n");
    for websocket in ["true", "false"] {
        let kubectl = cluster.kubectl.clone().with("KUBECTL_REMOTE_COMMAND_WEBSOCKETS", websocket);
        assert_eq!(kubectl.ok("exec on-inside -- echo hi").await, "hi\n", "{websocket}");
    }
    let status = json!({"status": {"podIP": "10.9.9.9", "podIPs": [{"ip": "10.9.9.9"}]}});
    cluster.send(Method::PATCH, &format!("{PODS}/on-inside/status"), MERGE, &status).await;
    let client = cluster.server.client().token(MASTER);
    client.get(&format!("{PODS}/https:on-inside:8443/proxy/x")).await.is(200, "GET /x");
    let asked = proxy.asked();
    assert!(asked.iter().any(|to| to == "localhost:10250") && asked.iter().any(|to| to == "10.9.9.9:8443"));
}

#[tokio::test]
async fn a_kubelet_that_speaks_websocket_is_left_to_do_so() {
    let gates = "--feature-gates=ExtendWebSocketsToKubelet=true,NodeDeclaredFeatures=true";
    let cluster = Cluster::start(&[gates]).await;
    let features = json!({"status": {"declaredFeatures": ["ExtendWebSocketsToKubelet"]}});
    cluster.send(Method::PATCH, "/api/v1/nodes/n/status", MERGE, &features).await;
    // The kubelet of these tests does not speak version 5, so kubectl falls back to SPDY.
    assert_eq!(cluster.kubectl.ok("exec web -- echo hi").await, "hi\n");
    let asked = cluster.kubelet.seen();
    let first = asked.iter().find(|seen| seen.path.starts_with("/exec/")).expect("a request");
    assert_eq!(first.headers["sec-websocket-protocol"], "v5.channel.k8s.io");
    let metrics = cluster.server.admin().get("/metrics").await.body;
    let counted = "apiserver_websocket_streaming_requests_total{proxy_type=\"proxied_to_kubelet\",subresource=\"exec\"}";
    assert!(metrics.contains(counted), "it is counted");
    assert!(!metrics.contains("proxy_type=\"translated_at_apiserver\",subresource=\"exec\""));
}
