//! MutatingAdmissionPolicies through the whole server: the shapes of the Kubernetes documentation's examples.

mod versions;

use http::Method;
use serde_json::{Value, json};

use crate::custom_resources::DEFINITIONS;
use crate::support::kubectl::Kubectl;
use crate::support::shared::ready;
use crate::support::{Answer, Launch, Server, eventually};

const REGISTRATION: &str = "/apis/admissionregistration.k8s.io/v1";
const PODS: &str = "/api/v1/namespaces/default/pods";
const MAPS: &str = "/api/v1/namespaces/default/configmaps";

async fn send(server: &Server, method: Method, path: &str, body: &Value) -> Answer {
    let json = [("content-type", "application/json")];
    server.admin().request(method, path, &json, body.to_string()).await
}

async fn post(server: &Server, path: &str, body: &Value) -> Answer {
    send(server, Method::POST, path, body).await
}

async fn made(server: &Server, path: &str, body: &Value) -> Value {
    let answer = post(server, path, body).await;
    assert_eq!(answer.code, 201, "{answer:?}");
    answer.json()
}

fn rules(group: &str, resource: &str) -> Value {
    json!({"resourceRules": [{
        "apiGroups": [group], "apiVersions": ["*"], "operations": ["CREATE", "UPDATE"], "resources": [resource],
    }]})
}

fn applied(expression: &str) -> Value {
    json!({"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": expression}})
}

fn patched(expression: &str) -> Value {
    json!({"patchType": "JSONPatch", "jsonPatch": {"expression": expression}})
}

/// Creates a policy with more of its spec, and binds it.
async fn policy(server: &Server, name: &str, constraints: Value, mutations: &[Value], more: Value) {
    let mut spec = json!({
        "matchConstraints": constraints, "mutations": mutations, "reinvocationPolicy": "Never", "failurePolicy": "Fail",
    });
    if let (Some(spec), Value::Object(more)) = (spec.as_object_mut(), more) {
        spec.extend(more);
    }
    let policy = json!({"metadata": {"name": name}, "spec": spec});
    made(server, &format!("{REGISTRATION}/mutatingadmissionpolicies"), &policy).await;
}

async fn bind(server: &Server, policy: &str, more: Value) {
    let mut spec = json!({"policyName": policy});
    if let (Some(spec), Value::Object(more)) = (spec.as_object_mut(), more) {
        spec.extend(more);
    }
    let binding = json!({"metadata": {"name": format!("{policy}-binding")}, "spec": spec});
    made(server, &format!("{REGISTRATION}/mutatingadmissionpolicybindings"), &binding).await;
}

fn pod(name: &str, containers: Value) -> Value {
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {"containers": containers}})
}

fn map(name: &str, data: Value) -> Value {
    json!({"metadata": {"name": name}, "data": data})
}

fn names(list: &Value) -> Vec<&str> {
    list.as_array().into_iter().flatten().filter_map(|item| item["name"].as_str()).collect()
}

#[tokio::test]
async fn a_sidecar_is_injected_once() {
    let server = Launch::new().start().await;
    ready(&server).await;
    let sidecar = r#"Object{spec: Object.spec{initContainers: [Object.spec.initContainers{
        name: "mesh-proxy", image: "mesh/proxy:v1.0.0", restartPolicy: "Always"}]}}"#;
    let absent = r#"!object.spec.?initContainers.orValue([]).exists(c, c.name == "mesh-proxy")"#;
    let more = json!({
        "matchConditions": [{"name": "no-sidecar", "expression": absent}], "reinvocationPolicy": "IfNeeded",
    });
    policy(&server, "sidecar.example.com", rules("", "pods"), &[applied(sidecar)], more).await;
    bind(&server, "sidecar.example.com", json!({})).await;

    let containers = json!([{"name": "c", "image": "i"}]);
    let plain = made(&server, PODS, &pod("plain", containers.clone())).await;
    let injected = &plain["spec"]["initContainers"][0];
    assert_eq!(injected["restartPolicy"], "Always");
    assert_eq!(injected["imagePullPolicy"], "IfNotPresent", "with its defaults: {injected}");
    let stored = server.admin().get(&format!("{PODS}/plain")).await.json();
    assert_eq!(stored["spec"], plain["spec"]);

    let mut own = pod("own", containers);
    own["spec"]["initContainers"] =
        json!([{"name": "first", "image": "i"}, {"name": "mesh-proxy", "image": "mine"}]);
    let own = made(&server, PODS, &own).await;
    assert_eq!(names(&own["spec"]["initContainers"]), ["first", "mesh-proxy"]);
    assert_eq!(own["spec"]["initContainers"][1]["image"], "mine");
    let metrics = server.admin().get("/metrics").await;
    let line = r#"apiserver_mutating_admission_policy_check_total{error_type="no_error",policy="sidecar.example.com",policy_binding="sidecar.example.com-binding"} 1"#;
    assert!(metrics.body.contains(line), "{line}");
}

#[tokio::test]
async fn labels_are_patched_and_environments_have_defaults() {
    let server = Launch::new().start().await;
    ready(&server).await;
    let label = r#"[
        JSONPatch{op: "test", path: "/metadata/annotations/example.com~1label", value: "yes"},
        JSONPatch{op: "add", path: "/metadata/labels", value: {}},
        JSONPatch{op: "add", path: "/metadata/labels/" + jsonpatch.escapeKey("example.com/environment"), value: "test"}]"#;
    let environment = r#"Object{spec: Object.spec{containers: object.spec.containers
        .filter(c, !c.?env.orValue([]).exists(e, e.name == "REGION"))
        .map(c, Object.spec.containers{name: c.name, env: [Object.spec.containers.env{name: "REGION", value: variables.region}]})}}"#;
    let more = json!({"variables": [{"name": "region", "expression": "object.metadata.namespace + '-1'"}]});
    policy(&server, "defaults.example.com", rules("", "pods"), &[patched(label), applied(environment)], more)
        .await;
    bind(&server, "defaults.example.com", json!({})).await;

    let containers = json!([{"name": "a", "image": "i"}, {"name": "b", "image": "i", "env": [{"name": "REGION", "value": "own"}]}]);
    let mut labelled = pod("labelled", containers.clone());
    labelled["metadata"]["annotations"] = json!({"example.com/label": "yes"});
    let labelled = made(&server, PODS, &labelled).await;
    assert_eq!(labelled["metadata"]["labels"], json!({"example.com/environment": "test"}));
    let env = |pod: &Value| {
        pod["spec"]["containers"].as_array().unwrap().iter().map(|c| c["env"].clone()).collect::<Vec<_>>()
    };
    let expected =
        [json!([{"name": "REGION", "value": "default-1"}]), json!([{"name": "REGION", "value": "own"}])];
    assert_eq!(env(&labelled), expected);

    let mut other = pod("other", containers);
    other["metadata"]["annotations"] = json!({"example.com/label": "no"});
    let other = made(&server, PODS, &other).await;
    assert_eq!(other["metadata"]["labels"], Value::Null, "the test failed");
    assert_eq!(env(&other), expected, "the other mutation was made");
    // A patch that cannot be applied rejects the pod.
    let answer = post(&server, PODS, &pod("bare", json!([{"name": "a", "image": "i"}]))).await;
    let message = "policy 'defaults.example.com' with binding 'defaults.example.com-binding' denied request: JSON Patch: test \
                   operation does not apply: is missing path: /metadata/annotations/example.com~1label: missing value";
    answer.is_status(403, "Invalid", message);
    assert_eq!(answer.json()["details"]["causes"], json!([{"message": message}]));
}

#[tokio::test]
async fn later_policies_win_and_errors_follow_the_failure_policy() {
    let server = Launch::new().start().await;
    ready(&server).await;
    let owner = |value: &str| applied(&format!("Object{{data: {{'owner': {value}}}}}"));
    let maps = || rules("", "configmaps");
    policy(&server, "b", maps(), &[owner("object.data.owner + 'b'")], json!({})).await;
    policy(&server, "a", maps(), &[owner("'a'")], json!({})).await;
    bind(&server, "b", json!({})).await;
    bind(&server, "a", json!({})).await;
    let new = made(&server, MAPS, &map("m", json!({"owner": "me", "x": "y"}))).await;
    assert_eq!(new["data"], json!({"owner": "ab", "x": "y"}));
    let updated = send(&server, Method::PUT, &format!("{MAPS}/m"), &map("m", json!({"z": "1"}))).await.json();
    assert_eq!(updated["data"], json!({"owner": "ab", "z": "1"}));

    let wrong = applied("Object{datas: {'a': 'b'}}");
    policy(&server, "c", maps(), std::slice::from_ref(&wrong), json!({"failurePolicy": "Ignore"})).await;
    bind(&server, "c", json!({})).await;
    made(&server, MAPS, &map("ignored", json!({"owner": "x"}))).await;
    policy(&server, "d", maps(), &[wrong], json!({})).await;
    bind(&server, "d", json!({})).await;
    post(&server, MAPS, &map("denied", json!({"owner": "x"}))).await.is_status(
        403,
        "Invalid",
        "policy 'd' with binding 'd-binding' denied request: error applying patch: failed to convert patch object to typed \
         object: .datas: field not declared in schema",
    );
    // Policies themselves are not changed by policies, and a dry run stores nothing.
    let path = format!("{REGISTRATION}/mutatingadmissionpolicies/d");
    assert_eq!(send(&server, Method::DELETE, &path, &json!({})).await.code, 200);
    let dry = made(&server, &format!("{MAPS}?dryRun=All"), &map("dry", json!({"owner": "x"}))).await;
    assert_eq!(dry["data"]["owner"], "ab");
    assert_eq!(server.admin().get(&format!("{MAPS}/dry")).await.code, 404);
}

fn definition() -> Value {
    let item = json!({"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}, "size": {"type": "integer", "default": 7}}});
    let schema = json!({"type": "object", "properties": {"spec": {"type": "object", "properties": {
        "parts": {"type": "array", "items": item, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]},
        "tags": {"type": "array", "items": {"type": "string"}},
        "owner": {"type": "string"},
    }}}});
    json!({
        "metadata": {"name": "things.example.com"},
        "spec": {
            "group": "example.com", "scope": "Namespaced",
            "names": {"plural": "things", "singular": "thing", "kind": "Thing", "listKind": "ThingList"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}}],
        },
    })
}

#[tokio::test]
async fn custom_resources_are_changed_by_their_schema_and_with_parameters() {
    let server = Launch::new().start().await;
    ready(&server).await;
    made(&server, DEFINITIONS, &definition()).await;
    let things = "/apis/example.com/v1/namespaces/default/things";
    eventually("the definition is served", async || server.admin().get(things).await.code == 200).await;
    let thing = |name: &str, spec: Value| json!({"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": name}, "spec": spec});
    let parts =
        "Object{spec: Object.spec{owner: params.data.owner, parts: [Object.spec.parts{name: 'extra'}]}}";
    let more = json!({"paramKind": {"apiVersion": "v1", "kind": "ConfigMap"}});
    policy(&server, "parts", rules("example.com", "things"), &[applied(parts)], more).await;
    bind(&server, "parts", json!({"paramRef": {"name": "settings", "parameterNotFoundAction": "Deny"}}))
        .await;
    post(&server, things, &thing("early", json!({}))).await.is_status(
        403,
        "Forbidden",
        "policy 'parts' with binding 'parts-binding' denied request: failed to configure binding: no params found for policy \
         binding with `Deny` parameterNotFoundAction",
    );
    made(&server, MAPS, &map("settings", json!({"owner": "team-a"}))).await;
    let new = made(&server, things, &thing("t", json!({"parts": [{"name": "own", "size": 1}]}))).await;
    let expected =
        json!({"owner": "team-a", "parts": [{"name": "own", "size": 1}, {"name": "extra", "size": 7}]});
    assert_eq!(new["spec"], expected, "with the defaults of the schema");

    let mutation = |name: &'static str, expression: &'static str| {
        let server = &server;
        async move {
            policy(server, name, rules("example.com", "things"), &[applied(expression)], json!({})).await;
            bind(server, name, json!({})).await;
            let answer = post(server, things, &thing(name, json!({}))).await;
            let path = format!("{REGISTRATION}/mutatingadmissionpolicies/{name}");
            assert_eq!(send(server, Method::DELETE, &path, &json!({})).await.code, 200);
            answer.json()["message"].as_str().unwrap_or_default().to_owned()
        }
    };
    let message = mutation("tags", "Object{spec: Object.spec{tags: ['a']}}").await;
    assert!(message.ends_with("may not mutate atomic arrays, maps or structs: .spec.tags"), "{message}");
    let message = mutation("unknown", "Object{spec: Object.spec{nosuch: 1}}").await;
    assert!(
        message.ends_with(
            "failed to convert patch object to typed object: .spec.nosuch: field not declared in schema"
        ),
        "{message}"
    );
    // Patches may replace what is atomic; fields that the schema does not have are pruned.
    let tags = "[JSONPatch{op: 'add', path: '/spec/tags', value: ['a']}, JSONPatch{op: 'add', path: '/spec/nosuch', value: 1}]";
    policy(&server, "patch", rules("example.com", "things"), &[patched(tags)], json!({})).await;
    bind(&server, "patch", json!({})).await;
    let new = made(&server, things, &thing("patched", json!({"owner": "x"}))).await;
    assert_eq!(new["spec"]["tags"], json!(["a"]));
    assert_eq!(new["spec"]["nosuch"], Value::Null);
}

#[tokio::test]
async fn hostile_mutations_are_bounded() {
    let server = Launch::new().start().await;
    ready(&server).await;
    let maps = || rules("", "configmaps");
    let variables: Vec<Value> = (0..24)
        .map(|number| {
            let expression = match number {
                0 => "['aaaaaaaaaaaaaaaa']".to_owned(),
                _ => format!("[variables.v{0}, variables.v{0}]", number - 1),
            };
            json!({"name": format!("v{number}"), "expression": expression})
        })
        .collect();
    let patch = patched("[JSONPatch{op: 'add', path: '/metadata/annotations', value: variables.v23}]");
    policy(&server, "doubling", maps(), &[patch], json!({"variables": variables})).await;
    bind(&server, "doubling", json!({})).await;
    let answer = post(&server, MAPS, &map("m", json!({"a": "b"}))).await;
    assert_eq!(answer.code, 403, "{answer:?}");
    assert!(answer.json()["message"].as_str().unwrap_or_default().contains("too large"), "{answer:?}");
    let path = format!("{REGISTRATION}/mutatingadmissionpolicies/doubling");
    assert_eq!(send(&server, Method::DELETE, &path, &json!({})).await.code, 200);
    made(&server, MAPS, &map("m", json!({"a": "b"}))).await;
}

#[tokio::test]
async fn kubectl_applies_a_policy_and_sees_its_effect() {
    let server = Launch::new().start().await;
    ready(&server).await;
    let kubectl = Kubectl::of(&server);
    let manifest = r#"
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata:
  name: replicas.example.com
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: ["apps"], apiVersions: ["v1"], operations: ["CREATE"], resources: ["deployments"]}
  failurePolicy: Fail
  reinvocationPolicy: Never
  mutations:
  - patchType: ApplyConfiguration
    applyConfiguration:
      expression: >
        Object{spec: Object.spec{replicas: object.spec.replicas % 2 == 0 ? object.spec.replicas + 1 : object.spec.replicas}}
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {name: replicas-binding.example.com}
spec: {policyName: replicas.example.com}
"#;
    kubectl.feed("apply -f -", manifest).await;
    kubectl.ok("create deployment web --image=i --replicas=2").await;
    assert_eq!(kubectl.json("get deployment web -o json").await["spec"]["replicas"], 3);
}
