//! The port without TLS, for those who still ask for it.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::support::shared::ready;
use crate::support::{Launch, PATIENCE, Server, free_port};

/// The whole answer to a request, over plain HTTP/1.1.
async fn ask(port: u16, host: &str, request: &str, headers: &str, body: &str) -> String {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).await.expect("a connection");
    let length = body.len();
    let text = format!(
        "{request} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\nContent-Type: application/json\r\n{headers}\
         Content-Length: {length}\r\n\r\n{body}"
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
async fn whoever_is_on_this_machine_may_do_everything_over_the_insecure_port() {
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

#[tokio::test]
async fn nobody_acts_as_somebody_else_over_the_insecure_port() {
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
