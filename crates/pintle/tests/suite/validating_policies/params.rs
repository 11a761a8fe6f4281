//! Parameters of policies.

use http::Method;
use serde_json::{Value, json};

use super::{JSON, REGISTRATION, bind, constraints, create, denial, made, send, warnings};
use crate::support::shared::ready;
use crate::support::{Launch, Server};

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const LIMITS: &str = "/apis/rules.example.com/v1/replicalimits";

async fn server() -> Server {
    let server = Launch::new().start().await;
    ready(&server).await;
    server
}

/// Defines `ReplicaLimit`, in two versions that differ in name.
async fn define(server: &Server, scope: &str) {
    let version = |name: &str, storage: bool| {
        json!({"name": name, "served": true, "storage": storage, "schema": {"openAPIV3Schema": {"type": "object", "properties": {
            "maxReplicas": {"type": "integer", "default": 3},
        }}}})
    };
    let body = json!({"metadata": {"name": "replicalimits.rules.example.com"}, "spec": {
        "group": "rules.example.com", "scope": scope,
        "names": {"plural": "replicalimits", "singular": "replicalimit", "kind": "ReplicaLimit", "listKind": "ReplicaLimitList"},
        "versions": [version("v1", false), version("v2", true)],
    }});
    made(server, DEFINITIONS, &body).await;
    super::until(server, &format!("{DEFINITIONS}/replicalimits.rules.example.com"), |found| {
        let conditions = found["status"]["conditions"].as_array().cloned().unwrap_or_default();
        conditions.iter().any(|condition| condition["type"] == "Established" && condition["status"] == "True")
    })
    .await;
}

fn limit(name: &str, more: Value) -> Value {
    let mut limit =
        json!({"apiVersion": "rules.example.com/v1", "kind": "ReplicaLimit", "metadata": {"name": name}});
    if let (Some(limit), Value::Object(more)) = (limit.as_object_mut(), more) {
        limit.extend(more);
    }
    limit
}

fn policy(kind: &Value) -> Value {
    json!({
        "paramKind": kind, "matchConstraints": constraints(&["apps/v1/deployments"]),
        "validations": [{
            "expression": "object.spec.replicas <= params.maxReplicas",
            "messageExpression": "'at most ' + string(params.maxReplicas) + ' by ' + params.kind + ' ' + params.apiVersion + ' ' + params.metadata.name",
            "reason": "Invalid",
        }],
    })
}

fn custom() -> Value {
    json!({"apiVersion": "rules.example.com/v1", "kind": "ReplicaLimit"})
}

fn deployment(name: &str, replicas: i64) -> Value {
    json!({"metadata": {"name": name}, "spec": {
        "replicas": replicas, "selector": {"matchLabels": {"a": "b"}},
        "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}},
    }})
}

const DEPLOYMENTS: &str = "/apis/apps/v1/namespaces/default/deployments?dryRun=All";

#[tokio::test]
async fn a_custom_resource_is_a_parameter_at_once_when_it_is_written() {
    let server = server().await;
    let reference = json!({"paramRef": {"name": "limit", "parameterNotFoundAction": "Deny"}});
    bind(&server, "replicas", policy(&custom()), reference).await;
    let unknown = create(&server, DEPLOYMENTS, &deployment("d", 1)).await;
    unknown.is_status(
        422,
        "Invalid",
        "deployments.apps \"d\" is forbidden: ValidatingAdmissionPolicy 'replicas' denied request: failed to configure policy: failed \
         to find resource referenced by paramKind: 'rules.example.com/v1, Kind=ReplicaLimit'",
    );
    define(&server, "Cluster").await;
    let absent = create(&server, DEPLOYMENTS, &deployment("d", 1)).await;
    assert_eq!(
        denial(&absent),
        "failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction"
    );
    made(&server, LIMITS, &limit("limit", json!({}))).await;
    create(&server, DEPLOYMENTS, &deployment("d", 3)).await.code_is(201);
    let denied = create(&server, DEPLOYMENTS, &deployment("d", 4)).await;
    assert_eq!(denial(&denied), "at most 3 by ReplicaLimit rules.example.com/v1 limit");
    // Each change counts for the next request.
    for most in [9, 2, 7] {
        let patch = json!({"maxReplicas": most}).to_string();
        let merge = [("content-type", "application/merge-patch+json")];
        server.admin().request(Method::PATCH, &format!("{LIMITS}/limit"), &merge, patch).await.code_is(200);
        create(&server, DEPLOYMENTS, &deployment("d", most)).await.code_is(201);
        create(&server, DEPLOYMENTS, &deployment("d", most + 1)).await.code_is(422);
    }
    server.admin().request(Method::DELETE, &format!("{LIMITS}/limit"), &JSON, "").await.code_is(200);
    create(&server, DEPLOYMENTS, &deployment("d", 1)).await.code_is(422);
}

#[tokio::test]
async fn a_selector_finds_several_parameters_and_all_must_hold() {
    let server = server().await;
    define(&server, "Namespaced").await;
    let in_default = "/apis/rules.example.com/v2/namespaces/default/replicalimits";
    let reference = json!({"paramRef": {
        "selector": {"matchLabels": {"use": "yes"}}, "parameterNotFoundAction": "Allow",
    }});
    bind(&server, "replicas", policy(&custom()), reference).await;
    create(&server, DEPLOYMENTS, &deployment("d", 99)).await.code_is(201);
    let labelled = |name: &str, used: &str, most: i64| {
        let mut made = limit(name, json!({"maxReplicas": most}));
        made["apiVersion"] = "rules.example.com/v2".into();
        made["metadata"]["labels"] = json!({"use": used});
        made
    };
    made(&server, in_default, &labelled("five", "yes", 5)).await;
    made(&server, in_default, &labelled("two", "no", 2)).await;
    create(&server, DEPLOYMENTS, &deployment("d", 5)).await.code_is(201);
    made(&server, in_default, &labelled("three", "yes", 3)).await;
    let denied = create(&server, DEPLOYMENTS, &deployment("d", 4)).await;
    assert_eq!(denial(&denied), "at most 3 by ReplicaLimit rules.example.com/v1 three");
    // Parameters of the namespace of the request count, and there are none in this one.
    made(&server, "/api/v1/namespaces", &json!({"metadata": {"name": "other"}})).await;
    let path = "/apis/apps/v1/namespaces/other/deployments";
    create(&server, path, &deployment("d", 99)).await.code_is(201);
}

#[tokio::test]
async fn built_in_kinds_and_wrong_references() {
    let server = server().await;
    let kind = json!({"apiVersion": "v1", "kind": "ConfigMap"});
    let spec = json!({
        "paramKind": kind, "matchConstraints": constraints(&["/v1/namespaces", "/v1/secrets"]),
        "validations": [{"expression": "params == null || params.data.allowed == object.metadata.name"}],
    });
    bind(
        &server,
        "named",
        spec,
        json!({"paramRef": {"name": "p", "namespace": "default", "parameterNotFoundAction": "Allow"}}),
    )
    .await;
    let secrets = "/api/v1/namespaces/default/secrets";
    let named = |name: &str| json!({"metadata": {"name": name}});
    made(&server, secrets, &named("free")).await;
    let map = json!({"metadata": {"name": "p"}, "data": {"allowed": "x"}});
    made(&server, "/api/v1/namespaces/default/configmaps", &map).await;
    made(&server, secrets, &named("x")).await;
    create(&server, secrets, &named("y")).await.code_is(422);
    create(&server, "/api/v1/namespaces", &named("y")).await.code_is(422);

    let path = format!("{REGISTRATION}/validatingadmissionpolicybindings/named");
    let rebind = async |reference: Value| {
        let mut binding = server.admin().get(&path).await.gives(200);
        binding["spec"]["paramRef"] = reference;
        send(&server, Method::PUT, &path, &binding).await.code_is(200);
    };
    rebind(json!({"name": "p", "parameterNotFoundAction": "Deny"})).await;
    // A namespace is in itself, where there is no such map.
    let denied = create(&server, "/api/v1/namespaces", &named("z")).await;
    assert_eq!(
        denial(&denied),
        "failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction"
    );
    let path = format!("{REGISTRATION}/validatingadmissionpolicies/named");
    let mut policy = server.admin().get(&path).await.gives(200);
    policy["spec"]["paramKind"] = json!({"apiVersion": "v1", "kind": "Node"});
    send(&server, Method::PUT, &path, &policy).await.code_is(200);
    rebind(json!({"name": "p", "namespace": "default", "parameterNotFoundAction": "Deny"})).await;
    let denied = create(&server, secrets, &named("z")).await;
    assert_eq!(
        denial(&denied),
        "failed to configure binding: paramRef.namespace must not be provided for a cluster-scoped `paramKind`"
    );
    policy = server.admin().get(&path).await.gives(200);
    policy["spec"]["paramKind"] = kind.clone();
    policy["spec"]["matchConstraints"] = constraints(&["/v1/nodes"]);
    send(&server, Method::PUT, &path, &policy).await.code_is(200);
    rebind(json!({"name": "p", "parameterNotFoundAction": "Deny"})).await;
    let denied = create(&server, "/api/v1/nodes", &named("z")).await;
    assert_eq!(
        denial(&denied),
        "failed to configure binding: cannot use namespaced paramRef in policy binding that matches cluster-scoped resources"
    );
}

#[tokio::test]
async fn a_policy_denies_warns_and_counts_at_once() {
    let server = server().await;
    let spec = json!({
        "matchConstraints": constraints(&["/v1/configmaps"]),
        "validations": [{"expression": "object.data.size() < 2", "message": "too many keys"}],
    });
    bind(&server, "keys", spec, json!({"validationActions": ["Deny", "Audit"]})).await;
    let warn = json!({"metadata": {"name": "warned"}, "spec": {"policyName": "keys", "validationActions": ["Warn"]}});
    made(&server, &format!("{REGISTRATION}/validatingadmissionpolicybindings"), &warn).await;
    let maps = "/api/v1/namespaces/default/configmaps";
    let body = json!({"metadata": {"name": "m"}, "data": {"a": "1", "b": "2"}});
    let denied = create(&server, maps, &body).await;
    denied.is_status(
        422,
        "Invalid",
        "configmaps \"m\" is forbidden: ValidatingAdmissionPolicy 'keys' with binding 'keys' denied request: too many keys",
    );
    let message = "ValidatingAdmissionPolicy 'keys' with binding 'keys' denied request: too many keys";
    assert_eq!(
        denied.json()["details"],
        json!({"name": "m", "kind": "configmaps", "causes": [{"message": message}]})
    );
    let warning =
        "Validation failed for ValidatingAdmissionPolicy 'keys' with binding 'warned': too many keys";
    assert_eq!(warnings(&denied), [format!("299 - \"{warning}\"")]);
    let metrics = server.admin().get("/metrics").await.body;
    for (action, binding) in [("deny", "keys"), ("audit", "keys"), ("warn", "warned")] {
        let labels = format!(
            r#"enforcement_action="{action}",error_type="invalid_error",policy="keys",policy_binding="{binding}""#
        );
        let line = format!("apiserver_validating_admission_policy_check_total{{{labels}}} 1");
        assert!(metrics.contains(&line), "{line}");
    }
}
