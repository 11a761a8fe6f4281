//! `proxy` of nodes, pods and services.

use http::Method;
use pintle_kubelet_testing::{Kubelet, Options};
use pintle_outbound::testing::{HttpsOptions, HttpsServer, Reply, Seen};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::{Cluster, JSON, MERGE, own_address};
use crate::support::{ALICE, MASTER};

const PODS: &str = "/api/v1/namespaces/default/pods";

/// An HTTPS server at an address that pods may have.
async fn target() -> HttpsServer {
    let options = HttpsOptions { address: own_address(), ..HttpsOptions::default() };
    HttpsServer::start_with(options, |seen: &Seen| match seen.path.as_str() {
        "/go" => Reply::text(302, "").with("location", "/there?x=1"),
        "/page" => Reply {
            headers: vec![("content-type", "text/html".into())],
            ..Reply::text(200, r#"<a href="/x">x</a><a href='y'>y</a>"#)
        },
        _ => Reply::text(
            200,
            &format!("{} {} {}", seen.method, seen.path, String::from_utf8_lossy(&seen.body)),
        ),
    })
    .await
}

/// Gives the pod of a cluster an address.
async fn place(cluster: &Cluster, ip: &str) {
    let status = json!({"status": {"podIP": ip, "podIPs": [{"ip": ip}]}});
    cluster.send(Method::PATCH, &format!("{PODS}/web/status"), MERGE, &status).await;
}

#[tokio::test]
async fn a_pod_is_asked_in_the_client_s_words() {
    let cluster = Cluster::start(&[]).await;
    let target = target().await;
    place(&cluster, &target.address.ip().to_string()).await;
    let client = cluster.server.client().token(MASTER);
    let port = target.address.port();
    let base = format!("{PODS}/https:web:{port}/proxy");
    for method in [Method::GET, Method::POST, Method::PUT, Method::PATCH, Method::DELETE] {
        let body = if method == Method::GET { "" } else { "body" };
        let path = format!("{base}/a%20b/c?d=e%2Ff&g");
        let sent = [("x-own", "1"), ("x-remote-user", "admin"), ("x-remote-group", "system:masters")];
        let answer = client.request(method.clone(), &path, &sent, body).await;
        assert_eq!((answer.code, answer.body), (200, format!("{method} /a%20b/c?d=e%2Ff&g {body}")));
    }
    let head = client.request(Method::HEAD, &format!("{base}/"), &[], "").await;
    assert_eq!(head.code, 200);
    let seen = target.seen();
    let last = seen.last().expect("a request");
    assert_eq!((last.method.as_str(), last.path.as_str()), ("HEAD", "/"));
    assert_eq!(seen[0].header("x-own"), "1");
    assert_eq!(seen[0].header("x-forwarded-uri"), format!("{base}/a%20b/c"));
    assert_eq!(seen[0].header("x-forwarded-for"), "127.0.0.1");
    for name in ["authorization", "x-remote-user", "x-remote-group"] {
        assert_eq!(seen[0].header(name), "", "it is not the target's to know");
    }
    let go = client.get(&format!("{base}/go")).await;
    assert_eq!((go.code, go.header("location")), (302, format!("{base}/there?x=1").as_str()));
    let page = client.get(&format!("{base}/page")).await;
    assert_eq!(page.body, format!(r#"<a href="{base}/x">x</a><a href='y'>y</a>"#));
    let root = client.get(&format!("{base}?q")).await;
    assert_eq!((root.code, root.header("location")), (301, format!("{base}/?q").as_str()));
    let alice = cluster.server.client().token(ALICE).get(&format!("{base}/")).await;
    assert_eq!(alice.code, 403, "{}", alice.body);
}

#[tokio::test]
async fn a_service_leads_to_a_pod_behind_it_and_nowhere_else() {
    let cluster = Cluster::start(&[]).await;
    let target = target().await;
    let (ip, port) = (target.address.ip().to_string(), target.address.port());
    let service = json!({"metadata": {"name": "s"}, "spec": {"ports": [{"name": "tls", "port": 443}]}});
    cluster.send(Method::POST, "/api/v1/namespaces/default/services", JSON, &service).await;
    let endpoints = json!({"metadata": {"name": "s"}, "subsets": [{
        "addresses": [{"ip": ip, "targetRef": {"kind": "Pod", "namespace": "default", "name": "web"}}],
        "ports": [{"name": "tls", "port": port}],
    }]});
    cluster.send(Method::POST, "/api/v1/namespaces/default/endpoints", JSON, &endpoints).await;
    let client = cluster.server.client().token(MASTER);
    let ask = async |id: &str| client.get(&format!("/api/v1/namespaces/default/services/{id}/proxy/x")).await;
    let nowhere = "no endpoints available for service \"https:s:tls\"";
    ask("https:s:tls").await.is_status(503, "ServiceUnavailable", nowhere);
    place(&cluster, &ip).await;
    for id in ["https:s:tls", "https:s:443"] {
        assert_eq!(ask(id).await.body, "GET /x ", "{id}");
    }
    ask("https:s:444").await.is_status(
        503,
        "ServiceUnavailable",
        "no service port 444 found for service \"s\"",
    );
    // Plain HTTP to a port that speaks TLS.
    let refused = ask("s:tls").await;
    assert_eq!(refused.code, 503, "{}", refused.body);
    assert!(refused.body.contains("error trying to reach service: "), "{}", refused.body);
}

#[tokio::test]
async fn addresses_of_this_machine_are_not_reached() {
    let cluster = Cluster::start(&[]).await;
    let client = cluster.server.client().token(MASTER);
    let not_allowed = "address not allowed";
    client.get("/api/v1/nodes/n/proxy/pods").await.is_status(400, "BadRequest", not_allowed);
    for ip in ["127.0.0.1", "169.254.169.254", "::1"] {
        place(&cluster, ip).await;
        let answer = client.get(&format!("{PODS}/web:80/proxy/")).await;
        answer.is_status(400, "BadRequest", not_allowed);
    }
    let invalid = "invalid pod request \"ftp:web:80\"";
    client.get(&format!("{PODS}/ftp:web:80/proxy/")).await.is_status(400, "BadRequest", invalid);
    assert!(cluster.kubelet.seen().is_empty());
}

#[tokio::test]
async fn a_node_is_asked_with_the_server_s_certificate() {
    let address = Some(own_address());
    let cluster = Cluster::with(&[], Options { address, ..Options::default() }).await;
    let client = cluster.server.client().token(MASTER);
    let pods = client.get("/api/v1/nodes/n/proxy/pods").await;
    assert!(pods.body.contains("PodList"), "{}", pods.body);
    let post = client.request(Method::POST, "/api/v1/nodes/n/proxy/echo/a/", &[], "body").await;
    assert!(post.body.ends_with("/echo/a/\nbody"), "{}", post.body);
    let redirect = client.get("/api/v1/nodes/n/proxy/redirect").await;
    assert_eq!(redirect.header("location"), "/api/v1/nodes/n/proxy/elsewhere", "it is not followed");
    assert!(cluster.kubelet.seen().iter().all(|seen| seen.certified));
    // Another port of the node gets no certificate.
    let other = Kubelet::start(Options { address, ..Options::default() }).await;
    let answer = client.get(&format!("/api/v1/nodes/https:n:{}/proxy/pods", other.address.port())).await;
    assert_eq!(answer.code, 200, "{}", answer.body);
    assert!(other.seen().iter().all(|seen| !seen.certified));
}

#[tokio::test]
async fn kubectl_proxy_leads_to_pods() {
    let cluster = Cluster::start(&[]).await;
    let target = target().await;
    place(&cluster, &target.address.ip().to_string()).await;
    let base = format!("{PODS}/https:web:{}/proxy", target.address.port());
    for (who, kubectl) in cluster.kubectls(None) {
        let mut proxy = kubectl.follow("proxy --port=0");
        let line = proxy.line().await;
        let port: u16 = line.rsplit(':').next().and_then(|port| port.parse().ok()).expect("a port");
        let mut stream = TcpStream::connect(("127.0.0.1", port)).await.expect("a connection");
        let asked = format!("GET {base}/page HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
        stream.write_all(asked.as_bytes()).await.expect("room");
        let mut page = String::new();
        stream.read_to_string(&mut page).await.expect("text");
        assert!(page.starts_with("HTTP/1.1 200 "), "{who}: {page}");
        assert!(page.contains(&format!(r#"<a href="{base}/x">x</a>"#)), "{who}: {page}");
    }
}
