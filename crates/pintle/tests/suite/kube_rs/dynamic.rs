//! Objects whose kind is known only while running, and what there is to know about them.

use std::collections::BTreeSet;

use futures_util::StreamExt;
use kube::api::{
    ApiResource, DeleteParams, DynamicObject, GroupVersionKind, ListParams, PostParams, WatchEvent,
    WatchParams,
};
use kube::discovery::{self, Discovery, Scope, verbs};
use kube::{Api, ResourceExt};
use serde_json::json;

use super::{client, from_json, make_namespace, refused};
use crate::support::shared::{Shared, on_both_stores};

on_both_stores! {
    groups_versions_and_kinds_are_discovered,
    both_forms_of_discovery_say_the_same,
    objects_of_a_discovered_kind_work,
    every_listable_kind_is_listed_and_watched,
}

async fn groups_versions_and_kinds_are_discovered(shared: &Shared) {
    let client = client(&shared.server).await;
    let (pods, capabilities) =
        discovery::pinned_kind(&client, &GroupVersionKind::gvk("", "v1", "Pod")).await.expect("pods");
    assert_eq!((pods.plural.as_str(), &capabilities.scope), ("pods", &Scope::Namespaced));
    assert!(capabilities.supports_operation(verbs::WATCH));
    assert!(capabilities.subresources.iter().any(|(resource, _)| resource.plural == "status"));
    let autoscaling = discovery::group(&client, "autoscaling").await.expect("a group");
    assert_eq!(autoscaling.preferred_version_or_latest(), "v2");
    assert_eq!(autoscaling.versions().collect::<BTreeSet<_>>(), BTreeSet::from(["v1", "v2"]));
    assert!(discovery::group(&client, "no.such.group").await.is_err());
    let version = client.apiserver_version().await.expect("a version");
    assert_eq!((version.major.as_str(), version.minor.as_str()), ("1", "36"));
}

/// Group, version and plural of every resource.
fn names(found: &Discovery) -> BTreeSet<(String, String, String)> {
    let mut names = BTreeSet::new();
    for group in found.groups() {
        for version in group.versions() {
            for (resource, _) in group.versioned_resources(version) {
                names.insert((resource.group, resource.version, resource.plural));
            }
        }
    }
    names
}

async fn both_forms_of_discovery_say_the_same(shared: &Shared) {
    let client = client(&shared.server).await;
    let one_by_one = Discovery::new(client.clone()).run().await.expect("discovery");
    let at_once = Discovery::new(client).run_aggregated().await.expect("aggregated discovery");
    assert_eq!(names(&one_by_one), names(&at_once));
    assert!(names(&at_once).len() > 60);
}

async fn objects_of_a_discovered_kind_work(shared: &Shared) {
    let client = client(&shared.server).await;
    make_namespace(&client, "dynamic-objects").await;
    let kind = GroupVersionKind::gvk("networking.k8s.io", "v1", "Ingress");
    let (resource, _) = discovery::pinned_kind(&client, &kind).await.expect("ingresses");
    let api: Api<DynamicObject> = Api::namespaced_with(client, "dynamic-objects", &resource);
    let object = DynamicObject::new("way", &resource).data(json!({
        "spec": {"defaultBackend": {"service": {"name": "web", "port": {"number": 80}}}},
    }));
    let created = api.create(&PostParams::default(), &object).await.expect("created");
    let types = created.types.as_ref().expect("a kind");
    assert_eq!((types.api_version.as_str(), types.kind.as_str()), ("networking.k8s.io/v1", "Ingress"));
    let mut changed = created.clone();
    changed.data["spec"]["defaultBackend"]["service"]["port"]["number"] = 81.into();
    let replaced = api.replace("way", &PostParams::default(), &changed).await.expect("replaced");
    assert_eq!(replaced.data["spec"]["defaultBackend"]["service"]["port"]["number"], 81);
    let list = api.list(&ListParams::default()).await.expect("a list");
    assert_eq!(list.types.kind, "IngressList");
    assert_eq!(list.items.len(), 1);
    api.delete("way", &DeleteParams::default()).await.expect("deleted");
    let unknown = ApiResource::from_gvk(&GroupVersionKind::gvk("example.org", "v1", "Nothing"));
    let api: Api<DynamicObject> = Api::all_with(api.into_client(), &unknown);
    assert_eq!(refused(api.list(&ListParams::default()).await).code, 404);
}

async fn every_listable_kind_is_listed_and_watched(shared: &Shared) {
    let client = client(&shared.server).await;
    let found = Discovery::new(client.clone()).run_aggregated().await.expect("discovery");
    let mut watched = 0;
    for group in found.groups() {
        for version in group.versions() {
            for (resource, capabilities) in group.versioned_resources(version) {
                if !capabilities.supports_operation(verbs::LIST) {
                    continue;
                }
                let api: Api<DynamicObject> = Api::all_with(client.clone(), &resource);
                let what = format!("{} of {}", resource.plural, resource.api_version);
                let list = api.list(&ListParams::default()).await;
                let list = list.unwrap_or_else(|error| panic!("{what}: {error}"));
                assert_eq!(list.types.kind, format!("{}List", resource.kind), "{what}");
                let version = list.metadata.resource_version.unwrap_or_default();
                let metadata = api.list_metadata(&ListParams::default().limit(2)).await;
                metadata.unwrap_or_else(|error| panic!("metadata of {what}: {error}"));
                if !capabilities.supports_operation(verbs::WATCH) {
                    continue;
                }
                // All that is there, then the end of it.
                let mut events =
                    api.watch(&WatchParams::default().initial_events(), "").await.expect(&what).boxed();
                loop {
                    match events.next().await.unwrap_or_else(|| panic!("the watch of {what} ended")) {
                        Ok(WatchEvent::Added(object)) => assert!(!object.name_any().is_empty(), "{what}"),
                        Ok(WatchEvent::Bookmark(bookmark)) => {
                            assert_eq!(
                                bookmark.metadata.annotations["k8s.io/initial-events-end"], "true",
                                "{what}"
                            );
                            let number = |text: &str| text.parse::<u64>().expect("a number");
                            assert!(
                                number(&bookmark.metadata.resource_version) >= number(&version),
                                "{what}"
                            );
                            break;
                        }
                        other => panic!("{what}: {other:?}"),
                    }
                }
                watched += 1;
            }
        }
    }
    assert!(watched > 50, "{watched} kinds");
    // Objects that the server created at its start can be read too.
    let namespaces = ApiResource::from_gvk(&GroupVersionKind::gvk("", "v1", "Namespace"));
    let api: Api<DynamicObject> = Api::all_with(client, &namespaces);
    let default: DynamicObject = api.get("default").await.expect("there");
    assert_eq!(default.data["status"], from_json::<serde_json::Value>(json!({"phase": "Active"})));
}
