//! A server that takes connections and never answers: nobody but its own clients waits for it.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use http::Method;
use serde_json::json;
use tokio::net::TcpListener;

use super::extension_server::Setup;
use super::{
    API_SERVICES, SERVICES, api_service, available, delete, extend, freshness, local_service, post, ready,
    register,
};
use crate::support::{Launch, Server, eventually};

/// Longer than any of this takes on a busy machine, shorter than any time limit of requests to other servers.
const SOON: Duration = Duration::from_secs(3);

async fn soon(server: &Server, path: &str, headers: &[(&str, &str)]) {
    let begun = Instant::now();
    server.admin().request(Method::GET, path, headers, "").await.code_is(200);
    assert!(begun.elapsed() < SOON, "{path} took {:?}", begun.elapsed());
}

/// Takes connections and never answers.
async fn hole() -> (SocketAddr, tokio::task::JoinHandle<()>) {
    let hole = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = hole.local_addr().expect("an address");
    let held = tokio::spawn(async move {
        let mut held = Vec::new();
        while let Ok((stream, _)) = hole.accept().await {
            held.push(stream);
        }
    });
    (address, held)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_dead_servers_do_not_delay_one_that_answers() {
    const DEAD: [&str; 12] = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"];
    let (address, held) = hole().await;
    let server = Launch::new().start().await;
    ready(&server).await;
    for name in DEAD {
        post(&server, SERVICES, &local_service(name, address.port())).await;
        let group = format!("{name}.example.com");
        post(&server, API_SERVICES, &api_service(&group, "v1", name, address.port(), None)).await;
    }
    eventually("all are looked at", async || freshness(&server, "l.example.com").await == "Stale").await;
    let begun = Instant::now();
    let _boats = extend(&server, Setup::boats()).await;
    assert!(begun.elapsed() < SOON, "it took {:?}", begun.elapsed());
    let name = "apis/boats.example.com/v1";
    eventually("its OpenAPI document", async || {
        server.admin().get("/openapi/v3").await.gives(200)["paths"][name].is_object()
    })
    .await;
    assert!(begun.elapsed() < 2 * SOON, "it took {:?}", begun.elapsed());
    held.abort();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dead_server_delays_only_requests_for_its_own_group() {
    let (address, held) = hole().await;
    let launch = Launch::new().arg("--controllers=namespace");
    let mut server = launch.start().await;
    ready(&server).await;
    let _boats = extend(&server, Setup::boats()).await;
    let dead = Setup { service: "dead", group: "dead.example.com", ..Setup::boats() };
    register(&server, &dead, address, None).await;
    eventually("it is listed", async || freshness(&server, "dead.example.com").await == "Stale").await;
    let aggregated = [("accept", "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList")];
    for round in 0..2 {
        for path in ["/apis", "/apis/dead.example.com", "/openapi/v2", "/openapi/v3", "/", "/api/v1/pods"] {
            soon(&server, path, &[]).await;
        }
        soon(&server, "/apis", &aggregated).await;
        soon(&server, "/apis/boats.example.com/v1/namespaces/default/boats", &[]).await;
        // The namespace tells what holds it, and its content is gone; a change tells when the server is gone.
        let name = format!("space{round}");
        post(&server, "/api/v1/namespaces", &json!({"metadata": {"name": name}})).await;
        let begun = Instant::now();
        delete(&server, &format!("/api/v1/namespaces/{name}")).await;
        eventually("the condition", async || {
            let found = server.admin().get(&format!("/api/v1/namespaces/{name}")).await.gives(200);
            found["status"]["conditions"]
                .to_string()
                .contains("stale GroupVersion discovery: dead.example.com/v1")
        })
        .await;
        assert!(begun.elapsed() < SOON, "{:?}", begun.elapsed());
        if round == 0 {
            server.stop().await;
            let begun = Instant::now();
            server = launch.start().await;
            ready(&server).await;
            assert!(begun.elapsed() < SOON, "the start took {:?}", begun.elapsed());
        }
    }
    // Its own clients hear after the checks that it is not there.
    eventually("the check", async || {
        available(&server, "v1.dead.example.com").await.1 == "FailedDiscoveryCheck"
    })
    .await;
    let message = available(&server, "v1.dead.example.com").await.2;
    assert!(
        message.contains("context deadline exceeded (Client.Timeout exceeded while awaiting headers)"),
        "{message}"
    );
    server.admin().get("/apis/dead.example.com/v1/boats").await.is(503, "service unavailable\n");
    delete(&server, &format!("{API_SERVICES}/v1.dead.example.com")).await;
    eventually("the namespaces are gone", async || {
        server.admin().get("/api/v1/namespaces/space1").await.code == 404
    })
    .await;
    held.abort();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn objects_of_another_server_go_with_their_namespace() {
    let server = Launch::new().arg("--controllers=namespace").start().await;
    ready(&server).await;
    let boats = extend(&server, Setup::boats()).await;
    post(&server, "/api/v1/namespaces", &json!({"metadata": {"name": "harbour"}})).await;
    let path = "/apis/boats.example.com/v1/namespaces/harbour/boats";
    boats.put("harbour", json!({"metadata": {"name": "anna"}}));
    boats.put("elsewhere", json!({"metadata": {"name": "bella"}}));
    assert_eq!(server.admin().get(path).await.gives(200)["items"].as_array().expect("items").len(), 1);
    delete(&server, "/api/v1/namespaces/harbour").await;
    eventually("the namespace is gone", async || {
        server.admin().get("/api/v1/namespaces/harbour").await.code == 404
    })
    .await;
    let left = server.admin().get("/apis/boats.example.com/v1/boats").await.gives(200);
    assert_eq!(left["items"][0]["metadata"]["name"], "bella");
    let deleted = boats.seen().into_iter().find(|seen| seen.method == Method::DELETE).expect("a deletion");
    let user = "system:serviceaccount:kube-system:namespace-controller";
    assert_eq!((deleted.path.as_str(), deleted.all("x-remote-user")), (path, vec![user]));
}
