//! Custom resources as webhooks see and change them.

use super::*;
use crate::custom_resources::DEFINITIONS;
use crate::support::eventually;

const BOATS: &str = "/apis/example.com/v1/namespaces/default/boats";

fn definition() -> Value {
    let schema = json!({"openAPIV3Schema": {"type": "object", "properties": {
        "spec": {"type": "object", "properties": {
            "oars": {"type": "integer", "default": 2},
            "name": {"type": "string"},
            "crew": {"type": "array", "items": {"type": "object", "properties": {
                "role": {"type": "string", "default": "rower"}, "name": {"type": "string"},
            }}},
        }},
        "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
    }}});
    let version = |name: &str, storage: bool| {
        json!({
            "name": name, "served": true, "storage": storage, "schema": schema, "subresources": {"status": {}, "scale": {
                "specReplicasPath": ".spec.oars", "statusReplicasPath": ".status.oars",
            }},
        })
    };
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "boats.example.com"},
        "spec": {
            "group": "example.com", "scope": "Namespaced",
            "names": {"plural": "boats", "singular": "boat", "kind": "Boat", "listKind": "BoatList"},
            "versions": [version("v1", true), version("v2", false)],
        },
    })
}

#[tokio::test]
async fn webhooks_see_pruned_and_defaulted_objects_in_their_version() {
    let webhook = HttpsServer::start(|seen| {
        let request = seen.json()["request"].clone();
        match request["object"]["kind"].as_str() {
            Some("Boat") if request["operation"] == "CREATE" => patch(
                seen,
                &json!([
                    {"op": "add", "path": "/spec/name", "value": "from the webhook"},
                    {"op": "add", "path": "/spec/crew", "value": [{"name": "ann"}]},
                    {"op": "add", "path": "/spec/unknown", "value": 1},
                ]),
            ),
            _ => allow(seen),
        }
    })
    .await;
    let server = started().await;
    made(&server, DEFINITIONS, &definition()).await;
    eventually("the resource is served", async || server.admin().get(BOATS).await.code == 200).await;
    let rules = json!([{"apiGroups": ["example.com"], "apiVersions": ["v2"], "operations": ["*"], "resources": ["boats", "boats/*"]}]);
    configure(&server, "mutating", "m", &[hook("m.example.io", &webhook, "/", &rules)]).await;
    let mut exact = hook("exact.example.io", &webhook, "/exact", &rules);
    exact["matchPolicy"] = json!("Exact");
    configure(&server, "validating", "v", &[exact]).await;

    let boat = json!({"apiVersion": "example.com/v1", "kind": "Boat", "metadata": {"name": "b"}, "spec": {"sail": true}});
    let stored = made(&server, BOATS, &boat).await;
    let seen = last(&webhook);
    assert_eq!(webhook.seen().len(), 1, "an exact match is of another version");
    assert_eq!(seen["object"]["spec"], json!({"oars": 2}), "pruned and defaulted");
    assert_eq!(
        json!([seen["object"]["apiVersion"], seen["kind"]["version"], seen["requestKind"]["version"]]),
        json!(["example.com/v2", "v2", "v1"])
    );
    assert_eq!(stored["apiVersion"], "example.com/v1");
    assert_eq!(
        stored["spec"],
        json!({"oars": 2, "name": "from the webhook", "crew": [{"name": "ann", "role": "rower"}]}),
        "the patch is pruned and defaulted, too"
    );

    let scaled = send_as(
        &server,
        Method::PATCH,
        &format!("{BOATS}/b/scale"),
        "application/merge-patch+json",
        &json!({"spec": {"replicas": 4}}),
    )
    .await;
    assert_eq!(scaled.code, 200, "{scaled:?}");
    let seen = last(&webhook);
    assert_eq!(
        json!([
            seen["kind"]["kind"],
            seen["resource"]["version"],
            seen["subResource"],
            seen["object"]["spec"]["replicas"]
        ]),
        json!(["Scale", "v2", "scale", 4])
    );

    let status = send_as(
        &server,
        Method::PATCH,
        &format!("{BOATS}/b/status"),
        "application/merge-patch+json",
        &json!({"status": {"wet": true}}),
    )
    .await;
    assert_eq!(status.code, 200, "{status:?}");
    assert_eq!(last(&webhook)["object"]["status"], json!({"wet": true}));
    assert_eq!(send(&server, Method::DELETE, &format!("{BOATS}/b"), &Value::Null).await.code, 200);
    let seen = last(&webhook);
    assert_eq!(
        json!([seen["operation"], seen["oldObject"]["apiVersion"]]),
        json!(["DELETE", "example.com/v2"])
    );
}
