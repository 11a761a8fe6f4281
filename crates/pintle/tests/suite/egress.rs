//! Connections that leave through proxies: real ones, which alone know where webhooks, issuers and stores are.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use http::Method;
use pintle_auth::jwt::{PrivateKey, write_set};
use pintle_outbound::testing::proxies::{Behavior, Proxy};
use pintle_outbound::testing::{Authority, HttpsOptions, HttpsServer, Reply, Seen};
use serde_json::{Value, json};

use crate::support::etcd::{Etcd, Version};
use crate::support::{Answer, Launch, MASTER, Server, eventually};

const GUARDED: &str = "/metrics";
const HOOK: &str = "hook.inside.example";
const ISSUER: &str = "issuer.inside.example";

fn answer(seen: &Seen) -> Reply {
    let review = seen.json();
    let status = match (review["kind"].as_str(), review["spec"]["token"].as_str()) {
        (Some("SubjectAccessReview"), _) => json!({"allowed": review["spec"]["user"] == "ann"}),
        (_, Some("good")) => json!({"authenticated": true, "user": {"username": "ann"}}),
        _ => json!({"authenticated": false}),
    };
    Reply::json(&json!({"apiVersion": review["apiVersion"], "kind": review["kind"], "status": status}))
}

/// Answers reviews about tokens and permissions, under a name that is nowhere.
async fn hook() -> HttpsServer {
    let options = HttpsOptions { names: vec![HOOK], ..HttpsOptions::default() };
    HttpsServer::start_with(options, answer).await
}

async fn issuer(key: &PrivateKey) -> HttpsServer {
    let keys = write_set([key.public()]);
    let options = HttpsOptions { names: vec![ISSUER, "127.0.0.1"], ..HttpsOptions::default() };
    HttpsServer::start_with(options, move |seen| match seen.path.as_str() {
        "/keys" => Reply { body: keys.clone(), ..Reply::json(&json!({})) },
        _ => {
            let issuer = format!("https://{ISSUER}:8443");
            Reply::json(&json!({"issuer": issuer, "jwks_uri": format!("{issuer}/keys")}))
        }
    })
    .await
}

fn token(key: &PrivateKey) -> String {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).expect("after 1970").as_secs();
    let claims = json!({
        "iss": format!("https://{ISSUER}:8443"), "aud": "pintle", "exp": now + 600, "sub": "ann",
        "groups": ["system:masters"],
    });
    key.sign(&pintle_codec::json::decode_any(claims.to_string().as_bytes()).expect("JSON").value)
        .expect("a token")
}

fn authentication(issuer: &HttpsServer, network: &str) -> Value {
    let issuer = json!({
        "url": format!("https://{ISSUER}:8443"), "audiences": ["pintle"],
        "certificateAuthority": issuer.authority.pem, "egressSelectorType": network,
    });
    let mappings = json!({
        "username": {"claim": "sub", "prefix": ""}, "groups": {"claim": "groups", "prefix": ""},
    });
    json!({
        "apiVersion": "apiserver.config.k8s.io/v1", "kind": "AuthenticationConfiguration",
        "jwt": [{"issuer": issuer, "claimMappings": mappings}],
    })
}

fn write(launch: &Launch, name: &str, text: &str) -> PathBuf {
    let path = launch.path(name);
    std::fs::write(&path, text).expect("write");
    path
}

/// With a file of these ways.
pub(crate) fn with_ways(launch: Launch, ways: &[(&str, Value)]) -> Launch {
    let ways: Vec<Value> = ways.iter().map(|(name, way)| json!({"name": name, "connection": way})).collect();
    let file = json!({
        "apiVersion": "apiserver.k8s.io/v1beta1", "kind": "EgressSelectorConfiguration", "egressSelections": ways,
    });
    let path = write(&launch, "egress.yaml", &file.to_string());
    launch.arg(format!("--egress-selector-config-file={}", path.display()))
}

pub(crate) fn uds(protocol: &str, socket: &Path) -> Value {
    json!({"proxyProtocol": protocol, "transport": {"uds": {"udsName": socket}}})
}

/// Asks the hook about tokens and permissions.
fn with_hook(launch: Launch, hook: &HttpsServer) -> Launch {
    let kubeconfig = hook.kubeconfig("/review").replace(&hook.address.to_string(), &format!("{HOOK}:8443"));
    let path = write(&launch, "hook.yaml", &kubeconfig);
    launch
        .tokens()
        .arg(format!("--authentication-token-webhook-config-file={}", path.display()))
        .arg(format!("--authorization-webhook-config-file={}", path.display()))
        .arg("--authorization-mode=RBAC,Webhook")
}

async fn ask(server: &Server, token: &str) -> Answer {
    server.client().token(token).get(GUARDED).await
}

/// The value of a figure, if it is shown.
async fn figure(server: &Server, line: &str) -> Option<f64> {
    let answer = ask(server, MASTER).await;
    assert_eq!(answer.code, 200);
    answer.body.lines().find_map(|found| found.strip_prefix(line)?.trim().parse().ok())
}

#[tokio::test]
async fn webhooks_are_asked_through_an_https_proxy() {
    let (hook, launch) = (hook().await, Launch::new());
    let (authority, clients) = (Authority::new("proxies"), Authority::new("clients"));
    let (certificate, key) = clients.issue(&["pintle"], |_| {});
    let files = [("ca", &authority.pem), ("crt", &certificate), ("key", &key)];
    let [ca, crt, key] = files.map(|(name, text)| write(&launch, name, text));
    let proxy = Proxy::https(&authority, clients, Behavior::Forward).await;
    proxy.knows(&format!("{HOOK}:8443"), hook.address);
    let tls = json!({"caBundle": ca, "clientCert": crt, "clientKey": key});
    let way = json!({"proxyProtocol": "HTTPConnect", "transport": {"tcp": {"url": proxy.address, "tlsConfig": tls}}});
    let server = with_ways(with_hook(launch, &hook), &[("controlplane", way)]).start().await;
    assert_eq!(ask(&server, "good").await.code, 200);
    ask(&server, "bad").await.is_status(401, "Unauthorized", "Unauthorized");
    let seen: Vec<Value> = hook.seen().iter().map(Seen::json).collect();
    assert_eq!(seen.iter().filter(|review| review["kind"] == "TokenReview").count(), 2);
    assert!(seen.iter().any(|review| review["spec"]["user"] == "ann"));
    let asked = proxy.asked();
    assert!(asked.len() >= 2, "one connection for each webhook");
    assert!(asked.iter().all(|to| *to == format!("{HOOK}:8443")), "{asked:?}");
    assert!(proxy.seen().iter().all(|client| client == "certified: true"));
    let labels = "{protocol=\"http_connect\",transport=\"tcp\"}";
    let started = format!("apiserver_egress_dialer_dial_start_total{labels}");
    let connections = Some(asked.len() as f64);
    assert_eq!(figure(&server, &started).await, connections);
    let took = format!("apiserver_egress_dialer_dial_duration_seconds_count{labels}");
    assert_eq!(figure(&server, &took).await, connections);
}

#[tokio::test]
async fn issuers_are_found_through_the_network_that_they_name() {
    let key = PrivateKey::generate().expect("a key").0;
    for (network, other) in [("cluster", "controlplane"), ("controlplane", "cluster")] {
        let (issuer, hook, launch) = (issuer(&key).await, hook().await, Launch::new());
        let (sockets, name) = ([launch.path("a.sock"), launch.path("b.sock")], format!("{ISSUER}:8443"));
        let (right, wrong) =
            (Proxy::konnectivity(&sockets[0], Behavior::Forward), Proxy::uds(&sockets[1], Behavior::Forward));
        right.knows(&name, issuer.address);
        for proxy in [&right, &wrong] {
            proxy.knows(&format!("{HOOK}:8443"), hook.address);
        }
        let file = write(&launch, "authentication.json", &authentication(&issuer, network).to_string());
        let ways = [(network, uds("GRPC", &sockets[0])), (other, uds("HTTPConnect", &sockets[1]))];
        let launch = with_ways(with_hook(launch, &hook), &ways);
        let server = launch.arg(format!("--authentication-config={}", file.display())).start().await;
        eventually("the issuer is found", async || ask(&server, &token(&key)).await.code == 200).await;
        assert_eq!(issuer.seen().len(), 2, "the document and the keys");
        // Webhooks are in the control plane, whatever issuers say.
        assert_eq!(ask(&server, "good").await.code, 200);
        let to_hook = |proxy: &Proxy| proxy.asked().iter().filter(|to| to.starts_with(HOOK)).count() > 0;
        assert_eq!((to_hook(&right), to_hook(&wrong)), (network == "controlplane", network == "cluster"));
        assert!(right.asked().contains(&name) && !wrong.asked().contains(&name));
        let packets = "konnectivity_network_proxy_client_stream_packets_total{packet_type=\"DIAL_REQ\",segment=\"from_client\"}";
        assert!(figure(&server, packets).await.is_some_and(|dials| dials >= 1.0));
    }
}

#[tokio::test]
async fn an_issuer_that_names_no_network_is_reached_straight_away() {
    let key = PrivateKey::generate().expect("a key").0;
    let (issuer, launch) = (issuer(&key).await, Launch::new().tokens());
    let socket = launch.path("a.sock");
    let proxy = Proxy::konnectivity(&socket, Behavior::Forward);
    proxy.knows(&format!("{ISSUER}:8443"), issuer.address);
    let mut file = authentication(&issuer, "");
    // Its keys are at a name that is nowhere.
    file["jwt"][0]["issuer"]["discoveryURL"] = json!(issuer.url("/.well-known/openid-configuration"));
    let file = write(&launch, "authentication.json", &file.to_string());
    let launch =
        with_ways(launch, &[("controlplane", uds("GRPC", &socket)), ("cluster", uds("GRPC", &socket))]);
    let server = launch.arg(format!("--authentication-config={}", file.display())).start().await;
    eventually("the issuer is asked", async || issuer.seen().len() == 1).await;
    ask(&server, &token(&key)).await.is_status(401, "Unauthorized", "Unauthorized");
    assert_eq!(proxy.asked(), [""; 0]);
}

#[tokio::test]
async fn a_server_whose_proxy_does_not_work_goes_on_serving() {
    let hook = hook().await;
    let endless = "HTTP/1.1 200 OK\r\n".to_owned() + &"A: b\r\n".repeat(100);
    for (manner, line) in [
        (Behavior::Say(b"HTTP/1.1 403 Forbidden\r\n\r\n".to_vec()), "code 403: 403 Forbidden"),
        (Behavior::Say(b"\x16\x03\x01 garbage\n".to_vec()), "malformed HTTP"),
        (Behavior::SayForever(endless.into_bytes()), "malformed MIME header line"),
        (Behavior::SayForever(vec![b'x'; 1000]), "unexpected EOF"),
    ] {
        let launch = Launch::new();
        let socket = launch.path("p.sock");
        let _proxy = Proxy::uds(&socket, manner.clone());
        let launch = with_ways(with_hook(launch, &hook), &[("controlplane", uds("HTTPConnect", &socket))]);
        let server = launch.arg("--v=5").start().await;
        let before = server.resident();
        let started = Instant::now();
        for _ in 0..5 {
            ask(&server, "good").await.is_status(401, "Unauthorized", "Unauthorized");
        }
        assert!(started.elapsed() < Duration::from_secs(20), "{manner:?}");
        assert_eq!(ask(&server, MASTER).await.code, 200);
        let failed = "apiserver_egress_dialer_dial_failure_count{protocol=\"http_connect\",stage=\"proxy\",transport=\"uds\"}";
        assert!(figure(&server, failed).await.is_some_and(|failures| failures >= 5.0));
        assert!(server.resident() < before + (32 << 20), "{manner:?}");
        eventually(line, async || server.stderr().contains(line)).await;
    }
    assert_eq!(hook.seen().len(), 0);
}

#[tokio::test]
async fn a_proxy_that_hangs_holds_up_only_those_who_need_it() {
    let (hook, launch) = (hook().await, Launch::new());
    let socket = launch.path("p.sock");
    let proxy = Proxy::konnectivity(&socket, Behavior::Say(Vec::new()));
    let launch = with_ways(with_hook(launch, &hook), &[("controlplane", uds("GRPC", &socket))]);
    let server = launch.arg("--request-timeout=3s").start().await;
    let (slow, started) = (server.client().token("good"), Instant::now());
    let waiting = tokio::spawn(async move { slow.get(GUARDED).await.code });
    eventually("the proxy is asked", async || !proxy.asked().is_empty()).await;
    assert_eq!(ask(&server, MASTER).await.code, 200);
    assert_ne!(waiting.await.expect("an answer"), 200);
    assert!(started.elapsed() < Duration::from_secs(40));
}

#[tokio::test]
async fn etcd_is_reached_through_its_proxy() {
    let etcd = Etcd::start(Version::New);
    let address = etcd.endpoint().trim_start_matches("http://").parse().expect("an address");
    for protocol in ["HTTPConnect", "GRPC"] {
        let launch = Launch::bare().tokens();
        let pki = launch.path("pki");
        let launch = launch.cert_dir(pki).args(&[
            "--etcd-servers=http://store.inside.example:2379",
            "--bind-address=127.0.0.1",
            "--disable-admission-plugins=ServiceAccount",
        ]);
        let socket = launch.path("p.sock");
        let proxy = match protocol {
            "GRPC" => Proxy::konnectivity(&socket, Behavior::Forward),
            _ => Proxy::uds(&socket, Behavior::Forward),
        };
        proxy.knows("store.inside.example:2379", address);
        let launch = launch.arg(format!("--etcd-prefix=/{protocol}"));
        let server = with_ways(launch, &[("etcd", uds(protocol, &socket))]).start().await;
        let headers = [("content-type", "application/json")];
        let body = json!({"metadata": {"name": "a"}, "data": {"k": "v".repeat(500_000)}}).to_string();
        let path = "/api/v1/namespaces/default/configmaps";
        let client = server.client().token(MASTER);
        server.until_it_has_namespaces().await;
        let created = client.request(Method::POST, path, &headers, body.clone()).await;
        assert_eq!(created.code, 201, "{protocol}");
        assert_eq!(client.get(&format!("{path}/a")).await.code, 200);
        assert!(proxy.asked().iter().any(|to| to == "store.inside.example:2379"));
    }
}

#[tokio::test]
async fn an_invalid_file_is_reported_at_the_start() {
    let fails = async |launch: Launch, expect: &str| {
        let said = launch.fails().await;
        assert!(said.contains(expect), "{said}\nshould say\n{expect}");
    };
    let launch = Launch::new();
    let missing = launch.path("none");
    let expect = format!("egress-selector-config-file {} does not exist", missing.display());
    fails(launch.arg(format!("--egress-selector-config-file={}", missing.display())), &expect).await;
    fails(
        with_ways(Launch::new(), &[("moon", json!({"proxyProtocol": "Direct"}))]),
        "failed to validate egress selector configuration: service.connection: Unsupported value: \"moon\": supported values: \
         \"cluster\", \"controlplane\", \"etcd\"",
    )
    .await;

    let key = PrivateKey::generate().expect("a key").0;
    let issuer = issuer(&key).await;
    let with_issuer = |launch: Launch| {
        let file = write(&launch, "authentication.json", &authentication(&issuer, "cluster").to_string());
        launch.arg(format!("--authentication-config={}", file.display()))
    };
    fails(with_issuer(Launch::new()), "oidc: egress lookup required with egress selector type \"cluster\"")
        .await;
    let elsewhere = [("etcd", json!({"proxyProtocol": "Direct"}))];
    fails(
        with_issuer(with_ways(Launch::new(), &elsewhere)),
        "oidc: egress lookup for \"cluster\" is not configured",
    )
    .await;
    let gate = "StructuredAuthenticationConfigurationEgressSelector";
    fails(
        with_issuer(Launch::new()).arg(format!("--feature-gates={gate}=false")),
        "jwt[0].issuer.egressSelectorType: Invalid value: \"cluster\": egress selector is not supported when \
         StructuredAuthenticationConfigurationEgressSelector feature gate is disabled",
    )
    .await;
}

#[tokio::test]
async fn nothing_is_shown_of_proxies_where_there_are_none() {
    let server = Launch::new().tokens().start().await;
    let text = ask(&server, MASTER).await.body;
    assert!(!text.contains("egress_dialer") && !text.contains("konnectivity"));
}
