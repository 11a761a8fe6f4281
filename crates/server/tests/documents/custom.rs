//! Documents of custom resources, which come and go while others are read.

use std::sync::Arc;

use http::header::{ACCEPT, CONTENT_TYPE, ETAG, IF_NONE_MATCH};
use http::{Method, StatusCode};
use pintle_codec::json::decode_any;
use pintle_discovery::{Contribution, Custom, CustomVersion, Publisher, Schemas};
use pintle_meta::Value;
use pintle_server::Documents;
use serde_json::{Value as Json, json};

use crate::{AGGREGATED, PROTOBUF, ask, by_default, get};

/// The same schema for every version.
struct Schema(String);

impl Schemas for Schema {
    fn schema(&self, _: &str) -> Option<Value> {
        Some(decode_any(self.0.as_bytes()).expect("a schema").value)
    }
}

fn version(name: &str) -> CustomVersion {
    CustomVersion { name: name.into(), ..CustomVersion::default() }
}

fn custom(group: &str, singular: &str, versions: &[&str], schema: Json) -> Custom {
    let kind = format!("{}{}", singular[..1].to_uppercase(), &singular[1..]);
    let mut versions: Vec<CustomVersion> = versions.iter().map(|name| version(name)).collect();
    versions[0].storage = true;
    Custom {
        group: group.into(),
        plural: format!("{singular}s").into(),
        singular: singular.into(),
        list_kind: format!("{kind}List").into(),
        kind: kind.into(),
        short_names: vec![],
        categories: vec![],
        namespaced: true,
        terminating: false,
        preserves_unknown: false,
        versions,
        schemas: Arc::new(Schema(schema.to_string())),
    }
}

/// Documents of the built-in group versions and a source of definitions.
fn with_definitions() -> (Documents, Arc<Publisher>) {
    let (documents, definitions) = (by_default(), Arc::<Publisher>::default());
    documents.add_source(definitions.clone());
    (documents, definitions)
}

fn set(definitions: &Publisher, custom: Custom) {
    let name = format!("{}.{}", custom.plural, custom.group);
    definitions.publish(&name, Some(Contribution::Definition(custom)));
}

fn names<'a>(list: &'a Json, name: &str) -> Vec<&'a str> {
    list.as_array().expect("a list").iter().map(|item| item[name].as_str().expect("a name")).collect()
}

#[tokio::test]
async fn a_definition_is_shown_and_goes_away_again() {
    let (documents, definitions) = with_definitions();
    let aggregated = |documents| async move { get(documents, "/apis", &[(ACCEPT, AGGREGATED)]).await };
    let before = aggregated(&documents).await;
    assert_eq!(get(&documents, "/apis/example.com", &[]).await.code, StatusCode::NOT_FOUND);

    let mut widget = custom("example.com", "widget", &["v1"], json!({"type": "object"}));
    widget.namespaced = false;
    widget.short_names = vec!["w1".into()];
    widget.categories = vec!["all".into()];
    widget.versions[0].status = true;
    widget.versions[0].scale = true;
    set(&definitions, widget.clone());
    assert!(documents.paths().contains(&"/apis/example.com/v1".to_owned()));
    let list = get(&documents, "/apis/example.com/v1", &[]).await;
    let verbs = json!(["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"]);
    assert_eq!(
        list.json(),
        json!({"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": "example.com/v1", "resources": [
            {"name": "widgets", "singularName": "widget", "namespaced": false, "kind": "Widget", "verbs": verbs,
             "shortNames": ["w1"], "categories": ["all"], "storageVersionHash": "gIwvi5rymmg="},
            {"name": "widgets/status", "singularName": "", "namespaced": false, "kind": "Widget",
             "verbs": ["get", "patch", "update"]},
            {"name": "widgets/scale", "singularName": "", "namespaced": false, "group": "autoscaling", "version": "v1",
             "kind": "Scale", "verbs": ["get", "patch", "update"]}]})
    );
    let in_one = aggregated(&documents).await;
    assert_ne!(in_one.header(ETAG), before.header(ETAG));
    let groups = in_one.json();
    let last = groups["items"].as_array().and_then(|items| items.last()).expect("a group");
    let kind = json!({"group": "example.com", "version": "v1", "kind": "Widget"});
    assert_eq!(
        *last,
        json!({"metadata": {"name": "example.com"}, "versions": [{"version": "v1", "freshness": "Current", "resources": [
            {"resource": "widgets", "singularResource": "widget", "scope": "Cluster", "responseKind": kind,
             "verbs": verbs, "shortNames": ["w1"], "categories": ["all"], "subresources": [
                {"subresource": "status", "responseKind": kind, "verbs": ["get", "patch", "update"]},
                {"subresource": "scale", "verbs": ["get", "patch", "update"],
                 "responseKind": {"group": "autoscaling", "version": "v1", "kind": "Scale"}}]}]}]})
    );
    let known = [(ACCEPT, AGGREGATED), (IF_NONE_MATCH, in_one.header(ETAG))];
    assert_eq!(get(&documents, "/apis", &known).await.code, StatusCode::NOT_MODIFIED);

    definitions.publish("widgets.example.com", None);
    assert_eq!(aggregated(&documents).await.body, before.body);
    assert_eq!(get(&documents, "/apis/example.com/v1", &[]).await.text(), "404 page not found\n");
}

#[tokio::test]
async fn every_encoding_of_all_groups_shows_the_same() {
    let (documents, definitions) = with_definitions();
    set(&definitions, custom("example.com", "widget", &["v1"], json!({})));
    let pretty = get(&documents, "/apis?pretty=1", &[(ACCEPT, AGGREGATED)]).await;
    let plain = get(&documents, "/apis", &[(ACCEPT, AGGREGATED)]).await;
    assert_ne!(pretty.body, plain.body);
    assert_eq!((pretty.json(), pretty.header(ETAG)), (plain.json(), plain.header(ETAG)));
    let accept = format!("{PROTOBUF};g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList");
    let message = get(&documents, "/apis", &[(ACCEPT, &accept)]).await;
    assert!(message.body.windows(11).any(|part| part == b"example.com"));
}

#[tokio::test]
async fn versions_and_groups_stand_in_their_order() {
    let (documents, definitions) = with_definitions();
    let versions =
        ["foo10", "v1alpha1", "v1", "v11alpha2", "v2beta1", "foo1", "v10", "v2", "v1beta2", "v2beta2"];
    set(&definitions, custom("b.example.com", "widget", &versions, json!({})));
    set(&definitions, custom("a.example.com", "widget", &["v1beta1"], json!({})));
    set(&definitions, custom("c.example.com", "widget", &["v1"], json!({})));
    let group = get(&documents, "/apis/b.example.com", &[]).await.json();
    let expected =
        ["v10", "v2", "v1", "v2beta2", "v2beta1", "v1beta2", "v11alpha2", "v1alpha1", "foo1", "foo10"];
    assert_eq!(names(&group["versions"], "version"), expected);
    assert_eq!(group["preferredVersion"]["groupVersion"], "b.example.com/v10");

    // By their names in the one, by those of their first API services (foo1.b, v1.c, v1beta1.a) in the other.
    let groups = get(&documents, "/apis", &[(ACCEPT, AGGREGATED)]).await.json();
    let items = groups["items"].as_array().expect("groups");
    let last: Vec<&Json> = items[items.len() - 3..].iter().map(|group| &group["metadata"]["name"]).collect();
    assert_eq!(last, ["a.example.com", "b.example.com", "c.example.com"]);
    assert_eq!(names(&items[items.len() - 2]["versions"], "version"), expected);
    let list = get(&documents, "/apis", &[]).await.json();
    let listed = names(&list["groups"], "name");
    assert_eq!(listed[listed.len() - 3..], ["b.example.com", "c.example.com", "a.example.com"]);
}

#[tokio::test]
async fn a_version_of_a_built_in_group_stands_before_built_in_ones() {
    let (documents, definitions) = with_definitions();
    set(&definitions, custom("apps", "widget", &["v2", "v1"], json!({})));
    let group = get(&documents, "/apis/apps", &[]).await.json();
    assert_eq!(names(&group["versions"], "version"), ["v2", "v1"]);
    let groups = get(&documents, "/apis", &[(ACCEPT, AGGREGATED)]).await.json();
    let apps =
        groups["items"].as_array().expect("groups").iter().find(|group| group["metadata"]["name"] == "apps");
    assert_eq!(names(&apps.expect("a group")["versions"], "version"), ["v2", "v1"]);
    let list = get(&documents, "/apis/apps/v2", &[]).await.json();
    assert_eq!(names(&list["resources"], "name"), ["widgets"]);
    // Built-in groups stay as they are.
    let list = get(&documents, "/apis/apps/v1", &[]).await.json();
    assert!(!names(&list["resources"], "name").contains(&"widgets"));
    get(&documents, "/apis/apps/v3", &[])
        .await
        .is_status(404, "the server could not find the requested resource");
}

#[tokio::test]
async fn resources_of_a_group_version_stand_together() {
    let (documents, definitions) = with_definitions();
    for singular in ["widget", "gadget", "gizmo"] {
        set(&definitions, custom("example.com", singular, &["v1"], json!({})));
    }
    let resources = |documents| async move {
        let list = get(documents, "/apis/example.com/v1", &[]).await.json();
        names(&list["resources"], "name").join(" ")
    };
    assert_eq!(resources(&documents).await, "gadgets gizmos widgets");
    definitions.publish("gizmos.example.com", None);
    assert_eq!(resources(&documents).await, "gadgets widgets");
    set(&definitions, custom("example.com", "widget", &["v2"], json!({})));
    assert_eq!(resources(&documents).await, "gadgets");
    let group = get(&documents, "/apis/example.com", &[]).await.json();
    assert_eq!(names(&group["versions"], "version"), ["v2", "v1"]);
}

#[tokio::test]
async fn a_version_of_custom_resources_takes_any_method() {
    let (documents, definitions) = with_definitions();
    set(&definitions, custom("example.com", "widget", &["v1"], json!({})));
    let answer = ask(&documents, Method::POST, "/apis/example.com/v1", &[(CONTENT_TYPE, "text/plain")]).await;
    assert_eq!((answer.code, &answer.json()["kind"]), (StatusCode::OK, &json!("APIResourceList")));
    let answer = get(&documents, "/apis/example.com/v1", &[(ACCEPT, "text/plain")]).await;
    assert_eq!(answer.code, StatusCode::NOT_ACCEPTABLE);
    assert_eq!(get(&documents, "/apis/example.com/v9", &[]).await.text(), "404 page not found\n");
}

#[tokio::test]
async fn a_group_version_has_a_document_of_its_own() {
    let (documents, definitions) = with_definitions();
    let schema = json!({"type": "object", "properties": {"spec": {"type": "object", "description": "what is wanted"}}});
    assert_eq!(get(&documents, "/openapi/v3/apis/example.com/v1", &[]).await.code, StatusCode::NOT_FOUND);
    let before = get(&documents, "/openapi/v3", &[]).await.json();
    set(&definitions, custom("example.com", "widget", &["v1"], schema.clone()));
    set(&definitions, custom("example.com", "gadget", &["v1", "v2"], schema.clone()));
    let index = get(&documents, "/openapi/v3", &[]).await.json();
    let url = |index: &Json, name: &str| {
        index["paths"][name]["serverRelativeURL"].as_str().unwrap_or_default().to_owned()
    };
    assert_eq!(url(&index, "apis/apps/v1"), url(&before, "apis/apps/v1"));
    assert_eq!(url(&index, "apis/example.com"), "");
    // The hash that the index has without the document is the one that the document goes by.
    let place = url(&index, "apis/example.com/v1");
    let answer = get(&documents, &place, &[]).await;
    assert_eq!(answer.code, StatusCode::OK);
    let etag = answer.header(ETAG);
    assert!(place.ends_with(&format!("?hash={}", etag.trim_matches('"'))));
    let document = answer.json();
    let schemas = &document["components"]["schemas"];
    assert_eq!(schemas["com.example.v1.Widget"]["properties"]["spec"], schema["properties"]["spec"]);
    assert!(schemas["com.example.v1.GadgetList"].is_object() && schemas["com.example.v2.Gadget"].is_null());
    assert!(
        document["paths"]["/apis/example.com/v1/namespaces/{namespace}/gadgets/{name}"]["patch"].is_object()
    );
    let known = get(&documents, "/openapi/v3/apis/example.com/v1", &[(IF_NONE_MATCH, etag)]).await;
    assert_eq!((known.code, known.header(ETAG)), (StatusCode::NOT_MODIFIED, etag));

    // A change is one of its own group version only.
    let other = json!({"type": "object", "properties": {"spec": {"type": "string"}}});
    set(&definitions, custom("example.com", "widget", &["v1"], other));
    let after = get(&documents, "/openapi/v3", &[]).await.json();
    assert_ne!(url(&after, "apis/example.com/v1"), place);
    assert_eq!(url(&after, "apis/example.com/v2"), url(&index, "apis/example.com/v2"));
    let moved = get(&documents, &place, &[]).await;
    assert_eq!(moved.code, StatusCode::MOVED_PERMANENTLY);
    let document = get(&documents, &url(&after, "apis/example.com/v1"), &[]).await.json();
    let spec = &document["components"]["schemas"]["com.example.v1.Widget"]["properties"]["spec"];
    assert_eq!(*spec, json!({"type": "string"}));

    // And back: it is the content that is named.
    set(&definitions, custom("example.com", "widget", &["v1"], schema));
    assert_eq!(url(&get(&documents, "/openapi/v3", &[]).await.json(), "apis/example.com/v1"), place);
    definitions.publish("widgets.example.com", None);
    definitions.publish("gadgets.example.com", None);
    assert_eq!(get(&documents, "/openapi/v3", &[]).await.json(), before);
}

#[tokio::test]
async fn the_document_of_everything_has_custom_resources() {
    let (documents, definitions) = with_definitions();
    let before = get(&documents, "/openapi/v2", &[]).await;
    let schema = json!({"type": "object", "properties": {"spec": {"type": "object", "nullable": true}}});
    set(&definitions, custom("example.com", "widget", &["v1"], schema));
    let after = get(&documents, "/openapi/v2", &[]).await;
    assert_ne!(before.header(ETAG), after.header(ETAG));
    let (old, new) = (before.json(), after.json());
    assert_eq!(new["definitions"]["com.example.v1.Widget"]["properties"]["spec"], json!({}));
    assert_eq!(
        old["definitions"]["io.k8s.api.apps.v1.Deployment"],
        new["definitions"]["io.k8s.api.apps.v1.Deployment"]
    );
    let added =
        new["paths"].as_object().expect("paths").len() - old["paths"].as_object().expect("paths").len();
    assert_eq!(added, 3);
    let known = [(IF_NONE_MATCH, after.header(ETAG))];
    assert_eq!(get(&documents, "/openapi/v2", &known).await.code, StatusCode::NOT_MODIFIED);

    let accept = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf";
    let message = get(&documents, "/openapi/v2", &[(ACCEPT, accept)]).await;
    assert_eq!(message.header(ETAG), after.header(ETAG));
    assert!(message.body.windows(21).any(|part| part == b"com.example.v1.Widget"));
    let accept = "application/com.github.proto-openapi.spec.v3@v1.0+protobuf";
    let message = get(&documents, "/openapi/v3/apis/example.com/v1", &[(ACCEPT, accept)]).await;
    assert!(message.body.windows(21).any(|part| part == b"com.example.v1.Widget"));

    definitions.publish("widgets.example.com", None);
    assert_eq!(get(&documents, "/openapi/v2", &[]).await.header(ETAG), before.header(ETAG));
}

/// Counts how often a schema is read.
struct Counted(std::sync::atomic::AtomicUsize);

impl Schemas for Counted {
    fn schema(&self, _: &str) -> Option<Value> {
        self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        None
    }
}

#[tokio::test]
async fn a_schema_is_read_when_a_document_needs_it() {
    let (documents, definitions) = with_definitions();
    let looks = Arc::new(Counted(0.into()));
    let seen = || looks.0.load(std::sync::atomic::Ordering::Relaxed);
    let mut widget = custom("example.com", "widget", &["v1"], json!({}));
    widget.schemas = looks.clone();
    set(&definitions, widget.clone());
    for path in ["/apis", "/apis/example.com/v1", "/openapi/v3/apis/apps/v1"] {
        get(&documents, path, &[(ACCEPT, "*/*")]).await;
    }
    assert_eq!(seen(), 0);
    get(&documents, "/openapi/v3", &[]).await;
    assert_eq!(seen(), 1);
    // The same again is no change.
    set(&definitions, widget);
    get(&documents, "/openapi/v3", &[]).await;
    assert_eq!(seen(), 1);
    get(&documents, "/openapi/v3/apis/example.com/v1", &[]).await;
    get(&documents, "/openapi/v3/apis/example.com/v1", &[]).await;
    assert_eq!(seen(), 2);
}
