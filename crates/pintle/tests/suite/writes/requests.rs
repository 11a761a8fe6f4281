//! Parts of a write beside its object: path, user agent and options; and metadata that only the server may set.

use http::Method;
use serde_json::{Value, json};

use super::{JSON, MERGE, Maps, done, map};
use crate::support::Answer;
use crate::support::shared::{Shared, on_both_stores};

on_both_stores! {
    scales_are_in_the_namespace_of_their_request,
    a_scale_of_another_object_is_a_conflict,
    errors_of_options_come_in_order,
    both_policies_of_a_deletion_and_an_unknown_one_are_two_causes,
    a_dry_run_names_keys_without_the_prefix_of_the_store,
    a_manager_is_named_after_any_user_agent,
    an_apply_that_creates_may_set_a_deletion_timestamp,
    reviews_say_nothing_that_only_the_system_knows,
    owners_are_told_apart_once_the_object_is_the_right_one,
    a_body_that_cannot_be_converted_cannot_be_handled,
    messages_about_events_name_the_group_of_the_request,
    a_binding_s_labels_are_not_checked,
    a_review_of_an_unknown_token_keeps_the_status_that_was_sent,
    the_extra_of_a_subject_may_be_null,
}

const APPLY: &str = "application/apply-patch+yaml";

/// A deployment of one's own; the path of its scale.
async fn deployment(maps: &Maps) -> (Value, String) {
    let path = maps.path.replace("/api/v1/", "/apis/apps/v1/").replace("configmaps", "deployments");
    let labels = json!({"app": "d"});
    let container = json!({"name": "c", "image": "i"});
    let object = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}, "spec": {
        "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
    }});
    let headers = [("content-type", JSON)];
    let created = maps.client.request(Method::POST, &path, &headers, object.to_string()).await;
    (done(&created), format!("{path}/d/scale"))
}

fn scale(metadata: &Value, replicas: usize) -> Value {
    json!({"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": metadata, "spec": {"replicas": replicas}})
}

async fn send(maps: &Maps, method: Method, path: &str, media_type: &str, body: &Value) -> Answer {
    maps.client.request(method, path, &[("content-type", media_type)], body.to_string()).await
}

async fn scales_are_in_the_namespace_of_their_request(shared: &Shared) {
    let maps = Maps::new(shared, "scales-here").await;
    let (_, path) = deployment(&maps).await;
    let put = send(&maps, Method::PUT, &path, JSON, &scale(&json!({"name": "d"}), 2)).await;
    assert_eq!(done(&put)["spec"]["replicas"], 2);
    let patch = json!({"metadata": {"namespace": null}, "spec": {"replicas": 3}});
    let patched = send(&maps, Method::PATCH, &path, MERGE, &patch).await;
    assert_eq!(done(&patched)["spec"]["replicas"], 3);
    let elsewhere = scale(&json!({"name": "d", "namespace": "default"}), 4);
    send(&maps, Method::PUT, &path, JSON, &elsewhere).await.is_status(
        400,
        "BadRequest",
        "the namespace of the provided object does not match the namespace sent on the request",
    );
}

async fn a_scale_of_another_object_is_a_conflict(shared: &Shared) {
    let maps = Maps::new(shared, "scales-there").await;
    let (parent, path) = deployment(&maps).await;
    let uid = parent["metadata"]["uid"].as_str().expect("a UID");
    let other = scale(&json!({"name": "d", "uid": "other"}), 2);
    let put = send(&maps, Method::PUT, &path, JSON, &other).await.gives(409);
    let message = put["message"].as_str().expect("a message");
    assert!(
        message.contains("on deployments.apps \"d\": StorageError: invalid object, Code: 4"),
        "{message}"
    );
    // A patch names no object until it is applied.
    let patch = send(&maps, Method::PATCH, &path, MERGE, &json!({"metadata": {"uid": "other"}})).await;
    let message = format!(
        "Operation cannot be fulfilled on deployments/scale.apps \"d\": Precondition failed: UID in precondition: other, \
         UID in object meta: {uid}"
    );
    patch.is_status(409, "Conflict", &message);
    let right = scale(&json!({"name": "d", "uid": uid}), 2);
    assert_eq!(send(&maps, Method::PUT, &path, JSON, &right).await.code, 200);
}

async fn errors_of_options_come_in_order(shared: &Shared) {
    let maps = Maps::new(shared, "options-in-order").await;
    let query = "?fieldValidation=Maybe&dryRun=None&fieldManager=%01";
    let object = map("a", &json!({}));
    for (method, name, kind) in [
        (Method::POST, String::new(), "CreateOptions"),
        (Method::PUT, "a".into(), "UpdateOptions"),
        (Method::PATCH, "a".into(), "PatchOptions"),
    ] {
        let media_type = if method == Method::PATCH { MERGE } else { JSON };
        let answer = maps.send(method, &format!("{name}{query}"), media_type, object.to_string()).await;
        let status = answer.gives(422);
        assert_eq!(status["details"]["kind"], kind);
        let causes = status["details"]["causes"].as_array().expect("causes");
        let fields: Vec<&str> = causes.iter().filter_map(|cause| cause["field"].as_str()).collect();
        assert_eq!(fields, ["fieldManager", "dryRun", "fieldValidation"], "{kind}");
    }
}

async fn both_policies_of_a_deletion_and_an_unknown_one_are_two_causes(shared: &Shared) {
    let maps = Maps::new(shared, "both-policies").await;
    done(&maps.create(&map("a", &json!({}))).await);
    let both = r#"Invalid value: "Some": orphanDependents and deletionPropagation cannot be both set"#;
    let unknown =
        r#"Unsupported value: "Some": supported values: "Foreground", "Background", "Orphan", "nil""#;
    let options = json!({"propagationPolicy": "Some", "orphanDependents": true}).to_string();
    let query = "a?propagationPolicy=Some&orphanDependents=true";
    for (name, body) in [("a", options.as_str()), (query, "")] {
        let status = maps.send(Method::DELETE, name, JSON, body.to_owned()).await.gives(422);
        let causes = status["details"]["causes"].as_array().expect("causes");
        let messages: Vec<&str> = causes.iter().filter_map(|cause| cause["message"].as_str()).collect();
        assert_eq!(messages, [both, unknown]);
    }
}

async fn a_dry_run_names_keys_without_the_prefix_of_the_store(shared: &Shared) {
    let maps = Maps::new(shared, "keys-of-dry-runs").await;
    let mut object = done(&maps.create(&map("a", &json!({}))).await);
    object["metadata"]["uid"] = "other".into();
    for (query, key) in [("", "/registry/configmaps"), ("?dryRun=All", "/configmaps")] {
        let refused = maps.send(Method::PUT, &format!("a{query}"), JSON, object.to_string()).await.gives(409);
        let wanted = format!("Code: 4, Key: {key}/keys-of-dry-runs/a, ResourceVersion: 0");
        assert!(refused["message"].as_str().is_some_and(|text| text.contains(&wanted)), "{refused}");
    }
}

async fn a_manager_is_named_after_any_user_agent(shared: &Shared) {
    let maps = Maps::new(shared, "any-agent").await;
    for (name, agent, manager) in
        [("accent", "café-op/1.0", "café-op"), ("long", &"é".repeat(100), &"é".repeat(64))]
    {
        let headers = [("content-type", JSON), ("user-agent", agent)];
        let object = map(name, &json!({"a": "b"})).to_string();
        let created = done(&maps.client.request(Method::POST, &maps.path, &headers, object).await);
        assert_eq!(created["metadata"]["managedFields"][0]["manager"], manager);
    }
}

/// POST drops the deletion timestamp of a new object; apply and PUT keep it, as in the reference.
async fn an_apply_that_creates_may_set_a_deletion_timestamp(shared: &Shared) {
    const THEN: &str = "2020-01-02T03:04:05Z";
    let maps = Maps::new(shared, "made-to-go").await;
    let mut object = map("a", &json!({"a": "b"}));
    object["metadata"]["deletionTimestamp"] = THEN.into();
    object["metadata"]["deletionGracePeriodSeconds"] = 0.into();
    let posted = done(&maps.create(&object).await);
    assert_eq!(posted["metadata"].get("deletionTimestamp"), None);
    assert_eq!(posted["metadata"].get("deletionGracePeriodSeconds"), None);

    object["metadata"]["name"] = "b".into();
    let applied = maps.send(Method::PATCH, "b?fieldManager=me", APPLY, object.to_string()).await.gives(201);
    assert_eq!(applied["metadata"]["deletionTimestamp"], THEN);
    assert_eq!(applied["metadata"]["deletionGracePeriodSeconds"], 0);
    assert_eq!(maps.get("b").await, applied);
    // The next update finds no finalizer, and deletes the object.
    assert_eq!(maps.patch("b", MERGE, &json!({"data": {"a": "c"}})).await.code, 200);
    assert_eq!(maps.client.get(&maps.of("b")).await.code, 404);

    let leases =
        maps.path.replace("/api/v1/", "/apis/coordination.k8s.io/v1/").replace("configmaps", "leases");
    let metadata = json!({"name": "c", "deletionTimestamp": THEN, "finalizers": ["x.test/y"]});
    let lease = json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata});
    let put = send(&maps, Method::PUT, &format!("{leases}/c"), JSON, &lease).await.gives(201);
    assert_eq!(put["metadata"]["deletionTimestamp"], THEN);
}

async fn reviews_say_nothing_that_only_the_system_knows(shared: &Shared) {
    let maps = Maps::new(shared, "reviews-of-nobody").await;
    let review = json!({
        "apiVersion": "authentication.k8s.io/v1",
        "kind": "TokenReview",
        "metadata": {"uid": "u", "creationTimestamp": "2020-01-02T03:04:05Z", "selfLink": "/l"},
        "spec": {"token": "nobody's"},
    });
    let path = "/apis/authentication.k8s.io/v1/tokenreviews";
    let answer = done(&send(&maps, Method::POST, path, JSON, &review).await);
    for field in ["uid", "selfLink"] {
        assert_eq!(answer["metadata"].get(field), None, "{answer}");
    }
    assert!(answer["metadata"].get("creationTimestamp").is_none_or(Value::is_null), "{answer}");
}

async fn owners_are_told_apart_once_the_object_is_the_right_one(shared: &Shared) {
    let maps = Maps::new(shared, "owners-twice").await;
    let owner = json!({"apiVersion": "v1", "kind": "K", "name": "o", "uid": "u"});
    let mut object = map("a", &json!({}));
    object["metadata"]["ownerReferences"] = json!([owner, owner]);
    for answer in [maps.create(&object).await, maps.put("a", &object).await] {
        assert_eq!(done(&answer)["metadata"]["ownerReferences"], json!([owner]));
        assert!(answer.header("warning").contains("contains duplicate entries; API server"), "{answer:?}");
    }
    let twice = json!({"metadata": {"ownerReferences": [owner, owner]}});
    let patched = maps.patch("a", MERGE, &twice).await;
    assert_eq!(done(&patched)["metadata"]["ownerReferences"], json!([owner]));
    assert!(patched.header("warning").contains("after mutating admission happens"), "{patched:?}");
    // Of something else, nothing is told but that.
    let refused = maps.put("b", &object).await;
    assert_eq!((refused.code, refused.header("warning")), (400, ""));
}

/// A conversion ends the decoding of a body, so that unknown fields are not spoken of.
async fn a_body_that_cannot_be_converted_cannot_be_handled(shared: &Shared) {
    let maps = Maps::new(shared, "not-converted").await;
    let path = maps.path.replace("/api/v1/", "/apis/apps/v1/").replace("configmaps", "daemonsets");
    let annotations = json!({"deprecated.daemonset.template.generation": "a b"});
    let set = json!({"apiVersion": "apps/v1", "kind": "DaemonSet", "bogus": 1,
        "metadata": {"name": "d", "annotations": annotations}, "spec": {}});
    for query in ["", "?fieldValidation=Strict"] {
        send(&maps, Method::POST, &format!("{path}{query}"), JSON, &set).await.is_status(
            400,
            "BadRequest",
            "DaemonSet in version \"v1\" cannot be handled as a DaemonSet: strconv.ParseInt: parsing \"a b\": invalid syntax",
        );
    }
}

async fn messages_about_events_name_the_group_of_the_request(shared: &Shared) {
    let maps = Maps::new(shared, "events-of-groups").await;
    let core = maps.path.replace("configmaps", "events/x");
    let other = core.replace("/api/v1/", "/apis/events.k8s.io/v1/");
    for (path, name) in [(core, "events"), (other, "events.events.k8s.io")] {
        let gone = send(&maps, Method::GET, &path, JSON, &Value::Null).await;
        gone.is_status(404, "NotFound", &format!("{name} \"x\" not found"));
    }
}

async fn a_binding_s_labels_are_not_checked(shared: &Shared) {
    let maps = Maps::new(shared, "bound-as-is").await;
    let path = maps.path.replace("configmaps", "pods");
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {
        "automountServiceAccountToken": false, "containers": [{"name": "c", "image": "i"}]}});
    done(&send(&maps, Method::POST, &path, JSON, &pod).await);
    let binding = json!({"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "p", "labels": {"l": "a b"}},
        "target": {"kind": "Node", "name": "n"}});
    done(&send(&maps, Method::POST, &format!("{path}/p/binding"), JSON, &binding).await);
    let bound = done(&send(&maps, Method::GET, &format!("{path}/p"), JSON, &Value::Null).await);
    assert_eq!((&bound["spec"]["nodeName"], &bound["metadata"]["labels"]["l"]), (&json!("n"), &json!("a b")));
}

async fn a_review_of_an_unknown_token_keeps_the_status_that_was_sent(shared: &Shared) {
    let maps = Maps::new(shared, "unknown-token").await;
    let review = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": "x"},
        "status": {"authenticated": true, "error": "e", "audiences": ["a"], "user": {"username": "u"}}});
    let path = "/apis/authentication.k8s.io/v1/tokenreviews";
    let answered = done(&send(&maps, Method::POST, path, JSON, &review).await);
    let status = &answered["status"];
    assert_eq!(
        (&status["authenticated"], &status["user"]["username"]),
        (&Value::Null, &json!("u")),
        "{status}"
    );
    assert!(status["error"].as_str().is_some_and(|error| error.contains("invalid bearer token")), "{status}");
}

async fn the_extra_of_a_subject_may_be_null(shared: &Shared) {
    let maps = Maps::new(shared, "null-extra").await;
    let review = json!({"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": {
        "user": "u", "extra": {"k": null}, "resourceAttributes": {"verb": "get", "resource": "pods"}}});
    let path = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
    let answered = done(&send(&maps, Method::POST, path, JSON, &review).await);
    assert_eq!(
        (&answered["spec"]["extra"]["k"], &answered["status"]["allowed"]),
        (&Value::Null, &json!(false))
    );
}
