//! The APIServices of what a server serves itself.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{API_SERVICES, available, delete, merge, post, ready};
use crate::custom_resources::{DEFINITIONS, definition, plain_schema, version};
use crate::support::{Launch, Server, eventually};

const LABEL: &str = "kube-aggregator.kubernetes.io/automanaged";

async fn all(server: &Server) -> BTreeMap<String, Value> {
    let list = server.admin().get(API_SERVICES).await.gives(200);
    let items = list["items"].as_array().expect("items").iter();
    items.map(|item| (item["metadata"]["name"].as_str().expect("a name").to_owned(), item.clone())).collect()
}

/// Without what differs between two servers.
fn normal(mut service: Value) -> Value {
    for field in ["uid", "resourceVersion", "creationTimestamp", "managedFields"] {
        service["metadata"].as_object_mut().expect("metadata").remove(field);
    }
    service["status"]["conditions"][0].as_object_mut().expect("a condition").remove("lastTransitionTime");
    service
}

#[tokio::test]
async fn every_group_version_of_a_server_has_one() {
    let server = Launch::new().start().await;
    ready(&server).await;
    let found = all(&server).await;
    let core = &found["v1."];
    assert_eq!(core["spec"], json!({"version": "v1", "groupPriorityMinimum": 18000, "versionPriority": 1}));
    assert_eq!(core["metadata"]["labels"], json!({LABEL: "onstart"}));
    let managers = core["metadata"]["managedFields"].as_array().expect("managers");
    assert_eq!((managers.len(), &managers[0]["manager"]), (1, &json!("kube-apiserver")));
    assert_eq!(found["v2.autoscaling"]["spec"]["versionPriority"], 30);
    assert!(!found.contains_key("v1.apiregistration.k8s.io"));
    let Some(folder) = pintle_published::upstream("the APIServices of a fresh server") else { return };
    let text = std::fs::read_to_string(folder.join("apiservices.json")).expect("published APIServices");
    let published: Value = serde_json::from_str(&text).expect("JSON");
    let published = published["items"].as_array().expect("items").iter();
    let published: Vec<Value> = published.map(|item| normal(item.clone())).collect();
    assert_eq!(found.into_values().map(normal).collect::<Vec<_>>(), published);
}

#[tokio::test]
async fn a_restart_writes_nothing_and_repairs_what_is_gone() {
    let launch = Launch::new();
    let mut server = launch.start().await;
    ready(&server).await;
    let before = all(&server).await;
    // Gone until the next start, as users may want.
    delete(&server, &format!("{API_SERVICES}/v1.batch")).await;
    // Changed: kept without the label, put right with it.
    let own = json!({"metadata": {"labels": {LABEL: null}}, "spec": {"groupPriorityMinimum": 5}});
    merge(&server, &format!("{API_SERVICES}/v1.apps"), &own).await;
    merge(&server, &format!("{API_SERVICES}/v1.policy"), &json!({"spec": {"groupPriorityMinimum": 5}})).await;
    // Of an earlier release that served more.
    let older = json!({"metadata": {"name": "v1beta1.policy", "labels": {LABEL: "onstart"}},
        "spec": {"group": "policy", "version": "v1beta1", "groupPriorityMinimum": 17100, "versionPriority": 9}});
    post(&server, API_SERVICES, &older).await;
    tokio::time::sleep(std::time::Duration::from_millis(300)).await;
    let now = all(&server).await;
    assert!(!now.contains_key("v1.batch") && now.contains_key("v1beta1.policy"));
    assert_eq!(now["v1.policy"]["spec"]["groupPriorityMinimum"], 5);
    // Serving does not depend on it.
    server.admin().get("/apis/batch/v1/jobs").await.code_is(200);

    server.stop().await;
    let server = launch.start().await;
    ready(&server).await;
    eventually("registration", async || !all(&server).await.contains_key("v1beta1.policy")).await;
    let after = all(&server).await;
    assert_eq!(after["v1.apps"]["spec"]["groupPriorityMinimum"], 5);
    assert_eq!(after["v1.policy"]["spec"]["groupPriorityMinimum"], 17100);
    assert!(after.contains_key("v1.batch"));
    for (name, service) in &before {
        if !["v1.apps", "v1.policy", "v1.batch"].contains(&name.as_str()) {
            assert_eq!(after[name]["metadata"]["resourceVersion"], service["metadata"]["resourceVersion"]);
        }
    }
}

#[tokio::test]
async fn group_versions_of_custom_resources_have_them_as_long_as_they_are_served() {
    let launch = Launch::new();
    let mut server = launch.start().await;
    ready(&server).await;
    let versions = || vec![version("v1", &plain_schema()), version("v2", &plain_schema())];
    post(&server, DEFINITIONS, &definition("example.com", "Boat", "Namespaced", versions())).await;
    post(&server, DEFINITIONS, &definition("example.com", "Ship", "Namespaced", vec![versions().remove(0)]))
        .await;
    eventually("registration", async || all(&server).await.contains_key("v2.example.com")).await;
    let found = all(&server).await["v1.example.com"].clone();
    assert_eq!(found["metadata"]["labels"], json!({LABEL: "true"}));
    let spec = json!({"group": "example.com", "version": "v1", "groupPriorityMinimum": 1000, "versionPriority": 100});
    assert_eq!(found["spec"], spec);
    assert_eq!(available(&server, "v1.example.com").await.1, "Local");

    // Changed APIServices are put right, deleted ones come back.
    merge(&server, &format!("{API_SERVICES}/v1.example.com"), &json!({"spec": {"versionPriority": 5}})).await;
    eventually("the priority", async || {
        all(&server).await["v1.example.com"]["spec"]["versionPriority"] == 100
    })
    .await;
    delete(&server, &format!("{API_SERVICES}/v2.example.com")).await;
    eventually("it is back", async || all(&server).await.contains_key("v2.example.com")).await;

    server.stop().await;
    let server = launch.start().await;
    ready(&server).await;
    // One of two definitions of v1 is left; nothing serves v2.
    delete(&server, &format!("{DEFINITIONS}/boats.example.com")).await;
    eventually("v2 is gone", async || !all(&server).await.contains_key("v2.example.com")).await;
    assert!(all(&server).await.contains_key("v1.example.com"));
    delete(&server, &format!("{DEFINITIONS}/ships.example.com")).await;
    eventually("v1 is gone", async || !all(&server).await.contains_key("v1.example.com")).await;
    // One that a user made stays.
    let own = json!({"metadata": {"name": "v1.other.example.com"},
        "spec": {"group": "other.example.com", "version": "v1", "groupPriorityMinimum": 1, "versionPriority": 1}});
    post(&server, API_SERVICES, &own).await;
    eventually("it is local", async || available(&server, "v1.other.example.com").await.1 == "Local").await;
}
