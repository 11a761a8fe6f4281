//! Admission of pods: the Priority, DefaultTolerationSeconds and RuntimeClass plugins.

use http::Method;
use serde_json::{Value, json};

use crate::support::shared::ready;
use crate::support::{Answer, Launch, Server};

const PODS: &str = "/api/v1/namespaces/default/pods";
const CLASSES: &str = "/apis/scheduling.k8s.io/v1/priorityclasses";

fn pod(name: &str, more: Value) -> Value {
    let mut spec = json!({"containers": [{"name": "c", "image": "i"}]});
    if let (Some(spec), Value::Object(more)) = (spec.as_object_mut(), more) {
        spec.extend(more);
    }
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec})
}

fn class(name: &str, value: i64, is_default: bool) -> Value {
    json!({
        "apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name},
        "value": value, "globalDefault": is_default, "preemptionPolicy": "Never",
    })
}

async fn send(server: &Server, method: Method, path: &str, body: &Value) -> Answer {
    let json = [("content-type", "application/json")];
    server.admin().request(method, path, &json, body.to_string()).await
}

/// Creates an object and returns it as the server answers.
async fn made(server: &Server, path: &str, body: &Value) -> Value {
    let answer = send(server, Method::POST, path, body).await;
    assert_eq!(answer.code, 201, "{answer:?}");
    answer.json()
}

fn priority(pod: &Value) -> Value {
    let spec = &pod["spec"];
    json!([spec["priorityClassName"], spec["priority"], spec["preemptionPolicy"]])
}

fn toleration(key: &str, seconds: i64) -> Value {
    let key = format!("node.kubernetes.io/{key}");
    json!({"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": seconds})
}

#[tokio::test]
async fn a_pod_has_the_priority_of_its_class() {
    let server = Launch::new().start().await;
    ready(&server).await;
    let plain = made(&server, PODS, &pod("plain", json!({}))).await;
    assert_eq!(priority(&plain), json!([null, 0, "PreemptLowerPriority"]));
    let fields = plain["metadata"]["managedFields"][0]["fieldsV1"]["f:spec"].clone();
    for field in ["f:priority", "f:preemptionPolicy", "f:tolerations"] {
        assert_eq!(fields[field], Value::Null, "nobody asked for it: {fields}");
    }

    let system =
        made(&server, PODS, &pod("system", json!({"priorityClassName": "system-node-critical"}))).await;
    assert_eq!(priority(&system), json!(["system-node-critical", 2_000_001_000, "PreemptLowerPriority"]));
    // At once after its class.
    made(&server, CLASSES, &class("mine", 12, false)).await;
    let own = made(&server, PODS, &pod("own", json!({"priorityClassName": "mine"}))).await;
    assert_eq!(priority(&own), json!(["mine", 12, "Never"]));
    let unknown = pod("unknown", json!({"priorityClassName": "none"}));
    send(&server, Method::POST, PODS, &unknown).await.is_status(
        403,
        "Forbidden",
        "pods \"unknown\" is forbidden: no PriorityClass with name none was found",
    );

    made(&server, CLASSES, &class("usual", 5, true)).await;
    send(&server, Method::POST, CLASSES, &class("second", 6, true)).await.is_status(
        403,
        "Forbidden",
        "priorityclasses.scheduling.k8s.io \"second\" is forbidden: PriorityClass usual is already marked as default. Only one \
         default can exist",
    );
    let again = send(&server, Method::PUT, &format!("{CLASSES}/usual"), &class("usual", 5, true)).await;
    assert_eq!(again.code, 200, "{again:?}");
    // A list is as new as the store, and with it the cache.
    assert_eq!(server.admin().get(CLASSES).await.code, 200);
    let usual = made(&server, PODS, &pod("usual", json!({}))).await;
    assert_eq!(priority(&usual), json!(["usual", 5, "Never"]));

    // Replacing a pod by what it was made of changes nothing that it was given.
    let mut same = pod("plain", json!({}));
    same["metadata"]["labels"] = json!({"a": "b"});
    let replaced = send(&server, Method::PUT, &format!("{PODS}/plain"), &same).await;
    assert_eq!(replaced.code, 200, "{replaced:?}");
    assert_eq!(replaced.json()["spec"], plain["spec"]);
}

#[tokio::test]
async fn a_pod_bears_bad_nodes_for_as_long_as_flags_say() {
    let server = Launch::new().arg("--default-unreachable-toleration-seconds=7").start().await;
    ready(&server).await;
    let log = server.stderr();
    assert!(!log.contains("toleration-seconds has no effect"), "{log}");
    let plain = made(&server, PODS, &pod("plain", json!({}))).await;
    let (not_ready, unreachable) = (toleration("not-ready", 300), toleration("unreachable", 7));
    assert_eq!(plain["spec"]["tolerations"], json!([not_ready, unreachable]));
    let own = json!({"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute"});
    let patient = made(&server, PODS, &pod("patient", json!({"tolerations": [own]}))).await;
    assert_eq!(patient["spec"]["tolerations"], json!([own, unreachable]));
    let everything = json!([{"operator": "Exists"}]);
    let kept = made(&server, PODS, &pod("kept", json!({"tolerations": everything}))).await;
    assert_eq!(kept["spec"]["tolerations"], everything);
}

#[tokio::test]
async fn a_pod_follows_its_runtime_class() {
    const CLASSES: &str = "/apis/node.k8s.io/v1/runtimeclasses";
    let server = Launch::new().start().await;
    ready(&server).await;
    let sandboxed = pod("sandboxed", json!({"runtimeClassName": "kata", "nodeSelector": {"a": "b"}}));
    send(&server, Method::POST, PODS, &sandboxed).await.is_status(
        403,
        "Forbidden",
        "pods \"sandboxed\" is forbidden: pod rejected: RuntimeClass \"kata\" not found",
    );

    let tolerated = json!({"key": "vm", "operator": "Exists", "effect": "NoSchedule"});
    let class = json!({
        "apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": {"name": "kata"}, "handler": "h",
        "overhead": {"podFixed": {"cpu": "100m"}},
        "scheduling": {"nodeSelector": {"vm": "yes"}, "tolerations": [tolerated]},
    });
    made(&server, CLASSES, &class).await;
    // At once after its class.
    let follows = made(&server, PODS, &sandboxed).await;
    assert_eq!(follows["spec"]["overhead"], json!({"cpu": "100m"}));
    assert_eq!(follows["spec"]["nodeSelector"], json!({"a": "b", "vm": "yes"}));
    let (not_ready, unreachable) = (toleration("not-ready", 300), toleration("unreachable", 300));
    assert_eq!(follows["spec"]["tolerations"], json!([not_ready, unreachable, tolerated]));
    assert_eq!(server.admin().get(&format!("{PODS}/sandboxed")).await.json()["spec"], follows["spec"]);

    let plain = made(&server, PODS, &pod("plain", json!({}))).await;
    assert_eq!(json!([plain["spec"]["overhead"], plain["spec"]["nodeSelector"]]), json!([null, null]));
    assert_eq!(plain["spec"]["tolerations"], json!([not_ready, unreachable]));

    let conflicting = pod("p", json!({"runtimeClassName": "kata", "nodeSelector": {"vm": "no"}}));
    send(&server, Method::POST, PODS, &conflicting).await.is_status(
        403,
        "Forbidden",
        "pods \"p\" is forbidden: conflict: runtimeClass.scheduling.nodeSelector[vm] = yes; pod.spec.nodeSelector[vm] = no",
    );
    let heavier = pod("p", json!({"runtimeClassName": "kata", "overhead": {"cpu": "1"}}));
    send(&server, Method::POST, PODS, &heavier).await.is_status(
        403,
        "Forbidden",
        "pods \"p\" is forbidden: pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead",
    );
    // Rejected by validating admission, which comes after the validation of the pod.
    let without = "pods \"p\" is forbidden: pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead";
    let alone = pod("p", json!({"overhead": {"cpu": "1"}}));
    send(&server, Method::POST, PODS, &alone).await.is_status(403, "Forbidden", without);
    let invalid = pod("p", json!({"overhead": {"cpu": "-1"}}));
    assert_eq!(send(&server, Method::POST, PODS, &invalid).await.code, 422);
}

#[tokio::test]
async fn disabled_plugins_leave_pods_unchanged() {
    let off = "--disable-admission-plugins=ServiceAccount,Priority,DefaultTolerationSeconds";
    let server = Launch::with_default_plugins().arg(off).start().await;
    ready(&server).await;
    let plain = made(&server, PODS, &pod("plain", json!({}))).await;
    assert_eq!(priority(&plain), json!([null, null, null]));
    assert_eq!(plain["spec"]["tolerations"], Value::Null);
}

#[tokio::test]
async fn privileged_containers_need_the_flag() {
    const PODS: &str = "/api/v1/namespaces/default/pods";
    let pod = json!({"metadata": {"name": "p"}, "spec": {"containers": [
        {"name": "c", "image": "i", "securityContext": {"privileged": true}},
    ]}})
    .to_string();
    let json = [("content-type", "application/json")];
    for (flags, code) in [(&[][..], 422), (&["--allow-privileged=true"][..], 201)] {
        let launch = Launch::new().args(&["--disable-admission-plugins=ServiceAccount"]).args(flags);
        let server = launch.start().await;
        server.until_it_has_namespaces().await;
        let answer = server.admin().request(Method::POST, PODS, &json, pod.clone()).await;
        assert_eq!(answer.code, code, "{}", answer.body);
        let why = "spec.containers[0].securityContext.privileged: Forbidden: disallowed by cluster policy";
        assert_eq!(answer.body.contains(why), code == 422, "{}", answer.body);
    }
}
