use std::sync::{Mutex, PoisonError};

use bytes::Bytes;
use http::{HeaderMap, Method};
use serde_json::json;

use super::*;
use pintle_runtime::Random;

use crate::testing::proxies::{Behavior, Proxy as TestProxy};
use crate::testing::{Authority, HttpsOptions, HttpsServer, Reply};
use crate::{Client, ClientOptions};

/// Events, as text.
#[derive(Default)]
struct Log(Mutex<Vec<String>>);

impl Log {
    fn add(&self, text: String) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(text);
    }

    fn all(&self) -> Vec<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn has(&self, text: &str) -> bool {
        self.all().iter().any(|event| event == text)
    }
}

impl Events for Log {
    fn dial_started(&self, protocol: &'static str, transport: &'static str) {
        self.add(format!("start {protocol} {transport}"));
    }

    fn dialed(&self, protocol: &'static str, transport: &'static str, _: Duration) {
        self.add(format!("dialed {protocol} {transport}"));
    }

    fn dial_failed(&self, protocol: &'static str, transport: &'static str, stage: &'static str) {
        self.add(format!("failed {protocol} {transport} {stage}"));
    }

    fn packet(&self, segment: &'static str, kind: &'static str) {
        self.add(format!("packet {segment} {kind}"));
    }

    fn stream_failed(&self, segment: &'static str, code: &'static str) {
        self.add(format!("stream {segment} {code}"));
    }

    fn dial_refused(&self, reason: &'static str) {
        self.add(format!("refused {reason}"));
    }

    fn tunnel(&self, before: Option<&'static str>, now: Option<&'static str>) {
        self.add(format!("tunnel {} {}", before.unwrap_or("-"), now.unwrap_or("-")));
    }
}

/// Host name of the target; only proxies can resolve it.
const NAME: &str = "hook.inside.example";

async fn target() -> HttpsServer {
    let options = HttpsOptions { names: vec![NAME], http2: false, ..HttpsOptions::default() };
    // Answers with the length of the body, and a text of the same length.
    HttpsServer::start_with(options, |seen| {
        Reply::json(&json!({"length": seen.body.len(), "text": "x".repeat(seen.body.len())}))
    })
    .await
}

struct Setup {
    client: Client,
    log: Arc<Log>,
    url: Url,
}

/// Returns a client of the target that connects through the given egress.
fn client(target: &HttpsServer, connection: &serde_json::Value, timeout: Duration) -> Setup {
    let log = Arc::new(Log::default());
    let connection: Connection = serde_json::from_value(connection.clone()).unwrap();
    let events: Arc<dyn Events> = log.clone();
    let egress = Egress::new(&connection, &events, &Random::system()).unwrap();
    let url = Url::parse(&format!("https://{NAME}:8443/x")).unwrap();
    let roots = Roots::Bundle(Material::Text(target.authority.pem.clone().into_bytes()));
    let options = ClientOptions {
        tls: TlsOptions { roots, ..TlsOptions::default() },
        timeout,
        egress: Some(egress),
        ..ClientOptions::default()
    };
    Setup { client: Client::new(&url, options).unwrap(), log, url }
}

impl Setup {
    async fn post(&self, length: usize) -> Result<serde_json::Value, String> {
        let body = Bytes::from(vec![b'a'; length]);
        let answer = self.client.send(Method::POST, &self.url, HeaderMap::new(), body).await;
        let answer = answer.map_err(|error| error.to_string())?;
        Ok(serde_json::from_slice(&answer.body).unwrap())
    }

    /// Returns the error of a request that gets no answer.
    async fn why(&self) -> String {
        let error = self.post(1).await.unwrap_err();
        error.strip_prefix(&format!("Post \"https://{NAME}:8443/x\": ")).unwrap_or(&error).to_owned()
    }
}

fn uds(protocol: &str, socket: &Path) -> serde_json::Value {
    json!({"proxyProtocol": protocol, "transport": {"uds": {"udsName": socket}}})
}

async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    for _ in 0..500 {
        if holds() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("never: {what}");
}

const LONG: Duration = Duration::from_secs(20);

/// The files of a client for a proxy over TLS.
struct Identity {
    folder: tempfile::TempDir,
    /// Of the proxy.
    authority: Authority,
    clients: Authority,
}

impl Identity {
    fn new() -> Identity {
        let identity = Identity {
            folder: tempfile::tempdir().unwrap(),
            authority: Authority::new("proxies"),
            clients: Authority::new("clients"),
        };
        let (certificate, key) = identity.clients.issue(&["client"], |_| {});
        for (name, text) in [("ca", &identity.authority.pem), ("crt", &certificate), ("key", &key)] {
            std::fs::write(identity.folder.path().join(name), text).unwrap();
        }
        identity
    }

    fn connection(&self, url: &str) -> serde_json::Value {
        let file = |name: &str| self.folder.path().join(name);
        let tls = json!({"caBundle": file("ca"), "clientCert": file("crt"), "clientKey": file("key")});
        json!({"proxyProtocol": "HTTPConnect", "transport": {"tcp": {"url": url, "tlsConfig": tls}}})
    }
}

#[tokio::test]
async fn an_https_proxy_is_shown_our_certificate_and_looks_up_names() {
    let (target, identity) = (target().await, Identity::new());
    let clients = Authority::new("clients");
    let proxy = TestProxy::https(&identity.authority, clients, Behavior::Forward).await;
    proxy.knows(&format!("{NAME}:8443"), target.address);
    let stranger = client(&target, &identity.connection(&proxy.address), LONG);
    let why = stranger.why().await;
    // Whether the alert or the end of the connection comes first is chance.
    assert!(why.contains("tls: ") || why.contains("failed: "), "{why}");
    assert_eq!(proxy.asked(), [""; 0], "a certificate of somebody else's");

    let identity = Identity::new();
    let (folder, authority) = (identity.folder.path(), Authority::new("again"));
    let (certificate, key) = authority.issue(&["client"], |_| {});
    std::fs::write(folder.join("crt"), certificate).unwrap();
    std::fs::write(folder.join("key"), key).unwrap();
    let proxy = TestProxy::https(&identity.authority, authority, Behavior::Forward).await;
    proxy.knows(&format!("{NAME}:8443"), target.address);
    let known = client(&target, &identity.connection(&proxy.address), LONG);
    assert_eq!(known.post(5).await.unwrap()["length"], 5);
    assert_eq!(known.post(6).await.unwrap()["length"], 6);
    assert_eq!(proxy.asked(), [format!("{NAME}:8443")], "the connection is kept");
    assert_eq!(proxy.seen(), ["certified: true"]);
    assert_eq!(known.log.all(), ["start http_connect tcp", "dialed http_connect tcp"]);
}

#[tokio::test]
async fn a_proxy_by_another_name_is_expected_under_it() {
    let (target, identity) = (target().await, Identity::new());
    let (folder, authority) = (identity.folder.path(), Authority::new("again"));
    let (certificate, key) = authority.issue(&["client"], |_| {});
    std::fs::write(folder.join("crt"), certificate).unwrap();
    std::fs::write(folder.join("key"), key).unwrap();
    let proxy = TestProxy::https(&identity.authority, authority, Behavior::Forward).await;
    proxy.knows(&format!("{NAME}:8443"), target.address);
    let mut connection = identity.connection(&proxy.address);
    connection["transport"]["tcp"]["tlsConfig"]["tlsServerName"] = json!("elsewhere");
    let why = client(&target, &connection, LONG).why().await;
    assert!(why.contains("certificate is valid for") && why.contains("not elsewhere"), "{why}");
    connection["transport"]["tcp"]["tlsConfig"]["tlsServerName"] = json!("localhost");
    assert_eq!(client(&target, &connection, LONG).post(5).await.unwrap()["length"], 5);
}

#[tokio::test]
async fn plain_proxies_and_sockets_do_the_same() {
    let target = target().await;
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("s");
    let (plain, uds_proxy) =
        (TestProxy::http(Behavior::Forward).await, TestProxy::uds(&socket, Behavior::Forward));
    let tcp = json!({"proxyProtocol": "HTTPConnect", "transport": {"tcp": {"url": plain.address}}});
    for (proxy, connection, transport) in
        [(plain, tcp, "tcp"), (uds_proxy, uds("HTTPConnect", &socket), "uds")]
    {
        proxy.knows(&format!("{NAME}:8443"), target.address);
        let setup = client(&target, &connection, LONG);
        assert_eq!(setup.post(300_000).await.unwrap()["length"], 300_000);
        assert_eq!(proxy.asked(), [format!("{NAME}:8443")]);
        assert!(setup.log.has(&format!("dialed http_connect {transport}")));
    }
}

#[tokio::test]
async fn a_tunnel_carries_much_both_ways_and_is_closed_with_its_connection() {
    let target = target().await;
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("s");
    let proxy = TestProxy::konnectivity(&socket, Behavior::Forward);
    proxy.knows(&format!("{NAME}:8443"), target.address);
    let setup = client(&target, &uds("GRPC", &socket), LONG);
    for length in [1, 2_000_000, 3] {
        assert_eq!(setup.post(length).await.unwrap()["length"], length);
    }
    assert_eq!(proxy.asked(), [format!("{NAME}:8443")], "the connection is kept");
    assert!(proxy.carried() > 4_000_000);
    assert!(setup.log.has("dialed grpc uds"));
    drop(setup.client);
    until("the proxy is told", || proxy.seen().iter().any(|kind| kind == "CLOSE_REQ")).await;
    until("the tunnel is gone", || setup.log.has("tunnel closing -")).await;
    let of_tunnels = |event: &String| event.starts_with("tunnel ");
    let tunnels: Vec<String> = setup.log.all().into_iter().filter(of_tunnels).collect();
    assert_eq!(
        tunnels,
        [
            "tunnel - created",
            "tunnel created dialing",
            "tunnel dialing ok",
            "tunnel ok closing",
            "tunnel closing -"
        ]
    );
    for packet in [
        "from_client DIAL_REQ",
        "to_client DIAL_RSP",
        "from_client DATA",
        "to_client DATA",
        "to_client CLOSE_RSP",
    ] {
        assert!(setup.log.has(&format!("packet {packet}")), "{packet}");
    }
}

#[tokio::test]
async fn a_server_that_ends_its_connection_ends_the_tunnel() {
    let target = target().await;
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("s");
    let proxy = TestProxy::konnectivity(&socket, Behavior::Forward);
    proxy.knows(&format!("{NAME}:8443"), target.address);
    let setup = client(&target, &uds("GRPC", &socket), LONG);
    assert_eq!(setup.post(1).await.unwrap()["length"], 1);
    drop(target);
    until("the tunnel is gone", || setup.log.has("tunnel ok -")).await;
}

#[tokio::test]
async fn a_refusal_of_an_http_proxy_is_reported() {
    let target = target().await;
    let folder = tempfile::tempdir().unwrap();
    let say = |text: &str| Behavior::Say(text.as_bytes().to_vec());
    let to = format!("{NAME}:8443");
    let failed =
        |socket: &str| format!("reading HTTP response from CONNECT to {to} via proxy {socket} failed:");
    for (name, manner, expect) in [
        (
            "a",
            say("HTTP/1.1 403 Forbidden\r\n\r\n"),
            "proxy error from @ while dialing TO, code 403: 403 Forbidden",
        ),
        (
            "b",
            say("HTTP/1.1 407 Who are you\r\nA: b\r\n\r\n"),
            "proxy error from @ while dialing TO, code 407: 407 Who are you",
        ),
        ("c", say("garbage\r\n\r\n"), "FAILED malformed HTTP response \"garbage\""),
        (
            "d",
            say("HTTP/1.1 200 OK\r\n\r\nmore"),
            "unexpected 4 bytes of buffered data from CONNECT proxy \"@\"",
        ),
        ("e", Behavior::SayForever(vec![b'x'; 4096]), "FAILED unexpected EOF"),
        (
            "f",
            Behavior::SayForever(b"HTTP/1.1 200 OK\r\nA: b\r\n".to_vec()),
            "FAILED malformed MIME header line: HTTP/1.1 200 OK",
        ),
    ] {
        let socket = folder.path().join(name);
        let proxy = TestProxy::uds(&socket, manner);
        let setup = client(&target, &uds("HTTPConnect", &socket), LONG);
        let socket = socket.display().to_string();
        let expect = expect.replace("FAILED", &failed(&socket)).replace('@', &socket).replace("TO", &to);
        assert_eq!(setup.why().await, expect);
        assert_eq!(setup.log.all(), ["start http_connect uds", "failed http_connect uds proxy"]);
        until("the proxy is left", || Arc::strong_count(&setup.log) >= 1).await;
        assert!(proxy.carried() < 8 << 20, "{}", proxy.carried());
    }
}

#[tokio::test]
async fn endless_headers_are_read_to_a_bound() {
    let target = target().await;
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("s");
    // A first line that is fine, then headers without end: the beginning is said once, by a proxy of our own.
    let listener = tokio::net::UnixListener::bind(&socket).unwrap();
    let sent = Arc::new(Mutex::new(0));
    let count = sent.clone();
    let proxy = tokio::spawn(async move {
        use tokio::io::AsyncWriteExt;
        let (mut stream, _) = listener.accept().await.unwrap();
        stream.write_all(b"HTTP/1.1 200 OK\r\n").await.unwrap();
        let line = format!("A: {}\r\n", "b".repeat(1000));
        while stream.write_all(line.as_bytes()).await.is_ok() {
            *count.lock().unwrap() += line.len();
        }
    });
    let setup = client(&target, &uds("HTTPConnect", &socket), LONG);
    assert!(setup.why().await.ends_with("failed: unexpected EOF"));
    proxy.await.unwrap();
    let sent = *sent.lock().unwrap();
    assert!((1 << 20..3 << 20).contains(&sent), "{sent}");
}

#[tokio::test]
async fn proxies_that_say_nothing_take_no_longer_than_the_client_waits() {
    let target = target().await;
    let folder = tempfile::tempdir().unwrap();
    let (http, grpc) = (folder.path().join("h"), folder.path().join("g"));
    let _silent = TestProxy::uds(&http, Behavior::Say(Vec::new()));
    let konnectivity = TestProxy::konnectivity(&grpc, Behavior::Say(Vec::new()));
    let timeout = Duration::from_millis(300);
    let started = std::time::Instant::now();
    for (setup, stage) in [
        (client(&target, &uds("HTTPConnect", &http), timeout), "failed http_connect uds proxy"),
        (client(&target, &uds("GRPC", &grpc), timeout), "failed grpc uds proxy"),
        // No server listens on the socket; the client retries until its timeout.
        (client(&target, &uds("GRPC", &folder.path().join("n")), timeout), "failed grpc uds connect"),
    ] {
        assert_eq!(
            setup.why().await,
            "context deadline exceeded (Client.Timeout exceeded while awaiting headers)"
        );
        assert!(setup.log.has(stage), "{:?}", setup.log.all());
        until("no tunnel is left", || {
            let log = setup.log.all();
            let count = |part: &str| {
                log.iter().filter(|event| event.starts_with("tunnel") && event.contains(part)).count()
            };
            count("- created") == count(" -") - count("- created")
        })
        .await;
    }
    assert!(started.elapsed() < Duration::from_secs(10));
    until("the dial is called off", || konnectivity.seen() == ["DIAL_REQ", "DIAL_CLS"]).await;
}

#[tokio::test]
async fn a_refusal_of_konnectivity_is_reported() {
    let target = target().await;
    let folder = tempfile::tempdir().unwrap();
    for (name, manner, expect, reason) in [
        ("a", Behavior::Refuse("dial tcp: no route to host"), "dial tcp: no route to host", "endpoint"),
        ("b", Behavior::CloseDial, "dial closed", "dialclosed"),
        ("c", Behavior::Hang, "tunnel closed", "tunnelclosed"),
    ] {
        let socket = folder.path().join(name);
        let _proxy = TestProxy::konnectivity(&socket, manner);
        let setup = client(&target, &uds("GRPC", &socket), LONG);
        assert_eq!(setup.why().await, expect);
        assert!(setup.log.has("failed grpc uds proxy"));
        assert!(setup.log.has(&format!("refused {reason}")), "{:?}", setup.log.all());
        until("the tunnel is gone", || setup.log.has("tunnel dialing -")).await;
    }
}

#[tokio::test]
async fn a_server_without_grpc_is_a_closed_tunnel() {
    let target = target().await;
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in [("a", "HTTP/1.1 400 Bad Request\r\n\r\n".to_owned()), ("b", "x".repeat(100_000))] {
        let socket = folder.path().join(name);
        let listener = tokio::net::UnixListener::bind(&socket).unwrap();
        tokio::spawn(async move {
            use tokio::io::AsyncWriteExt;
            while let Ok((mut stream, _)) = listener.accept().await {
                let _ = stream.write_all(text.as_bytes()).await;
            }
        });
        let setup = client(&target, &uds("GRPC", &socket), LONG);
        assert_eq!(setup.why().await, "tunnel closed");
        assert!(setup.log.has("failed grpc uds proxy"));
    }
}

#[tokio::test]
async fn a_konnectivity_that_starts_later_is_waited_for() {
    let target = target().await;
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("s");
    let setup = client(&target, &uds("GRPC", &socket), LONG);
    let (address, later) = (target.address, socket.clone());
    let starting = tokio::spawn(async move {
        tokio::time::sleep(Duration::from_millis(200)).await;
        let proxy = TestProxy::konnectivity(&later, Behavior::Forward);
        proxy.knows(&format!("{NAME}:8443"), address);
        proxy
    });
    assert_eq!(setup.post(1).await.unwrap()["length"], 1);
    starting.await.unwrap();
}

#[tokio::test]
async fn a_proxy_that_is_not_there_is_named() {
    let (target, identity) = (target().await, Identity::new());
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("s");
    let setup = client(&target, &uds("HTTPConnect", &socket), LONG);
    let expect = format!("dial unix {}: connect: no such file or directory", socket.display());
    assert_eq!(setup.why().await, expect);
    assert_eq!(setup.log.all(), ["start http_connect uds", "failed http_connect uds connect"]);
    let port = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let setup = client(&target, &identity.connection(&format!("https://{port}")), LONG);
    assert_eq!(setup.why().await, format!("dial tcp {port}: connect: connection refused"));
    assert_eq!(setup.log.all(), ["start http_connect tcp", "failed http_connect tcp connect"]);
}

#[test]
fn a_selector_is_what_its_file_says() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("egress.yaml");
    let load = |text: &str| {
        std::fs::write(&path, text).unwrap();
        Selector::load(&path, Arc::new(Log::default()), &Random::system())
    };
    let missing = folder.path().join("none");
    assert_eq!(
        Selector::load(&missing, Arc::new(Log::default()), &Random::system()).unwrap_err(),
        format!("egress-selector-config-file {} does not exist", missing.display())
    );
    let head = "apiVersion: apiserver.k8s.io/v1beta1\nkind: EgressSelectorConfiguration\n";
    assert!(load(head).unwrap().is_none());
    let none = load(&format!("{head}egressSelections: []\n")).unwrap().unwrap();
    assert!(none.lookup(Network::Cluster).is_none());
    let some = format!("{head}egressSelections:\n- name: Master\n  connection: {{proxyProtocol: Direct}}\n");
    assert!(load(&some).unwrap_err().contains("Unsupported value: \"master\""), "only in small letters");
    let some = format!(
        "{head}egressSelections:\n- name: master\n  connection: {{proxyProtocol: Direct}}\n\
         - name: etcd\n  connection: {{proxyProtocol: GRPC, transport: {{uds: {{udsName: /s}}}}}}\n"
    );
    let some = load(&some).unwrap().unwrap();
    assert!(!some.lookup(Network::ControlPlane).unwrap().is_proxied());
    assert!(some.lookup(Network::Etcd).unwrap().is_proxied());
    assert!(some.lookup(Network::Cluster).is_none());
    assert!(load("kind: x").unwrap_err().starts_with("failed to read egress selector config: "));
    assert_eq!(
        load(&format!("{head}egressSelections:\n- name: etcd\n  connection: {{}}\n")).unwrap_err(),
        "failed to validate egress selector configuration: service.connection.protocol: Unsupported value: \"\": \
         supported values: \"Direct\", \"HTTPConnect\", \"GRPC\""
    );
    let identity = Identity::new();
    let broken = |name: &str, text: &str| {
        let file = identity.folder.path().join(name);
        let before = std::fs::read(&file).unwrap();
        std::fs::write(&file, text).unwrap();
        let selections = json!([{"name": "cluster", "connection": identity.connection("https://a:1")}]);
        let error = load(&format!("{head}egressSelections: {selections}\n")).unwrap_err();
        std::fs::write(&file, before).unwrap();
        error
    };
    let start = "failed to setup egress selector: failed to create dialer for egressSelection \"cluster\": ";
    assert_eq!(broken("ca", "nothing"), format!("{start}failed to append CA cert to the cert pool"));
    let why = broken("key", "nothing");
    assert!(why.starts_with(&format!("{start}failed to read key pair ")), "{why}");
    assert!(why.ends_with(", got tls: failed to find any PEM data in key input"), "{why}");
}

#[tokio::test]
async fn an_address_that_would_be_more_than_a_line_is_not_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let connection = serde_json::from_value(uds("HTTPConnect", &folder.path().join("s"))).unwrap();
    let events: Arc<dyn Events> = Arc::new(Log::default());
    let egress = Egress::new(&connection, &events, &Random::system()).unwrap();
    let address = Address { host: "a HTTP/1.1\r\nX: y".into(), port: 1 };
    let why = egress.connect(&address, &Hosts::system()).await.err().unwrap().to_string();
    assert!(why.contains("is no address"), "{why}");
}
