//! Documents to the byte, of small lists of what is served.

use pintle_codec::json;
use pintle_discovery::aggregated::{self, Version};
use pintle_discovery::{Document, GroupVersion, Kind, Resource, Subresource, builtin, legacy};
use pintle_schema::Resources;

fn text(document: &Document) -> String {
    let mut text = Vec::new();
    json::encode(&document.value, &mut text);
    String::from_utf8(text).unwrap()
}

fn by_default() -> Vec<GroupVersion> {
    builtin(&Resources::builtin().unwrap(), pintle_schema::GroupVersion::is_served_by_default)
}

/// As a definition of custom resources makes it.
fn custom() -> GroupVersion {
    let subresource = |name: &str, kind: Kind| Subresource {
        name: name.into(),
        kind,
        verbs: ["get", "patch", "update"].map(Into::into).to_vec(),
    };
    let scale = Kind { name: "Scale".into(), foreign: Some(("autoscaling".into(), "v1".into())) };
    let kind = Kind { name: "Gizmo".into(), foreign: None };
    GroupVersion {
        group: "example.com".into(),
        version: "v1".into(),
        resources: vec![Resource {
            name: "gizmos".into(),
            singular: "gizmo".into(),
            short_names: vec!["gz".into()],
            categories: vec![],
            kind: kind.clone(),
            namespaced: true,
            verbs: ["delete", "get", "list"].map(Into::into).to_vec(),
            subresources: vec![subresource("status", kind), subresource("scale", scale)],
            storage: None,
        }],
        full_kinds: true,
    }
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
        text(&legacy::api_group(&by_default(), "autoscaling").unwrap()),
        r#"{"kind":"APIGroup","apiVersion":"v1","name":"autoscaling","versions":[{"groupVersion":"autoscaling/v2","version":"v2"},{"groupVersion":"autoscaling/v1","version":"v1"}],"preferredVersion":{"groupVersion":"autoscaling/v2","version":"v2"}}"#
    );
    let old = builtin(&Resources::builtin().unwrap(), |version| version.version == "v1");
    let group = text(&legacy::api_group(&old, "autoscaling").unwrap());
    assert!(
        group.ends_with(r#""preferredVersion":{"groupVersion":"autoscaling/v1","version":"v1"}}"#),
        "{group}"
    );
}

#[test]
fn groups_without_a_served_version_are_not_there() {
    let served = by_default();
    assert!(legacy::api_group(&served, "storagemigration.k8s.io").is_none());
    assert!(legacy::api_group(&served, "example.com").is_none());
    assert!(legacy::api_group(&served, "apps").is_some());
    let list = legacy::api_group_list(&served);
    let names: Vec<&str> =
        list.value.items_at(&["groups"]).iter().map(|group| group.text_at(&["name"])).collect();
    assert_eq!(
        (names.len(), names[0], names[1], names[2]),
        (20, "apiregistration.k8s.io", "apps", "events.k8s.io")
    );
}

#[test]
fn custom_resources_are_listed_like_built_in_ones() {
    assert_eq!(
        text(&legacy::api_resource_list(&custom())),
        concat!(
            r#"{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"example.com/v1","resources":["#,
            r#"{"name":"gizmos","singularName":"gizmo","namespaced":true,"kind":"Gizmo","verbs":["delete","get","list"],"shortNames":["gz"]},"#,
            r#"{"name":"gizmos/status","singularName":"","namespaced":true,"kind":"Gizmo","verbs":["get","patch","update"]},"#,
            r#"{"name":"gizmos/scale","singularName":"","namespaced":true,"group":"autoscaling","version":"v1","kind":"Scale","verbs":["get","patch","update"]}]}"#
        )
    );
}

#[test]
fn kinds_of_custom_resources_are_said_in_full_where_all_is_in_one() {
    assert_eq!(
        text(&aggregated::apis(&[custom()], Version::V2)),
        concat!(
            r#"{"kind":"APIGroupDiscoveryList","apiVersion":"apidiscovery.k8s.io/v2","metadata":{},"items":["#,
            r#"{"metadata":{"name":"example.com"},"versions":[{"version":"v1","resources":[{"resource":"gizmos","#,
            r#""responseKind":{"group":"example.com","version":"v1","kind":"Gizmo"},"scope":"Namespaced","singularResource":"gizmo","#,
            r#""verbs":["delete","get","list"],"shortNames":["gz"],"subresources":["#,
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
    // echo -n '{"metadata":{},"items":[]}' | sha512sum
    let nothing = aggregated::etag(&aggregated::apis(&[], Version::V2));
    assert_eq!(&nothing[..16], "E31D92F2F415F58D");
    assert_eq!(nothing.len(), 128);
    assert_eq!(nothing, aggregated::etag(&aggregated::apis(&[], Version::V2beta1)));
    assert_ne!(nothing, aggregated::etag(&aggregated::apis(&[custom()], Version::V2)));
}
