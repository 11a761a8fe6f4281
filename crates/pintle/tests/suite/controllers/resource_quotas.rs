//! Usage of quotas, counted by the controller and charged by the admission plugin.

use std::time::Duration;

use http::Method;
use serde_json::{Value, json};

use super::{config_map, delete, delete_at_once, make_namespace, merge, post, send, with_controllers};
use crate::support::kubectl::Kubectl;
use crate::support::shared::ready;
use crate::support::{Server, eventually};

const QUOTAS: &str = "/api/v1/namespaces/a/resourcequotas";

async fn server_with_quota(hard: Value) -> Server {
    let server = with_controllers("resourcequota").start().await;
    ready(&server).await;
    make_namespace(&server, "a").await;
    post(&server, QUOTAS, &json!({"metadata": {"name": "q"}, "spec": {"hard": hard}})).await;
    server
}

async fn status(server: &Server) -> Value {
    server.admin().get(&format!("{QUOTAS}/q")).await.gives(200)["status"].clone()
}

async fn uses(server: &Server, expected: Value) {
    let mut last = Value::Null;
    eventually(&format!("usage of {expected}"), async || {
        last = status(server).await["used"].clone();
        last == expected
    })
    .await;
}

fn pod(name: &str, cpu: &str) -> Value {
    let container = json!({"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}});
    json!({"metadata": {"name": name}, "spec": {"containers": [container]}})
}

#[tokio::test]
async fn usage_of_pods_falls_when_they_go_or_end() {
    let server = server_with_quota(json!({"pods": "2", "requests.cpu": "1", "count/pods": "5"})).await;
    uses(&server, json!({"count/pods": "0", "pods": "0", "requests.cpu": "0"})).await;
    assert_eq!(status(&server).await["hard"], json!({"count/pods": "5", "pods": "2", "requests.cpu": "1"}));
    let pods = "/api/v1/namespaces/a/pods";
    for name in ["p1", "p2"] {
        post(&server, pods, &pod(name, "400m")).await;
    }
    uses(&server, json!({"count/pods": "2", "pods": "2", "requests.cpu": "800m"})).await;
    send(&server, Method::POST, pods, &pod("p3", "1m")).await.code_is(403);

    merge(&server, &format!("{pods}/p1/status"), &json!({"status": {"phase": "Succeeded"}})).await;
    uses(&server, json!({"count/pods": "2", "pods": "1", "requests.cpu": "400m"})).await;
    post(&server, pods, &pod("p3", "1m")).await;
    delete_at_once(&server, &format!("{pods}/p2")).await;
    uses(&server, json!({"count/pods": "2", "pods": "1", "requests.cpu": "1m"})).await;

    // Other limits are counted at once, and usage of limits that are gone goes.
    merge(&server, &format!("{QUOTAS}/q"), &json!({"spec": {"hard": {"pods": null, "secrets": "3"}}})).await;
    uses(&server, json!({"count/pods": "2", "requests.cpu": "1m", "secrets": "0"})).await;
}

#[tokio::test]
async fn services_claims_and_custom_objects_are_counted() {
    let server = server_with_quota(json!({
        "services": "5", "services.nodeports": "5", "persistentvolumeclaims": "3", "requests.storage": "10Gi",
        "count/widgets.example.com": "3", "count/configmaps": "9",
    }))
    .await;
    let used = |services: &str, ports: &str, claims: &str, storage: &str| {
        json!({
            "count/configmaps": "0", "services": services, "services.nodeports": ports,
            "persistentvolumeclaims": claims, "requests.storage": storage,
        })
    };
    uses(&server, used("0", "0", "0", "0")).await;
    let service = json!({"metadata": {"name": "s"}, "spec": {"type": "NodePort", "ports": [{"port": 80}]}});
    post(&server, "/api/v1/namespaces/a/services", &service).await;
    let claim = json!({"metadata": {"name": "c"}, "spec": {
        "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "2Gi"}},
    }});
    post(&server, "/api/v1/namespaces/a/persistentvolumeclaims", &claim).await;
    uses(&server, used("1", "1", "1", "2Gi")).await;
    merge(&server, "/api/v1/namespaces/a/services/s", &json!({"spec": {"type": "ClusterIP"}})).await;
    uses(&server, used("1", "0", "1", "2Gi")).await;
    delete(&server, "/api/v1/namespaces/a/services/s").await;
    merge(
        &server,
        "/api/v1/namespaces/a/persistentvolumeclaims/c",
        &json!({"metadata": {"finalizers": null}}),
    )
    .await;
    delete(&server, "/api/v1/namespaces/a/persistentvolumeclaims/c").await;
    uses(&server, used("0", "0", "0", "0")).await;

    // A resource that is defined later is counted from then on.
    super::define_widgets(&server).await;
    let mut all = used("0", "0", "0", "0");
    all["count/widgets.example.com"] = json!("0");
    uses(&server, all.clone()).await;
    let widget = json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}});
    post(&server, super::WIDGETS, &widget).await;
    all["count/widgets.example.com"] = json!("1");
    uses(&server, all.clone()).await;
    delete(&server, &format!("{}/w", super::WIDGETS)).await;
    all["count/widgets.example.com"] = json!("0");
    uses(&server, all).await;
}

/// A charge whose object is not stored after all is given back, without a deletion that would tell.
#[tokio::test]
async fn a_charge_for_nothing_is_given_back() {
    let server = server_with_quota(json!({"count/configmaps": "5"})).await;
    uses(&server, json!({"count/configmaps": "0"})).await;
    let maps = "/api/v1/namespaces/a/configmaps";
    post(&server, maps, &config_map("m")).await;
    send(&server, Method::POST, maps, &config_map("m")).await.code_is(409);
    uses(&server, json!({"count/configmaps": "1"})).await;
    let mut quota = server.admin().get(&format!("{QUOTAS}/q")).await.gives(200);
    quota["status"]["used"] = json!({"count/configmaps": "4"});
    send(&server, Method::PUT, &format!("{QUOTAS}/q/status"), &quota).await.code_is(200);
    uses(&server, json!({"count/configmaps": "1"})).await;
}

#[tokio::test]
async fn many_clients_never_exceed_a_quota_and_usage_is_right_afterwards() {
    const CLIENTS: usize = 64;
    const LIMIT: usize = 10;
    let server = server_with_quota(json!({"count/configmaps": LIMIT.to_string(), "pods": "7"})).await;
    uses(&server, json!({"count/configmaps": "0", "pods": "0"})).await;
    let maps = "/api/v1/namespaces/a/configmaps";
    let kept = futures_util::future::join_all((0..CLIENTS).map(|client| {
        let server = &server;
        async move {
            let (mut created, mut kept) = (0, 0);
            for round in 0..8 {
                let name = format!("m-{client}-{round}");
                let body = config_map(&name).to_string();
                let json = [("content-type", "application/json")];
                let admin = server.admin();
                match admin.request(Method::POST, maps, &json, body).await.code {
                    201 => created += 1,
                    403 | 409 => continue,
                    code => panic!("{code}"),
                }
                // One client in eight keeps what it made.
                if client % 8 == 0 {
                    kept += 1;
                    continue;
                }
                let path = format!("{maps}/{name}");
                admin.request(Method::DELETE, &path, &json, "{}").await.code_is(200);
            }
            (created, kept)
        }
    }));
    let watched = async {
        loop {
            let list = server.admin().get(maps).await.gives(200);
            let count = list["items"].as_array().map_or(0, Vec::len);
            assert!(count <= LIMIT, "{count} objects");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let results = tokio::select! {
        results = kept => results,
        () = watched => unreachable!(),
    };
    let created: usize = results.iter().map(|(created, _)| created).sum();
    let kept: usize = results.iter().map(|(_, kept)| kept).sum();
    assert!(created > LIMIT, "{created} created");
    assert!(kept <= LIMIT);
    uses(&server, json!({"count/configmaps": kept.to_string(), "pods": "0"})).await;
}

#[tokio::test]
async fn kubectl_shows_usage() {
    let server = with_controllers("resourcequota").start().await;
    ready(&server).await;
    let kubectl = Kubectl::of(&server);
    kubectl.ok("create quota q --hard=secrets=3,pods=2").await;
    kubectl.ok("create secret generic one --from-literal=a=b").await;
    eventually("the usage", async || {
        let shown = kubectl.ok("describe quota q").await;
        let has =
            |line: &[&str]| shown.lines().any(|shown| shown.split_whitespace().eq(line.iter().copied()));
        has(&["secrets", "1", "3"]) && has(&["pods", "0", "2"])
    })
    .await;
    kubectl.ok("delete secret one").await;
    eventually("the usage falls", async || {
        kubectl.ok("get quota q -o jsonpath={.status.used.secrets}").await == "0"
    })
    .await;
}
