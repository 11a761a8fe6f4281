//! A server with small limits: what a client may make it wait for, and what a request may do to others.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::{StreamExt, stream};
use http::StatusCode;
use http_body_util::{BodyExt, Empty};
use hyper::client::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo};
use pintle_auth::authenticator::{OrAnonymous, Union};
use pintle_auth::{Attributes, Authorizer, Verdict};
use pintle_metrics::Registry;
use pintle_runtime::{Clock, Tasks};
use pintle_server::chain::ChainConfig;
use pintle_server::filter::Handler;
use pintle_server::handlers::{HealthRegistry, Version};
use pintle_server::lifecycle::{Hooks, Lifecycle};
use pintle_server::tls::{KeyPairFiles, MinVersion, Tls, TlsOptions};
use pintle_server::{
    Acceptor, Body, Documents, DocumentsConfig, Limits, ListenOptions, Metrics, Request, Response, Server,
    ServerConfig, listen, respond,
};
use rustls::{ClientConfig, RootCertStore};
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, ServerName};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

const SHORT: Duration = Duration::from_millis(200);
const LONG: Duration = Duration::from_secs(60);

struct Anything;

#[async_trait]
impl Authorizer for Anything {
    async fn authorize(&self, _: &Attributes<'_>) -> Verdict {
        Verdict::allow("")
    }
}

/// Panics, or takes its time.
struct Odd(Option<Duration>);

#[async_trait]
impl Handler for Odd {
    async fn handle(&self, _: Box<Request>) -> Response {
        let time = self.0.expect("asked to panic");
        tokio::time::sleep(time).await;
        respond::text(StatusCode::OK, "at last")
    }
}

/// Answers with a body that panics after its first chunk.
struct BrokenBody;

#[async_trait]
impl Handler for BrokenBody {
    async fn handle(&self, _: Box<Request>) -> Response {
        let first = async { Ok(Bytes::from_static(b"first")) };
        let second = async {
            tokio::time::sleep(SHORT).await;
            panic!("asked to panic")
        };
        Response::new(Body::stream(stream::once(first).chain(stream::once(second))))
    }
}

/// A server in this process.
struct Running {
    address: SocketAddr,
    authority: CertificateDer<'static>,
    stop: Option<oneshot::Sender<()>>,
    done: JoinHandle<Result<(), pintle_server::Error>>,
}

impl Running {
    fn start(limits: Limits, request_timeout: Duration, hooks: Hooks) -> Running {
        let dir = tempfile::tempdir().expect("a directory");
        let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).expect("a certificate");
        let files = KeyPairFiles { certificate: dir.path().join("crt"), key: dir.path().join("key") };
        std::fs::write(&files.certificate, made.cert.pem()).expect("write");
        std::fs::write(&files.key, made.signing_key.serialize_pem()).expect("write");
        let tls = Tls::new(TlsOptions {
            default: files,
            named: Vec::new(),
            min_version: MinVersion::default(),
            cipher_suites: Vec::new(),
            curve_preferences: Vec::new(),
            http2: true,
            client_cas: Vec::new(),
        });
        let endpoint = |path: &str, time| (path.to_owned(), Box::new(Odd(time)) as Box<dyn Handler>);
        let metrics = metrics();
        let server = Server::new(ServerConfig {
            chain: ChainConfig {
                close_unauthenticated: false,
                request_timeout,
                ..ChainConfig::new(Arc::new(OrAnonymous::new(Union(Vec::new()))), Arc::new(Anything))
            },
            version: version(),
            metrics: metrics.clone(),
            health: HealthRegistry::new(Duration::ZERO),
            hooks,
            documents: Arc::new(Documents::new(DocumentsConfig::default(), Vec::new())),
            resources: Arc::new(Odd(None)),
            flags: None,
            status_page: false,
            endpoints: vec![
                endpoint("/panic", None),
                endpoint("/slow", Some(4 * SHORT)),
                endpoint("/never", Some(LONG)),
                ("/broken".to_owned(), Box::new(BrokenBody)),
            ],
            shutdown_delay: Duration::ZERO,
            watch_termination: Duration::ZERO,
            lifecycle: Lifecycle::default(),
        });
        let address = SocketAddr::from(([127, 0, 0, 1], 0));
        let listener = listen(ListenOptions { address, share_port: false }).expect("a port");
        let address = listener.local_addr().expect("its address");
        let (stop, stopped) = oneshot::channel::<()>();
        let tls = Arc::new(tls.expect("TLS"));
        let done = tokio::spawn(async move {
            let tasks = Tasks::new();
            let mut server = server.start(&tasks.spawner());
            let mut acceptor = Acceptor::new(limits, metrics, &server);
            acceptor.listen(listener, Some(tls), server.handler().clone());
            let failed = tokio::select! {
                _ = stopped => None,
                error = server.failed() => Some(error),
            };
            let shut_down = server.shut_down(failed.is_none()).await;
            acceptor.closed().await;
            failed.map_or(shut_down, Err)
        });
        let authority = CertificateDer::from_pem_slice(made.cert.pem().as_bytes()).expect("PEM");
        Running { address, authority, stop: Some(stop), done }
    }

    async fn connect(&self, protocol: &str) -> TlsStream<TcpStream> {
        let mut roots = RootCertStore::empty();
        roots.add(self.authority.clone()).expect("an authority");
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let mut config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("versions")
            .with_root_certificates(roots)
            .with_no_client_auth();
        config.alpn_protocols = vec![protocol.as_bytes().to_vec()];
        let stream = TcpStream::connect(self.address).await.expect("connect");
        let name = ServerName::try_from("localhost").expect("a name");
        TlsConnector::from(Arc::new(config)).connect(name, stream).await.expect("a handshake")
    }

    async fn get(&self, path: &str) -> (u16, String) {
        let (mut sender, connection) =
            http1::handshake(TokioIo::new(self.connect("http/1.1").await)).await.expect("HTTP");
        tokio::spawn(connection);
        let request =
            http::Request::get(path).header("host", "a").body(Empty::<Bytes>::new()).expect("a request");
        let response = sender.send_request(request).await.expect("an answer");
        let code = response.status().as_u16();
        let body = response.into_body().collect().await.expect("a body").to_bytes();
        (code, String::from_utf8_lossy(&body).into_owned())
    }
}

fn metrics() -> Metrics {
    let registry = Registry::default();
    let auth = pintle_auth::Metrics::new(&registry, &Clock::system()).expect("metrics");
    Metrics::new(&registry, &auth).expect("metrics")
}

fn version() -> Version {
    let text = String::new;
    Version {
        major: text(),
        minor: text(),
        emulation_major: text(),
        emulation_minor: text(),
        min_compatibility_major: text(),
        min_compatibility_minor: text(),
        git_version: text(),
        git_commit: text(),
        git_tree_state: text(),
        build_date: text(),
        go_version: text(),
        compiler: text(),
        platform: text(),
    }
}

fn patient() -> Limits {
    Limits { handshake: LONG, read_header: LONG, idle: LONG, ..Limits::default() }
}

/// Reads to the end of the connection, which must come in time. Returns what came before it.
async fn ends(stream: &mut (impl AsyncReadExt + Unpin)) -> Vec<u8> {
    let mut bytes = Vec::new();
    // How it ends is the server's choice.
    let _ = tokio::time::timeout(20 * SHORT, stream.read_to_end(&mut bytes))
        .await
        .expect("the end of the connection");
    bytes
}

#[tokio::test]
async fn a_handshake_that_does_not_end_is_cut_off() {
    let server = Running::start(Limits { handshake: SHORT, ..patient() }, LONG, Hooks::default());
    for beginning in [&b""[..], &[0x16, 3, 1, 0, 200, 1]] {
        let mut stream = TcpStream::connect(server.address).await.expect("connect");
        stream.write_all(beginning).await.expect("send");
        assert_eq!(ends(&mut stream).await, b"");
    }
}

#[tokio::test]
async fn headers_that_trickle_are_cut_off() {
    let server = Running::start(Limits { read_header: SHORT, ..patient() }, LONG, Hooks::default());
    let mut stream = server.connect("http/1.1").await;
    let begun = Instant::now();
    stream.write_all(b"GET /livez HTTP/1.1\r\n").await.expect("send");
    // A client that sends a byte now and then gets no more time than one that sends none.
    while stream.write_all(b"x").await.is_ok() && stream.flush().await.is_ok() {
        assert!(begun.elapsed() < 20 * SHORT, "still listened to");
        tokio::time::sleep(SHORT / 10).await;
    }
}

#[tokio::test]
async fn a_second_request_has_the_same_time_for_its_headers() {
    let server = Running::start(Limits { read_header: SHORT, ..patient() }, LONG, Hooks::default());
    let mut stream = server.connect("http/1.1").await;
    stream.write_all(b"GET /livez HTTP/1.1\r\nHost: a\r\n\r\n").await.expect("send");
    let mut answer = [0; 12];
    stream.read_exact(&mut answer).await.expect("an answer");
    assert_eq!(&answer, b"HTTP/1.1 200");
    tokio::time::sleep(2 * SHORT).await;
    stream.write_all(b"GET ").await.expect("an idle connection is not cut off by this limit");
    ends(&mut stream).await;
}

#[tokio::test]
async fn idle_connections_are_closed() {
    let server = Running::start(Limits { idle: SHORT, ..patient() }, LONG, Hooks::default());
    ends(&mut server.connect("http/1.1").await).await;
    let mut http2 = server.connect("h2").await;
    http2.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0").await.expect("send");
    let frames = ends(&mut http2).await;
    // Length 8, type 7: GOAWAY.
    assert!(frames.windows(4).any(|bytes| bytes == [0, 0, 8, 7]), "{frames:?}");
}

#[tokio::test]
async fn http2_headers_that_never_end_are_cut_off() {
    let server = Running::start(Limits { idle: SHORT, ..patient() }, LONG, Hooks::default());
    let mut http2 = server.connect("h2").await;
    http2.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0").await.expect("settings");
    // HEADERS of one byte on stream 1, without END_HEADERS.
    http2.write_all(b"\0\0\x01\x01\0\0\0\0\x01\x82").await.expect("headers");
    ends(&mut http2).await;
}

#[tokio::test]
async fn a_slow_answer_is_not_idleness() {
    let limits = Limits { idle: SHORT, read_header: SHORT, ..patient() };
    let server = Running::start(limits, LONG, Hooks::default());
    assert_eq!(server.get("/slow").await, (200, "at last".into()));
}

#[tokio::test]
async fn a_request_ends_by_its_timeout() {
    let server = Running::start(patient(), SHORT, Hooks::default());
    let (code, body) = server.get("/never").await;
    assert_eq!(code, 504);
    assert!(body.contains("\"reason\":\"Timeout\""), "{body}");
    assert!(body.contains("request did not complete within the allotted timeout"), "{body}");
}

#[tokio::test]
async fn the_client_may_ask_for_less_time() {
    let server = Running::start(patient(), LONG, Hooks::default());
    assert_eq!(server.get("/never?timeout=100ms").await.0, 504);
}

#[tokio::test]
async fn a_panic_ends_one_request_and_nothing_else() {
    let server = Running::start(patient(), LONG, Hooks::default());
    let (sender, connection) =
        http2::handshake(TokioExecutor::new(), TokioIo::new(server.connect("h2").await))
            .await
            .expect("HTTP/2");
    tokio::spawn(connection);
    let send = |path: &'static str| {
        let mut sender = sender.clone();
        async move {
            let uri = format!("https://localhost{path}");
            let request = http::Request::get(uri).body(Empty::<Bytes>::new()).expect("a request");
            let response = sender.send_request(request).await.expect("an answer");
            let code = response.status().as_u16();
            // `None`: the stream was reset.
            let body = response.into_body().collect().await.ok();
            let body = body.map(|body| String::from_utf8_lossy(&body.to_bytes()).into_owned());
            Ok::<_, Infallible>((code, body))
        }
    };
    let slow = tokio::spawn(send("/slow"));
    let Ok((code, body)) = send("/panic").await;
    assert_eq!(code, 500);
    let message = "This request caused apiserver to panic. Look in the logs for details.\n";
    assert_eq!(body.as_deref(), Some(message));
    assert_eq!(send("/broken").await, Ok((200, None)), "a panic while the body is sent");
    let Ok((code, _)) = slow.await.expect("no panic");
    assert_eq!(code, 200, "another stream of the same connection");
    assert_eq!(server.get("/livez").await, (200, "ok".into()));
}

#[tokio::test]
async fn hooks_run_around_the_server_s_life() {
    let (go_on, wait) = oneshot::channel::<()>();
    let (ending, ended) = oneshot::channel::<()>();
    let mut hooks = Hooks::default();
    hooks.post_start("warm-up", || async { wait.await.map_err(|error| error.to_string()) });
    hooks.pre_shutdown("hand-over", || async { ending.send(()).map_err(|()| "the receiver is gone".into()) });
    let mut server = Running::start(patient(), LONG, hooks);
    let (code, body) = server.get("/readyz").await;
    assert_eq!(code, 500);
    assert!(body.contains("[-]poststarthook/warm-up failed: reason withheld\n"), "{body}");
    go_on.send(()).expect("the hook waits");
    while server.get("/readyz").await.0 != 200 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    drop(server.stop.take());
    ended.await.expect("the hook ran");
    server.done.await.expect("no panic").expect("a clean end");
}

#[tokio::test]
async fn a_failed_start_hook_ends_the_server_with_its_reason() {
    let mut hooks = Hooks::default();
    hooks.post_start("bootstrap", || async { Err("no way".to_owned()) });
    let server = Running::start(patient(), LONG, hooks);
    let error = server.done.await.expect("no panic").expect_err("an error");
    assert_eq!(error.to_string(), "the hook \"bootstrap\" failed: no way");
}
