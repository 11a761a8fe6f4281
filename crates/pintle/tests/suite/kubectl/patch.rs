//! `kubectl patch`, with each kind of patch.

use http::Method;
use serde_json::{Value, json};

use super::OBJECTS;
use crate::support::client::Answer;
use crate::support::kubectl::{Kubectl, Output};
use crate::support::shared::{Shared, on_both_stores};

on_both_stores! {
    a_strategic_patch_merges_by_key,
    directives_of_strategic_patches_are_followed,
    a_merge_patch_replaces_lists,
    a_json_patch_goes_step_by_step,
    a_patch_that_changes_nothing_writes_nothing,
    a_version_in_the_patch_is_a_precondition,
    subresources_are_patched,
    unknown_fields_are_refused_or_told,
    unsuitable_patches_are_refused,
}

/// `kubectl patch WHAT --type=KIND -p PATCH MORE`.
async fn patch(kubectl: &Kubectl, what: &str, kind: &str, patch: &Value, more: &str) -> Output {
    let kind = format!("--type={kind}");
    let patch = patch.to_string();
    let mut args = vec!["patch"];
    args.extend(what.split_whitespace());
    args.extend([&*kind, "-p", &*patch]);
    args.extend(more.split_whitespace());
    kubectl.run(&args, "").await
}

async fn patched(kubectl: &Kubectl, what: &str, kind: &str, change: Value) -> Value {
    let text = patch(kubectl, what, kind, &change, "-o json").await.succeeded("patch");
    serde_json::from_str(&text).expect("an object")
}

fn names(list: &Value) -> Vec<&str> {
    list.as_array().into_iter().flatten().filter_map(|item| item["name"].as_str()).collect()
}

async fn a_strategic_patch_merges_by_key(shared: &Shared) {
    let kubectl = Kubectl::in_namespace(shared, "patch-strategic").await;
    kubectl.feed("create -f -", OBJECTS).await;
    let change = json!({"spec": {"containers": [{"name": "side", "image": "exporter:2"}]}});
    let done = patch(&kubectl, "pod db", "strategic", &change, "").await.succeeded("patch");
    assert_eq!(done, "pod/db patched\n");
    let pod = kubectl.json("get pod db --show-managed-fields").await;
    assert_eq!(names(&pod["spec"]["containers"]), ["main", "side"]);
    assert_eq!(pod["spec"]["containers"][0]["image"], "postgres");
    assert_eq!(pod["spec"]["containers"][1]["image"], "exporter:2");
    assert_eq!(pod["metadata"]["generation"], 2);
    let managers = pod["metadata"]["managedFields"].as_array().expect("managers");
    let patched = managers.iter().find(|entry| entry["manager"] == "kubectl-patch").expect("its manager");
    let expect = json!({"f:spec": {"f:containers": {"k:{\"name\":\"side\"}": {"f:image": {}}}}});
    assert_eq!((&patched["operation"], &patched["fieldsV1"]), (&"Update".into(), &expect));
}

async fn directives_of_strategic_patches_are_followed(shared: &Shared) {
    let kubectl = Kubectl::in_namespace(shared, "patch-directives").await;
    kubectl.ok("create deployment web --image=nginx --replicas=2").await;
    let template = |spec: Value| json!({"spec": {"template": {"spec": spec}}});
    let web = async |change: Value| patched(&kubectl, "deployment web", "strategic", change).await;
    let spec = |object: &Value| object["spec"]["template"]["spec"].clone();

    let change = json!({"containers": [{"name": "a", "image": "a"}, {"name": "b", "image": "b"}]});
    assert_eq!(names(&spec(&web(template(change)).await)["containers"]), ["a", "b", "nginx"]);
    let change = json!({
        "$setElementOrder/containers": [{"name": "nginx"}, {"name": "b"}],
        "containers": [{"name": "a", "$patch": "delete"}],
    });
    assert_eq!(names(&spec(&web(template(change)).await)["containers"]), ["nginx", "b"]);
    let change = json!({"containers": [{"name": "c", "image": "c"}, {"$patch": "replace"}]});
    assert_eq!(names(&spec(&web(template(change)).await)["containers"]), ["c"]);

    let strategy = json!({"spec": {"strategy": {"$retainKeys": ["type"], "type": "Recreate"}}});
    assert_eq!(web(strategy).await["spec"]["strategy"], json!({"type": "Recreate"}));
    let change = json!({"metadata": {"finalizers": ["example.com/a", "example.com/b"]}});
    web(change).await;
    let change = json!({"metadata": {"$deleteFromPrimitiveList/finalizers": ["example.com/a"]}});
    assert_eq!(web(change).await["metadata"]["finalizers"], json!(["example.com/b"]));
    let change = json!({"metadata": {"labels": {"$patch": "replace", "x": "y"}, "finalizers": null}});
    let object = web(change).await;
    assert_eq!(object["metadata"]["labels"], json!({"x": "y"}));
    assert_eq!(object["metadata"]["finalizers"], Value::Null);
}

async fn a_merge_patch_replaces_lists(shared: &Shared) {
    let kubectl = Kubectl::in_namespace(shared, "patch-merge").await;
    kubectl.feed("create -f -", OBJECTS).await;
    let change = json!({"metadata": {"labels": {"tier": null, "new": "x"}}, "spec": {"tolerations": [{"key": "k", "operator": "Exists"}]}});
    let pod = patched(&kubectl, "pod web", "merge", change).await;
    assert_eq!(pod["metadata"]["labels"], json!({"app": "web", "new": "x"}));
    // Admission appends the default tolerations again.
    let tolerations = pod["spec"]["tolerations"].as_array().expect("a list");
    let keys: Vec<&Value> = tolerations.iter().map(|toleration| &toleration["key"]).collect();
    assert_eq!(keys, ["k", "node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"]);
    assert_eq!(tolerations[0], json!({"key": "k", "operator": "Exists"}));
    let change = json!({"data": {"first": null, "third": "3"}});
    let settings = patched(&kubectl, "configmap settings", "merge", change).await;
    assert_eq!(settings["data"], json!({"text": "two\nlines\n", "third": "3"}));
    kubectl.ok("create deployment many --image=a --image=b").await;
    let change = json!({"spec": {"template": {"spec": {"containers": [{"name": "only", "image": "x"}]}}}});
    let deployment = patched(&kubectl, "deployment many", "merge", change).await;
    assert_eq!(names(&deployment["spec"]["template"]["spec"]["containers"]), ["only"]);
    // A pod keeps its containers.
    let change = json!({"spec": {"containers": [{"name": "only", "image": "x"}]}});
    let refused = patch(&kubectl, "pod db", "merge", &change, "").await.failed("patch");
    assert!(
        refused.contains("spec.containers: Forbidden: pod updates may not add or remove containers"),
        "{refused}"
    );
}

async fn a_json_patch_goes_step_by_step(shared: &Shared) {
    let kubectl = Kubectl::in_namespace(shared, "patch-json").await;
    kubectl.feed("create -f -", OBJECTS).await;
    let change = json!([
        {"op": "test", "path": "/data/first", "value": "1"},
        {"op": "replace", "path": "/data/first", "value": "2"},
        {"op": "copy", "from": "/data/first", "path": "/data/copy"},
        {"op": "add", "path": "/metadata/annotations", "value": {"a": "b"}},
        {"op": "move", "from": "/data/text", "path": "/metadata/annotations/example.com~1moved"},
    ]);
    let settings = patched(&kubectl, "configmap settings", "json", change).await;
    assert_eq!(settings["data"], json!({"first": "2", "copy": "2"}));
    let annotations = json!({"a": "b", "example.com/moved": "two\nlines\n"});
    assert_eq!(settings["metadata"]["annotations"], annotations);
    let change =
        json!([{"op": "test", "path": "/data/first", "value": "1"}, {"op": "remove", "path": "/data"}]);
    let complaint = patch(&kubectl, "configmap settings", "json", &change, "").await.failed("patch");
    assert!(
        complaint.contains("the server rejected our request due to an error in our request"),
        "{complaint}"
    );
    let change = json!([{"op": "remove", "path": "/data/none"}]);
    patch(&kubectl, "configmap settings", "json", &change, "").await.failed("patch");
    assert_eq!(kubectl.ok("get cm settings -o jsonpath={.data.first}").await, "2");
}

async fn a_patch_that_changes_nothing_writes_nothing(shared: &Shared) {
    let kubectl = Kubectl::in_namespace(shared, "patch-nothing").await;
    kubectl.feed("create -f -", OBJECTS).await;
    let before = kubectl.json("get pod web --show-managed-fields").await;
    let same = json!({"metadata": {"labels": {"app": "web"}}, "spec": {"nodeName": "worker"}});
    for kind in ["strategic", "merge"] {
        let done = patch(&kubectl, "pod web", kind, &same, "").await.succeeded("patch");
        assert_eq!(done, "pod/web patched (no change)\n");
    }
    assert_eq!(kubectl.json("get pod web --show-managed-fields").await, before);
    // Nor does a dry run.
    let change = json!({"metadata": {"labels": {"app": "other"}}});
    let done = patch(&kubectl, "pod web", "strategic", &change, "--dry-run=server").await.succeeded("patch");
    assert_eq!(done, "pod/web patched\n");
    assert_eq!(kubectl.json("get pod web --show-managed-fields").await, before);
}

async fn a_version_in_the_patch_is_a_precondition(shared: &Shared) {
    let kubectl = Kubectl::in_namespace(shared, "patch-version").await;
    kubectl.feed("create -f -", OBJECTS).await;
    let version = kubectl.ok("get cm settings -o jsonpath={.metadata.resourceVersion}").await;
    let change = |value: &str| json!({"metadata": {"resourceVersion": version}, "data": {"first": value}});
    for (kind, value) in [("strategic", "2"), ("merge", "3")] {
        let fresh = kubectl.ok("get cm settings -o jsonpath={.metadata.resourceVersion}").await;
        let mut change = change(value);
        change["metadata"]["resourceVersion"] = fresh.as_str().into();
        assert_eq!(patched(&kubectl, "cm settings", kind, change).await["data"]["first"], value);
    }
    let stale = json!([{"op": "replace", "path": "/metadata/resourceVersion", "value": version}]);
    for (kind, change) in [("strategic", change("4")), ("merge", change("4")), ("json", stale)] {
        let complaint = patch(&kubectl, "cm settings", kind, &change, "").await.failed("patch");
        assert!(
            complaint.contains("(Conflict)") && complaint.contains("the object has been modified"),
            "{complaint}"
        );
    }
    assert_eq!(kubectl.ok("get cm settings -o jsonpath={.data.first}").await, "3");
}

async fn subresources_are_patched(shared: &Shared) {
    let kubectl = Kubectl::in_namespace(shared, "patch-subresource").await;
    kubectl.ok("create deployment web --image=nginx").await;
    let status =
        json!({"status": {"conditions": [{"type": "Available", "status": "True"}]}, "spec": {"replicas": 7}});
    let web = patched(&kubectl, "deployment web --subresource=status", "strategic", status).await;
    assert_eq!(
        (&web["status"]["conditions"][0]["status"], &web["spec"]["replicas"]),
        (&"True".into(), &1.into())
    );
    // Conditions are merged by their type.
    let status = json!({"status": {"conditions": [{"type": "Progressing", "status": "False"}]}});
    let web = patched(&kubectl, "deployment web --subresource=status", "strategic", status).await;
    assert_eq!(web["status"]["conditions"].as_array().map(Vec::len), Some(2));
    for (kind, replicas) in [("strategic", 3), ("merge", 4)] {
        let change = json!({"spec": {"replicas": replicas}});
        let scale = patched(&kubectl, "deployment web --subresource=scale", kind, change).await;
        assert_eq!((&scale["kind"], &scale["spec"]["replicas"]), (&"Scale".into(), &replicas.into()));
    }
    assert_eq!(kubectl.ok("get deployment web -o jsonpath={.spec.replicas}").await, "4");
}

fn warnings(answer: &Answer) -> Vec<&str> {
    answer.headers.get_all("warning").iter().filter_map(|value| value.to_str().ok()).collect()
}

async fn unknown_fields_are_refused_or_told(shared: &Shared) {
    let kubectl = Kubectl::in_namespace(shared, "patch-validation").await;
    kubectl.feed("create -f -", OBJECTS).await;
    let admin = shared.server.admin();
    let path = |validation: &str| {
        format!("/api/v1/namespaces/patch-validation/configmaps/settings?fieldValidation={validation}")
    };
    let headers = [("content-type", "application/strategic-merge-patch+json")];
    let patch = r#"{"foo":1,"metadata":{"bar":{}},"data":{"a":"1","a":"2"}}"#;
    let strict = admin.request(Method::PATCH, &path("Strict"), &headers, patch).await;
    assert_eq!(strict.code, 422);
    assert_eq!(
        strict.json()["details"]["causes"][0]["message"],
        "Invalid value: \"map[data:map[a:2] foo:1 metadata:map[bar:map[]]]\": strict decoding error: duplicate field \
         \"data.a\", unknown field \"foo\", unknown field \"metadata.bar\""
    );
    let warned = admin.request(Method::PATCH, &path("Warn"), &headers, patch).await;
    assert_eq!(warned.code, 200);
    assert_eq!(
        warnings(&warned),
        [
            r#"299 - "duplicate field \"data.a\"""#,
            r#"299 - "unknown field \"foo\"""#,
            r#"299 - "unknown field \"metadata.bar\"""#,
        ]
    );
    assert_eq!(warned.json()["data"]["a"], "2");
    let ignored = admin.request(Method::PATCH, &path("Ignore"), &headers, patch).await;
    assert_eq!((ignored.code, warnings(&ignored).len()), (200, 0));
}

async fn unsuitable_patches_are_refused(shared: &Shared) {
    let kubectl = Kubectl::in_namespace(shared, "patch-unfit").await;
    kubectl.feed("create -f -", OBJECTS).await;
    kubectl.ok("create deployment web --image=nginx").await;
    for (what, kind, change, expect) in [
        ("deployment web", "strategic", json!({"spec": {"replicas": "x"}}), "unrecognized type: int32"),
        ("deployment web", "strategic", json!({"spec": []}), "cannot restore struct from: slice"),
        ("deployment web", "merge", json!({"spec": {"replicas": "x"}}), "cannot unmarshal string into Go"),
        ("pod db", "strategic", json!({"spec": {"containers": [{"image": "x"}]}}), {
            "map: map[image:x] does not contain declared merge key: name"
        }),
        ("pod db", "strategic", json!({"metadata": {"name": "other"}}), "does not match the name on the URL"),
        (
            "pod db",
            "strategic",
            json!({"$patch": "merge"}),
            "unknown patch type: merge in map: map[$patch:merge]",
        ),
        ("pod none", "strategic", json!({}), "pods \"none\" not found"),
    ] {
        let complaint = patch(&kubectl, what, kind, &change, "").await.failed("patch");
        assert!(complaint.contains(expect), "{change}: {complaint}");
    }
}
