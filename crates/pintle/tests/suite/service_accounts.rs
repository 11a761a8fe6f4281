//! Pods and their service accounts, with the admission plugins that are on by default.

use http::Method;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::support::kubectl::Kubectl;
use crate::support::shared::ready;
use crate::support::{Launch, eventually};

#[tokio::test]
async fn a_pod_of_a_new_namespace_has_an_account_and_a_token() {
    let server = Launch::with_default_plugins().start().await;
    ready(&server).await;
    let kubectl = Kubectl::of(&server);
    kubectl.ok("create namespace team").await;
    kubectl.ok("run web --image=nginx --namespace=team").await;
    let pod = kubectl.json("get pod web --namespace=team").await;
    assert_eq!(pod["spec"]["serviceAccountName"], "default");
    assert_eq!(pod["spec"]["serviceAccount"], "default");
    let mount = &pod["spec"]["containers"][0]["volumeMounts"][0];
    assert_eq!(mount["mountPath"], "/var/run/secrets/kubernetes.io/serviceaccount");
    assert_eq!(pod["spec"]["volumes"][0]["name"], mount["name"]);
    assert_eq!(pod["spec"]["volumes"][0]["projected"]["defaultMode"], 420);
    // A mirror pod shows a static pod of a node, and is not changed.
    let mirror = json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": "mirror", "annotations": {"kubernetes.io/config.mirror": "x"}},
        "spec": {"nodeName": "n", "containers": [{"name": "c", "image": "i"}]},
    });
    kubectl.feed("create --namespace=team -f -", &mirror.to_string()).await;
    let spec = kubectl.json("get pod mirror --namespace=team").await["spec"].clone();
    let added = json!([spec["serviceAccountName"], spec["volumes"], spec["containers"][0]["volumeMounts"]]);
    assert_eq!(added, json!([null, null, null]));
    let complaint = kubectl
        .fails(
            "run other --image=nginx --namespace=team --overrides={\"spec\":{\"serviceAccountName\":\"x\"}}",
        )
        .await;
    assert!(
        complaint.contains("error looking up service account team/x: serviceaccount \"x\" not found"),
        "{complaint}"
    );
}

#[tokio::test]
async fn the_default_account_comes_back() {
    let server = Launch::with_default_plugins().start().await;
    ready(&server).await;
    let kubectl = Kubectl::of(&server);
    let uid = async || {
        kubectl.run(&["get", "serviceaccount", "default", "-o", "jsonpath={.metadata.uid}"], "").await.stdout
    };
    eventually("a default account", async || !uid().await.is_empty()).await;
    let before = uid().await;
    kubectl.ok("delete serviceaccount default").await;
    eventually("another default account", async || !uid().await.is_empty() && uid().await != before).await;
}

/// The loop that makes default accounts may be behind: what it makes in a namespace that has gone meanwhile goes, too.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_default_account_outlives_its_namespace() {
    let server = Launch::with_default_plugins().start().await;
    ready(&server).await;
    let mut clients = JoinSet::new();
    // Many at once, so that the loop is behind.
    for client in 0..20 {
        let admin = server.admin();
        clients.spawn(async move {
            let mut connection = admin.connect().await.expect("a connection");
            let headers = [("content-type", "application/json")];
            let mut ask = async |method: Method, path: String, body: Value| {
                let answer = connection.send(method, &path, &headers, body.to_string()).await;
                answer.expect("an answer")
            };
            for round in 0..10 {
                let name = format!("short-{client}-{round}");
                let path = format!("/api/v1/namespaces/{name}");
                let namespace = json!({"metadata": {"name": name}});
                ask(Method::POST, "/api/v1/namespaces".into(), namespace).await.gives(201);
                let mut namespace = ask(Method::DELETE, path.clone(), json!({})).await.gives(200);
                ask(Method::DELETE, format!("{path}/serviceaccounts"), json!({})).await.gives(200);
                namespace["spec"] = json!({});
                namespace["metadata"]["resourceVersion"] = Value::Null;
                ask(Method::PUT, format!("{path}/finalize"), namespace).await.gives(200);
            }
        });
    }
    clients.join_all().await;
    let admin = server.admin();
    eventually("the end of all accounts of namespaces that are gone", async || {
        let all = admin.get("/api/v1/serviceaccounts").await.gives(200);
        let is_short = |account: &&Value| {
            account["metadata"]["namespace"].as_str().is_some_and(|name| name.starts_with("short-"))
        };
        all["items"].as_array().expect("items").iter().find(is_short).is_none()
    })
    .await;
}
