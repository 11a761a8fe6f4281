//! Answers about workloads that show more than clients sent: kinds of claim templates, labels that a job has from its
//! template, conditions of flow schemas.

use http::Method;
use serde_json::{Value, json};

use super::JSON;
use crate::support::shared::{Shared, on_both_stores};
use crate::support::{Answer, Client, eventually};

on_both_stores! {
    claim_templates_say_their_kind_in_every_answer,
    a_job_without_labels_is_found_by_those_of_its_pods,
    a_flow_schema_says_whether_its_priority_level_exists,
}

const APPLY: &str = "application/apply-patch+yaml";

async fn send(client: &Client, method: Method, path: &str, media_type: &str, object: &Value) -> Answer {
    let headers = [("content-type", media_type)];
    client.request(method, path, &headers, object.to_string()).await
}

fn template() -> Value {
    let containers = json!([{"name": "c", "image": "i"}]);
    json!({"metadata": {"labels": {"app": "a"}}, "spec": {"containers": containers, "restartPolicy": "Never"}})
}

async fn claim_templates_say_their_kind_in_every_answer(shared: &Shared) {
    let client = shared.server.admin();
    let sets = "/apis/apps/v1/namespaces/default/statefulsets";
    let mut template = template();
    template["spec"]["restartPolicy"] = "Always".into();
    let claim = json!({"metadata": {"name": "data"}, "spec": {"accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": "1Gi"}}}});
    let set = |name: &str| {
        json!({"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": name}, "spec": {
            "serviceName": "s", "selector": {"matchLabels": {"app": "a"}}, "template": template,
            "volumeClaimTemplates": [claim]}})
    };
    let says = |object: &Value| {
        let claim = &object["spec"]["volumeClaimTemplates"][0];
        assert_eq!(
            (claim["kind"].as_str(), claim["apiVersion"].as_str()),
            (Some("PersistentVolumeClaim"), Some("v1"))
        );
    };
    let list = client.get(sets).await.gives(200);
    let revision = list["metadata"]["resourceVersion"].as_str().expect("a version");
    let mut watch = client.follow(&format!("{sets}?watch=1&resourceVersion={revision}"), &[]).await;
    let created = send(&client, Method::POST, sets, JSON, &set("posted")).await.gives(201);
    says(&created);
    says(&watch.line().await.expect("an event")["object"]);
    says(&client.get(&format!("{sets}/posted")).await.gives(200));
    says(&client.get(sets).await.gives(200)["items"][0]);
    says(&client.get(&format!("{sets}?resourceVersion=0")).await.gives(200)["items"][0]);
    let path = format!("{sets}/posted");
    // Nothing changes by sending it again, with kinds or without.
    for sent in [created.clone(), set("posted")] {
        let written = send(&client, Method::PUT, &path, JSON, &sent).await.gives(200);
        says(&written);
        assert_eq!(written["metadata"]["generation"], 1);
    }
    let applied = format!("{sets}/applied?fieldManager=me");
    says(&send(&client, Method::PATCH, &applied, APPLY, &set("applied")).await.gives(201));
    let again = send(&client, Method::PATCH, &applied, APPLY, &set("applied")).await.gives(200);
    says(&again);
    assert_eq!(again["metadata"]["generation"], 1);
    for name in ["posted", "applied"] {
        send(&client, Method::DELETE, &format!("{sets}/{name}"), JSON, &json!({})).await.gives(200);
    }
}

async fn a_job_without_labels_is_found_by_those_of_its_pods(shared: &Shared) {
    let client = shared.server.admin();
    let jobs = "/apis/batch/v1/namespaces/default/jobs";
    let job = |name: &str, labels: Value| {
        let mut job = json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name},
            "spec": {"template": template()}});
        if !labels.is_null() {
            job["metadata"]["labels"] = labels;
        }
        job
    };
    let posted = send(&client, Method::POST, jobs, JSON, &job("posted", Value::Null)).await.gives(201);
    let path = format!("{jobs}/applied?fieldManager=me");
    let applied = send(&client, Method::PATCH, &path, APPLY, &job("applied", Value::Null)).await.gives(201);
    for (name, created) in [("posted", &posted), ("applied", &applied)] {
        let uid = &created["metadata"]["uid"];
        let expect = json!({"app": "a", "job-name": name, "batch.kubernetes.io/job-name": name,
            "controller-uid": uid, "batch.kubernetes.io/controller-uid": uid});
        assert_eq!(created["metadata"]["labels"], expect, "{name}");
        assert_eq!(created["spec"]["template"]["metadata"]["labels"], expect, "{name}");
        let found = client.get(&format!("{jobs}?labelSelector=job-name%3D{name}")).await.gives(200);
        assert_eq!(found["items"].as_array().map(Vec::len), Some(1), "{name}");
    }
    // The client manages defaulted labels; generated ones have no manager.
    let managed = &posted["metadata"]["managedFields"][0]["fieldsV1"];
    assert_eq!(managed["f:metadata"]["f:labels"], json!({".": {}, "f:app": {}}));
    // Equal labels of its own stay its own.
    let own = send(&client, Method::POST, jobs, JSON, &job("own", json!({"app": "a"}))).await.gives(201);
    assert_eq!(own["metadata"]["labels"], json!({"app": "a"}));
    for name in ["posted", "applied", "own"] {
        send(&client, Method::DELETE, &format!("{jobs}/{name}"), JSON, &json!({})).await.gives(200);
    }
}

async fn a_flow_schema_says_whether_its_priority_level_exists(shared: &Shared) {
    let client = shared.server.admin();
    let root = "/apis/flowcontrol.apiserver.k8s.io/v1";
    let (schemas, levels) = (format!("{root}/flowschemas"), format!("{root}/prioritylevelconfigurations"));
    let schema =
        json!({"metadata": {"name": "own"}, "spec": {"priorityLevelConfiguration": {"name": "own"}}});
    send(&client, Method::POST, &schemas, JSON, &schema).await.gives(201);
    let says = async |status: &str, message: &str| {
        let path = format!("{schemas}/own");
        let mut found = Value::Null;
        eventually("the condition", async || {
            found = client.get(&path).await.gives(200)["status"]["conditions"][0].clone();
            found["status"] == status
        })
        .await;
        assert_eq!(found["type"], "Dangling");
        let start = "This FlowSchema references the PriorityLevelConfiguration object named \"own\"";
        assert_eq!(found["message"], format!("{start} {message}"));
    };
    says("True", "but there is no such object").await;
    let limited = json!({"nominalConcurrencyShares": 1, "limitResponse": {"type": "Reject"}});
    let level = json!({"metadata": {"name": "own"}, "spec": {"type": "Limited", "limited": limited}});
    send(&client, Method::POST, &levels, JSON, &level).await.gives(201);
    says("False", "and it exists").await;
    send(&client, Method::DELETE, &format!("{levels}/own"), JSON, &json!({})).await.gives(200);
    says("True", "but there is no such object").await;
    send(&client, Method::DELETE, &format!("{schemas}/own"), JSON, &json!({})).await.gives(200);
}
