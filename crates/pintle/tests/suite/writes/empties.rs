//! Empty maps and lists in messages: `{}` and `[]` where a request or patch has one, `null` where it has none.

use http::Method;
use serde_json::{Value, json};

use super::{JSON, JSON_PATCH, MERGE};
use crate::support::Answer;
use crate::support::shared::{Shared, on_both_stores};

on_both_stores! {
    errors_of_patches_print_the_empty_values_that_they_leave,
}

const STRATEGIC: &str = "application/strategic-merge-patch+json";
const APPLY: &str = "application/apply-patch+yaml";
const DEPLOYMENTS: &str = "/apis/apps/v1/namespaces/default/deployments";

fn deployment(name: &str, labels: &Value) -> Value {
    json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name}, "spec": {
        "selector": {"matchLabels": {"app": "a"}},
        "template": {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "i"}]}}}})
}

/// Returns the label map of a template that the errors of an answer print.
fn printed(answer: &Answer) -> String {
    assert_eq!(answer.code, 422, "{answer:?}");
    let status = answer.json();
    let causes = status["details"]["causes"].as_array().cloned().unwrap_or_default();
    let cause = causes.iter().find(|cause| cause["field"] == "spec.template.metadata.labels");
    let message = cause.and_then(|cause| cause["message"].as_str()).unwrap_or_default();
    let printed = message.strip_prefix("Invalid value: ").and_then(|rest| rest.split(": ").next());
    printed.unwrap_or_else(|| panic!("{status}")).to_owned()
}

async fn errors_of_patches_print_the_empty_values_that_they_leave(shared: &Shared) {
    let client = shared.server.admin();
    let send = async |method: Method, path: &str, media_type: &str, body: &Value| {
        client.request(method, path, &[("content-type", media_type)], body.to_string()).await
    };
    let object = deployment("empties", &json!({"app": "a"}));
    send(Method::POST, DEPLOYMENTS, JSON, &object).await.gives(201);
    let path = format!("{DEPLOYMENTS}/empties");
    let template = |labels: Value| json!({"spec": {"template": {"metadata": {"labels": labels}}}});
    let operation = |op: &str, below: &str, value: Value| json!([{"op": op, "path": format!("/spec/template/metadata/labels{below}"), "value": value}]);
    for (media_type, patch, expected) in [
        (MERGE, template(json!({"app": null})), "{}"),
        (MERGE, template(Value::Null), "null"),
        (STRATEGIC, template(json!({"app": null})), "{}"),
        (STRATEGIC, template(json!({"$patch": "replace"})), "{}"),
        (STRATEGIC, template(Value::Null), "null"),
        (JSON_PATCH, operation("remove", "/app", Value::Null), "{}"),
        (JSON_PATCH, operation("replace", "", json!({})), "{}"),
        (JSON_PATCH, operation("replace", "", Value::Null), "null"),
        (JSON_PATCH, operation("remove", "", Value::Null), "null"),
    ] {
        let answer = send(Method::PATCH, &path, media_type, &patch).await;
        assert_eq!(printed(&answer), expected, "{media_type} {patch}");
    }
    for (labels, expected) in [(json!({}), "{}"), (Value::Null, "null")] {
        let object = deployment("empties-applied", &labels);
        let path = format!("{DEPLOYMENTS}/empties-applied?fieldManager=m");
        assert_eq!(printed(&send(Method::PATCH, &path, APPLY, &object).await), expected, "apply of {labels}");
        let posted = send(Method::POST, DEPLOYMENTS, JSON, &object).await;
        assert_eq!(printed(&posted), expected, "create with {labels}");
    }
    // A manager that applies an empty map in place of its labels leaves none.
    let path = format!("{path}-again?fieldManager=m");
    let apply =
        async |labels: Value| send(Method::PATCH, &path, APPLY, &deployment("empties-again", &labels)).await;
    apply(json!({"app": "a"})).await.gives(201);
    assert_eq!(printed(&apply(json!({})).await), "null");
}
