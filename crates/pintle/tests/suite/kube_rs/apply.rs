//! Server-side apply, as controllers use it.

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::autoscaling::v2::HorizontalPodAutoscaler;
use k8s_openapi::api::core::v1::{ConfigMap, Node};
use kube::api::{Patch, PatchParams, PostParams};
use kube::{Api, ResourceExt};
use serde_json::{Value, json};

use super::{api, client, from_json, refused};
use crate::support::shared::{Shared, on_both_stores};

on_both_stores! {
    an_object_is_applied_until_it_is_as_wanted,
    many_appliers_of_one_object_all_succeed,
    many_creators_of_one_object_all_succeed,
    versions_keep_each_other_s_fields,
    conditions_are_applied_by_type,
    objects_that_an_apply_cannot_create,
}

fn as_manager(name: &str) -> PatchParams {
    PatchParams::apply(name)
}

fn data(data: &Value) -> Patch<Value> {
    Patch::Apply(json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": data}))
}

async fn an_object_is_applied_until_it_is_as_wanted(shared: &Shared) {
    let api: Api<ConfigMap> = api(shared, "apply-plain").await;
    let created = api.patch("a", &as_manager("one"), &data(&json!({"k": "1"}))).await.expect("created");
    assert_eq!(created.managed_fields()[0].operation.as_deref(), Some("Apply"));
    let same = api.patch("a", &as_manager("one"), &data(&json!({"k": "1"}))).await.expect("applied");
    assert_eq!(same, created, "nothing was written");
    let conflict = refused(api.patch("a", &as_manager("two"), &data(&json!({"k": "2"}))).await);
    assert_eq!((conflict.code, conflict.reason.as_str()), (409, "Conflict"));
    assert_eq!(conflict.message, "Apply failed with 1 conflict: conflict with \"one\": .data.k");
    let causes = &conflict.details.expect("details").causes;
    assert_eq!((causes[0].reason.as_str(), causes[0].field.as_str()), ("FieldManagerConflict", ".data.k"));
    let forced = api.patch("a", &as_manager("two").force(), &data(&json!({"k": "2"}))).await.expect("forced");
    assert_eq!(forced.managed_fields().len(), 1);
    assert_ne!(forced.resource_version(), created.resource_version());
    let dry = as_manager("two").dry_run();
    api.patch("a", &dry, &data(&json!({"k": "3"}))).await.expect("as if applied");
    assert_eq!(api.get("a").await.expect("there"), forced);
}

/// Each sets fields of its own, again and again, while all others do.
async fn many_appliers_of_one_object_all_succeed(shared: &Shared) {
    const APPLIERS: usize = 32;
    const ROUNDS: usize = 5;
    let api: Api<ConfigMap> = api(shared, "apply-many").await;
    api.patch("a", &as_manager("first"), &data(&json!({"first": "1"}))).await.expect("created");
    let mut appliers = tokio::task::JoinSet::new();
    for applier in 0..APPLIERS {
        // A connection each.
        let client = client(&shared.server).await;
        let api: Api<ConfigMap> = Api::namespaced(client, "apply-many");
        appliers.spawn(async move {
            for round in 0..ROUNDS {
                let config = json!({format!("k{applier}"): round.to_string()});
                let applied = api.patch("a", &as_manager(&format!("m{applier}")), &data(&config)).await;
                applied.unwrap_or_else(|error| panic!("applier {applier}, round {round}: {error}"));
            }
        });
    }
    appliers.join_all().await;
    let object = api.get("a").await.expect("there");
    let found = object.data.as_ref().expect("data");
    assert_eq!(found.len(), APPLIERS + 1);
    for applier in 0..APPLIERS {
        assert_eq!(found[&format!("k{applier}")], (ROUNDS - 1).to_string(), "of {applier}");
    }
    assert_eq!(object.managed_fields().len(), APPLIERS + 1, "those who apply are not forgotten");
    for applier in 0..APPLIERS {
        let name = format!("m{applier}");
        let entry = object.managed_fields().iter().find(|entry| entry.manager.as_deref() == Some(&name));
        let fields = &entry.expect("an entry").fields_v1.as_ref().expect("fields").0;
        assert_eq!(*fields, json!({"f:data": {format!("f:k{applier}"): {}}}));
    }
}

async fn many_creators_of_one_object_all_succeed(shared: &Shared) {
    let api: Api<ConfigMap> = api(shared, "apply-creators").await;
    let mut appliers = tokio::task::JoinSet::new();
    for applier in 0..32 {
        let api = api.clone();
        appliers.spawn(async move {
            let config = data(&json!({format!("k{applier}"): "v"}));
            api.patch("a", &as_manager(&format!("m{applier}")), &config).await.expect("applied").uid()
        });
    }
    let mut uids = appliers.join_all().await;
    uids.dedup();
    assert_eq!(uids.len(), 1, "it is one object");
    let object = api.get("a").await.expect("there");
    assert_eq!(object.data.map(|data| data.len()), Some(32));
}

async fn versions_keep_each_other_s_fields(shared: &Shared) {
    let api: Api<HorizontalPodAutoscaler> = api(shared, "apply-versions").await;
    let v1 = |spec: Value| {
        Patch::Apply(json!({"apiVersion": "autoscaling/v1", "kind": "HorizontalPodAutoscaler",
            "metadata": {"name": "a"}, "spec": spec}))
    };
    let older: Api<k8s_openapi::api::autoscaling::v1::HorizontalPodAutoscaler> =
        Api::namespaced(client(&shared.server).await, "apply-versions");
    let target = json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"});
    let spec = json!({"scaleTargetRef": target, "maxReplicas": 5, "targetCPUUtilizationPercentage": 50});
    older.patch("a", &as_manager("one"), &v1(spec)).await.expect("created");
    let v2 = |spec: Value| {
        Patch::Apply(json!({"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler",
            "metadata": {"name": "a"}, "spec": spec}))
    };
    let both = api.patch("a", &as_manager("two"), &v2(json!({"minReplicas": 2}))).await.expect("applied");
    let versions: Vec<_> =
        both.managed_fields().iter().map(|entry| entry.api_version.as_deref().unwrap_or_default()).collect();
    assert_eq!(versions, ["autoscaling/v1", "autoscaling/v2"]);
    let conflict = refused(api.patch("a", &as_manager("two"), &v2(json!({"maxReplicas": 6}))).await);
    assert_eq!(conflict.message, "Apply failed with 1 conflict: conflict with \"one\": .spec.maxReplicas");
    // The same manager lets go of the metric in the newer version.
    let spec = json!({"scaleTargetRef": target, "maxReplicas": 5});
    let left = api.patch("a", &as_manager("one"), &v2(spec)).await.expect("applied");
    let spec = &left.spec;
    assert_eq!((spec.max_replicas, spec.min_replicas), (5, Some(2)));
    let refs = left.metadata.managed_fields.unwrap_or_default();
    assert!(refs.iter().all(|entry| entry.api_version.as_deref() == Some("autoscaling/v2")), "{refs:?}");
}

async fn conditions_are_applied_by_type(shared: &Shared) {
    let nodes: Api<Node> = Api::all(client(&shared.server).await);
    let name = "apply-conditions";
    nodes
        .create(&PostParams::default(), &from_json(json!({"metadata": {"name": name}})))
        .await
        .expect("created");
    let condition = |kind: &str, status: &str| {
        let condition = json!({"type": kind, "status": status, "reason": "r", "message": "m"});
        let object = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name},
            "status": {"conditions": [condition]}});
        Patch::Apply(object)
    };
    nodes.patch_status(name, &as_manager("kubelet"), &condition("Ready", "True")).await.expect("applied");
    nodes.patch_status(name, &as_manager("other"), &condition("Busy", "False")).await.expect("applied");
    let node = nodes
        .patch_status(name, &as_manager("kubelet"), &condition("Ready", "False"))
        .await
        .expect("applied");
    let conditions = node.status.and_then(|status| status.conditions).expect("conditions");
    let seen: Vec<_> = conditions.iter().map(|one| (one.type_.as_str(), one.status.as_str())).collect();
    assert_eq!(seen, [("Ready", "False"), ("Busy", "False")]);
}

async fn objects_that_an_apply_cannot_create(shared: &Shared) {
    let api: Api<ConfigMap> = api(shared, "apply-not").await;
    let object = |metadata: Value| {
        Patch::Apply(json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}))
    };
    let refusal = |metadata: Value| {
        let (api, patch) = (api.clone(), object(metadata));
        async move { refused(api.patch("a", &as_manager("one"), &patch).await) }
    };
    let status = refusal(json!({"name": "a", "uid": "x"})).await;
    assert_eq!((status.code, status.reason.as_str()), (409, "Conflict"));
    assert_eq!(
        status.message,
        "Operation cannot be fulfilled on configmaps \"a\": uid mismatch: the provided object specified uid x, and no \
         existing object was found"
    );
    assert_eq!(
        refusal(json!({"name": "b"})).await.message,
        "the name of the object (b) does not match the name on the URL (a)"
    );
    assert_eq!(
        refusal(json!({"name": "a", "namespace": "other"})).await.message,
        "the namespace of the provided object does not match the namespace sent on the request"
    );
    let other = Patch::Apply(json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"}}));
    let status = refused(api.patch("a", &as_manager("one"), &other).await);
    assert_eq!((status.code, status.message.as_str()), (400, "invalid object type: /v1, Kind=Secret"));
    let deployments: Api<Deployment> = Api::namespaced(client(&shared.server).await, "apply-not");
    let missing =
        Patch::Apply(json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a"},
        "status": {"replicas": 1}}));
    assert_eq!(refused(deployments.patch_status("a", &as_manager("one"), &missing).await).code, 404);
    // A version that is not there any more is a conflict; one of what was never there is not looked at.
    api.patch("a", &as_manager("one"), &object(json!({"name": "a"}))).await.expect("created");
    let stale = object(json!({"name": "a", "resourceVersion": "1", "labels": {"a": "b"}}));
    let status = refused(api.patch("a", &as_manager("one"), &stale).await);
    assert_eq!((status.code, status.reason.as_str()), (409, "Conflict"));
}
