//! Documents merged from a third source: a remote server whose group versions come, change and go.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use http::StatusCode;
use http::header::{ACCEPT, ETAG};
use pintle_discovery::{
    Contribution, GroupSource, GroupVersion, Kind, Priority, Publisher, RemoteDocument, RemoteVersion,
    Resource,
};
use pintle_server::Documents;
use serde_json::json;

use crate::{AGGREGATED, by_default, get};

/// A publisher that counts how often its changes are taken.
#[derive(Default)]
struct Counting {
    inner: Publisher,
    taken: AtomicUsize,
}

impl GroupSource for Counting {
    fn stamp(&self) -> u64 {
        self.inner.stamp()
    }

    fn take_changes(&self) -> Vec<(smol_str::SmolStr, Option<Contribution>)> {
        self.taken.fetch_add(1, Ordering::SeqCst);
        self.inner.take_changes()
    }
}

fn remote(group: &str, version: &str, resources: &[&str]) -> Contribution {
    remote_with(group, version, resources, Priority { group: 100, version: 100 })
}

fn remote_with(group: &str, version: &str, resources: &[&str], priority: Priority) -> Contribution {
    let resource = |name: &&str| Resource {
        name: (*name).into(),
        singular: name.trim_end_matches('s').into(),
        short_names: Vec::new(),
        categories: Vec::new(),
        kind: Kind { name: "Metric".into(), foreign: None },
        namespaced: true,
        verbs: vec!["get".into(), "list".into()],
        subresources: Vec::new(),
        storage: None,
    };
    let text =
        json!({"openapi": "3.0.0", "info": {"title": resources.join(","), "version": "1"}, "paths": {}});
    let document = |json: serde_json::Value| RemoteDocument {
        json: json.to_string().into_bytes().into(),
        hash: resources.join("-"),
    };
    let paths = resources.iter().map(|name| (format!("/apis/{group}/{version}/{name}"), json!({"get": {}})));
    let paths: serde_json::Map<String, serde_json::Value> = paths.collect();
    let openapi_v2 = document(json!({"swagger": "2.0", "paths": paths}));
    let openapi_v3 = document(text);
    let described = resources.iter().map(resource).collect();
    let version = GroupVersion { group: group.into(), version: version.into(), resources: described };
    Contribution::Remote(Arc::new(RemoteVersion {
        version,
        priority,
        is_stale: resources.is_empty(),
        openapi_v2: Some(openapi_v2),
        openapi_v3: Some(openapi_v3),
    }))
}

async fn etags(documents: &Documents) -> [String; 3] {
    let aggregated = get(documents, "/apis", &[(ACCEPT, AGGREGATED)]).await;
    let v2 = get(documents, "/openapi/v2", &[]).await;
    let apps = get(documents, "/openapi/v3/apis/apps/v1", &[]).await;
    [aggregated, v2, apps].map(|answer| answer.header(ETAG).to_owned())
}

#[tokio::test]
async fn a_third_source_adds_changes_and_removes_group_versions() {
    let documents = by_default();
    let before = etags(&documents).await;
    let index = get(&documents, "/openapi/v3", &[]).await.body;
    let source = Arc::<Counting>::default();
    documents.add_source(source.clone());
    assert_eq!(etags(&documents).await, before, "an empty source changes nothing");

    // A group of its own, and a version of a built-in group.
    source.inner.publish("v1.metrics.example.com", Some(remote("metrics.example.com", "v1", &["pods"])));
    source.inner.publish("v9.apps", Some(remote("apps", "v9", &["nodes"])));
    let added = etags(&documents).await;
    assert_ne!(added[0], before[0]);
    assert_eq!(added[2], before[2], "the document of another group version stays");
    let list = get(&documents, "/apis/metrics.example.com/v1", &[]).await.json();
    assert_eq!(
        (&list["groupVersion"], &list["resources"][0]["name"]),
        (&json!("metrics.example.com/v1"), &json!("pods"))
    );
    let group = get(&documents, "/apis/apps", &[]).await.json();
    let versions: Vec<&str> = group["versions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|found| found["version"].as_str().unwrap())
        .collect();
    assert_eq!(versions, ["v9", "v1"]);
    let groups = get(&documents, "/apis", &[]).await.json();
    let names: Vec<&str> =
        groups["groups"].as_array().unwrap().iter().map(|found| found["name"].as_str().unwrap()).collect();
    assert_eq!(names.last(), Some(&"metrics.example.com"));
    assert_eq!(names.iter().filter(|name| **name == "apps").count(), 1);
    let in_one = get(&documents, "/apis", &[(ACCEPT, AGGREGATED)]).await.json();
    let last = in_one["items"].as_array().unwrap().last().unwrap();
    assert_eq!(last["versions"][0]["resources"][0]["responseKind"]["group"], "metrics.example.com");
    let openapi = get(&documents, "/openapi/v3/apis/metrics.example.com/v1", &[]).await;
    assert_eq!((openapi.json()["info"]["title"].clone(), openapi.header(ETAG)), (json!("pods"), "\"pods\""));
    let listed = get(&documents, "/openapi/v3", &[]).await.json();
    let url = &listed["paths"]["apis/metrics.example.com/v1"]["serverRelativeURL"];
    assert_eq!(*url, "/openapi/v3/apis/metrics.example.com/v1?hash=pods");
    assert!(documents.paths().contains(&"/apis/metrics.example.com/v1".to_owned()));

    // Nothing new: nothing is taken, and documents stay.
    let taken = source.taken.load(Ordering::SeqCst);
    assert_eq!(etags(&documents).await, added);
    assert_eq!(source.taken.load(Ordering::SeqCst), taken);

    // One of them changes.
    let more = remote("metrics.example.com", "v1", &["pods", "nodes"]);
    source.inner.publish("v1.metrics.example.com", Some(more));
    let changed = etags(&documents).await;
    assert_ne!(changed[0], added[0]);
    assert_eq!(changed[2], before[2]);
    let openapi = get(&documents, "/openapi/v3/apis/metrics.example.com/v1", &[]).await;
    assert_eq!(openapi.header(ETAG), "\"pods-nodes\"");
    assert!(changed[1] != added[1] && added[1] != before[1], "the document of everything changes");
    let paths = get(&documents, "/openapi/v2", &[]).await.json()["paths"].clone();
    for path in ["/apis/metrics.example.com/v1/nodes", "/apis/apps/v9/nodes", "/apis/apps/v1/deployments"] {
        assert!(paths[path].is_object(), "{path}");
    }

    // Both go.
    source.inner.publish("v1.metrics.example.com", None);
    source.inner.publish("v9.apps", None);
    assert_eq!(etags(&documents).await, before);
    assert_eq!(get(&documents, "/openapi/v3", &[]).await.body, index);
    assert_eq!(get(&documents, "/apis/metrics.example.com/v1", &[]).await.code, StatusCode::NOT_FOUND);
    assert_eq!(get(&documents, "/apis/apps/v9", &[]).await.code, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn a_built_in_group_version_comes_before_every_other_source() {
    let documents = by_default();
    let before = etags(&documents).await;
    let source = Arc::<Publisher>::default();
    documents.add_source(source.clone());
    source.publish("v1.apps", Some(remote("apps", "v1", &["nodes"])));
    assert_eq!(etags(&documents).await[2], before[2]);
    let list = get(&documents, "/apis/apps/v1", &[]).await.json();
    assert_eq!(list["resources"][0]["name"], "controllerrevisions");
}

/// The names of all groups, from both lists.
async fn names(documents: &Documents) -> [Vec<String>; 2] {
    let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
    let list = get(documents, "/apis", &[]).await.json();
    let list = list["groups"].as_array().unwrap().iter().map(|group| text(&group["name"])).collect();
    let in_one = get(documents, "/apis", &[(ACCEPT, AGGREGATED)]).await.json();
    let in_one = in_one["items"].as_array().unwrap().iter();
    [list, in_one.map(|group| text(&group["metadata"]["name"])).collect()]
}

#[tokio::test]
async fn priorities_decide_the_order_of_groups_and_versions() {
    let documents = by_default();
    let before = names(&documents).await;
    let source = Arc::<Publisher>::default();
    documents.add_source(source.clone());
    let publish = |group: &str, version: &str, of_group: i32, of_version: i32| {
        let priority = Priority { group: of_group, version: of_version };
        let remote = remote_with(group, version, &["nodes"], priority);
        source.publish(&format!("{version}.{group}"), Some(remote));
    };
    publish("last.example.com", "v1", 1, 1);
    publish("first.example.com", "v1", 20_000, 1);
    publish("between.example.com", "v1", 17_200, 1);
    for found in names(&documents).await {
        let place = |name: &str| found.iter().position(|known| known == name).unwrap();
        assert_eq!(found[..2], ["apiregistration.k8s.io", "first.example.com"]);
        assert_eq!(found.last().unwrap(), "last.example.com");
        // Of the same priority as networking.k8s.io.
        assert_eq!(place("between.example.com") + 1, place("networking.k8s.io"));
        let rest: Vec<&String> = found.iter().filter(|name| !name.ends_with(".example.com")).collect();
        assert_eq!(rest, before[0].iter().collect::<Vec<_>>(), "the others keep their order");
    }
    // A group has the highest priority of its versions, which have an order of their own.
    publish("last.example.com", "v2", 20_000, 1);
    publish("last.example.com", "v1alpha1", 1, 2);
    let [list, in_one] = names(&documents).await;
    assert_eq!(in_one[1..3], ["first.example.com", "last.example.com"]);
    assert_eq!(list[1..3], in_one[1..3]);
    let group = get(&documents, "/apis/last.example.com", &[]).await.json();
    let versions: Vec<&str> = group["versions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|found| found["version"].as_str().unwrap())
        .collect();
    assert_eq!(versions, ["v1alpha1", "v2", "v1"]);
    assert_eq!(group["preferredVersion"]["version"], "v1alpha1");
}

#[tokio::test]
async fn a_version_whose_server_cannot_be_asked_is_stale() {
    let documents = by_default();
    let source = Arc::<Publisher>::default();
    documents.add_source(source.clone());
    source.publish("v1.metrics.example.com", Some(remote("metrics.example.com", "v1", &[])));
    let freshness = async || {
        let in_one = get(&documents, "/apis", &[(ACCEPT, AGGREGATED)]).await.json();
        in_one["items"].as_array().unwrap().last().unwrap()["versions"][0]["freshness"].clone()
    };
    assert_eq!(freshness().await, "Stale");
    source.publish("v1.metrics.example.com", Some(remote("metrics.example.com", "v1", &["pods"])));
    assert_eq!(freshness().await, "Current");
}
