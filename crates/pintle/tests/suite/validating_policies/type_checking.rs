//! Warnings about the types in policies' expressions, in their status.

use http::Method;
use serde_json::{Value, json};

use super::{REGISTRATION, constraints, create, made, send, until};
use crate::support::Launch;
use crate::support::shared::ready;

fn observed(generation: i64) -> impl Fn(&Value) -> bool {
    move |policy| policy["status"]["observedGeneration"] == generation
}

#[tokio::test]
async fn wrong_expressions_are_warned_of_in_the_status() {
    let server = Launch::new().start().await;
    ready(&server).await;
    let path = format!("{REGISTRATION}/validatingadmissionpolicies");
    let spec = |expression: &str| {
        json!({
            "matchConstraints": constraints(&["apps/v1/deployments", "apps/v1/replicasets", "apps/v1/nopes"]),
            "validations": [{"expression": expression, "messageExpression": "'at ' + string(object.spec.replicas)"}],
        })
    };
    made(&server, &path, &json!({"metadata": {"name": "p"}, "spec": spec("object.replicas > 1")})).await;
    let path = format!("{path}/p");
    let policy = until(&server, &path, observed(1)).await;
    let of = |kind: &str| {
        format!(
            "apps/v1, Kind={kind}: ERROR: <input>:1:7: undefined field 'replicas'\n | object.replicas > 1\n | ......^\n"
        )
    };
    let warning = json!({
        "fieldRef": "spec.validations[0].expression",
        "warning": format!("{}\n{}", of("Deployment"), of("ReplicaSet")),
    });
    assert_eq!(
        policy["status"],
        json!({"observedGeneration": 1, "typeChecking": {"expressionWarnings": [warning]}})
    );
    let managers = policy["metadata"]["managedFields"].as_array().unwrap().iter();
    let manager = managers.clone().find(|manager| manager["subresource"] == "status").unwrap();
    assert_eq!(
        json!([manager["manager"], manager["operation"], manager["subresource"], manager["fieldsV1"]]),
        json!(["validatingadmissionpolicy-status", "Apply", "status", {"f:status": {
            "f:observedGeneration": {}, "f:typeChecking": {"f:expressionWarnings": {}},
        }}])
    );
    // A new generation is checked again.
    let mut corrected = policy.clone();
    corrected["spec"] = spec("object.spec.replicas > 1");
    send(&server, Method::PUT, &path, &corrected).await.code_is(200);
    let policy = until(&server, &path, observed(2)).await;
    assert_eq!(policy["status"], json!({"observedGeneration": 2}), "applying removes a map that gets empty");
}

#[tokio::test]
async fn expressions_about_custom_kinds_are_checked_by_their_schemas() {
    let server = Launch::new().start().await;
    ready(&server).await;
    let definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    let schema = json!({"type": "object", "properties": {"spec": {"type": "object", "properties": {"size": {"type": "integer"}}}}});
    let definition = json!({"metadata": {"name": "boats.example.com"}, "spec": {
        "group": "example.com", "scope": "Namespaced", "names": {"plural": "boats", "kind": "Boat"},
        "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}}],
    }});
    made(&server, definitions, &definition).await;
    until(&server, &format!("{definitions}/boats.example.com"), |found| {
        found["status"]["acceptedNames"]["plural"] == "boats"
    })
    .await;
    let path = format!("{REGISTRATION}/validatingadmissionpolicies");
    let spec = json!({
        "paramKind": {"apiVersion": "example.com/v1", "kind": "Boat"},
        "matchConstraints": constraints(&["example.com/v1/boats"]),
        "validations": [
            {"expression": "object.spec.size > params.spec.size && object.metadata.labels.a == 'b'"},
            {"expression": "object.spec.size == 'large'"},
            {"expression": "params.spec.length == 1"},
        ],
    });
    made(&server, &path, &json!({"metadata": {"name": "boats"}, "spec": spec})).await;
    let policy = until(&server, &format!("{path}/boats"), observed(1)).await;
    let warnings = policy["status"]["typeChecking"]["expressionWarnings"].as_array().unwrap().clone();
    let fields: Vec<&str> = warnings.iter().map(|warning| warning["fieldRef"].as_str().unwrap()).collect();
    assert_eq!(fields, ["spec.validations[1].expression", "spec.validations[2].expression"]);
    let text = warnings[0]["warning"].as_str().unwrap();
    assert!(
        text.starts_with("example.com/v1, Kind=Boat: ERROR: ") && text.contains("'(int, string)'"),
        "{text}"
    );
}

#[tokio::test]
async fn a_status_that_another_controller_wrote_stays() {
    let server = Launch::new().start().await;
    ready(&server).await;
    let path = format!("{REGISTRATION}/validatingadmissionpolicies");
    let body = json!({"metadata": {"name": "p"}, "spec": {
        "matchConstraints": constraints(&["/v1/pods"]), "validations": [{"expression": "object.kind == 'Pod'"}],
    }});
    create(&server, &path, &body).await.code_is(201);
    let path = format!("{path}/p");
    let mut policy = until(&server, &path, observed(1)).await;
    assert_eq!(policy["status"], json!({"observedGeneration": 1, "typeChecking": {}}));
    policy["status"]["conditions"] = json!([{
        "type": "Seen", "status": "True", "reason": "R", "message": "", "lastTransitionTime": "2024-01-01T00:00:00Z",
    }]);
    send(&server, Method::PUT, &format!("{path}/status"), &policy).await.code_is(200);
    let mut changed = server.admin().get(&path).await.gives(200);
    changed["spec"]["failurePolicy"] = "Ignore".into();
    send(&server, Method::PUT, &path, &changed).await.code_is(200);
    let policy = until(&server, &path, observed(2)).await;
    assert_eq!(policy["status"]["conditions"][0]["type"], "Seen");
}
