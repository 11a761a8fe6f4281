//! Plugins of namespaces, services and events.

use http::Method;
use serde_json::{Value, json};

use super::{configured, made, post, send, start};
use crate::support::Launch;

fn config_map(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}})
}

fn config_maps(namespace: &str) -> String {
    format!("/api/v1/namespaces/{namespace}/configmaps")
}

#[tokio::test]
async fn a_namespace_is_there_when_an_object_is_created_in_it() {
    let server = start(Launch::new(), "NamespaceAutoProvision").await;
    let dry = format!("{}?dryRun=All", config_maps("fresh"));
    post(&server, &dry, &config_map("a")).await.is_status(404, "NotFound", "namespaces \"fresh\" not found");
    made(&server, &config_maps("fresh"), &config_map("a")).await;
    made(&server, &config_maps("fresh"), &config_map("b")).await;
    let namespace = server.admin().get("/api/v1/namespaces/fresh").await.gives(200);
    assert_eq!(namespace["status"]["phase"], "Active");
    assert_eq!(namespace["metadata"]["labels"], json!({"kubernetes.io/metadata.name": "fresh"}));
    assert_eq!(namespace["spec"]["finalizers"], json!(["kubernetes"]));

    let answer = post(&server, &config_maps("No_Name"), &config_map("a")).await;
    let message = answer.json()["message"].as_str().unwrap_or_default().to_owned();
    let start = "configmaps \"a\" is forbidden: Namespace \"No_Name\" is invalid: metadata.name: Invalid value: \"No_Name\": ";
    assert!(answer.code == 403 && message.starts_with(start), "{message}");
}

#[tokio::test]
async fn a_namespace_that_is_made_passes_admission() {
    let server = start(Launch::new(), "NamespaceAutoProvision,AlwaysDeny").await;
    let message = "namespaces \"fresh\" is forbidden: admission control is denying all modifications";
    let answer = post(&server, &config_maps("fresh"), &config_map("a")).await;
    answer.is_status(403, "Forbidden", message);
    assert_eq!(server.admin().get("/api/v1/namespaces/fresh").await.code, 404);
}

#[tokio::test]
async fn a_plugin_that_admits_everything_overrules_none() {
    let server = start(Launch::new(), "AlwaysAdmit").await;
    let created = made(&server, &config_maps("default"), &config_map("a")).await;
    assert_eq!(created["data"], Value::Null);
    let missing = post(&server, &config_maps("gone"), &config_map("a")).await;
    missing.is_status(404, "NotFound", "namespaces \"gone\" not found");
    let patch = json!({"data": {"a": "b"}});
    let path = format!("{}/a", config_maps("default"));
    send(&server, Method::PATCH, &path, &patch).await.gives(200);
    send(&server, Method::DELETE, &path, &json!({})).await.gives(200);
}

#[tokio::test]
async fn a_plugin_that_denies_everything_denies_no_reads() {
    let server = start(Launch::new(), "AlwaysAdmit,AlwaysDeny").await;
    let path = config_maps("default");
    let message = "configmaps \"a\" is forbidden: admission control is denying all modifications";
    post(&server, &path, &config_map("a")).await.is_status(403, "Forbidden", message);
    let list = server.admin().get(&path).await.gives(200);
    assert_eq!(
        list["items"].as_array().map(|items| items.iter().any(|map| map["metadata"]["name"] == "a")),
        Some(false)
    );
    server.admin().get("/api/v1/namespaces/default").await.gives(200);
}

#[tokio::test]
async fn objects_are_not_created_in_missing_namespaces() {
    // Without NamespaceLifecycle, which would say the same.
    let launch = Launch::new()
        .arg("--enable-admission-plugins=NamespaceExists")
        .arg("--disable-admission-plugins=NamespaceLifecycle,ServiceAccount");
    let server = launch.start().await;
    server.until_it_has_namespaces().await;
    made(&server, &config_maps("default"), &config_map("a")).await;
    let answer = post(&server, &config_maps("gone"), &config_map("a")).await;
    answer.is_status(404, "NotFound", "namespaces \"gone\" not found");
}

#[tokio::test]
async fn services_have_no_new_external_ips() {
    const SERVICES: &str = "/api/v1/namespaces/default/services";
    let service = |name: &str, ips: Value| {
        let spec = json!({"ports": [{"port": 80}], "externalIPs": ips});
        json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": spec})
    };
    let launch = Launch::new();
    let data = launch.path("kept");
    let mut before = launch.data_dir(data.clone()).start().await;
    before.until_it_has_namespaces().await;
    made(&before, SERVICES, &service("old", json!(["1.1.1.1", "2.2.2.2"]))).await;
    before.stop().await;

    let server = start(Launch::new().data_dir(data), "DenyServiceExternalIPs").await;
    made(&server, SERVICES, &service("plain", json!([]))).await;
    let why = "is forbidden: Use of external IPs is denied by admission control";
    let created = post(&server, SERVICES, &service("new", json!(["1.1.1.1"]))).await;
    created.is_status(403, "Forbidden", &format!("services \"new\" {why}"));
    let change = async |ips: Value| {
        let patch = json!({"spec": {"externalIPs": ips}});
        send(&server, Method::PATCH, &format!("{SERVICES}/old"), &patch).await
    };
    change(json!(["2.2.2.2", "3.3.3.3"])).await.is_status(
        403,
        "Forbidden",
        &format!("services \"old\" {why}"),
    );
    change(json!(["2.2.2.2"])).await.gives(200);
    change(json!(["1.1.1.1"])).await.is_status(403, "Forbidden", &format!("services \"old\" {why}"));
}

#[tokio::test]
async fn events_are_limited_by_namespace() {
    let configuration = json!({
        "apiVersion": "eventratelimit.admission.k8s.io/v1alpha1", "kind": "Configuration",
        "limits": [{"type": "Namespace", "qps": 1, "burst": 2}],
    });
    let entry = json!([{"name": "EventRateLimit", "configuration": configuration}]);
    let server = start(configured(Launch::new(), &entry), "EventRateLimit").await;
    let create = async |namespace: &str, name: &str| {
        let object = json!({"kind": "Namespace", "name": namespace, "namespace": namespace});
        let event = json!({"apiVersion": "v1", "kind": "Event", "metadata": {"name": name}, "involvedObject": object});
        post(&server, &format!("/api/v1/namespaces/{namespace}/events"), &event).await
    };
    for name in ["a", "b"] {
        create("default", name).await.gives(201);
    }
    // One more is allowed each second, so this ends after a few on any machine.
    for number in 0.. {
        let answer = create("default", &format!("c{number}")).await;
        if answer.code != 201 {
            let message = "Too many requests: limit reached on type Namespace for key default";
            answer.is_status(429, "TooManyRequests", message);
            break;
        }
        assert!(number < 100, "no limit was reached");
    }
    create("kube-system", "a").await.gives(201);
    // Other objects are not limited.
    for number in 0..5 {
        made(&server, &config_maps("default"), &config_map(&format!("c{number}"))).await;
    }
}
