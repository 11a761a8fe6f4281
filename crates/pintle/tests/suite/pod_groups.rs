//! Pod groups of workloads: PodGroupProtection, PodGroupWorkloadExists and JobValidation, all with the gate GenericWorkload.

use http::Method;
use serde_json::{Value, json};

use crate::support::shared::ready;
use crate::support::{Answer, Launch, Server};

const WORKLOADS: &str = "/apis/scheduling.k8s.io/v1alpha2/namespaces/default/workloads";
const GROUPS: &str = "/apis/scheduling.k8s.io/v1alpha2/namespaces/default/podgroups";
const JOBS: &str = "/apis/batch/v1/namespaces/default/jobs";

async fn send(server: &Server, method: Method, path: &str, body: &Value) -> Answer {
    let kind = if method == Method::PATCH { "application/merge-patch+json" } else { "application/json" };
    server.admin().request(method, path, &[("content-type", kind)], body.to_string()).await
}

async fn started() -> Server {
    let gates = "--feature-gates=GenericWorkload=true,WorkloadWithJob=true";
    let server =
        Launch::new().args(&["--runtime-config=scheduling.k8s.io/v1alpha2=true", gates]).start().await;
    ready(&server).await;
    server
}

fn group(name: &str, workload: &str, template: &str, policy: &str) -> Value {
    let policy = match policy {
        "gang" => json!({"gang": {"minCount": 2}}),
        other => json!({other: {}}),
    };
    let reference = json!({"workload": {"workloadName": workload, "podGroupTemplateName": template}});
    let reference = if workload.is_empty() { Value::Null } else { reference };
    json!({"metadata": {"name": name}, "spec": {"podGroupTemplateRef": reference, "schedulingPolicy": policy}})
}

#[tokio::test]
async fn a_group_is_made_of_a_template_and_protected() {
    let server = started().await;
    let template = json!({"name": "t", "schedulingPolicy": {"basic": {}}});
    let workload = json!({"metadata": {"name": "w"}, "spec": {"podGroupTemplates": [template]}});
    send(&server, Method::POST, WORKLOADS, &workload).await.code_is(201);
    // At once after its workload.
    let made = send(&server, Method::POST, GROUPS, &group("a", "w", "t", "basic")).await.gives(201);
    assert_eq!(made["metadata"]["finalizers"], json!(["scheduling.k8s.io/podgroup-protection"]));
    let mut protected = group("b", "", "", "basic");
    protected["metadata"]["finalizers"] = json!(["scheduling.k8s.io/podgroup-protection", "x.io/y"]);
    let protected = send(&server, Method::POST, GROUPS, &protected).await.gives(201);
    let finalizers = &protected["metadata"]["finalizers"];
    assert_eq!(finalizers, &json!(["scheduling.k8s.io/podgroup-protection", "x.io/y"]));
    let unused = json!({"metadata": {"finalizers": null}});
    let unused = send(&server, Method::PATCH, &format!("{GROUPS}/b"), &unused).await.gives(200);
    assert_eq!(unused["metadata"]["finalizers"], Value::Null, "updates do not protect it again");
    for (workload, template, why) in [
        ("w", "u", "PodGroupTemplate \"u\" not found in Workload \"w\""),
        ("v", "t", "Workload \"v\" not found"),
    ] {
        let refused = send(&server, Method::POST, GROUPS, &group("c", workload, template, "basic")).await;
        let why = format!("podgroups.scheduling.k8s.io \"c\" is forbidden: PodGroup rejected: {why}");
        refused.is_status(403, "Forbidden", &why);
    }
    send(&server, Method::DELETE, &format!("{GROUPS}/a"), &json!({})).await.code_is(200);
    let kept = server.admin().get(&format!("{GROUPS}/a")).await.gives(200);
    assert!(kept["metadata"]["deletionTimestamp"].is_string(), "until its controller has seen it: {kept}");
}

#[tokio::test]
async fn the_parallelism_of_a_gang_is_fixed() {
    let server = started().await;
    for policy in ["gang", "basic"] {
        send(&server, Method::POST, GROUPS, &group(policy, "", "", policy)).await.code_is(201);
        let template = json!({"spec": {
            "restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}],
            "schedulingGroup": {"podGroupName": policy},
        }});
        let job = json!({"metadata": {"name": policy}, "spec": {"parallelism": 2, "template": template}});
        send(&server, Method::POST, JOBS, &job).await.code_is(201);
        let path = format!("{JOBS}/{policy}");
        let labels = json!({"metadata": {"labels": {"a": "b"}}, "spec": {"parallelism": 2}});
        send(&server, Method::PATCH, &path, &labels).await.code_is(200);
        let changed = send(&server, Method::PATCH, &path, &json!({"spec": {"parallelism": 3}})).await;
        if policy == "basic" {
            changed.code_is(200);
            continue;
        }
        changed.is_status(
            403,
            "Forbidden",
            "jobs.batch \"gang\" is forbidden: cannot change parallelism for a Job referencing gang-scheduled PodGroup \"gang\"",
        );
    }
}
