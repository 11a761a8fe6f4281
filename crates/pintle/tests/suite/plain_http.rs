//! `--insecure-port`: plain HTTP, a flag of older releases.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::support::shared::ready;
use crate::support::{Launch, PATIENCE, Server, free_port};

/// The whole answer to a request, over plain HTTP/1.1.
async fn ask(port: u16, host: &str, request: &str, headers: &str, body: &str) -> String {
    let headers = format!("Content-Type: application/json\r\n{headers}");
    ask_exactly(port, host, request, &headers, body).await
}

/// The same with no headers but these.
async fn ask_exactly(port: u16, host: &str, request: &str, headers: &str, body: &str) -> String {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).await.expect("a connection");
    let length = body.len();
    let text = format!(
        "{request} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n{headers}Content-Length: {length}\r\n\r\n{body}"
    );
    stream.write_all(text.as_bytes()).await.expect("to send");
    let mut answer = String::new();
    timeout(PATIENCE, stream.read_to_string(&mut answer)).await.expect("in time").expect("an answer");
    answer
}

async fn start(port: u16) -> Server {
    Launch::new().arg(format!("--insecure-port={port}")).start().await
}

#[tokio::test]
async fn the_insecure_port_allows_everything() {
    let port = free_port();
    let server = start(port).await;
    ready(&server).await;
    let host = format!("127.0.0.1:{port}");
    let body = r#"{"metadata":{"name":"a"},"data":{"k":"v"}}"#;
    let created = ask(port, &host, "POST /api/v1/namespaces/default/configmaps", "", body).await;
    assert!(created.starts_with("HTTP/1.1 201 Created"), "{created}");
    let who = "POST /apis/authentication.k8s.io/v1/selfsubjectreviews";
    let me = ask(port, "localhost", who, "", "{}").await;
    assert!(me.contains("system:unsecured") && me.contains("system:masters"), "{me}");
    let log = server.stderr();
    assert!(log.contains("--insecure-port is deprecated"), "{log}");
}

#[tokio::test]
async fn the_insecure_port_is_not_for_pages_that_found_their_way_to_it() {
    let port = free_port();
    let _server = start(port).await;
    let rebound = ask(port, "evil.example", "GET /version", "", "").await;
    assert!(rebound.starts_with("HTTP/1.1 403 Forbidden"), "{rebound}");
}

/// All that a page can have a browser send to another origin without asking it first.
#[tokio::test]
async fn the_insecure_port_takes_no_cross_site_requests() {
    let port = free_port();
    let server = start(port).await;
    ready(&server).await;
    let create = "POST /api/v1/namespaces/default/configmaps";
    let body = r#"{"metadata":{"name":"csrf"},"data":{"k":"v"}}"#;
    let json = "Content-Type: application/json\r\n";
    for (headers, code) in [
        ("", "415"),
        ("Content-Type: text/plain\r\n", "415"),
        ("Content-Type: application/x-www-form-urlencoded\r\n", "415"),
        ("Content-Type: multipart/form-data; boundary=x\r\n", "415"),
        ("Content-Type: application/json\r\nOrigin: http://evil.example\r\n", "403"),
        ("Content-Type: application/json\r\nOrigin: null\r\n", "403"),
        ("Content-Type: application/json\r\nOrigin: http://localhost\r\n", "403"),
        ("Content-Type: application/json\r\nSec-Fetch-Site: cross-site\r\n", "403"),
    ] {
        let answer = ask_exactly(port, "localhost", create, headers, body).await;
        assert!(answer.starts_with(&format!("HTTP/1.1 {code} ")), "{headers}: {answer}");
    }
    let preflight = "Origin: http://evil.example\r\nAccess-Control-Request-Method: DELETE\r\n";
    let preflight = ask_exactly(port, "localhost", "OPTIONS /api/v1/namespaces", preflight, "").await;
    assert!(preflight.starts_with("HTTP/1.1 403 "), "{preflight}");
    assert!(!preflight.to_lowercase().contains("access-control-allow"), "{preflight}");
    let read = ask_exactly(port, "localhost", "GET /api/v1/namespaces/default/configmaps/csrf", "", "").await;
    assert!(read.starts_with("HTTP/1.1 404 "), "nothing was created: {read}");
    // Programs of this machine go on as before.
    let created = ask_exactly(port, "localhost", create, json, body).await;
    assert!(created.starts_with("HTTP/1.1 201 "), "{created}");
    let path = "/api/v1/namespaces/default/configmaps/csrf";
    let patch = "Content-Type: application/merge-patch+json\r\n";
    let patched =
        ask_exactly(port, "localhost", &format!("PATCH {path}"), patch, r#"{"data":{"k":"w"}}"#).await;
    assert!(patched.starts_with("HTTP/1.1 200 "), "{patched}");
    let deleted = ask_exactly(port, "localhost", &format!("DELETE {path}"), "", "").await;
    assert!(deleted.starts_with("HTTP/1.1 200 "), "{deleted}");
}

#[tokio::test]
async fn an_origin_that_cors_allows_is_refused_on_the_insecure_port() {
    let port = free_port();
    let allowed = "--cors-allowed-origins=//good\\.example$";
    let _server = Launch::new().arg(format!("--insecure-port={port}")).arg(allowed).start().await;
    let answer = ask(port, "localhost", "GET /version", "Origin: http://good.example\r\n", "").await;
    assert!(answer.starts_with("HTTP/1.1 403 Forbidden"), "{answer}");
}

#[tokio::test]
async fn the_insecure_port_does_not_impersonate() {
    let port = free_port();
    let _server = start(port).await;
    let acting = ask(port, "localhost", "GET /version", "Impersonate-User: alice\r\n", "").await;
    assert!(acting.starts_with("HTTP/1.1 403 Forbidden"), "{acting}");
}

#[tokio::test]
async fn plain_http_is_served_to_this_machine_only() {
    let port = free_port();
    let launch = Launch::new().arg(format!("--insecure-port={port}")).arg("--insecure-bind-address=0.0.0.0");
    let sentence = launch.fails().await;
    assert!(sentence.contains("0.0.0.0 is not a loopback address"), "{sentence}");
}
