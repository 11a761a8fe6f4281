//! Every verb on typed objects.

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{ConfigMap, Node, Pod, PodStatus, Secret};
use kube::api::{DeleteParams, ListParams, PostParams, Preconditions};
use kube::{Api, ResourceExt};
use serde_json::json;

use super::{api, client, config_map, from_json, refused};
use crate::support::shared::{Shared, on_both_stores};

on_both_stores! {
    an_object_lives_through_every_verb,
    status_and_spec_are_written_apart,
    replicas_are_scaled,
    preconditions_hold,
    a_collection_is_deleted,
    refusals_say_what_and_why,
    only_one_of_many_writers_wins,
    objects_without_a_namespace_work_too,
}

async fn an_object_lives_through_every_verb(shared: &Shared) {
    let api: Api<Pod> = api(shared, "typed-verbs").await;
    let pod: Pod = from_json(json!({
        "metadata": {"name": "web", "labels": {"app": "web"}},
        "spec": {"containers": [{"name": "c", "image": "nginx"}]},
    }));
    let posted = PostParams { field_manager: Some("suite".into()), ..PostParams::default() };
    let created = api.create(&posted, &pod).await.expect("created");
    let spec = created.spec.as_ref().expect("a spec");
    assert_eq!(
        (spec.restart_policy.as_deref(), spec.dns_policy.as_deref()),
        (Some("Always"), Some("ClusterFirst"))
    );
    assert_eq!(created.managed_fields()[0].manager.as_deref(), Some("suite"));
    assert!(created.uid().is_some() && created.creation_timestamp().is_some());
    assert_eq!(api.get("web").await.expect("there"), created, "what was answered is what is stored");

    let mut changed = created.clone();
    changed.labels_mut().insert("tier".into(), "front".into());
    let replaced = api.replace("web", &PostParams::default(), &changed).await.expect("replaced");
    assert_eq!((replaced.uid(), replaced.labels()["tier"].as_str()), (created.uid(), "front"));
    assert_ne!(replaced.resource_version(), created.resource_version());
    let list = api.list(&ListParams::default().labels("tier=front")).await.expect("a list");
    assert_eq!(list.items, [replaced]);

    let deleted = api.delete("web", &DeleteParams::default()).await.expect("deleted");
    assert_eq!(deleted.left().and_then(|pod| pod.uid()), created.uid(), "a pod is answered with itself");
    assert_eq!(api.get_opt("web").await.expect("an answer"), None);
}

async fn status_and_spec_are_written_apart(shared: &Shared) {
    let api: Api<Pod> = api(shared, "typed-status").await;
    let pod: Pod = from_json(json!({
        "metadata": {"name": "web"}, "spec": {"containers": [{"name": "c", "image": "nginx"}]},
        "status": {"phase": "Running"},
    }));
    let created = api.create(&PostParams::default(), &pod).await.expect("created");
    let phase = |pod: &Pod| pod.status.as_ref().and_then(|status| status.phase.clone());
    assert_eq!(phase(&created).as_deref(), Some("Pending"), "not what the creator says");
    let mut running = created.clone();
    running.status = Some(PodStatus { phase: Some("Running".into()), ..PodStatus::default() });
    running.spec.as_mut().expect("a spec").containers[0].image = Some("other".into());
    let running = api.replace_status("web", &PostParams::default(), &running).await.expect("replaced");
    assert_eq!(phase(&running).as_deref(), Some("Running"));
    assert_eq!(running.spec, created.spec);
    assert!(running.managed_fields().iter().any(|entry| entry.subresource.as_deref() == Some("status")));
    assert_eq!(api.get_status("web").await.expect("there"), running);
}

async fn replicas_are_scaled(shared: &Shared) {
    let api: Api<Deployment> = api(shared, "typed-scale").await;
    let deployment: Deployment = from_json(json!({
        "metadata": {"name": "web"},
        "spec": {"replicas": 2, "selector": {"matchLabels": {"app": "web"}}, "template": {
            "metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "c", "image": "nginx"}]},
        }},
    }));
    api.create(&PostParams::default(), &deployment).await.expect("created");
    let mut scale = api.get_scale("web").await.expect("a scale");
    assert_eq!(scale.spec.as_ref().and_then(|spec| spec.replicas), Some(2));
    scale.spec.as_mut().expect("a spec").replicas = Some(7);
    let scaled = api.replace_scale("web", &PostParams::default(), &scale).await.expect("scaled");
    assert_eq!(scaled.spec.as_ref().and_then(|spec| spec.replicas), Some(7));
    let deployment = api.get("web").await.expect("there");
    assert_eq!(deployment.spec.as_ref().and_then(|spec| spec.replicas), Some(7));
    assert_eq!(deployment.resource_version(), scaled.metadata.resource_version);
    assert_eq!(deployment.metadata.generation, Some(2));
    let stale = refused(api.replace_scale("web", &PostParams::default(), &scale).await);
    assert_eq!((stale.code, stale.reason.as_str()), (409, "Conflict"));
}

async fn preconditions_hold(shared: &Shared) {
    let api: Api<ConfigMap> = api(shared, "typed-preconditions").await;
    let first = api.create(&PostParams::default(), &config_map("a", "1")).await.expect("created");
    let wrong_uid = Preconditions { uid: Some("other".into()), ..Preconditions::default() };
    let status = refused(api.delete("a", &DeleteParams::default().preconditions(wrong_uid)).await);
    assert_eq!((status.code, status.reason.as_str()), (409, "Conflict"));
    assert!(
        status.message.contains("the UID in the precondition (other) does not match the UID in record"),
        "{}",
        status.message
    );
    let stale = Preconditions { resource_version: Some("1".into()), ..Preconditions::default() };
    assert_eq!(refused(api.delete("a", &DeleteParams::default().preconditions(stale)).await).code, 409);
    let dry = DeleteParams::default().dry_run();
    api.delete("a", &dry).await.expect("as if deleted");
    let right = Preconditions { uid: first.uid(), resource_version: first.resource_version() };
    let deleted = api.delete("a", &DeleteParams::default().preconditions(right)).await.expect("deleted");
    let status = deleted.right().expect("a status");
    assert_eq!(status.details.map(|details| details.uid), first.uid());
}

async fn a_collection_is_deleted(shared: &Shared) {
    let api: Api<Secret> = api(shared, "typed-collection").await;
    for number in 0..20 {
        let parity = ["even", "odd"][number % 2];
        let secret = from_json(json!({"metadata": {"name": format!("s{number}"), "labels": {"n": parity}}}));
        api.create(&PostParams::default(), &secret).await.expect("created");
    }
    let odd = ListParams::default().labels("n=odd");
    let deleted = api.delete_collection(&DeleteParams::default(), &odd).await.expect("deleted");
    assert_eq!(deleted.left().map(|list| list.items.len()), Some(10));
    let left = api.list(&ListParams::default()).await.expect("a list");
    assert_eq!(left.items.len(), 10);
    assert!(left.iter().all(|secret| secret.labels()["n"] == "even"));
    api.delete_collection(&DeleteParams::default(), &ListParams::default()).await.expect("deleted");
    assert!(api.list(&ListParams::default()).await.expect("a list").items.is_empty());
}

async fn refusals_say_what_and_why(shared: &Shared) {
    let api: Api<ConfigMap> = api(shared, "typed-refusals").await;
    let post = PostParams::default();
    let status = refused(api.get("none").await);
    assert_eq!((status.code, status.reason.as_str()), (404, "NotFound"));
    assert_eq!(status.message, "configmaps \"none\" not found");
    let details = status.details.expect("details");
    assert_eq!((details.name.as_str(), details.kind.as_str()), ("none", "configmaps"));

    let created = api.create(&post, &config_map("there", "1")).await.expect("created");
    let status = refused(api.create(&post, &config_map("there", "2")).await);
    assert_eq!((status.code, status.reason.as_str()), (409, "AlreadyExists"));
    let status = refused(api.create(&post, &config_map("Not A Name", "1")).await);
    assert_eq!((status.code, status.reason.as_str()), (422, "Invalid"));
    let causes = status.details.expect("details").causes;
    assert!(causes.iter().any(|cause| cause.field == "metadata.name"), "{causes:?}");
    assert!(causes.iter().any(|cause| cause.reason == "FieldValueInvalid"), "{causes:?}");

    api.replace("there", &post, &config_map("there", "2"))
        .await
        .expect("without a version, whatever is there");
    let status = refused(api.replace("there", &post, &created).await);
    assert_eq!((status.code, status.reason.as_str()), (409, "Conflict"));
    let status = refused(api.replace("there", &post, &config_map("elsewhere", "2")).await);
    assert_eq!((status.code, status.reason.as_str()), (400, "BadRequest"));
    let manager = PostParams { field_manager: Some("bell\u{7}".into()), ..PostParams::default() };
    let status = refused(api.create(&manager, &config_map("other", "1")).await);
    assert_eq!((status.code, status.reason.as_str()), (422, "Invalid"));
    let lost: Api<ConfigMap> = Api::namespaced(client(&shared.server).await, "typed-nowhere");
    let status = refused(lost.create(&post, &config_map("a", "1")).await);
    assert_eq!((status.code, status.message.as_str()), (404, "namespaces \"typed-nowhere\" not found"));
}

async fn only_one_of_many_writers_wins(shared: &Shared) {
    let api: Api<Lease> = api(shared, "typed-writers").await;
    let lease: Lease = from_json(json!({"metadata": {"name": "leader"}, "spec": {"leaseTransitions": 0}}));
    api.create(&PostParams::default(), &lease).await.expect("created");
    // Each writer increments the count; after a conflict it reads again.
    let mut writers = tokio::task::JoinSet::new();
    for _ in 0..8 {
        let api = api.clone();
        writers.spawn(async move {
            let mut conflicts = 0;
            for _ in 0..5 {
                loop {
                    let mut lease = api.get("leader").await.expect("there");
                    let spec = lease.spec.as_mut().expect("a spec");
                    spec.lease_transitions = spec.lease_transitions.map(|count| count + 1);
                    match api.replace("leader", &PostParams::default(), &lease).await {
                        Ok(_) => break,
                        Err(kube::Error::Api(status)) if status.code == 409 => conflicts += 1,
                        Err(error) => panic!("{error}"),
                    }
                }
            }
            conflicts
        });
    }
    writers.join_all().await;
    let lease = api.get("leader").await.expect("there");
    assert_eq!(lease.spec.and_then(|spec| spec.lease_transitions), Some(40), "no write was lost");
}

async fn objects_without_a_namespace_work_too(shared: &Shared) {
    let api: Api<Node> = Api::all(client(&shared.server).await);
    let node: Node =
        from_json(json!({"metadata": {"name": "typed-node"}, "status": {"capacity": {"cpu": "2"}}}));
    let created = api.create(&PostParams::default(), &node).await.expect("created");
    let capacity = created.status.as_ref().and_then(|status| status.capacity.as_ref()).expect("capacity");
    assert_eq!(capacity["cpu"].0, "2", "a node may say so when it registers");
    let listed = api.list(&ListParams::default().fields("metadata.name=typed-node")).await.expect("a list");
    assert_eq!(listed.items, [created]);
    api.delete("typed-node", &DeleteParams::default()).await.expect("deleted");
}
