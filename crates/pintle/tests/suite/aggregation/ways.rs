//! The way to extension servers: cluster IPs, endpoints, or a proxy.

use std::net::{IpAddr, Ipv4Addr};

use pintle_outbound::testing::proxies::{Behavior, Proxy};
use serde_json::json;

use super::extension_server::{ExtensionServer, Setup};
use super::{API_SERVICES, SERVICES, api_service, available, post, ready, until_available};
use crate::egress::{uds, with_ways};
use crate::kubelets::own_address;
use crate::support::objects::merge;
use crate::support::{Launch, eventually};

const BOATS: &str = "/apis/boats.example.com/v1/namespaces/default/boats";
const SLICES: &str = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices";

fn slice(address: IpAddr, port: u16, ready: bool) -> serde_json::Value {
    json!({"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": "IPv4",
        "metadata": {"name": "boats-1", "labels": {"kubernetes.io/service-name": "boats"}},
        "ports": [{"name": "https", "port": port}],
        "endpoints": [{"addresses": [address], "conditions": {"ready": ready}}]})
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_go_to_ready_endpoints_where_that_is_asked_for() {
    let own = own_address().ip();
    let server = Launch::new().args(&["--enable-aggregator-routing", "--controllers="]).start().await;
    ready(&server).await;
    let extension = ExtensionServer::start(Setup::boats()).await;
    // Its cluster IP leads nowhere.
    let service = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "boats"},
        "spec": {"ports": [{"name": "https", "port": 443}]}});
    post(&server, SERVICES, &service).await;
    let registration = api_service("boats.example.com", "v1", "boats", 443, Some(&extension.authority));
    post(&server, API_SERVICES, &registration).await;
    let name = "v1.boats.example.com";
    eventually("the condition", async || available(&server, name).await.1 == "EndpointsNotFound").await;
    post(&server, SLICES, &slice(own, extension.address.port(), false)).await;
    eventually("the condition", async || available(&server, name).await.1 == "MissingEndpoints").await;
    let message = available(&server, name).await.2;
    let expect = "endpointslices for service/boats in \"default\" have no addresses with port name \"https\"";
    assert_eq!(message, expect);
    let ready = json!({"endpoints": [{"addresses": [own], "conditions": {"ready": true}}]});
    merge(&server, &format!("{SLICES}/boats-1"), &ready).await;
    until_available(&server, name).await;
    server.admin().get(BOATS).await.code_is(200);
    assert_eq!(extension.last(BOATS).all("x-remote-user").len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_go_through_the_proxy_of_the_cluster() {
    let launch = Launch::new();
    let socket = launch.path("cluster.sock");
    let proxy = Proxy::konnectivity(&socket, Behavior::Forward);
    let server = with_ways(launch, &[("cluster", uds("GRPC", &socket))]).start().await;
    ready(&server).await;
    let extension = ExtensionServer::start(Setup::boats()).await;
    let port = extension.address.port();
    let to = format!("boats.inside.example:{port}");
    proxy.knows(&to, (Ipv4Addr::LOCALHOST, port).into());
    let service = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "boats"},
        "spec": {"type": "ExternalName", "externalName": "boats.inside.example", "ports": [{"port": port}]}});
    post(&server, SERVICES, &service).await;
    let registration = api_service("boats.example.com", "v1", "boats", port, Some(&extension.authority));
    post(&server, API_SERVICES, &registration).await;
    until_available(&server, "v1.boats.example.com").await;
    let mut watch = server.admin().follow(&format!("{BOATS}?watch=true"), &[]).await;
    eventually("the watch", async || extension.seen().iter().any(|seen| seen.query == "watch=true")).await;
    extension.put("default", json!({"metadata": {"name": "anna"}}));
    assert_eq!(watch.line().await.expect("an event")["type"], "ADDED");
    assert!(proxy.asked().iter().all(|asked| *asked == to), "{:?}", proxy.asked());
}
