//! Webhooks behind proxies: those of services are in the cluster, those of URLs in the control plane.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use pintle_outbound::testing::proxies::{Behavior, Proxy};
use pintle_outbound::testing::{HttpsOptions, HttpsServer};
use serde_json::{Value, json};

use super::Session;
use super::conversion::{V1, V2, boat, boats, review};
use crate::egress::{uds, with_ways};
use crate::support::{Launch, eventually};

/// The proxies of the cluster and of the control plane have been asked for this.
async fn asked(client_config: Value, to: &str) -> (bool, bool) {
    let options = HttpsOptions { names: vec!["hook.default.svc"], ..HttpsOptions::default() };
    let webhook = HttpsServer::start_with(options, review).await;
    let launch = Launch::new();
    let sockets = [launch.path("cluster.sock"), launch.path("plane.sock")];
    let cluster = Proxy::konnectivity(&sockets[0], Behavior::Forward);
    let plane = Proxy::uds(&sockets[1], Behavior::Forward);
    for proxy in [&cluster, &plane] {
        proxy.knows(to, webhook.address);
    }
    let ways = [("cluster", uds("GRPC", &sockets[0])), ("controlplane", uds("HTTPConnect", &sockets[1]))];
    let server = with_ways(launch, &ways).start().await;
    let mut session = Session::to(&server).await;
    let mut config = client_config;
    config["caBundle"] = STANDARD.encode(&webhook.authority.pem).into();
    session.install(&boats(config)).await;
    let spec = json!({"type": "ExternalName", "externalName": "hook.inside.example"});
    let service = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "hook"}, "spec": spec});
    session.post("/api/v1/namespaces/default/services", &service).await.gives(201);
    session.post(V1, &boat("anna", "A7")).await.gives(201);
    eventually("the conversion", async || session.get(&format!("{V2}/anna")).await.code == 200).await;
    assert!(!webhook.seen().is_empty());
    let has_asked = |proxy: &Proxy| proxy.asked().iter().any(|asked| asked == to);
    (has_asked(&cluster), has_asked(&plane))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_service_is_reached_through_the_proxy_of_the_cluster() {
    let service = json!({"service": {"namespace": "default", "name": "hook", "port": 8443}});
    assert_eq!(asked(service, "hook.inside.example:8443").await, (true, false));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_url_is_reached_through_the_proxy_of_the_control_plane() {
    let url = json!({"url": "https://hook.default.svc:8443/convert"});
    assert_eq!(asked(url, "hook.default.svc:8443").await, (false, true));
}
