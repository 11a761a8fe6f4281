//! Documents to the byte, of small lists of what is served.

use std::sync::Arc;

use pintle_codec::json;
use pintle_discovery::aggregated::{self, Version};
use pintle_discovery::{
    Custom, CustomVersion, Document, GroupVersion, Schemas, builtin, groups, legacy, storage_version_hash,
};
use pintle_meta::Value;
use pintle_meta::gvk::GroupVersionKind;
use pintle_schema::Resources;

fn text(document: &Document) -> String {
    let mut text = Vec::new();
    json::encode(&document.value, &mut text);
    String::from_utf8(text).unwrap()
}

fn by_default() -> Vec<GroupVersion> {
    builtin(&Resources::builtin().unwrap(), pintle_schema::GroupVersion::is_served_by_default)
}

struct NoSchemas;

impl Schemas for NoSchemas {
    fn schema(&self, _: &str) -> Option<Value> {
        None
    }
}

fn custom() -> Custom {
    let version = CustomVersion { name: "v1".into(), status: true, scale: true, ..CustomVersion::default() };
    Custom {
        group: "example.com".into(),
        plural: "gizmos".into(),
        singular: "gizmo".into(),
        kind: "Gizmo".into(),
        list_kind: "GizmoList".into(),
        short_names: vec!["gz".into()],
        categories: vec![],
        namespaced: true,
        terminating: true,
        preserves_unknown: false,
        versions: vec![version],
        schemas: Arc::new(NoSchemas),
    }
}

fn in_one(custom: &Custom, version: Version) -> Document {
    let resource = aggregated::custom_resource(custom, &custom.versions[0], version);
    aggregated::list(
        vec![("example.com".into(), vec![aggregated::custom("v1", vec![resource], version)])],
        version,
    )
}

fn group(served: &[GroupVersion], name: &str) -> Option<Document> {
    let groups = groups(served);
    let (name, versions) = groups.iter().find(|(found, _)| found == name)?;
    Some(legacy::api_group(name, versions))
}

#[test]
fn the_oldest_document_says_no_version_of_its_own() {
    assert_eq!(
        text(&legacy::api_versions("10.0.0.1:6443")),
        r#"{"kind":"APIVersions","versions":["v1"],"serverAddressByClientCIDRs":[{"clientCIDR":"0.0.0.0/0","serverAddress":"10.0.0.1:6443"}]}"#
    );
    let core = text(&legacy::api_resource_list(&by_default()[0]));
    assert!(
        core.starts_with(r#"{"kind":"APIResourceList","groupVersion":"v1","resources":[{"name":"bindings","#)
    );
}

#[test]
fn a_group_prefers_the_first_of_its_served_versions() {
    assert_eq!(
        text(&group(&by_default(), "autoscaling").unwrap()),
        r#"{"kind":"APIGroup","apiVersion":"v1","name":"autoscaling","versions":[{"groupVersion":"autoscaling/v2","version":"v2"},{"groupVersion":"autoscaling/v1","version":"v1"}],"preferredVersion":{"groupVersion":"autoscaling/v2","version":"v2"}}"#
    );
    let old = builtin(&Resources::builtin().unwrap(), |version| version.version == "v1");
    let old = text(&group(&old, "autoscaling").unwrap());
    assert!(
        old.ends_with(r#""preferredVersion":{"groupVersion":"autoscaling/v1","version":"v1"}}"#),
        "{old}"
    );
}

#[test]
fn groups_without_a_served_version_are_not_there() {
    let served = by_default();
    assert!(group(&served, "storagemigration.k8s.io").is_none());
    assert!(group(&served, "example.com").is_none());
    assert!(group(&served, "apps").is_some());
    let groups = groups(&served);
    let named = groups.iter().filter(|(name, _)| !name.is_empty());
    let list = legacy::api_group_list(named.map(|(name, versions)| (name.as_str(), versions.clone())));
    let names: Vec<&str> =
        list.value.items_at(&["groups"]).iter().map(|group| group.text_at(&["name"])).collect();
    assert_eq!(
        (names.len(), names[0], names[1], names[2]),
        (20, "apiregistration.k8s.io", "apps", "events.k8s.io")
    );
}

#[test]
fn custom_resources_are_listed_like_built_in_ones() {
    let custom = custom();
    let resources = vec![custom.resource(&custom.versions[0])];
    let served = GroupVersion { group: "example.com".into(), version: "v1".into(), resources };
    assert_eq!(
        text(&legacy::api_resource_list(&served)),
        concat!(
            r#"{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"example.com/v1","resources":["#,
            r#"{"name":"gizmos","singularName":"gizmo","namespaced":true,"kind":"Gizmo","verbs":["delete","deletecollection","get","list","watch"],"shortNames":["gz"]},"#,
            r#"{"name":"gizmos/status","singularName":"","namespaced":true,"kind":"Gizmo","verbs":["get","patch","update"]},"#,
            r#"{"name":"gizmos/scale","singularName":"","namespaced":true,"group":"autoscaling","version":"v1","kind":"Scale","verbs":["get","patch","update"]}]}"#
        )
    );
}

#[test]
fn kinds_of_custom_resources_are_said_in_full_where_all_is_in_one() {
    assert_eq!(
        text(&in_one(&custom(), Version::V2)),
        concat!(
            r#"{"kind":"APIGroupDiscoveryList","apiVersion":"apidiscovery.k8s.io/v2","metadata":{},"items":["#,
            r#"{"metadata":{"name":"example.com"},"versions":[{"version":"v1","resources":[{"resource":"gizmos","#,
            r#""responseKind":{"group":"example.com","version":"v1","kind":"Gizmo"},"scope":"Namespaced","singularResource":"gizmo","#,
            r#""verbs":["delete","deletecollection","get","list","watch"],"shortNames":["gz"],"subresources":["#,
            r#"{"subresource":"status","responseKind":{"group":"example.com","version":"v1","kind":"Gizmo"},"verbs":["get","patch","update"]},"#,
            r#"{"subresource":"scale","responseKind":{"group":"autoscaling","version":"v1","kind":"Scale"},"verbs":["get","patch","update"]}]}],"#,
            r#""freshness":"Current"}]}]}"#
        )
    );
}

#[test]
fn the_core_group_is_alone_in_its_document_and_has_no_name() {
    let document = text(&aggregated::api(&by_default(), Version::V2beta1));
    assert!(document.starts_with(
        r#"{"kind":"APIGroupDiscoveryList","apiVersion":"apidiscovery.k8s.io/v2beta1","metadata":{},"items":[{"metadata":{},"versions":[{"version":"v1","resources":[{"resource":"bindings","responseKind":{"group":"","version":"","kind":"Binding"},"#
    ), "{document}");
    let groups = aggregated::apis(&by_default(), Version::V2);
    assert!(
        groups
            .value
            .items_at(&["items"])
            .iter()
            .all(|group| !group.text_at(&["metadata", "name"]).is_empty())
    );
}

#[test]
fn the_etag_is_that_of_the_content_whatever_version_is_asked_for() {
    let etag = |document| aggregated::json_and_etag(document).1;
    // echo -n '{"metadata":{},"items":[]}' | sha512sum
    let nothing = etag(aggregated::apis(&[], Version::V2));
    assert_eq!(&nothing[..16], "E31D92F2F415F58D");
    assert_eq!(nothing.len(), 128);
    assert_eq!(nothing, etag(aggregated::apis(&[], Version::V2beta1)));
    assert_ne!(nothing, etag(in_one(&custom(), Version::V2)));
}

#[test]
fn a_document_and_its_etag_are_written_at_once() {
    let document = aggregated::apis(&by_default(), Version::V2);
    let (json, _) = aggregated::json_and_etag(document.clone());
    assert_eq!(String::from_utf8(json).unwrap(), text(&document));
}

#[test]
fn the_storage_version_hash_is_shown_only_where_it_is_served() {
    let mut custom = custom();
    assert_eq!(custom.resource(&custom.versions[0]).storage, None);
    custom.versions.push(CustomVersion { name: "v2".into(), storage: true, ..CustomVersion::default() });
    let storage = custom.resource(&custom.versions[0]).storage.unwrap();
    assert_eq!(storage, GroupVersionKind::new("example.com", "v2", "Gizmo"));
    // echo -n example.com/v2/Gizmo | sha256sum | cut -c-16 | xxd -r -p | base64
    assert_eq!(storage_version_hash(&storage), "AyNg5rC8Yho=");
}

#[test]
fn a_resource_that_is_not_terminating_has_all_verbs() {
    let custom = Custom { terminating: false, ..custom() };
    let verbs = custom.resource(&custom.versions[0]).verbs;
    assert_eq!(verbs, ["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"]);
}
