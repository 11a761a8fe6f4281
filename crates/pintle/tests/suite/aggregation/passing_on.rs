//! Requests that are passed on: in whose name, how they stream, and how they end.

use std::time::{Duration, Instant};

use http::Method;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;

use super::extension_server::{Host, Setup};
use super::{FrontProxy, extend, post, ready, until_available};
use crate::support::{ALICE, Launch, MASTER, Server, eventually};

const BOATS: &str = "/apis/boats.example.com/v1/namespaces/default/boats";

fn boat(name: &str) -> serde_json::Value {
    json!({"apiVersion": "boats.example.com/v1", "kind": "Boat", "metadata": {"name": name}, "spec": {"length": 7}})
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn objects_of_another_server_are_read_written_and_watched() {
    let server = Launch::new().start().await;
    ready(&server).await;
    let extension = extend(&server, Setup::boats()).await;
    for client in [server.admin(), server.admin().http2()] {
        let mut watch = client.follow(&format!("{BOATS}?watch=true"), &[]).await;
        eventually("the watch", async || extension.seen().iter().any(|seen| seen.query == "watch=true"))
            .await;
        post(&server, BOATS, &boat("anna")).await;
        let event = watch.line().await.expect("an event");
        assert_eq!((&event["type"], &event["object"]["metadata"]["name"]), (&json!("ADDED"), &json!("anna")));
        let found = client.get(&format!("{BOATS}/anna")).await.gives(200);
        assert_eq!(found["spec"]["length"], 7);
        let kind = [("content-type", "application/merge-patch+json")];
        let patch = json!({"spec": {"length": 8}}).to_string();
        let patched = client.request(Method::PATCH, &format!("{BOATS}/anna"), &kind, patch).await.gives(200);
        assert_eq!(patched["spec"]["length"], 8);
        assert_eq!(watch.line().await.expect("an event")["type"], "MODIFIED");
        client.request(Method::DELETE, &format!("{BOATS}/anna"), &[], "").await.code_is(200);
        // Errors are those of the other server.
        let missing = client.get(&format!("{BOATS}/anna")).await;
        missing.is_status(404, "NotFound", "boats \"anna\" not found");
    }
    // The path and the query are what this server has read.
    server.admin().get(&format!("{BOATS}/x%2Fy%20z?b=2&a=1;c=3&limit=5")).await.code_is(404);
    let seen = extension.seen().pop().expect("a request");
    assert_eq!(
        (seen.path.as_str(), seen.query.as_str()),
        (format!("{BOATS}/x/y%20z").as_str(), "b=2&limit=5")
    );
    // The list of its resources is its own.
    let list = server.admin().get("/apis/boats.example.com/v1").await.gives(200);
    assert_eq!(list["resources"][0]["name"], "boats");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_comes_in_the_name_of_its_user_and_no_other() {
    let server = Launch::new().tokens().start().await;
    ready(&server).await;
    let binding = json!({"metadata": {"name": "dev"}, "subjects": [{"kind": "Group", "name": "dev",
        "apiGroup": "rbac.authorization.k8s.io"}], "roleRef": {"apiGroup": "rbac.authorization.k8s.io",
        "kind": "ClusterRole", "name": "cluster-admin"}});
    post(&server, "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", &binding).await;
    let extension = extend(&server, Setup::boats()).await;
    let smuggled = [
        ("x-remote-user", "admin"),
        ("x-remote-uid", "7"),
        ("x-remote-group", "system:masters"),
        ("x-remote-extra-scopes", "all"),
        ("x-remote-extra-%73copes", "all"),
        ("connection", "X-Remote-User, X-Remote-Group, keep-alive"),
    ];
    server.client().token(ALICE).request(Method::GET, BOATS, &smuggled, "").await.code_is(200);
    let seen = extension.last(BOATS);
    assert_eq!(seen.all("x-remote-user"), ["alice"]);
    assert_eq!(seen.all("x-remote-uid"), ["u2"]);
    assert_eq!(seen.all("x-remote-group"), ["dev", "system:authenticated"]);
    assert!(!seen.headers.keys().any(|name| name.as_str().starts_with("x-remote-extra")));
    for name in ["authorization", "connection"] {
        assert!(seen.all(name).is_empty(), "{name}: {seen:?}");
    }
    assert_eq!(seen.all("x-forwarded-for"), ["127.0.0.1"]);
    assert_eq!(seen.all("x-forwarded-uri"), [BOATS]);
    assert_eq!(seen.all("audit-id").len(), 1);

    // An impersonated user is the user, with extra values; the headers that asked for it do not pass.
    let impersonated = [
        ("impersonate-user", "bob"),
        ("impersonate-group", "dev"),
        ("impersonate-extra-example.com%2fscope", "some"),
        ("impersonate-extra-b", "c"),
    ];
    server.client().token(MASTER).request(Method::GET, BOATS, &impersonated, "").await.code_is(200);
    let seen = extension.last(BOATS);
    assert_eq!(seen.all("x-remote-user"), ["bob"]);
    assert_eq!(seen.all("x-remote-extra-example.com%2fscope"), ["some"]);
    assert_eq!(seen.all("x-remote-extra-b"), ["c"]);
    assert!(!seen.headers.keys().any(|name| name.as_str().starts_with("impersonate")));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn extension_servers_trust_the_front_proxy_and_ask_about_everyone_else() {
    let launch = Launch::new().tokens();
    let proxy = FrontProxy::new(&launch);
    let server = launch.args(&proxy.flags).start().await;
    ready(&server).await;
    let host = Host::read(server.admin()).await;
    let extension = extend(&server, Setup { host: Some(host), ..Setup::boats() }).await;
    // Asked with the certificate of the front proxy, it believes the headers.
    server.client().token(MASTER).get(BOATS).await.code_is(200);
    assert!(extension.last(BOATS).certified);
    let role = json!({"metadata": {"name": "boats"}, "rules": [{"apiGroups": ["boats.example.com"],
        "resources": ["boats"], "verbs": ["list"]}]});
    let roles = "/apis/rbac.authorization.k8s.io/v1";
    // This server asks its authorizer first.
    let refused = server.client().token(ALICE).get(BOATS).await;
    refused.code_is(403);
    assert!(
        refused.body.contains(r#"boats.boats.example.com is forbidden: User \"alice\" cannot list resource"#)
    );
    post(&server, &format!("{roles}/clusterroles"), &role).await;
    let binding = json!({"metadata": {"name": "boats"}, "subjects": [{"kind": "User", "name": "alice",
        "apiGroup": "rbac.authorization.k8s.io"}], "roleRef": {"apiGroup": "rbac.authorization.k8s.io",
        "kind": "ClusterRole", "name": "boats"}});
    post(&server, &format!("{roles}/clusterrolebindings"), &binding).await;
    server.client().token(ALICE).get(BOATS).await.code_is(200);

    // A client that goes there by itself has no headers to be believed, only its token.
    let direct = crate::support::Client::new(extension.address.port(), &extension.authority)
        .named("boats.default.svc");
    let smuggled = [("x-remote-user", "admin"), ("x-remote-group", "system:masters")];
    direct.request(Method::GET, BOATS, &smuggled, "").await.code_is(401);
    direct.clone().token(ALICE).get(BOATS).await.code_is(200);
    direct.token(ALICE).request(Method::POST, BOATS, &[], boat("x").to_string()).await.code_is(403);

    // A new certificate is used by the next connection, one of another authority is not trusted.
    proxy.renew(&crate::support::Authority::new("front proxies").client("front-proxy", &[]));
    eventually("the certificate is refused", async || {
        // Connections that are open stay.
        let setup = json!({"metadata": {"annotations": {"a": "b"}}, "spec": {"insecureSkipTLSVerify": true, "caBundle": null}});
        super::merge(&server, "/apis/apiregistration.k8s.io/v1/apiservices/v1.boats.example.com", &setup).await;
        super::available(&server, "v1.boats.example.com").await.0 == "False"
    })
    .await;
    proxy.renew(&proxy.authority.client("front-proxy", &[]));
    until_available(&server, "v1.boats.example.com").await;
    server.client().token(MASTER).get(BOATS).await.code_is(200);
}

/// Sends the head of a request on a connection of its own, and returns it with the head of the answer.
async fn upgrade(server: &Server, path: &str, protocol: &str) -> (TlsStream<TcpStream>, String) {
    let mut stream: TlsStream<TcpStream> = server.admin().tls().await.expect("TLS");
    let head = format!(
        "GET {path} HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: {protocol}\r\nX-Remote-User: admin\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).await.expect("written");
    let mut answer = Vec::new();
    while !answer.ends_with(b"\r\n\r\n") {
        answer.push(stream.read_u8().await.expect("an answer"));
    }
    (stream, String::from_utf8(answer).expect("text"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_connection_is_upgraded_through_this_server() {
    let mut server = Launch::new().start().await;
    ready(&server).await;
    let extension = extend(&server, Setup::boats()).await;
    for protocol in ["SPDY/3.1", "websocket"] {
        let (mut stream, head) = upgrade(&server, &format!("{BOATS}/anna/echo"), protocol).await;
        assert!(head.starts_with("HTTP/1.1 101 "), "{head}");
        assert!(head.to_lowercase().contains(&format!("upgrade: {}", protocol.to_lowercase())), "{head}");
        let sent: Vec<u8> = (0..1_000_000_u32).map(|number| (number % 251) as u8).collect();
        let (mut reader, mut writer) = tokio::io::split(&mut stream);
        let mut received = vec![0; sent.len()];
        let (written, read) = tokio::join!(writer.write_all(&sent), reader.read_exact(&mut received));
        written.expect("written");
        read.expect("read");
        assert_eq!(received, sent);
    }
    let seen = extension.last(&format!("{BOATS}/anna/echo"));
    assert_ne!(seen.all("x-remote-user"), ["admin"]);
    // A server that does not agree is heard, and the connection ends.
    let (mut stream, head) = upgrade(&server, &format!("{BOATS}/none"), "SPDY/3.1").await;
    assert!(head.starts_with("HTTP/1.1 404 "), "{head}");
    let mut rest = Vec::new();
    tokio::time::timeout(Duration::from_secs(10), stream.read_to_end(&mut rest)).await.expect("the end").ok();
    assert!(String::from_utf8_lossy(&rest).contains("not found"));

    // Watches and tunnels do not hold up the end of this server.
    let (_tunnel, head) = upgrade(&server, &format!("{BOATS}/anna/echo"), "SPDY/3.1").await;
    assert!(head.starts_with("HTTP/1.1 101 "));
    let _watch = server.admin().follow(&format!("{BOATS}?watch=true"), &[]).await;
    let begun = Instant::now();
    server.stop().await;
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn documents_of_another_server_are_merged() {
    let server = Launch::new().start().await;
    ready(&server).await;
    let before = server.admin().get("/openapi/v2").await.gives(200);
    let extension = extend(&server, Setup::boats()).await;
    let _older = extend(
        &server,
        Setup {
            service: "old",
            group: "old.example.com",
            aggregated: false,
            openapi: false,
            ..Setup::boats()
        },
    )
    .await;
    let client = server.admin();
    let path = "/apis/boats.example.com/v1/namespaces/{namespace}/boats";
    eventually("OpenAPI v2", async || client.get("/openapi/v2").await.gives(200)["paths"][path].is_object())
        .await;
    let merged = client.get("/openapi/v2").await.gives(200);
    assert!(merged["definitions"]["com.example.Boat"].is_object());
    assert_eq!(merged["paths"]["/api/v1/pods"], before["paths"]["/api/v1/pods"]);
    let name = "apis/boats.example.com/v1";
    eventually("OpenAPI v3", async || client.get("/openapi/v3").await.gives(200)["paths"][name].is_object())
        .await;
    let url = client.get("/openapi/v3").await.gives(200)["paths"][name]["serverRelativeURL"].clone();
    assert_eq!(url, "/openapi/v3/apis/boats.example.com/v1?hash=ABC123");
    let document = client.get(url.as_str().expect("a URL")).await;
    assert_eq!(document.gives(200)["info"]["title"], "extension");
    assert_eq!(document.header("etag"), "\"ABC123\"");
    // The index and the groups show both.
    let paths = client.get("/").await.gives(200)["paths"].to_string();
    assert!(paths.contains("\"/apis/old.example.com/v1\"") && paths.contains("\"/apis/boats.example.com\""));
    for group in ["boats.example.com", "old.example.com"] {
        let found = client.get(&format!("/apis/{group}")).await.gives(200);
        assert_eq!(found["preferredVersion"]["groupVersion"], format!("{group}/v1"));
    }
    assert!(extension.seen().iter().any(|seen| seen.path == "/apis" && seen.all("if-none-match").is_empty()));
}
