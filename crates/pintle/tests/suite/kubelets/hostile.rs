//! Kubelets that answer what they should not: each harms at most the client that asked for it.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use http::Method;
use pintle_outbound::testing::{Authority, HttpsOptions, server_config};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;

use super::Cluster;
use crate::support::{Answer, MASTER};

const UPGRADE: [(&str, &str); 5] = [
    ("connection", "Upgrade"),
    ("upgrade", "SPDY/3.1"),
    ("x-stream-protocol-version", "v4.channel.k8s.io"),
    ("x-remote-user", "system:admin"),
    ("content-length", "0"),
];

/// A kubelet that answers each request with these bytes, and then again and again with `more`.
async fn kubelet(answer: Vec<u8>, more: &'static [u8]) -> (SocketAddr, tokio::task::JoinHandle<()>) {
    let https = HttpsOptions { http2: false, ..HttpsOptions::default() };
    let (certificate, key) = Authority::new("hostile").issue(&["127.0.0.1"], |_| {});
    let acceptor = TlsAcceptor::from(Arc::new(server_config(&https, &certificate, &key)));
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let task = tokio::spawn(async move {
        let (stream, _) = listener.accept().await.expect("a connection");
        let mut stream = acceptor.accept(stream).await.expect("TLS");
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(stream.read_u8().await.expect("a head"));
        }
        let _ = stream.write_all(&answer).await;
        let _ = stream.flush().await;
        while !more.is_empty() && stream.write_all(more).await.is_ok() {}
        let mut rest = Vec::new();
        let _ = stream.read_to_end(&mut rest).await;
        assert!(rest.is_empty(), "nothing of the client follows a refusal");
    });
    (address, task)
}

/// Asks such a kubelet for `exec`; waits until the server has closed its connection.
async fn exec(answer: Vec<u8>, more: &'static [u8]) -> Option<Answer> {
    // Without an authority, kubelets are believed.
    let server = crate::support::Launch::new().tokens().start().await;
    crate::support::shared::ready(&server).await;
    let kubectl = crate::support::kubectl::Kubectl::of(&server);
    let friendly = pintle_kubelet_testing::Kubelet::start(pintle_kubelet_testing::Options::default()).await;
    let cluster = Cluster { server, kubelet: friendly, kubectl };
    let (address, task) = kubelet(answer, more).await;
    cluster.node("n", address).await;
    cluster.pod("web", serde_json::json!([{"name": "c", "image": "x"}])).await;
    let client = cluster.server.client().token(MASTER);
    let path = "/api/v1/namespaces/default/pods/web/exec?command=sh&stdout=1";
    let answer = timeout(Duration::from_secs(15), client.try_request(Method::POST, path, &UPGRADE, "")).await;
    let answer = answer.expect("an answer in time");
    timeout(Duration::from_secs(15), task).await.expect("the connection is closed").expect("no panic");
    let ready = cluster.server.admin().get("/readyz").await;
    assert_eq!(ready.code, 200);
    answer.ok()
}

#[tokio::test]
async fn redirects_are_not_followed() {
    let answer = b"HTTP/1.1 302 Found\r\nLocation: https://169.254.169.254/\r\nContent-Length: 0\r\n\r\n";
    let answer = exec(answer.to_vec(), b"").await.expect("an answer");
    assert_eq!(answer.code, 500);
    assert!(answer.body.contains("invalid upgrade response: status code 302"), "{}", answer.body);
}

#[tokio::test]
async fn what_follows_a_refusal_is_not_passed_on() {
    let answer = b"HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nnoHTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nsecret";
    let answer = exec(answer.to_vec(), b"").await.expect("an answer");
    assert_eq!((answer.code, answer.body.as_str(), answer.header("connection")), (403, "no", "close"));
}

#[tokio::test]
async fn heads_and_bodies_without_end_are_cut_off() {
    let head = [&b"HTTP/1.1 101 Switching Protocols\r\nX: "[..], &vec![b'a'; 1 << 20]].concat();
    let answer = exec(head, b"aaaaaaaa").await.expect("an answer");
    assert_eq!(answer.code, 500, "{}", answer.body);
    let endless = b"HTTP/1.1 500 Oops\r\nTransfer-Encoding: chunked\r\n\r\nffffffff\r\n";
    assert!(exec(endless.to_vec(), &[b'x'; 4096]).await.is_none(), "the client sees a broken answer");
    let split = b"HTTP/1.1 403 Forbidden\r\nX: a\rSet-Cookie: b\r\nContent-Length: 0\r\n\r\n";
    let answer = exec(split.to_vec(), b"").await.expect("an answer");
    assert_eq!(answer.header("set-cookie"), "", "{}", answer.body);
}
