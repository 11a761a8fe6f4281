//! Documents of small lists of what is served, with texts of our own.

use pintle_discovery::{GroupVersion, builtin};
use pintle_openapi::{Documentation, Options, v2, v3};
use pintle_schema::{Resources, Type};
use serde_json::{Value as Json, json};

/// Every type is explained by its name, and every field but `status`.
struct Names;

impl Documentation for Names {
    fn of(&self, of: &Type) -> Option<&str> {
        Some(of.name)
    }

    fn field(&self, of: &Type, field: &str) -> Option<&str> {
        (field != "status").then_some(of.name)
    }
}

fn options() -> Options<'static> {
    Options { version: "1.36", enums: true, cbor: false, documentation: &Names }
}

fn served(group: &str) -> Vec<GroupVersion> {
    builtin(&Resources::builtin().unwrap(), |version| {
        version.group == group && version.is_served_by_default()
    })
}

fn v3(group: &str, name: &str) -> Json {
    serde_json::from_slice(&v3::document(&served(group), false, name, &options()).unwrap().json).unwrap()
}

#[test]
fn a_type_is_explained_with_everything_that_it_refers_to() {
    let document = v3("policy", "apis/policy/v1");
    let schemas = &document["components"]["schemas"];
    assert_eq!(
        schemas["io.k8s.api.policy.v1.PodDisruptionBudget"],
        json!({
            "description": "policy/v1.PodDisruptionBudget",
            "type": "object",
            "properties": {
                "apiVersion": {"type": "string", "description": "policy/v1.PodDisruptionBudget"},
                "kind": {"type": "string", "description": "policy/v1.PodDisruptionBudget"},
                "metadata": {
                    "allOf": [{"$ref": "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"}],
                    "default": {},
                    "description": "policy/v1.PodDisruptionBudget",
                },
                "spec": {
                    "allOf": [{"$ref": "#/components/schemas/io.k8s.api.policy.v1.PodDisruptionBudgetSpec"}],
                    "default": {},
                    "description": "policy/v1.PodDisruptionBudget",
                },
                "status": {
                    "allOf": [{"$ref": "#/components/schemas/io.k8s.api.policy.v1.PodDisruptionBudgetStatus"}],
                    "default": {},
                },
            },
            "x-kubernetes-group-version-kind": [
                {"group": "policy", "version": "v1", "kind": "PodDisruptionBudget"}
            ],
        })
    );
    let spec = &schemas["io.k8s.api.policy.v1.PodDisruptionBudgetSpec"]["properties"];
    let eviction = &spec["unhealthyPodEvictionPolicy"];
    assert_eq!(eviction["enum"], json!(["AlwaysAllow", "IfHealthyBudget"]));
    let about = "policy/v1.PodDisruptionBudgetSpec\n\nPossible enum values:\n - `\"AlwaysAllow\"`\n - `\"IfHealthyBudget\"`";
    assert_eq!(eviction["description"], about);
    let number = &schemas["io.k8s.apimachinery.pkg.util.intstr.IntOrString"];
    assert_eq!(number["oneOf"], json!([{"type": "integer"}, {"type": "string"}]));
    let options = &schemas["io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions"];
    assert_eq!(
        options["x-kubernetes-group-version-kind"],
        json!([
            {"group": "", "version": "v1", "kind": "DeleteOptions"},
            {"group": "policy", "version": "v1", "kind": "DeleteOptions"},
        ])
    );
}

#[test]
fn shared_parameters_stand_at_the_path() {
    let document = v3("policy", "apis/policy/v1");
    let path =
        &document["paths"]["/apis/policy/v1/namespaces/{namespace}/poddisruptionbudgets/{name}/status"];
    let names = |parameters: &Json| -> Vec<String> {
        let names = parameters.as_array().unwrap().iter().map(|found| found["name"].as_str().unwrap());
        names.map(str::to_owned).collect()
    };
    assert_eq!(names(&path["parameters"]), ["name", "namespace", "pretty"]);
    assert_eq!(names(&path["patch"]["parameters"]), ["dryRun", "fieldManager", "fieldValidation", "force"]);
    assert_eq!(path["get"].get("parameters"), None);
    assert_eq!(path["get"]["operationId"], "readPolicyV1NamespacedPodDisruptionBudgetStatus");
    let media: Vec<&String> =
        path["get"]["responses"]["200"]["content"].as_object().unwrap().keys().collect();
    assert_eq!(media, ["application/json", "application/vnd.kubernetes.protobuf", "application/yaml"]);
}

#[test]
fn the_index_leads_to_every_document_by_its_hash() {
    let served = served("policy");
    let names = v3::names(&served, false);
    let expected = [
        ".well-known/openid-configuration",
        "api",
        "apis",
        "apis/policy",
        "apis/policy/v1",
        "openid/v1/jwks",
        "version",
    ];
    assert_eq!(names, expected);
    let hashes: Vec<String> =
        names.iter().map(|name| v3::document(&served, false, name, &options()).unwrap().hash).collect();
    assert!(hashes.iter().all(|hash| hash.len() == 128));
    let index = v3::index(names.iter().map(String::as_str).zip(hashes.iter().map(String::as_str)));
    let index: Json = serde_json::from_slice(&index.json).unwrap();
    let url = format!("/openapi/v3/apis/policy/v1?hash={}", hashes[4]);
    assert_eq!(index["paths"]["apis/policy/v1"], json!({ "serverRelativeURL": url }));
    assert!(v3::document(&served, false, "apis/apps/v1", &options()).is_none());
    assert!(v3::document(&served, false, "logs", &options()).is_none());
    assert!(v3::document(&served, true, "logs", &options()).is_some());
}

#[test]
fn a_document_is_the_same_every_time() {
    let served = served("apps");
    let first = v3::group_version(&served[0], &options());
    assert_eq!(first, v3::group_version(&served[0], &options()));
    let other = Options { version: "1.37", ..options() };
    assert_ne!(first.hash, v3::group_version(&served[0], &other).hash);
}

#[test]
fn version_2_has_no_defaults_and_shares_parameters() {
    let document: Json =
        serde_json::from_slice(&v2::document(&served("policy"), false, &options()).json).unwrap();
    let budget = &document["definitions"]["io.k8s.api.policy.v1.PodDisruptionBudget"]["properties"];
    assert_eq!(
        budget["status"],
        json!({"$ref": "#/definitions/io.k8s.api.policy.v1.PodDisruptionBudgetStatus"})
    );
    let path = &document["paths"]["/apis/policy/v1/namespaces/{namespace}/poddisruptionbudgets/{name}"];
    let shared = path["parameters"][1]["$ref"].as_str().unwrap();
    let name = shared.strip_prefix("#/parameters/").unwrap();
    assert!(name.starts_with("namespace-") && name.len() == "namespace-".len() + 8, "{name}");
    assert_eq!(document["parameters"][name]["in"], "path");
    assert_eq!(path["put"]["parameters"][0]["name"], "body");
    assert_eq!(path["put"]["parameters"][1]["name"], "dryRun");
    assert_eq!(path["put"]["consumes"], json!(["*/*"]));
}

#[test]
fn the_message_of_version_2_begins_with_its_version_and_has_every_definition() {
    let served = served("policy");
    let message = v2::protobuf(&served, false, &options());
    assert!(
        message.starts_with(b"\x0a\x032.0\x12\x12\x0a\x0aKubernetes\x12\x041.36"),
        "{:?}",
        &message[..30]
    );
    let document: Json = serde_json::from_slice(&v2::document(&served, false, &options()).json).unwrap();
    for name in document["definitions"].as_object().unwrap().keys() {
        assert!(message.windows(name.len()).any(|part| part == name.as_bytes()), "{name}");
    }
}

#[test]
fn the_message_of_version_3_has_every_schema_and_path() {
    let served = served("policy");
    let name = "apis/policy/v1";
    let message = v3::protobuf(&served, false, name, &options()).unwrap();
    assert!(
        message.starts_with(b"\x0a\x053.0.0\x12\x12\x0a\x0aKubernetes\x32\x041.36"),
        "{:?}",
        &message[..30]
    );
    let document = v3("policy", name);
    for part in [&document["components"]["schemas"], &document["paths"]] {
        for name in part.as_object().unwrap().keys() {
            assert!(message.windows(name.len()).any(|part| part == name.as_bytes()), "{name}");
        }
    }
    assert!(v3::protobuf(&served, false, "apis/policy/v9", &options()).is_none());
}

#[test]
fn nothing_may_be_one_of_the_values_of_a_field() {
    let document = v3("", "api/v1");
    let source = &document["components"]["schemas"]["io.k8s.api.core.v1.HostPathVolumeSource"]["properties"];
    let values = &source["type"]["enum"];
    assert_eq!((&values[0], &values[1]), (&json!(""), &json!("BlockDevice")));
}
