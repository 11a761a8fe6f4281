//! `kubectl logs`.

use http::Method;
use serde_json::json;

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
    let mut following = kubectl.follow("logs -f web --tail=1");
    assert_eq!(following.line().await, "three");
    kubelet.log("four");
    assert_eq!(following.line().await, "four", "it is sent at once");
    kubelet.end();
    assert_eq!(following.rest().await, Vec::<String>::new());
    let metrics = cluster.server.admin().get("/metrics").await.body;
    assert!(metrics.contains(r#"kube_apiserver_pod_logs_insecure_backend_total{usage="enforce_tls"} 4"#));
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
