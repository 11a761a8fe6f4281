//! Webhooks that are named by a service: found where the service is at the time of each call.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::Method;
use pintle_outbound::testing::{HttpsOptions, HttpsServer, Seen};
use serde_json::{Value, json};

use super::Session;
use super::conversion::{V1, V2, boat, boats, review};
use crate::support::{Launch, Server, eventually};

const SERVICES: &str = "/api/v1/namespaces/default/services";
const HOOK: &str = "/api/v1/namespaces/default/services/hook";
const SLICES: &str = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices";

/// A webhook that goes by the name of the service.
async fn webhook(ip: impl Into<IpAddr>, port: u16) -> HttpsServer {
    let address = SocketAddr::new(ip.into(), port);
    let options = HttpsOptions { names: vec!["hook.default.svc"], address, ..HttpsOptions::default() };
    HttpsServer::start_with(options, review).await
}

/// Starts a server with boats that a service converts; `webhooks` are trusted as its backends.
async fn harbour(launch: Launch, port: u16, webhooks: &[&HttpsServer]) -> (Server, Session) {
    let server = launch.start().await;
    let mut session = Session::to(&server).await;
    let bundle: String = webhooks.iter().map(|webhook| webhook.authority.pem.clone()).collect();
    let service = json!({"namespace": "default", "name": "hook", "path": "/convert/", "port": port});
    session.install(&boats(json!({"service": service, "caBundle": STANDARD.encode(bundle)}))).await;
    (server, session)
}

fn service(spec: Value) -> Value {
    json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "hook"}, "spec": spec})
}

/// Whether a webhook was asked about a boat.
fn was_asked(webhook: &HttpsServer, name: &str) -> bool {
    let is_it = |object: &Value| object["metadata"]["name"] == name;
    let asked =
        |seen: &Seen| seen.json()["request"]["objects"].as_array().is_some_and(|all| all.iter().any(is_it));
    webhook.seen().iter().any(asked)
}

/// Returns the message of the error for a boat that cannot be converted.
async fn failure(session: &mut Session, name: &str) -> String {
    let failed = session.get(&format!("{V2}/{name}")).await;
    assert_eq!(failed.code, 500, "{failed:?}");
    failed.json()["message"].as_str().unwrap_or_default().to_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_webhook_is_where_its_service_is_now() {
    let first = webhook(Ipv4Addr::LOCALHOST, 0).await;
    let port = first.address.port();
    let second = webhook([127, 0, 0, 2], port).await;
    let launch = Launch::new().arg("--service-cluster-ip-range=127.0.0.0/24");
    let (server, mut session) = harbour(launch, port, &[&first, &second]).await;
    let said = |why: &str| {
        let url = format!("https://hook.default.svc:{port}/convert?timeout=30s");
        format!("conversion webhook for conversion.test/v1, Kind=Boat failed: Post \"{url}\": {why}")
    };
    let converts = async |session: &mut Session, name: &str| {
        eventually("the conversion", async || session.get(&format!("{V2}/{name}")).await.code == 200).await;
    };

    session.post(V1, &boat("anna", "A7")).await.gives(201);
    assert_eq!(failure(&mut session, "anna").await, said("service \"hook\" not found"));
    let ports = json!([{"port": port}]);
    let elsewhere = service(json!({"type": "ExternalName", "externalName": "localhost", "ports": ports}));
    session.post(SERVICES, &elsewhere).await.gives(201);
    converts(&mut session, "anna").await;
    assert!(was_asked(&first, "anna") && !was_asked(&second, "anna"));
    let seen = &first.seen()[0];
    assert_eq!(seen.header("host"), format!("hook.default.svc:{port}"));
    assert_eq!((seen.path.as_str(), seen.version), ("/convert?timeout=30s", http::Version::HTTP_11));

    // Somewhere else from now on, though a connection is open.
    session.delete(HOOK).await.gives(200);
    session.post(V1, &boat("bella", "B7")).await.gives(201);
    session.post(SERVICES, &service(json!({"clusterIP": "127.0.0.2", "ports": ports}))).await.gives(201);
    converts(&mut session, "bella").await;
    assert!(was_asked(&second, "bella") && !was_asked(&first, "bella"));

    session.merge(HOOK, &json!({"spec": {"ports": [{"port": 1}]}})).await.gives(200);
    session.post(V1, &boat("clara", "C7")).await.gives(201);
    let why = format!("no service port {port} found for service \"hook\"");
    assert_eq!(failure(&mut session, "clara").await, said(&why));
    session.merge(HOOK, &json!({"spec": {"ports": [{"port": port}]}})).await.gives(200);
    converts(&mut session, "clara").await;
    assert!(was_asked(&second, "clara") && !was_asked(&first, "clara"));

    session.delete(HOOK).await.gives(200);
    session.post(SERVICES, &service(json!({"clusterIP": "None", "ports": ports}))).await.gives(201);
    session.post(V1, &boat("dora", "D7")).await.gives(201);
    assert_eq!(failure(&mut session, "dora").await, said("cannot route to service with ClusterIP \"None\""));
    drop(server);
}

/// An address of this machine that others could have, if it has one.
fn own_address() -> IpAddr {
    let socket = UdpSocket::bind("0.0.0.0:0").and_then(|socket| {
        socket.connect("192.0.2.1:9")?;
        socket.local_addr()
    });
    socket.map_or(Ipv4Addr::LOCALHOST.into(), |address| address.ip())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_webhook_is_at_an_endpoint_of_its_service_where_that_is_asked_for() {
    let own = own_address();
    let webhook = webhook(own, 0).await;
    let launch = Launch::new().arg("--enable-aggregator-routing");
    let (server, mut session) = harbour(launch, 443, &[&webhook]).await;
    let spec = json!({"clusterIP": "None", "ports": [{"name": "hooks", "port": 443}]});
    session.post(SERVICES, &service(spec)).await.gives(201);
    session.post(V1, &boat("anna", "A7")).await.gives(201);
    let message = failure(&mut session, "anna").await;
    assert!(message.ends_with("no endpoints available for service \"hook\""), "{message}");
    let slice = |service: &str, ready: bool| {
        json!({"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": "IPv4",
            "metadata": {"name": format!("{service}-1"), "labels": {"kubernetes.io/service-name": service}},
            "ports": [{"name": "hooks", "port": webhook.address.port()}],
            "endpoints": [{"addresses": [own], "conditions": {"ready": ready}}]})
    };
    session.post(SLICES, &slice("other", true)).await.gives(201);
    session.post(SLICES, &slice("hook", false)).await.gives(201);
    let message = failure(&mut session, "anna").await;
    assert!(message.ends_with("no endpoints available for service \"hook\""), "{message}");
    let path = format!("{SLICES}/hook-1");
    let mut ready = session.get(&path).await.gives(200);
    ready["endpoints"][0]["conditions"]["ready"] = true.into();
    session.put(&path, &ready).await.gives(200);
    eventually("the conversion", async || session.get(&format!("{V2}/anna")).await.code == 200).await;
    assert!(was_asked(&webhook, "anna"));
    drop(server);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn conversions_are_counted() {
    let webhook = webhook(Ipv4Addr::LOCALHOST, 0).await;
    let port = webhook.address.port();
    let (server, mut session) = harbour(Launch::new(), port, &[&webhook]).await;
    session.post(V1, &boat("anna", "A7")).await.gives(201);
    failure(&mut session, "anna").await;
    let elsewhere = service(json!({"type": "ExternalName", "externalName": "localhost"}));
    session.post(SERVICES, &elsewhere).await.gives(201);
    eventually("the conversion", async || session.get(&format!("{V2}/anna")).await.code == 200).await;
    let metrics = session.ask(Method::GET, "/metrics", "", "").await;
    assert_eq!(metrics.code, 200);
    let count = |name: &str| {
        let line = metrics.body.lines().find_map(|line| line.strip_prefix(name));
        line.unwrap_or_else(|| panic!("no {name}")).trim().parse::<f64>().expect("a number")
    };
    for name in ["request_total", "duration_seconds_count"] {
        let of = |failure: &str, result: &str| {
            count(&format!(
                "apiserver_conversion_webhook_{name}{{failure_type=\"{failure}\",result=\"{result}\"}}"
            ))
        };
        assert!(of("", "success") >= 1.0 && of("conversion_webhook_call_failure", "failure") >= 1.0);
    }
    for succeeded in ["true", "false"] {
        let name = "apiserver_crd_conversion_webhook_duration_seconds_count";
        let labels = format!(
            "crd_name=\"boats.conversion.test\",from_version=\"v1\",succeeded=\"{succeeded}\",to_version=\"v2\""
        );
        assert!(count(&format!("{name}{{{labels}}}")) >= 1.0);
    }
    drop(server);
}
