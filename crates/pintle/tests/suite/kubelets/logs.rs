//! `kubectl logs`.

use std::time::Duration;

use http::Method;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::timeout;

use super::{Cluster, JSON};
use crate::support::MASTER;

#[tokio::test]
async fn logs_come_from_the_kubelet_with_all_options() {
    let cluster = Cluster::start(&[]).await;
    let (kubectl, kubelet) = (&cluster.kubectl, &cluster.kubelet);
    for line in ["one", "two", "three"] {
        kubelet.log(line);
    }
    assert_eq!(kubectl.ok("logs web").await, "one\ntwo\nthree\n");
    assert_eq!(kubectl.ok("logs web --tail=2 --limit-bytes=6").await, "two\nth");
    let words = "logs web -c main --previous --timestamps --since-time=2026-01-02T03:04:05Z";
    kubectl.ok(words).await;
    let seen = kubelet.seen();
    let last = seen.last().expect("a request");
    assert_eq!(
        last.path,
        "/containerLogs/default/web/main?previous=true&sinceTime=2026-01-02T03%3A04%3A05Z&timestamps=true"
    );
    assert!(seen.iter().all(|seen| seen.certified && !seen.headers.contains_key("authorization")));
    let metrics = cluster.server.admin().get("/metrics").await.body;
    assert!(metrics.contains(r#"kube_apiserver_pod_logs_insecure_backend_total{usage="enforce_tls"} 3"#));
    let mut all = Vec::new();
    for (_, kubectl) in cluster.kubectls(None) {
        let mut following = kubectl.follow("logs -f web --tail=1");
        assert_eq!(following.line().await, "three");
        all.push(following);
    }
    kubelet.log("four");
    for following in &mut all {
        assert_eq!(following.line().await, "four", "it is sent at once");
    }
    kubelet.end();
    for following in all {
        assert_eq!(following.rest().await, Vec::<String>::new());
    }
}

#[tokio::test]
async fn logs_that_are_nowhere_are_answered_as_in_the_reference() {
    let cluster = Cluster::start(&[]).await;
    cluster.pod("two", json!([{"name": "a", "image": "x"}, {"name": "b", "image": "x"}])).await;
    let unscheduled =
        json!({"metadata": {"name": "new"}, "spec": {"containers": [{"name": "c", "image": "x"}]}});
    cluster.send(Method::POST, "/api/v1/namespaces/default/pods", JSON, &unscheduled).await;
    let client = cluster.server.client().token(MASTER);
    let log = async |pod: &str| client.get(&format!("/api/v1/namespaces/default/pods/{pod}/log")).await;
    let nothing = log("new").await;
    assert_eq!((nothing.code, nothing.body.as_str()), (204, ""));
    let several = "a container name must be specified for pod two, choose one of: [a b]";
    log("two").await.is_status(400, "BadRequest", several);
    client.get("/api/v1/namespaces/default/pods/web/log?container=x").await.is_status(
        400,
        "BadRequest",
        "container x is not valid for pod web",
    );
    // A kubelet whose certificate nobody has signed.
    let stranger = pintle_kubelet_testing::Kubelet::start(pintle_kubelet_testing::Options::default()).await;
    stranger.log("unverified");
    cluster.node("stranger", stranger.address).await;
    let pod = json!({"metadata": {"name": "far"},
        "spec": {"nodeName": "stranger", "containers": [{"name": "c", "image": "x"}]}});
    cluster.send(Method::POST, "/api/v1/namespaces/default/pods", JSON, &pod).await;
    let refused = log("far").await;
    assert_eq!(refused.code, 500, "{}", refused.body);
    assert!(refused.body.contains("tls: failed to verify certificate: x509: "), "{}", refused.body);
    let unverified = log("far/../far").await;
    assert_ne!(unverified.code, 200);
    let unverified =
        client.get("/api/v1/namespaces/default/pods/far/log?insecureSkipTLSVerifyBackend=true").await;
    assert_eq!((unverified.code, unverified.body.as_str()), (200, "unverified\n"));
}

/// Asks for a log over a WebSocket; returns all that comes.
async fn over_websocket(cluster: &Cluster, protocol: &str) -> String {
    let mut stream = cluster.server.admin().tls().await.expect("TLS");
    let protocol =
        if protocol.is_empty() { String::new() } else { format!("Sec-WebSocket-Protocol: {protocol}\r\n") };
    let head = format!(
        "GET /api/v1/namespaces/default/pods/web/log HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
         Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n{protocol}\r\n"
    );
    stream.write_all(head.as_bytes()).await.expect("written");
    let (mut all, mut buffer) = (Vec::new(), [0; 4096]);
    while let Ok(Ok(size @ 1..)) = timeout(Duration::from_secs(3), stream.read(&mut buffer)).await {
        all.extend_from_slice(&buffer[..size]);
        if all.ends_with(b"\x88\x02\x03\xe8") {
            break;
        }
    }
    String::from_utf8_lossy(&all).into_owned()
}

#[tokio::test]
async fn a_log_comes_in_messages_of_a_websocket() {
    let cluster = Cluster::start(&[]).await;
    cluster.kubelet.log("one");
    for (protocol, messages) in [
        ("", "\u{82}\0\u{82}\u{4}one\n\u{88}"),
        ("binary.k8s.io", "\u{82}\0\u{82}\u{4}one\n\u{88}"),
        ("base64.binary.k8s.io", "\u{81}\0\u{81}\u{8}b25lCg==\u{88}"),
    ] {
        let answer = over_websocket(&cluster, protocol).await;
        assert!(answer.starts_with("HTTP/1.1 101 "), "{answer}");
        // Bytes above 0x7f are shown as replacement characters.
        let expect: String =
            messages.chars().map(|c| if c > '\u{7f}' { char::REPLACEMENT_CHARACTER } else { c }).collect();
        assert!(answer.contains(&format!("\r\n\r\n{expect}")), "{protocol}: {answer:?}");
        assert_eq!(answer.contains("binary.k8s.io"), !protocol.is_empty());
    }
    let refused = over_websocket(&cluster, "v4.channel.k8s.io").await;
    assert!(refused.starts_with("HTTP/1.1 403 "), "{refused}");
    let why = "requested protocol(s) are not supported: [v4.channel.k8s.io]; supports [binary.k8s.io base64.binary.k8s.io]";
    assert!(refused.contains(why), "{refused}");
}

#[tokio::test]
async fn streams_of_a_log_are_split_behind_their_gate() {
    let cluster = Cluster::start(&["--feature-gates=PodLogsQuerySplitStreams=true"]).await;
    let client = cluster.server.client().token(MASTER);
    for (query, asked) in [("", "All"), ("?stream=Stderr", "Stderr"), ("?stream=Stdout", "Stdout")] {
        client.get(&format!("/api/v1/namespaces/default/pods/web/log{query}")).await.code_is(200);
        let seen = cluster.kubelet.seen().pop().expect("a request");
        assert_eq!(seen.path, format!("/containerLogs/default/web/main?stream={asked}"));
    }
    let invalid = client.get("/api/v1/namespaces/default/pods/web/log?stream=Stdin").await;
    assert_eq!(invalid.code, 422, "{}", invalid.body);
}
