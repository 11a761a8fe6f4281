//! The Pod Security Standards: pods, workloads and labels of namespaces.

use http::Method;
use serde_json::{Value, json};

use crate::support::shared::ready;
use crate::support::{Answer, Launch, Server};

const NAMESPACES: &str = "/api/v1/namespaces";

/// The violations of the restricted level by a pod with one plain container, which baseline allows.
const UNRESTRICTED: &str = "allowPrivilegeEscalation != false (container \"c\" must set \
     securityContext.allowPrivilegeEscalation=false), unrestricted capabilities (container \"c\" must set \
     securityContext.capabilities.drop=[\"ALL\"]), runAsNonRoot != true (pod or container \"c\" must set \
     securityContext.runAsNonRoot=true), seccompProfile (pod or container \"c\" must set \
     securityContext.seccompProfile.type to \"RuntimeDefault\" or \"Localhost\")";

fn spec(more: Value) -> Value {
    let mut spec = json!({"containers": [{"name": "c", "image": "i"}]});
    if let (Some(spec), Value::Object(more)) = (spec.as_object_mut(), more) {
        spec.extend(more);
    }
    spec
}

fn pod(name: &str, more: Value) -> Value {
    json!({"metadata": {"name": name}, "spec": spec(more)})
}

fn deployment(name: &str, more: Value) -> Value {
    let labels = json!({"a": "b"});
    let template = json!({"metadata": {"labels": labels}, "spec": spec(more)});
    json!({"metadata": {"name": name}, "spec": {"selector": {"matchLabels": labels}, "template": template}})
}

/// A namespace with labels, written without their prefix.
fn namespace(name: &str, labels: &[(&str, &str)]) -> Value {
    let labels: serde_json::Map<String, Value> = labels
        .iter()
        .map(|(label, value)| (format!("pod-security.kubernetes.io/{label}"), json!(value)))
        .collect();
    json!({"metadata": {"name": name, "labels": labels}})
}

async fn send(server: &Server, method: Method, path: &str, body: &Value) -> Answer {
    let json = [("content-type", "application/json")];
    server.admin().request(method, path, &json, body.to_string()).await
}

async fn post(server: &Server, path: &str, body: &Value) -> Answer {
    send(server, Method::POST, path, body).await
}

/// Changes the labels of a namespace, written without their prefix; an empty value removes one.
async fn label(server: &Server, name: &str, labels: &[(&str, &str)]) -> Answer {
    let mut patch = namespace(name, labels);
    for value in
        patch["metadata"]["labels"].as_object_mut().into_iter().flat_map(|labels| labels.values_mut())
    {
        if *value == json!("") {
            *value = Value::Null;
        }
    }
    let merge = [("content-type", "application/merge-patch+json")];
    let path = format!("{NAMESPACES}/{name}");
    server.admin().request(Method::PATCH, &path, &merge, patch.to_string()).await
}

/// The texts of `Warning` headers, without their quotes.
fn warnings(answer: &Answer) -> Vec<String> {
    let values = answer.headers.get_all("warning").iter();
    let text = |value: &http::HeaderValue| {
        let text =
            value.to_str().expect("text").strip_prefix("299 - ").expect("the code and agent").to_owned();
        serde_json::from_str(&text).expect("a quoted text")
    };
    values.map(text).collect()
}

#[tokio::test]
async fn violating_pods_are_rejected_and_violating_workloads_warned_about() {
    let server = Launch::new().arg("--disable-admission-plugins=ServiceAccount").start().await;
    ready(&server).await;
    let made = post(&server, NAMESPACES, &namespace("strict", &[("enforce", "restricted")])).await;
    assert_eq!((made.code, warnings(&made)), (201, Vec::new()), "{made:?}");
    let pods = "/api/v1/namespaces/strict/pods";
    let rejected = post(&server, pods, &pod("p", json!({}))).await;
    let text = format!("pods \"p\" is forbidden: violates PodSecurity \"restricted:latest\": {UNRESTRICTED}");
    rejected.is_status(403, "Forbidden", &text);
    assert_eq!(warnings(&rejected), [""; 0]);
    assert_eq!(rejected.json()["details"], json!({"kind": "pods", "name": "p"}));

    let mut generated = pod("", json!({"hostNetwork": true}));
    generated["metadata"] = json!({"generateName": "g-"});
    let message = post(&server, pods, &generated).await.json()["message"].as_str().expect("text").to_owned();
    let (name, why) = message.split_once("\" is forbidden: ").expect("a rejection");
    assert!(name.starts_with("pods \"g-") && name.len() > "pods \"g-".len(), "the generated name: {message}");
    assert!(
        why.starts_with("violates PodSecurity \"restricted:latest\": host namespaces (hostNetwork=true), ")
    );

    let deployments = "/apis/apps/v1/namespaces/strict/deployments";
    let warned = post(&server, deployments, &deployment("d", json!({}))).await;
    assert_eq!(warned.code, 201, "{warned:?}");
    assert_eq!(
        warnings(&warned),
        [format!("would violate PodSecurity \"restricted:latest\": {UNRESTRICTED}")]
    );

    let good = json!({
        "securityContext": {"runAsNonRoot": true, "seccompProfile": {"type": "RuntimeDefault"}},
        "containers": [{"name": "c", "image": "i", "securityContext": {
            "allowPrivilegeEscalation": false, "capabilities": {"drop": ["ALL"]},
        }}],
    });
    let allowed = post(&server, pods, &pod("good", good.clone())).await;
    assert_eq!((allowed.code, warnings(&allowed)), (201, Vec::new()), "{allowed:?}");
    let allowed = post(&server, deployments, &deployment("good", good)).await;
    assert_eq!((allowed.code, warnings(&allowed)), (201, Vec::new()), "{allowed:?}");

    // An ephemeral container is a change that counts; a label is none.
    let debug =
        json!({"spec": {"ephemeralContainers": [{"name": "e", "image": "i", "targetContainerName": "c"}]}});
    let strategic = [("content-type", "application/strategic-merge-patch+json")];
    let path = format!("{pods}/good/ephemeralcontainers");
    let answer = server.admin().request(Method::PATCH, &path, &strategic, debug.to_string()).await;
    assert_eq!(answer.code, 403, "{answer:?}");
    assert!(
        answer.body.contains(r#"container \"e\" must set securityContext.allowPrivilegeEscalation=false"#)
    );

    let metrics = server.admin().get("/metrics").await.body;
    for line in [
        r#"pod_security_evaluations_total{decision="deny",mode="enforce",policy_level="restricted",policy_version="latest",request_operation="create",resource="pod",subresource=""} 2"#,
        r#"pod_security_evaluations_total{decision="deny",mode="enforce",policy_level="restricted",policy_version="latest",request_operation="update",resource="pod",subresource="ephemeralcontainers"} 1"#,
        r#"pod_security_evaluations_total{decision="deny",mode="warn",policy_level="restricted",policy_version="latest",request_operation="create",resource="controller",subresource=""} 1"#,
        r#"pod_security_exemptions_total{request_operation="update",resource="controller",subresource=""} 0"#,
    ] {
        assert!(metrics.contains(line), "{line}");
    }
}

#[tokio::test]
async fn labels_of_a_namespace_count_at_once_and_must_be_valid() {
    let server = Launch::new().arg("--disable-admission-plugins=ServiceAccount").start().await;
    ready(&server).await;
    let wrong = namespace("wrong", &[("enforce", "high"), ("warn-version", "1.2")]);
    post(&server, NAMESPACES, &wrong).await.is_status(
        422,
        "Invalid",
        "Namespace \"wrong\" is invalid: [metadata.labels[pod-security.kubernetes.io/enforce]: Invalid value: \"high\": must \
         be one of privileged, baseline, restricted, metadata.labels[pod-security.kubernetes.io/warn-version]: Invalid value: \
         \"1.2\": must be \"latest\" or \"v1.x\"]",
    );

    let pods = "/api/v1/namespaces/n/pods";
    post(&server, NAMESPACES, &namespace("n", &[])).await.code_is(201);
    for name in ["b", "a"] {
        let made = post(&server, pods, &pod(name, json!({"hostPID": true}))).await;
        assert_eq!((made.code, warnings(&made)), (201, Vec::new()), "{made:?}");
    }
    post(&server, pods, &pod("plain", json!({}))).await.code_is(201);
    let labelled = label(&server, "n", &[("enforce", "high")]).await;
    labelled.is_status(
        422,
        "Invalid",
        "Namespace \"n\" is invalid: metadata.labels[pod-security.kubernetes.io/enforce]: Invalid value: \"high\": must be one \
         of privileged, baseline, restricted",
    );
    let labelled = label(&server, "n", &[("enforce", "baseline"), ("enforce-version", "v1.30")]).await;
    assert_eq!(labelled.code, 200, "{labelled:?}");
    assert_eq!(
        warnings(&labelled),
        [
            "existing pods in namespace \"n\" violate the new PodSecurity enforce level \"baseline:v1.30\"",
            "a (and 1 other pod): host namespaces",
        ]
    );
    let rejected = post(&server, pods, &pod("c", json!({"hostPID": true}))).await;
    let text =
        "pods \"c\" is forbidden: violates PodSecurity \"baseline:v1.30\": host namespaces (hostPID=true)";
    rejected.is_status(403, "Forbidden", text);
    // The pods that exist may be changed and deleted.
    let annotated = json!({"metadata": {"annotations": {"a": "b"}}}).to_string();
    let merge = [("content-type", "application/merge-patch+json")];
    let path = format!("{pods}/a");
    let changed = server.admin().request(Method::PATCH, &path, &merge, annotated).await;
    assert_eq!((changed.code, warnings(&changed)), (200, Vec::new()), "{changed:?}");
    assert_eq!(server.admin().request(Method::DELETE, &path, &[], String::new()).await.code, 200);

    let relaxed =
        label(&server, "n", &[("enforce", ""), ("enforce-version", ""), ("warn", "baseline")]).await;
    assert_eq!((relaxed.code, warnings(&relaxed)), (200, Vec::new()), "{relaxed:?}");
    let made = post(&server, pods, &pod("c", json!({"hostPID": true}))).await;
    assert_eq!(made.code, 201, "{made:?}");
    let text = "would violate PodSecurity \"baseline:latest\": host namespaces (hostPID=true)";
    assert_eq!(warnings(&made), [text]);
}

#[tokio::test]
async fn nothing_is_evaluated_where_the_plugin_is_off() {
    let server = Launch::new().arg("--disable-admission-plugins=ServiceAccount,PodSecurity").start().await;
    ready(&server).await;
    let made = post(&server, NAMESPACES, &namespace("n", &[("enforce", "high")])).await;
    assert_eq!((made.code, warnings(&made)), (201, Vec::new()), "{made:?}");
    let made = post(&server, "/api/v1/namespaces/n/pods", &pod("p", json!({"hostPID": true}))).await;
    assert_eq!((made.code, warnings(&made)), (201, Vec::new()), "{made:?}");
}
