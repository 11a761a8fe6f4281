//! `kubectl port-forward`.

use std::net::SocketAddr;
use std::time::Duration;

use pintle_kubelet_testing::Options;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;

use super::Cluster;
use crate::support::kubectl::{Following, Kubectl};

/// Sends back what it has received, once it has all of it.
async fn echo() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                let mut length = [0; 4];
                stream.read_exact(&mut length).await.ok()?;
                let mut all = vec![0; u32::from_be_bytes(length) as usize];
                stream.read_exact(&mut all).await.ok()?;
                stream.write_all(&all).await.ok()?;
                stream.shutdown().await.ok()
            });
        }
    });
    address
}

/// Starts a forward; returns it and its local port.
async fn forward(kubectl: &Kubectl) -> (Following, u16) {
    let mut following = kubectl.follow("port-forward web :80");
    let line = following.line().await;
    let port = line.split(" -> ").next().and_then(|from| from.rsplit(':').next()?.parse().ok());
    (following, port.unwrap_or_else(|| panic!("{line}")))
}

async fn exchange(port: u16, size: usize) {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).await.expect("a connection");
    let data: Vec<u8> = (0..size).map(|n| n as u8).collect();
    stream.write_all(&(size as u32).to_be_bytes()).await.expect("room");
    stream.write_all(&data).await.expect("room");
    let mut back = vec![0; size];
    timeout(Duration::from_secs(30), stream.read_exact(&mut back)).await.expect("in time").expect("all");
    assert!(back == data);
}

#[tokio::test]
async fn connections_are_forwarded_over_either_protocol() {
    let options = Options { ports: [(80, echo().await)].into(), ..Options::default() };
    let cluster = Cluster::with(&[], options).await;
    for (_, kubectl) in cluster.kubectls(Some("KUBECTL_PORT_FORWARD_WEBSOCKETS")) {
        let (_forwarding, port) = forward(&kubectl).await;
        exchange(port, 5).await;
        exchange(port, 3_000_000).await;
        let many: Vec<_> = (0..20).map(|_| tokio::spawn(exchange(port, 10_000))).collect();
        for one in many {
            one.await.expect("one of many");
        }
    }
    let metrics = cluster.server.admin().get("/metrics").await.body;
    assert!(metrics.contains(r#"apiserver_stream_tunnel_requests_total{code="101"} "#), "WebSocket was used");
}

#[tokio::test]
async fn a_forward_carries_a_thousand_connections_and_a_large_one() {
    let options = Options { ports: [(80, echo().await)].into(), ..Options::default() };
    let cluster = Cluster::with(&[], options).await;
    for websocket in ["true", "false"] {
        let kubectl = cluster.kubectl.clone().with("KUBECTL_PORT_FORWARD_WEBSOCKETS", websocket);
        let (_forwarding, port) = forward(&kubectl).await;
        for _ in 0..20 {
            let fifty: Vec<_> = (0..50).map(|size| tokio::spawn(exchange(port, size * 100))).collect();
            for one in fifty {
                one.await.expect("one of a thousand");
            }
        }
        exchange(port, 30_000_000).await;
    }
}

#[tokio::test]
async fn a_closed_port_is_an_error_of_its_connection() {
    let options = Options { ports: [(80, ([127, 0, 0, 1], 1).into())].into(), ..Options::default() };
    let cluster = Cluster::with(&[], options).await;
    let (_forwarding, port) = forward(&cluster.kubectl).await;
    let mut stream = TcpStream::connect(("127.0.0.1", port)).await.expect("a connection");
    let mut rest = Vec::new();
    let ended = timeout(Duration::from_secs(10), stream.read_to_end(&mut rest)).await.expect("in time");
    assert!(ended.is_err() || rest.is_empty());
}
