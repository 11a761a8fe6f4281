//! Operations, subresources and versions that policies see.

use http::Method;
use serde_json::{Value, json};

use super::{bind, create, denial, made, send};
use crate::support::shared::ready;
use crate::support::{Launch, Server};

async fn server() -> Server {
    let server = Launch::new().start().await;
    ready(&server).await;
    server
}

fn rule(group: &str, version: &str, resource: &str, operations: &[&str]) -> Value {
    json!({"apiGroups": [group], "apiVersions": [version], "operations": operations, "resources": [resource]})
}

#[tokio::test]
async fn deletions_have_the_old_object_alone() {
    let server = server().await;
    let spec = json!({
        "matchConstraints": {"resourceRules": [rule("", "v1", "configmaps", &["DELETE"])]},
        "validations": [{
            "expression": "object == null && request.operation == 'DELETE' && oldObject.metadata.?labels.keep.orValue('') != 'yes'",
            "messageExpression": "request.name + ' in ' + request.namespace + ' is kept'",
        }],
    });
    bind(&server, "kept", spec, json!({})).await;
    let maps = "/api/v1/namespaces/default/configmaps";
    made(&server, maps, &json!({"metadata": {"name": "a", "labels": {"keep": "yes"}}})).await;
    made(&server, maps, &json!({"metadata": {"name": "b"}})).await;
    let refused = send(&server, Method::DELETE, &format!("{maps}/a"), &json!({})).await;
    assert_eq!(denial(&refused), "a in default is kept");
    send(&server, Method::DELETE, &format!("{maps}/b"), &json!({})).await.code_is(200);
}

#[tokio::test]
async fn objects_are_seen_in_the_version_of_the_rule() {
    let server = server().await;
    let seen = "object.apiVersion == 'autoscaling/v1' && has(object.spec.targetCPUUtilizationPercentage) && request.kind.version == 'v1' && request.resource.version == 'v1' && request.requestKind.version == 'v2' && request.requestResource.version == 'v2'";
    let constraints = |policy: &str| json!({"matchPolicy": policy, "resourceRules": [rule("autoscaling", "v1", "horizontalpodautoscalers", &["CREATE"])]});
    let spec = json!({
        "matchConstraints": constraints("Equivalent"),
        "matchConditions": [{"name": "own", "expression": "request.resource.version == 'v2' && request.kind.version == 'v1'"}],
        "validations": [{"expression": format!("!({seen})"), "message": "seen as v1"}],
    });
    bind(&server, "equivalent", spec, json!({})).await;
    let exact = json!({"matchConstraints": constraints("Exact"), "validations": [{"expression": "false", "message": "exact"}]});
    bind(&server, "exact", exact, json!({})).await;
    let scaler = json!({"metadata": {"name": "h"}, "spec": {
        "maxReplicas": 3, "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"},
        "metrics": [{"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 50}}}],
    }});
    let path = "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers";
    assert_eq!(denial(&create(&server, path, &scaler).await), "seen as v1");
}

#[tokio::test]
async fn subresources_and_connections_are_matched_by_their_names() {
    let server = server().await;
    let pods = "/api/v1/namespaces/default/pods";
    let pod = json!({"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}});
    made(&server, pods, &pod).await;
    let spec = json!({
        "matchConstraints": {"resourceRules": [rule("", "v1", "pods/exec", &["CONNECT"])]},
        "validations": [{
            "expression": "request.subResource == 'exec' && object.kind == 'PodExecOptions' && !('sh' in object.command)",
            "message": "no shells",
        }],
    });
    bind(&server, "exec", spec, json!({})).await;
    let refused = create(&server, &format!("{pods}/p/exec?command=sh"), &json!({})).await;
    assert_eq!(denial(&refused), "no shells");
    let spec = json!({
        "matchConstraints": {"resourceRules": [rule("", "v1", "pods/status", &["UPDATE"])]},
        "validations": [{"expression": "object.status.?phase.orValue('') != 'Failed'", "message": "never failed"}],
    });
    bind(&server, "status", spec, json!({})).await;
    let patch = json!({"status": {"phase": "Failed"}}).to_string();
    let merge = [("content-type", "application/merge-patch+json")];
    let refused = server.admin().request(Method::PATCH, &format!("{pods}/p/status"), &merge, patch).await;
    assert_eq!(denial(&refused), "never failed");
}

#[tokio::test]
async fn namespaces_have_no_namespace_object() {
    let server = server().await;
    let spec = json!({
        "matchConstraints": {"resourceRules": [rule("", "v1", "*", &["CREATE"])]},
        "validations": [{"expression": "namespaceObject == null ? has(object.metadata.labels.team) : namespaceObject.metadata.name == 'default'"}],
    });
    bind(&server, "teams", spec, json!({})).await;
    create(&server, "/api/v1/namespaces", &json!({"metadata": {"name": "b"}})).await.code_is(422);
    create(&server, "/api/v1/namespaces", &json!({"metadata": {"name": "a", "labels": {"team": "x"}}}))
        .await
        .code_is(201);
    create(&server, "/api/v1/nodes", &json!({"metadata": {"name": "n"}})).await.code_is(422);
    create(&server, "/api/v1/nodes", &json!({"metadata": {"name": "n", "labels": {"team": "x"}}}))
        .await
        .code_is(201);
    let map = json!({"metadata": {"name": "m"}});
    create(&server, "/api/v1/namespaces/default/configmaps", &map).await.code_is(201);
    create(&server, "/api/v1/namespaces/a/configmaps", &map).await.code_is(422);
}
