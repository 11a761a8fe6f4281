//! The OpenAPI of custom resources.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use pintle_codec::json::decode_any;
use pintle_discovery::Schemas;
use serde_json::{Value as Json, json};

use super::*;
use crate::Documentation;

/// Says something about three fields only.
struct Texts;

impl Documentation for Texts {
    fn of(&self, _: &Type) -> Option<&str> {
        None
    }

    fn field(&self, of: &Type, field: &str) -> Option<&str> {
        match (of.name, field) {
            ("meta/v1.PartialObjectMetadata", "metadata") => Some("standard metadata"),
            ("meta/v1.PartialObjectMetadata", "kind") => Some("what it is"),
            ("meta/v1.PartialObjectMetadata", "apiVersion") => Some("and how"),
            _ => None,
        }
    }
}

struct Schema(Option<Json>);

impl Schemas for Schema {
    fn schema(&self, _: &str) -> Option<Value> {
        Some(decode_any(self.0.as_ref()?.to_string().as_bytes()).unwrap().value)
    }
}

fn options() -> Options<'static> {
    Options { version: "1.36", enums: true, cbor: false, documentation: &Texts }
}

fn custom(schema: Option<Json>) -> Custom {
    Custom {
        group: "bar.k8s.io".into(),
        plural: "foos".into(),
        singular: "foo".into(),
        kind: "Foo".into(),
        list_kind: "FooList".into(),
        short_names: vec![],
        categories: vec![],
        namespaced: true,
        terminating: false,
        preserves_unknown: false,
        versions: vec![CustomVersion { name: "v1".into(), ..CustomVersion::default() }],
        schemas: Arc::new(Schema(schema)),
    }
}

fn v3(custom: &Custom) -> Json {
    let sources = [Source::new(custom, &custom.versions[0])];
    let text = Templates::default().v3(&sources, Format::Json, &options()).unwrap();
    serde_json::from_slice(&text).unwrap()
}

fn v2(custom: &Custom) -> Json {
    let (cached, version) = (CachedParts::default(), &custom.versions[0]);
    let member = Member { custom, version, cached: &cached, source: || Source::new(custom, version) };
    let builtin = Builtin::new(&[], false, Format::Json, &options());
    let text =
        Templates::default().v2(&builtin, std::iter::once(member), &RemoteParts::default(), &options());
    serde_json::from_slice(&text).unwrap()
}

/// Returns the published schema without the fields that all resources have.
fn published(schema: Json, dialect: Dialect) -> Json {
    let custom = custom(Some(schema));
    let mut shown = match dialect {
        Dialect::V2 => v2(&custom)["definitions"]["io.k8s.bar.v1.Foo"].take(),
        Dialect::V3 => v3(&custom)["components"]["schemas"]["io.k8s.bar.v1.Foo"].take(),
    };
    let object = shown.as_object_mut().unwrap();
    let kinds = object.remove("x-kubernetes-group-version-kind").unwrap();
    assert_eq!(kinds, json!([{"group": "bar.k8s.io", "version": "v1", "kind": "Foo"}]));
    if let Some(Json::Object(properties)) = object.get_mut("properties") {
        for name in ["apiVersion", "kind", "metadata"] {
            assert!(properties.remove(name).is_some(), "{name}");
        }
    }
    shown
}

#[test]
fn an_empty_list_is_published_as_a_default() {
    let schema = json!({"type": "array", "items": {"type": "string"}, "default": [], "enum": []});
    let schema = json!({"type": "object", "properties": {"names": schema}});
    let shown = &published(schema, Dialect::V3)["properties"]["names"];
    assert_eq!(*shown, json!({"type": "array", "items": {"type": "string"}, "default": []}));
}

#[test]
fn delete_options_are_of_the_group_versions_that_clients_know() {
    let document = v3(&custom(None));
    let options = &document["components"]["schemas"]["io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions"];
    let kinds = options["x-kubernetes-group-version-kind"].as_array().unwrap();
    let has = |group: &str| kinds.iter().any(|kind| kind["group"] == group);
    assert!(has("") && has("apps") && has("extensions") && has("internal.apiserver.k8s.io"));
    for absent in [
        "admission.k8s.io",
        "apiextensions.k8s.io",
        "apiregistration.k8s.io",
        "imagepolicy.k8s.io",
        "bar.k8s.io",
    ] {
        assert!(!has(absent), "{absent}");
    }
}

#[test]
fn every_object_has_its_metadata() {
    let custom = custom(Some(json!({"type": "object", "properties": {"spec": {"type": "object"}}})));
    let place = "#/definitions/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";
    assert_eq!(
        v2(&custom)["definitions"]["io.k8s.bar.v1.Foo"],
        json!({
            "type": "object",
            "properties": {
                "apiVersion": {"type": "string", "description": "and how"},
                "kind": {"type": "string", "description": "what it is"},
                "metadata": {"$ref": place, "description": "standard metadata"},
                "spec": {"type": "object"},
            },
            "x-kubernetes-group-version-kind": [{"group": "bar.k8s.io", "version": "v1", "kind": "Foo"}],
        })
    );
    let place = "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";
    let document = v3(&custom);
    let schemas = &document["components"]["schemas"];
    assert_eq!(
        schemas["io.k8s.bar.v1.Foo"]["properties"]["metadata"],
        json!({"allOf": [{"$ref": place}], "description": "standard metadata"})
    );
    assert!(schemas["io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"]["properties"]["name"].is_object());
    assert_eq!(document["info"], json!({"title": "Kubernetes CRD Swagger", "version": "v0.1.0"}));
    assert_eq!(document["components"].as_object().unwrap().len(), 1);
}

#[test]
fn lists_refer_to_what_they_list() {
    let mut custom = custom(Some(json!({"type": "object"})));
    custom.versions[0].selectable = vec![".spec.color".into()];
    let document = v3(&custom);
    let schemas = &document["components"]["schemas"];
    let selectable = json!([{"fieldPath": "spec.color"}]);
    assert_eq!(schemas["io.k8s.bar.v1.Foo"]["x-kubernetes-selectable-fields"], selectable);
    assert_eq!(
        schemas["io.k8s.bar.v1.FooList"],
        json!({
            "type": "object",
            "description": "FooList is a list of Foo",
            "required": ["items"],
            "properties": {
                "apiVersion": {"type": "string"},
                "kind": {"type": "string"},
                "metadata": {"$ref": "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta"},
                "items": {
                    "type": "array",
                    "items": {"$ref": "#/components/schemas/io.k8s.bar.v1.Foo"},
                    "description": "List of foos. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md",
                },
            },
            "x-kubernetes-group-version-kind": [{"group": "bar.k8s.io", "version": "v1", "kind": "FooList"}],
            "x-kubernetes-selectable-fields": selectable,
        })
    );
}

#[test]
fn without_a_schema_anything_may_be_in_an_object() {
    let bare = json!({
        "type": "object",
        "x-kubernetes-group-version-kind": [{"group": "bar.k8s.io", "version": "v1", "kind": "Foo"}],
    });
    assert_eq!(v2(&custom(None))["definitions"]["io.k8s.bar.v1.Foo"], bare);
    assert_eq!(v3(&custom(None))["components"]["schemas"]["io.k8s.bar.v1.Foo"], bare);
    // Where unknown fields stay, version 2 names none, and version 3 does.
    let schema =
        json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true, "properties": {"a": {}}});
    let preserving = custom(Some(schema));
    assert_eq!(v2(&preserving)["definitions"]["io.k8s.bar.v1.Foo"], bare);
    let shown = v3(&preserving)["components"]["schemas"]["io.k8s.bar.v1.Foo"].take();
    assert!(shown["properties"]["a"].is_object() && shown["properties"]["metadata"].is_object());
    let mut preserving = custom(Some(json!({"type": "object"})));
    preserving.preserves_unknown = true;
    assert_eq!(v2(&preserving)["definitions"]["io.k8s.bar.v1.Foo"], bare);
}

#[test]
fn version_3_shows_a_schema_as_it_is() {
    let schema = json!({
        "type": "object", "title": "t", "description": "d", "required": ["spec"], "minProperties": 1,
        "externalDocs": {"url": "https://example.com"},
        "properties": {
            "spec": {
                "type": "object", "nullable": true, "default": {"b": [1, 2.5, null]}, "example": "e",
                "x-kubernetes-map-type": "atomic",
                "x-kubernetes-validations": [{"rule": "self.a > 1", "message": "m"}],
                "additionalProperties": {"type": "string", "format": "date", "pattern": "^a$", "enum": ["a", "b"]},
            },
            "list": {
                "type": "array", "items": {"type": "integer", "minimum": 0, "exclusiveMinimum": true, "multipleOf": 2},
                "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["a"], "uniqueItems": true,
            },
            "choice": {
                "type": "object",
                "oneOf": [{"required": ["a"]}, {"not": {"required": ["b"]}}],
                "anyOf": [{"properties": {"a": {"minLength": 1}}}],
                "allOf": [{"items": {"maxItems": 3}}],
            },
            "any": {"type": "object", "additionalProperties": false},
        },
    });
    assert_eq!(published(schema.clone(), Dialect::V3), schema);
    let said_of_nothing = json!({
        "type": "object", "title": "", "nullable": false, "exclusiveMaximum": false, "required": [], "default": null,
        "uniqueItems": false, "allOf": [{"type": "object", "additionalProperties": {"type": "string"}}],
    });
    let mut shown = published(said_of_nothing, Dialect::V3);
    shown.as_object_mut().unwrap().remove("properties");
    assert_eq!(shown, json!({"type": "object", "allOf": [{"type": "object"}]}));
}

#[test]
fn version_2_leaves_out_what_its_clients_cannot_understand() {
    for (given, expect) in [
        (
            json!({"type": "string", "oneOf": [{}], "anyOf": [{}], "allOf": [{}], "not": {}}),
            json!({"type": "string"}),
        ),
        (json!({"type": "string", "default": "a", "enum": ["a"]}), json!({"type": "string", "enum": ["a"]})),
        (json!({"type": "object", "nullable": true, "properties": {"a": {}}}), json!({})),
        (
            json!({"type": "array", "nullable": true, "items": {}, "description": "d"}),
            json!({"description": "d"}),
        ),
        (json!({"type": "array"}), json!({})),
        (json!({"type": "array", "items": {}}), json!({"type": "array", "items": {}})),
        (
            json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true, "properties": {"a": {}}}),
            json!({"x-kubernetes-preserve-unknown-fields": true}),
        ),
        (
            json!({"type": "object", "required": ["a", "b"], "properties": {"a": {"nullable": true}, "b": {}}}),
            json!({"type": "object", "required": ["b"], "properties": {"a": {}, "b": {}}}),
        ),
        (
            json!({"type": "object", "required": ["a"], "additionalProperties": {"type": "string", "nullable": true}}),
            json!({"type": "object", "additionalProperties": {}}),
        ),
        (json!({"x-kubernetes-int-or-string": true}), json!({"x-kubernetes-int-or-string": true})),
        (
            json!({"type": "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true}),
            json!({"x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true}),
        ),
    ] {
        let shown = published(json!({"type": "object", "properties": {"it": given}}), Dialect::V2);
        assert_eq!(shown, json!({"type": "object", "properties": {"it": expect}}));
    }
}

#[test]
fn an_integer_or_a_string_says_so_once() {
    let flag = |mut rest: Json| {
        rest["x-kubernetes-int-or-string"] = true.into();
        rest
    };
    let either = json!([{"type": "integer"}, {"type": "string"}]);
    for (given, expect) in [
        (json!({}), json!({"anyOf": either})),
        (json!({"anyOf": either}), json!({"anyOf": either})),
        (json!({"allOf": [{"anyOf": either}]}), json!({"allOf": [{"anyOf": either}]})),
        (
            json!({"anyOf": [{"minimum": 42}], "allOf": [{"minimum": 1}]}),
            json!({"anyOf": [{"minimum": 42}], "allOf": [{"anyOf": either}, {"minimum": 1}]}),
        ),
        (
            json!({"anyOf": [{"minimum": 42}]}),
            json!({"anyOf": [{"minimum": 42}], "allOf": [{"anyOf": either}]}),
        ),
    ] {
        let shown = published(json!({"type": "object", "properties": {"it": flag(given)}}), Dialect::V3);
        assert_eq!(shown["properties"]["it"], flag(expect));
    }
}

#[test]
fn an_object_within_another_has_metadata_too() {
    let schema = json!({"type": "object", "properties": {"it": {
        "type": "object", "x-kubernetes-embedded-resource": true, "required": ["kind"], "properties": {"spec": {}}}}});
    let shown = published(schema.clone(), Dialect::V3);
    let it = &shown["properties"]["it"];
    assert_eq!(it["required"], json!(["kind", "apiVersion"]));
    assert_eq!(it["properties"].as_object().unwrap().len(), 4);
    assert!(it["properties"]["kind"]["description"].as_str().unwrap().starts_with("kind is a string value"));
    assert_eq!(
        published(schema, Dialect::V2)["properties"]["it"]["properties"].as_object().unwrap().len(),
        4
    );
}

fn ids(paths: &Json) -> Vec<String> {
    let mut ids = Vec::new();
    for (path, item) in paths.as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            if let Some(id) = operation.get("operationId") {
                ids.push(format!("{method} {path} {}", id.as_str().unwrap()));
            }
        }
    }
    ids.sort();
    ids
}

#[test]
fn each_path_has_its_operations() {
    let mut custom = custom(Some(json!({"type": "object"})));
    custom.versions[0].status = true;
    custom.versions[0].scale = true;
    let document = v3(&custom);
    let one = "/apis/bar.k8s.io/v1/namespaces/{namespace}/foos/{name}";
    assert_eq!(
        ids(&document["paths"]),
        [
            "delete /apis/bar.k8s.io/v1/namespaces/{namespace}/foos deleteBarV1CollectionNamespacedFoo",
            "delete /apis/bar.k8s.io/v1/namespaces/{namespace}/foos/{name} deleteBarV1NamespacedFoo",
            "get /apis/bar.k8s.io/v1/foos listBarV1FooForAllNamespaces",
            "get /apis/bar.k8s.io/v1/namespaces/{namespace}/foos listBarV1NamespacedFoo",
            "get /apis/bar.k8s.io/v1/namespaces/{namespace}/foos/{name} readBarV1NamespacedFoo",
            "get /apis/bar.k8s.io/v1/namespaces/{namespace}/foos/{name}/scale readBarV1NamespacedFooScale",
            "get /apis/bar.k8s.io/v1/namespaces/{namespace}/foos/{name}/status readBarV1NamespacedFooStatus",
            "patch /apis/bar.k8s.io/v1/namespaces/{namespace}/foos/{name} patchBarV1NamespacedFoo",
            "patch /apis/bar.k8s.io/v1/namespaces/{namespace}/foos/{name}/scale patchBarV1NamespacedFooScale",
            "patch /apis/bar.k8s.io/v1/namespaces/{namespace}/foos/{name}/status patchBarV1NamespacedFooStatus",
            "post /apis/bar.k8s.io/v1/namespaces/{namespace}/foos createBarV1NamespacedFoo",
            "put /apis/bar.k8s.io/v1/namespaces/{namespace}/foos/{name} replaceBarV1NamespacedFoo",
            "put /apis/bar.k8s.io/v1/namespaces/{namespace}/foos/{name}/scale replaceBarV1NamespacedFooScale",
            "put /apis/bar.k8s.io/v1/namespaces/{namespace}/foos/{name}/status replaceBarV1NamespacedFooStatus",
        ]
    );
    let scale = &document["paths"][format!("{one}/scale")];
    assert_eq!(scale["get"]["description"], "read scale of the specified Foo");
    assert_eq!(
        scale["get"]["x-kubernetes-group-version-kind"],
        json!({"group": "bar.k8s.io", "version": "v1", "kind": "Foo"})
    );
    let schema = json!({"schema": {"$ref": "#/components/schemas/io.k8s.api.autoscaling.v1.Scale"}});
    let both = json!({"application/json": schema, "application/yaml": schema});
    assert_eq!(scale["put"]["requestBody"], json!({"content": both, "required": true}));
    assert_eq!(scale["get"]["responses"]["200"], json!({"description": "OK", "content": both}));
    let patch = &document["paths"][one]["patch"];
    let media: Vec<&String> = patch["requestBody"]["content"].as_object().unwrap().keys().collect();
    assert_eq!(
        media,
        ["application/apply-patch+yaml", "application/json-patch+json", "application/merge-patch+json"]
    );
    let codes = |operation: &Json| {
        operation["responses"].as_object().unwrap().keys().cloned().collect::<Vec<String>>().join(" ")
    };
    assert_eq!(codes(patch), "200 401");
    assert_eq!(codes(&document["paths"][one]["put"]), "200 201 401");
    assert_eq!(codes(&document["paths"][one]["delete"]), "200 202 401");
    let common: Vec<&Json> =
        document["paths"][one]["parameters"].as_array().unwrap().iter().map(|found| &found["name"]).collect();
    assert_eq!(common, ["name", "namespace", "pretty"]);
    assert_eq!(document["paths"][one]["get"]["parameters"][0]["name"], "resourceVersion");
    let all = &document["paths"]["/apis/bar.k8s.io/v1/foos"]["get"];
    assert_eq!((&all["tags"], &all["description"]), (&json!(["bar_v1"]), &json!("list objects of kind Foo")));
}

#[test]
fn a_resource_of_the_cluster_has_no_namespaces_in_its_paths() {
    let mut custom = custom(None);
    custom.namespaced = false;
    custom.kind = "Eye-Ball".into();
    let document = v2(&custom);
    let paths: Vec<&String> =
        document["paths"].as_object().unwrap().keys().filter(|path| path.contains("bar.k8s.io")).collect();
    assert_eq!(paths, ["/apis/bar.k8s.io/v1/foos", "/apis/bar.k8s.io/v1/foos/{name}"]);
    let create = &document["paths"]["/apis/bar.k8s.io/v1/foos"]["post"];
    assert_eq!(
        (&create["operationId"], &create["description"]),
        (&json!("createBarV1EyeBall"), &json!("create an Eye-Ball"))
    );
    assert_eq!(create["consumes"], json!(["application/json", "application/yaml"]));
    assert_eq!(create["consumes"], create["produces"]);
    let body = create["parameters"].as_array().unwrap().iter().find(|found| found["in"] == "body").unwrap();
    assert_eq!(body["schema"]["$ref"], "#/definitions/io.k8s.bar.v1.Eye-Ball");
}

#[test]
fn references_lead_somewhere() {
    fn check(value: &Json, document: &Json) {
        match value {
            Json::Object(object) => {
                if let Some(Json::String(place)) = object.get("$ref") {
                    let found = document.pointer(place.strip_prefix('#').unwrap());
                    assert!(found.is_some(), "{place}");
                }
                object.values().for_each(|value| check(value, document));
            }
            Json::Array(items) => items.iter().for_each(|value| check(value, document)),
            _ => {}
        }
    }
    let mut custom = custom(Some(json!({"type": "object"})));
    custom.versions[0].scale = true;
    for document in [v2(&custom), v3(&custom)] {
        check(&document, &document);
    }
}

#[test]
fn a_definition_does_not_take_the_name_of_a_built_in_one() {
    let mut custom = custom(Some(json!({"type": "object", "properties": {"own": {"type": "string"}}})));
    custom.group = "meta.apis.pkg.apimachinery.k8s.io".into();
    custom.kind = "Status".into();
    let document = v2(&custom);
    let name = "io.k8s.apimachinery.pkg.apis.meta.v1.Status";
    assert!(document["definitions"][name]["properties"]["own"].is_null());
    assert!(document["definitions"][format!("{name}_v2")]["properties"]["own"].is_object());
    let create =
        &document["paths"]["/apis/meta.apis.pkg.apimachinery.k8s.io/v1/namespaces/{namespace}/foos"]["post"];
    assert_eq!(create["responses"]["200"]["schema"]["$ref"], format!("#/definitions/{name}_v2"));
}

#[test]
fn both_forms_come_of_the_same() {
    // The template's document is that of the tree, but for how it came about.
    let mut custom = custom(Some(json!({"type": "object", "properties": {"spec": {"type": "object"}}})));
    custom.versions[0].status = true;
    let sources = [Source::new(&custom, &custom.versions[0])];
    let text = Templates::default().v3(&sources, Format::Json, &options()).unwrap();
    let tree = v3_tree(&sources, false, &options());
    assert_eq!(String::from_utf8(text).unwrap(), String::from_utf8(super::text(&tree)).unwrap());
    let message = Templates::default().v3(&sources, Format::Protobuf, &options()).unwrap();
    assert_eq!(message, protobuf::v3::encode(&tree));

    let served = pintle_discovery::builtin(&pintle_schema::Resources::builtin().unwrap(), |version| {
        version.group == "policy"
    });
    let builtin = |format: Format| Builtin::new(&served, false, format, &options());
    let cached = CachedParts::default();
    let member = || {
        let (version, cached) = (&custom.versions[0], &cached);
        std::iter::once(Member { custom: &custom, version, cached, source: || Source::new(&custom, version) })
    };
    let text = Templates::default().v2(&builtin(Format::Json), member(), &RemoteParts::default(), &options());
    let tree = decode_any(&text).unwrap().value;
    let templates = Templates::default();
    let message = || templates.v2(&builtin(Format::Protobuf), member(), &RemoteParts::default(), &options());
    assert_eq!(message(), protobuf::encode(&tree));
    assert_eq!(message(), protobuf::encode(&tree), "what was cached is the same");
    // With nothing of its own it is that of built-in group versions, and the types that all custom resources need.
    let none = Templates::default().v2(
        &builtin(Format::Json),
        member().filter(|_| false),
        &RemoteParts::default(),
        &options(),
    );
    let none: Json = serde_json::from_slice(&none).unwrap();
    let builtin: Json = serde_json::from_slice(&v2::document(&served, false, &options()).json).unwrap();
    assert_eq!((&none["paths"], &none["info"]), (&builtin["paths"], &builtin["info"]));
}

#[test]
fn the_digest_is_of_the_content() {
    let digest = |custom: &Custom| Source::new(custom, &custom.versions[0]).digest();
    let one = custom(Some(json!({"type": "object"})));
    let same = custom(Some(json!({"type": "object"})));
    assert_eq!(digest(&one), digest(&same));
    assert_ne!(digest(&one), digest(&custom(Some(json!({"type": "string"})))));
    assert_ne!(digest(&one), digest(&custom(None)));
    let mut other = custom(Some(json!({"type": "object"})));
    other.versions[0].status = true;
    assert_ne!(digest(&one), digest(&other));
    let mut other = custom(Some(json!({"type": "object"})));
    other.short_names = vec!["f".into()];
    // Only discovery shows these.
    assert_eq!(digest(&one), digest(&other));
    assert_eq!(hash("", [digest(&one)]).len(), 128);
    assert_ne!(hash("", [digest(&one)]), hash("a", [digest(&one)]));
}

#[test]
fn the_part_of_a_resource_is_cached_with_its_definition() {
    let custom = custom(Some(json!({"type": "object", "properties": {"a": {"type": "string"}}})));
    let (templates, cached, asked) = (Templates::default(), CachedParts::default(), Cell::new(0));
    let document = |format: Format| {
        let version = &custom.versions[0];
        let source = || {
            asked.set(asked.get() + 1);
            Source::new(&custom, version)
        };
        let member = Member { custom: &custom, version, cached: &cached, source };
        let builtin = Builtin::new(&[], false, format, &options());
        templates.v2(&builtin, std::iter::once(member), &RemoteParts::default(), &options())
    };
    for (format, expect) in [(Format::Json, 1), (Format::Protobuf, 2), (Format::Json, 2)] {
        let first = document(format);
        assert_eq!(asked.get(), expect);
        assert!(!first.is_empty() && first == document(format));
        assert_eq!(asked.get(), expect, "nobody looks at the schema again");
    }
    assert!(templates.cached_bytes.load(Ordering::Relaxed) > 0);
    drop(cached);
    assert_eq!(templates.cached_bytes.load(Ordering::Relaxed), 0);
}
