//! The end of a server's life.

use std::os::unix::net::UnixDatagram;
use std::time::{Duration, Instant};

use pintle_storage_embedded as embedded;
use rustix::process::Signal;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::health::HOOKS;
use crate::support::etcd::{Etcd, Version};
use crate::support::frames::{GOAWAY, Raw};
use crate::support::store::fill;
use crate::support::{Launch, Server, eventually};

async fn ready(server: &Server) {
    eventually("readiness", async || server.client().get("/readyz").await.code == 200).await;
}

#[tokio::test]
async fn readiness_ends_first_and_requests_are_served_through_the_delay() {
    let mut server = Launch::new().args(&["--shutdown-delay-duration=1s"]).start().await;
    ready(&server).await;
    let mut kept = server.admin().connect().await.expect("connect");
    kept.get("/version").await.expect("an answer");
    server.signal(Signal::TERM);
    eventually("the end of readiness", async || server.client().get("/readyz").await.code == 500).await;
    server.client().get("/readyz").await.is(
        500,
        &format!(
            "[+]ping ok\n[+]log ok\n[+]etcd ok\n[+]etcd-readiness ok\n[+]informer-sync ok\n{HOOKS}\
             [-]shutdown failed: reason withheld\nreadyz check failed\n"
        ),
    );
    server.admin().get("/readyz/shutdown").await.is(500, "internal server error: process is shutting down\n");
    server.client().get("/livez").await.is(200, "ok");
    assert_eq!(server.client().get("/version").await.code, 200, "on a new connection");
    assert_eq!(kept.get("/version").await.expect("an answer").code, 200, "on an old one");
    assert_eq!(server.exited().await.code(), Some(0));
    assert!(server.stderr().contains("received SIGTERM"), "{}", server.stderr());
    assert!(server.client().try_get("/livez").await.is_err());
}

#[tokio::test]
async fn either_signal_ends_it_soon_whoever_is_connected() {
    for signal in [Signal::TERM, Signal::INT] {
        let mut server = Launch::new().start().await;
        let mut first = server.admin().connect().await.expect("connect");
        let mut second = server.admin().http2().connect().await.expect("connect");
        for connection in [&mut first, &mut second] {
            connection.get("/version").await.expect("an answer");
        }
        let _silent = tokio::net::TcpStream::connect(("127.0.0.1", server.port)).await.expect("connect");
        let asked = Instant::now();
        server.signal(signal);
        assert_eq!(server.exited().await.code(), Some(0), "{signal:?}");
        assert!(asked.elapsed() < Duration::from_secs(10));
    }
}

#[tokio::test]
async fn a_second_signal_means_now() {
    let mut server = Launch::new().args(&["--shutdown-delay-duration=60s"]).start().await;
    ready(&server).await;
    server.signal(Signal::TERM);
    eventually("the end of readiness", async || server.client().get("/readyz").await.code == 500).await;
    assert!(server.is_running());
    server.signal(Signal::INT);
    assert_eq!(server.exited().await.code(), Some(1));
    assert!(server.stderr().contains("second signal"), "{}", server.stderr());
}

#[tokio::test]
async fn http2_clients_are_told_to_go_away() {
    let mut server = Launch::new().start().await;
    let mut raw = Raw::open(server.admin()).await;
    ready(&server).await;
    server.signal(Signal::TERM);
    let told = raw.until(|frame| frame.kind == GOAWAY).await.expect("GOAWAY");
    assert_eq!(told.error_code(), 0, "without blame");
    drop(raw);
    assert_eq!(server.exited().await.code(), Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn late_requests_are_sent_elsewhere_while_the_last_ones_drain() {
    let etcd = Etcd::start(Version::New);
    let launch = Launch::bare();
    let pki = launch.path("pki");
    let launch = launch.cert_dir(pki).args(&[
        format!("--etcd-servers={}", etcd.endpoint()),
        "--bind-address=127.0.0.1".into(),
        "--authorization-mode=Node,RBAC".into(),
        // Nothing else waits for etcd.
        "--endpoint-reconciler-type=none".into(),
        "--feature-gates=APIServerIdentity=false,UnknownVersionInteroperabilityProxy=false".into(),
        "--shutdown-send-retry-after=true".into(),
        "--etcd-healthcheck-timeout=3s".into(),
    ]);
    let mut server = launch.start().await;
    ready(&server).await;
    // A check that waits for a frozen etcd is a request that takes its time; what it found a second ago is forgotten.
    tokio::time::sleep(Duration::from_millis(1100)).await;
    etcd.signal("STOP");
    let slow = tokio::spawn({
        let client = server.admin();
        async move { client.try_get("/livez/etcd").await.map(|answer| answer.code) }
    });
    tokio::time::sleep(Duration::from_millis(300)).await;
    server.signal(Signal::TERM);
    eventually("429", async || server.client().get("/version").await.code == 429).await;
    let answer = server.client().get("/version").await;
    answer.is(429, "The apiserver is shutting down, please try again later.\n");
    assert_eq!((answer.header("retry-after"), answer.header("connection")), ("5", "close"));
    assert_eq!(server.client().http2().get("/version").await.code, 429);
    server.admin().get("/livez/ping").await.is(200, "ok");
    assert_eq!(slow.await.expect("no panic").expect("an answer"), 500, "the slow one was waited for");
    assert_eq!(server.exited().await.code(), Some(0));
    etcd.signal("CONT");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_is_being_sent_is_sent_to_its_end() {
    let launch = Launch::new();
    // More than the sockets between the two ends can hold.
    fill(&launch.path("data"), (0..32).map(|number| vec![number; 1 << 20])).await;
    let mut server = launch.start().await;
    let mut stream = server.admin().tls().await.expect("a handshake");
    stream.write_all(b"GET /pintle/snapshot HTTP/1.0\r\nHost: a\r\n\r\n").await.expect("send");
    let mut answer = vec![0; 1024];
    stream.read_exact(&mut answer).await.expect("a beginning");
    server.signal(Signal::TERM);
    // Longer than a connection that only lingers is given.
    tokio::time::sleep(Duration::from_millis(2500)).await;
    assert!(server.is_running(), "the answer is under way");
    stream.read_to_end(&mut answer).await.expect("the rest");
    let head = answer.windows(4).position(|bytes| bytes == b"\r\n\r\n").expect("a head") + 4;
    let summary = embedded::snapshot::verify(&answer[head..]).expect("a whole snapshot");
    // With what the server itself has written by then.
    assert!(summary.keys >= 32, "{}", summary.keys);
    assert_eq!(server.exited().await.code(), Some(0));
}

#[tokio::test]
async fn systemd_is_told() {
    let launch = Launch::new();
    let path = launch.path("notify");
    let socket = UnixDatagram::bind(&path).expect("a socket");
    socket.set_read_timeout(Some(Duration::from_secs(10))).expect("a limit");
    let receive = || {
        let mut bytes = [0; 256];
        let length = socket.recv(&mut bytes).expect("a message");
        String::from_utf8_lossy(&bytes[..length]).into_owned()
    };
    let mut server = launch.env("NOTIFY_SOCKET", &path).start().await;
    assert!(receive().lines().any(|line| line == "READY=1"));
    server.signal(Signal::TERM);
    assert!(receive().lines().any(|line| line == "STOPPING=1"));
    assert_eq!(server.exited().await.code(), Some(0));
}

#[tokio::test]
async fn a_killed_server_starts_again_on_its_data() {
    let launch = Launch::new();
    for _ in 0..2 {
        let mut server = launch.start().await;
        ready(&server).await;
        server.signal(Signal::KILL);
        server.exited().await;
    }
    ready(&launch.start().await).await;
}
