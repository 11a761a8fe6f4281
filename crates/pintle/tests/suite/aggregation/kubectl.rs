//! kubectl on API services, and through them.

use std::time::Duration;

use serde_json::json;

use super::extension_server::Setup;
use super::{extend, merge, post, ready};
use crate::support::kubectl::Kubectl;
use crate::support::{Launch, eventually};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kubectl_works_with_the_objects_of_an_extension_server() {
    let server = Launch::new().start().await;
    ready(&server).await;
    let extension = extend(&server, Setup::boats()).await;
    let kubectl = Kubectl::of(&server);
    let services = kubectl.ok("get apiservices").await;
    let row = |name: &str| services.lines().find(|line| line.starts_with(name)).expect("a row").to_owned();
    let columns = |name: &str| row(name).split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(columns("v1.apps")[1..3], ["Local", "True"]);
    assert_eq!(columns("v1.boats.example.com")[1..3], ["default/boats", "True"]);
    assert!(kubectl.ok("api-resources").await.contains("boats.example.com/v1"));
    assert!(kubectl.ok("api-versions").await.contains("boats.example.com/v1"));

    let boat = "apiVersion: boats.example.com/v1\nkind: Boat\nmetadata: {name: anna}\nspec: {length: 7}\n";
    let applied = kubectl.run(&["apply", "--validate=false", "-f", "-"], boat).await;
    assert_eq!(applied.stdout, "boat.boats.example.com/anna created\n", "{applied:?}");
    let applied = kubectl.run(&["apply", "--validate=false", "-f", "-"], &boat.replace('7', "9")).await;
    assert_eq!(applied.stdout, "boat.boats.example.com/anna configured\n", "{applied:?}");
    assert_eq!(kubectl.ok("get boat anna -o jsonpath={.spec.length}").await, "9");
    assert!(kubectl.ok("get xb").await.contains("anna"));
    eventually("its OpenAPI document", async || {
        kubectl.run(&["explain", "boats.spec.length"], "").await.stdout.contains("In metres.")
    })
    .await;
    let watch = tokio::spawn({
        let kubectl = kubectl.clone();
        async move {
            kubectl.run(&["get", "boats", "--watch-only", "--request-timeout=3s", "-o", "name"], "").await
        }
    });
    eventually("the watch", async || extension.seen().iter().any(|seen| seen.query.contains("watch=true")))
        .await;
    tokio::time::sleep(Duration::from_millis(100)).await;
    kubectl.ok("annotate boat anna seen=yes").await;
    assert!(watch.await.expect("kubectl").stdout.contains("boat.boats.example.com/anna"));
    kubectl.ok("delete boat anna").await;
    assert!(kubectl.ok("get boats").await.is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kubectl_top_shows_metrics_of_an_extension_server() {
    let server = Launch::new().start().await;
    ready(&server).await;
    let metrics = extend(
        &server,
        Setup {
            service: "metrics-server",
            group: "metrics.k8s.io",
            version: "v1beta1",
            resource: "nodes",
            kind: "NodeMetrics",
            namespaced: false,
            ..Setup::boats()
        },
    )
    .await;
    let usage = json!({"cpu": "250m", "memory": "512Mi"});
    metrics.put("", json!({"metadata": {"name": "n1"}, "timestamp": "2026-01-01T00:00:00Z", "window": "30s", "usage": usage}));
    post(&server, "/api/v1/nodes", &json!({"metadata": {"name": "n1"}})).await;
    let allocatable = json!({"status": {"allocatable": {"cpu": "1", "memory": "1Gi"}, "capacity": {"cpu": "1", "memory": "1Gi"}}});
    merge(&server, "/api/v1/nodes/n1/status", &allocatable).await;
    let top = Kubectl::of(&server).ok("top nodes").await;
    let row: Vec<&str> = top.lines().nth(1).expect("a row").split_whitespace().collect();
    assert_eq!(row, ["n1", "250m", "25%", "512Mi", "50%"], "{top}");
}
