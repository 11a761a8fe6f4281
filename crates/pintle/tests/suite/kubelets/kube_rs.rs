//! kube-rs' own exec, attach and port-forward, which are WebSockets.

use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use kube::api::AttachParams;
use pintle_kubelet_testing::Options;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::Cluster;
use crate::kube_rs::client;

#[tokio::test]
async fn commands_run_and_report_their_status() {
    let cluster = Cluster::start(&[]).await;
    let pods: Api<Pod> = Api::namespaced(client(&cluster.server).await, "default");
    let params = AttachParams::default().stdin(true).stderr(false);
    let mut process =
        pods.exec("web", ["sh", "-c", "read a; echo got $a; exit 7"], &params).await.expect("exec");
    let status = process.take_status().expect("a status");
    process.stdin().expect("stdin").write_all(b"word\n").await.expect("room");
    let mut out = String::new();
    process.stdout().expect("stdout").read_to_string(&mut out).await.expect("text");
    assert_eq!(out, "got word\n");
    let status = status.await.expect("a status");
    assert_eq!(status.reason.as_deref(), Some("NonZeroExitCode"), "{status:?}");
    let mut attached = pods.attach("web", &params).await.expect("attach");
    attached.stdin().expect("stdin").write_all(b"hello\n").await.expect("room");
    let mut line = [0; 10];
    attached.stdout().expect("stdout").read_exact(&mut line).await.expect("text");
    assert_eq!(&line, b"got hello\n");
}

#[tokio::test]
async fn ports_are_forwarded() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let ports = [(80, listener.local_addr().expect("an address"))].into();
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.expect("a connection");
        let mut four = [0; 4];
        stream.read_exact(&mut four).await.expect("bytes");
        stream.write_all(b"pong").await.expect("room");
    });
    let cluster = Cluster::with(&[], Options { ports, ..Options::default() }).await;
    let pods: Api<Pod> = Api::namespaced(client(&cluster.server).await, "default");
    let mut forwarder = pods.portforward("web", &[80]).await.expect("a forward");
    let mut port = forwarder.take_stream(80).expect("the port");
    port.write_all(b"ping").await.expect("room");
    let mut four = [0; 4];
    let read = port.read_exact(&mut four).await;
    drop(port);
    let ended = forwarder.join().await;
    assert!(read.is_ok(), "{read:?} {ended:?}");
    assert_eq!(&four, b"pong");
}
