//! Admission policies and bindings: their writers need permission to read the parameters they refer to.

use http::Method;
use serde_json::{Value, json};

use crate::support::shared::ready;
use crate::support::{ALICE, Answer, Launch, MASTER, Server};

const REGISTRATION: &str = "/apis/admissionregistration.k8s.io/v1";
const RBAC: &str = "/apis/rbac.authorization.k8s.io/v1";
const JSON: [(&str, &str); 1] = [("content-type", "application/json")];
const USER: &str = "&{alice u2 [dev system:authenticated] map[]}";

async fn post(server: &Server, token: &str, path: &str, body: &Value) -> Answer {
    server.client().token(token).request(Method::POST, path, &JSON, body.to_string()).await
}

/// Gives alice a right in the whole cluster.
async fn grant(server: &Server, name: &str, group: &str, resource: &str, verbs: &[&str]) {
    let rule = json!({ "apiGroups": [group], "resources": [resource], "verbs": verbs });
    let role = json!({ "metadata": { "name": name }, "rules": [rule] });
    assert_eq!(post(server, MASTER, &format!("{RBAC}/clusterroles"), &role).await.code, 201);
    let binding = json!({
        "metadata": { "name": name },
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name },
        "subjects": [{ "apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "alice" }],
    });
    assert_eq!(post(server, MASTER, &format!("{RBAC}/clusterrolebindings"), &binding).await.code, 201);
}

fn policy(kind: &str) -> Value {
    let rule =
        json!({"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]});
    json!({"metadata": {"name": "p"}, "spec": {
        "paramKind": {"apiVersion": "v1", "kind": kind},
        "matchConstraints": {"resourceRules": [rule]},
        "validations": [{"expression": "true"}],
    }})
}

#[tokio::test]
async fn a_policy_s_parameters_are_readable_by_its_writer() {
    let server = Launch::new().tokens().start().await;
    ready(&server).await;
    grant(&server, "policies", "admissionregistration.k8s.io", "*", &["create"]).await;
    let path = format!("{REGISTRATION}/validatingadmissionpolicies");
    post(&server, ALICE, &path, &policy("Secret")).await.is_status(
        422,
        "Invalid",
        &format!(
            "ValidatingAdmissionPolicy.admissionregistration.k8s.io \"p\" is invalid: spec.paramKind: Forbidden: user {USER} \
             must have \"get\" permission on all objects of the referenced paramKind (kind=Secret, apiVersion=v1)"
        ),
    );
    grant(&server, "secrets", "", "secrets", &["get"]).await;
    assert_eq!(post(&server, ALICE, &path, &policy("Secret")).await.code, 201);
}

#[tokio::test]
async fn a_binding_s_parameters_are_readable_by_its_writer() {
    let server = Launch::new().tokens().start().await;
    ready(&server).await;
    grant(&server, "bindings", "admissionregistration.k8s.io", "*", &["create"]).await;
    let path = format!("{REGISTRATION}/validatingadmissionpolicybindings");
    let binding = json!({"metadata": {"name": "b"}, "spec": {
        "policyName": "p", "validationActions": ["Deny"],
        "paramRef": {"name": "s", "namespace": "default", "parameterNotFoundAction": "Deny"},
    }});
    let refused = |why: &str| {
        format!(
            "ValidatingAdmissionPolicyBinding.admissionregistration.k8s.io \"b\" is invalid: spec.paramRef: Forbidden: {why}"
        )
    };
    let unknown = format!(
        "unable to get policy p to determine minimum required permissions and user {USER} does not have \"get\" permission \
         for all groups, versions and resources"
    );
    post(&server, ALICE, &path, &binding).await.is_status(422, "Invalid", &refused(&unknown));
    let policies = format!("{REGISTRATION}/validatingadmissionpolicies");
    assert_eq!(post(&server, MASTER, &policies, &policy("Secret")).await.code, 201);
    let denied = format!("user {USER} does not have \"get\" permission on the object referenced by paramRef");
    post(&server, ALICE, &path, &binding).await.is_status(422, "Invalid", &refused(&denied));
    grant(&server, "secrets", "", "secrets", &["get"]).await;
    assert_eq!(post(&server, ALICE, &path, &binding).await.code, 201);
}
