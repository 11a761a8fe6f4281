//! Policies on other versions, subresources and ways to write, and with several parameters.

use super::*;

fn hpa(name: &str) -> Value {
    json!({
        "apiVersion": "autoscaling/v1", "kind": "HorizontalPodAutoscaler", "metadata": {"name": name},
        "spec": {"maxReplicas": 20, "scaleTargetRef": {"kind": "Deployment", "name": "d", "apiVersion": "apps/v1"}},
    })
}

#[tokio::test]
async fn a_policy_sees_objects_in_the_version_of_its_rules() {
    let server = Launch::new().start().await;
    ready(&server).await;
    let constraints = |policy: &str| {
        json!({"matchPolicy": policy, "resourceRules": [{
            "apiGroups": ["autoscaling"], "apiVersions": ["v2"], "operations": ["CREATE"],
            "resources": ["horizontalpodautoscalers"],
        }]})
    };
    // Only v2 has a behavior as a field.
    let mutations = [
        applied(
            "Object{metadata: Object.metadata{labels: {'seen': object.apiVersion.replace('/', '.'), \
             'asked': request.requestKind.version + '.' + request.kind.version}}, spec: Object.spec{maxReplicas: 10, \
             behavior: Object.spec.behavior{scaleDown: Object.spec.behavior.scaleDown{stabilizationWindowSeconds: 60}}}}",
        ),
        patched("[JSONPatch{op: 'replace', path: '/spec/maxReplicas', value: object.spec.maxReplicas - 1}]"),
    ];
    policy(&server, "equivalent", constraints("Equivalent"), &mutations, json!({})).await;
    bind(&server, "equivalent", json!({})).await;
    let exact = [applied("Object{spec: Object.spec{minReplicas: 5}}")];
    policy(&server, "exact", constraints("Exact"), &exact, json!({})).await;
    bind(&server, "exact", json!({})).await;
    let path =
        |version: &str| format!("/apis/autoscaling/{version}/namespaces/default/horizontalpodautoscalers");
    let new = made(&server, &path("v1"), &hpa("h")).await;
    assert_eq!(new["apiVersion"], "autoscaling/v1");
    assert_eq!(new["metadata"]["labels"], json!({"seen": "autoscaling.v2", "asked": "v1.v2"}));
    assert_eq!((&new["spec"]["maxReplicas"], &new["spec"]["minReplicas"]), (&json!(9), &json!(1)));
    let stored = server.admin().get(&format!("{}/h", path("v2"))).await.json();
    assert_eq!(stored["spec"]["behavior"]["scaleDown"]["stabilizationWindowSeconds"], 60);
    assert!(stored["spec"]["behavior"]["scaleDown"]["policies"].is_array(), "with its defaults: {stored}");
}

#[tokio::test]
async fn a_scale_is_changed_as_what_it_is() {
    let server = Launch::new().start().await;
    ready(&server).await;
    let deployments = "/apis/apps/v1/namespaces/default/deployments";
    let template =
        json!({"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}});
    let spec = json!({"replicas": 1, "selector": {"matchLabels": {"a": "b"}}, "template": template});
    made(&server, deployments, &json!({"metadata": {"name": "d"}, "spec": spec})).await;
    let limit = "Object{spec: Object.spec{replicas: object.spec.replicas > 5 ? 5 : object.spec.replicas}}";
    policy(&server, "limit", rules("apps", "deployments/scale"), &[applied(limit)], json!({})).await;
    bind(&server, "limit", json!({})).await;
    let scale = json!({"metadata": {"name": "d", "namespace": "default"}, "spec": {"replicas": 9}});
    let answer = send(&server, Method::PUT, &format!("{deployments}/d/scale"), &scale).await;
    assert_eq!((answer.code, &answer.json()["spec"]["replicas"]), (200, &json!(5)), "{answer:?}");
    assert_eq!(server.admin().get(&format!("{deployments}/d")).await.json()["spec"]["replicas"], 5);
}

#[tokio::test]
async fn every_way_to_write_an_object_is_changed() {
    let server = Launch::new().start().await;
    ready(&server).await;
    let stamp = "Object{data: {'stamp': request.operation}}";
    policy(&server, "stamp", rules("", "configmaps"), &[applied(stamp)], json!({})).await;
    bind(&server, "stamp", json!({})).await;
    let patch = async |media_type: &'static str, query: &'static str, body: Value| {
        let headers = [("content-type", media_type)];
        let path = format!("{MAPS}/m{query}");
        let answer = server.admin().request(Method::PATCH, &path, &headers, body.to_string()).await;
        assert!(answer.code < 300, "{answer:?}");
        answer.json()
    };
    let config =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m"}, "data": {"a": "1"}});
    let created = patch("application/apply-patch+yaml", "?fieldManager=me", config.clone()).await;
    assert_eq!(created["data"], json!({"a": "1", "stamp": "CREATE"}));
    let owned = &created["metadata"]["managedFields"][0]["fieldsV1"]["f:data"];
    assert_eq!(*owned, json!({"f:a": {}}), "the configuration has no other field");
    let merged = patch("application/merge-patch+json", "", json!({"data": {"b": "2", "stamp": null}})).await;
    assert_eq!(merged["data"], json!({"a": "1", "b": "2", "stamp": "UPDATE"}));
    let add = json!([{"op": "replace", "path": "/data/stamp", "value": "mine"}]);
    assert_eq!(patch("application/json-patch+json", "", add).await["data"]["stamp"], "UPDATE");
    let applied = patch("application/apply-patch+yaml", "?fieldManager=me", config).await;
    assert_eq!(applied["data"]["stamp"], "UPDATE");
}

#[tokio::test]
async fn a_policy_is_applied_with_each_parameter() {
    let server = Launch::new().start().await;
    ready(&server).await;
    made(&server, DEFINITIONS, &definition()).await;
    let things = "/apis/example.com/v1/namespaces/default/things";
    eventually("the definition is served", async || server.admin().get(things).await.code == 200).await;
    for (name, owner, labels) in
        [("b", "team-b", json!({"on": "1"})), ("a", "team-a", json!({"on": "1"})), ("c", "x", json!({}))]
    {
        let thing = json!({
            "apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": name, "labels": labels},
            "spec": {"owner": owner},
        });
        made(&server, things, &thing).await;
    }
    let owners = "[JSONPatch{op: 'add', path: '/data/owners', value: object.data.?owners.orValue('') + params.spec.owner + ';'}]";
    let more = json!({"paramKind": {"apiVersion": "example.com/v1", "kind": "Thing"}});
    policy(&server, "owners", rules("", "configmaps"), &[patched(owners)], more).await;
    let selector = json!({"matchLabels": {"on": "1"}});
    bind(&server, "owners", json!({"paramRef": {"selector": selector, "parameterNotFoundAction": "Allow"}}))
        .await;
    let new = made(&server, MAPS, &map("m", json!({"x": "y"}))).await;
    assert_eq!(new["data"], json!({"x": "y", "owners": "team-a;team-b;"}));
    // With nothing selected, nothing is applied.
    for name in ["a", "b"] {
        assert_eq!(send(&server, Method::DELETE, &format!("{things}/{name}"), &json!({})).await.code, 200);
    }
    let new = made(&server, MAPS, &map("n", json!({"x": "y"}))).await;
    assert_eq!(new["data"], json!({"x": "y"}));
}

#[tokio::test]
async fn without_the_gate_or_the_plugin_policies_are_only_kept() {
    for flag in [
        "--feature-gates=MutatingAdmissionPolicy=false",
        "--disable-admission-plugins=MutatingAdmissionPolicy",
    ] {
        let server = Launch::new().arg(flag).start().await;
        ready(&server).await;
        policy(&server, "p", rules("", "configmaps"), &[applied("Object{data: {'a': 'b'}}")], json!({}))
            .await;
        bind(&server, "p", json!({})).await;
        assert_eq!(
            made(&server, MAPS, &map("m", json!({"x": "y"}))).await["data"],
            json!({"x": "y"}),
            "{flag}"
        );
    }
}
