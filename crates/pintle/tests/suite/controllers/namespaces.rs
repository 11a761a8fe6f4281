//! Deletion of namespaces with all their objects.

use std::collections::BTreeMap;
use std::time::Duration;

use http::Method;
use serde_json::{Value, json};

use super::{
    WIDGETS, config_map, define_widgets, delete, is_gone, make_namespace, merge, post, send, with_controllers,
};
use crate::support::etcd::{Etcd, Version};
use crate::support::shared::ready;
use crate::support::{Launch, Server, eventually};

/// Conditions of a namespace: status, reason and message.
async fn conditions(server: &Server, namespace: &str) -> BTreeMap<String, [String; 3]> {
    let found = server.admin().get(&format!("/api/v1/namespaces/{namespace}")).await.gives(200);
    let conditions = found["status"]["conditions"].as_array().cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let parts = |found: &Value| ["status", "reason", "message"].map(|field| text(&found[field]));
    conditions.iter().map(|found| (text(&found["type"]), parts(found))).collect()
}

async fn message(server: &Server, namespace: &str, condition: &str) -> String {
    conditions(server, namespace).await.remove(condition).map(|[.., message]| message).unwrap_or_default()
}

fn widget(name: &str, finalizers: Value) -> Value {
    json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": name, "finalizers": finalizers}})
}

fn pod(name: &str) -> Value {
    json!({"metadata": {"name": name}, "spec": {"containers": [{"name": "c", "image": "i"}]}})
}

#[tokio::test]
async fn a_namespace_goes_with_built_in_and_custom_objects() {
    let server = with_controllers("namespace").start().await;
    ready(&server).await;
    define_widgets(&server).await;
    make_namespace(&server, "a").await;
    make_namespace(&server, "b").await;
    for namespace in ["a", "b"] {
        post(&server, &format!("/api/v1/namespaces/{namespace}/configmaps"), &config_map("m")).await;
    }
    post(&server, "/api/v1/namespaces/a/pods", &pod("p")).await;
    post(&server, WIDGETS, &widget("w", json!([]))).await;
    delete(&server, "/api/v1/namespaces/a").await;
    eventually("the namespace is gone", async || is_gone(&server, "/api/v1/namespaces/a").await).await;
    for list in ["/api/v1/pods", "/apis/example.com/v1/widgets"] {
        assert_eq!(server.admin().get(list).await.gives(200)["items"], json!([]), "{list}");
    }
    server.admin().get("/api/v1/namespaces/b/configmaps/m").await.code_is(200);
    // It can come again, and go again.
    make_namespace(&server, "a").await;
    delete(&server, "/api/v1/namespaces/a").await;
    eventually("it is gone again", async || is_gone(&server, "/api/v1/namespaces/a").await).await;
}

#[tokio::test]
async fn finalizers_hold_a_namespace_and_its_conditions_say_so() {
    let server = with_controllers("namespace").start().await;
    ready(&server).await;
    define_widgets(&server).await;
    make_namespace(&server, "a").await;
    post(&server, WIDGETS, &widget("w1", json!(["example.com/one", "example.com/two"]))).await;
    post(&server, WIDGETS, &widget("w2", json!(["example.com/two"]))).await;
    delete(&server, "/api/v1/namespaces/a").await;
    eventually("the condition", async || {
        conditions(&server, "a").await.contains_key("NamespaceFinalizersRemaining")
    })
    .await;
    let conditions = conditions(&server, "a").await;
    let is = |name: &str, status: &str, reason: &str, message: &str| {
        assert_eq!(conditions[name], [status, reason, message].map(String::from), "{name}");
    };
    is(
        "NamespaceFinalizersRemaining",
        "True",
        "SomeFinalizersRemain",
        "Some content in the namespace has finalizers remaining: example.com/one in 1 resource instances, \
         example.com/two in 2 resource instances",
    );
    is(
        "NamespaceContentRemaining",
        "True",
        "SomeResourcesRemain",
        "Some resources are remaining: widgets.example.com has 2 resource instances",
    );
    is(
        "NamespaceDeletionContentFailure",
        "False",
        "ContentDeleted",
        "All content successfully deleted, may be waiting on finalization",
    );
    for name in ["w1", "w2"] {
        merge(&server, &format!("{WIDGETS}/{name}"), &json!({"metadata": {"finalizers": null}})).await;
    }
    eventually("the namespace is gone", async || is_gone(&server, "/api/v1/namespaces/a").await).await;
}

#[tokio::test]
async fn finalizers_of_others_in_the_spec_stay_in_order() {
    let server = with_controllers("namespace").start().await;
    ready(&server).await;
    let finalizers = json!(["kubernetes", "example.com/two", "example.com/one"]);
    let namespace = json!({"metadata": {"name": "a"}, "spec": {"finalizers": finalizers}});
    post(&server, "/api/v1/namespaces", &namespace).await;
    delete(&server, "/api/v1/namespaces/a").await;
    eventually("the finalizer of the controller is gone", async || {
        let found = server.admin().get("/api/v1/namespaces/a").await.gives(200);
        found["spec"]["finalizers"] == json!(["example.com/one", "example.com/two"])
    })
    .await;
    let mut left = server.admin().get("/api/v1/namespaces/a").await.gives(200);
    left["spec"]["finalizers"] = json!([]);
    send(&server, Method::PUT, "/api/v1/namespaces/a/finalize", &left).await.code_is(200);
    assert!(is_gone(&server, "/api/v1/namespaces/a").await);
}

/// Secrets may be what a pod needs to end in order (CVE-2024-7598: network policies).
#[tokio::test]
async fn nothing_else_goes_before_the_last_pod() {
    let server = with_controllers("namespace").start().await;
    ready(&server).await;
    make_namespace(&server, "a").await;
    let mut held = pod("p");
    held["metadata"]["finalizers"] = json!(["example.com/hold"]);
    post(&server, "/api/v1/namespaces/a/pods", &held).await;
    post(&server, "/api/v1/namespaces/a/configmaps", &config_map("m")).await;
    delete(&server, "/api/v1/namespaces/a").await;
    eventually("the condition", async || {
        conditions(&server, "a").await.contains_key("NamespaceContentRemaining")
    })
    .await;
    // Some more looks at the pod.
    tokio::time::sleep(Duration::from_millis(300)).await;
    server.admin().get("/api/v1/namespaces/a/configmaps/m").await.code_is(200);
    // kube-controller-manager counts what is left only after the last pod. It may run beside, and must not find other conditions.
    let conditions = conditions(&server, "a").await;
    assert!(conditions.values().all(|[status, ..]| status == "False"), "{conditions:?}");
    merge(&server, "/api/v1/namespaces/a/pods/p", &json!({"metadata": {"finalizers": null}})).await;
    eventually("the namespace is gone", async || is_gone(&server, "/api/v1/namespaces/a").await).await;
}

#[tokio::test]
async fn a_webhook_that_refuses_deletions_is_reported() {
    let server = with_controllers("namespace").start().await;
    ready(&server).await;
    make_namespace(&server, "a").await;
    post(&server, "/api/v1/namespaces/a/configmaps", &config_map("m")).await;
    // Nothing listens there, so the deletion fails.
    let rule = json!({"apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"], "operations": ["DELETE"]});
    let webhook = json!({
        "name": "hook.example.com", "admissionReviewVersions": ["v1"], "sideEffects": "None", "rules": [rule],
        "clientConfig": {"url": "https://127.0.0.1:1/"}, "timeoutSeconds": 1,
    });
    let configurations = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";
    post(&server, configurations, &json!({"metadata": {"name": "w"}, "webhooks": [webhook]})).await;
    delete(&server, "/api/v1/namespaces/a").await;
    eventually("the condition", async || {
        let message = message(&server, "a", "NamespaceDeletionContentFailure").await;
        message.starts_with("Failed to delete all resource types, 1 remaining: Internal error occurred: failed calling webhook \"hook.example.com\"")
    })
    .await;
    delete(&server, &format!("{configurations}/w")).await;
    eventually("the namespace is gone", async || is_gone(&server, "/api/v1/namespaces/a").await).await;
}

#[tokio::test]
async fn a_dead_api_service_is_reported() {
    let server = with_controllers("namespace").start().await;
    ready(&server).await;
    let service = json!({
        "metadata": {"name": "v1beta1.metrics.example.com"},
        "spec": {
            "group": "metrics.example.com", "version": "v1beta1", "groupPriorityMinimum": 100, "versionPriority": 100,
            "insecureSkipTLSVerify": true, "service": {"namespace": "default", "name": "nowhere"},
        },
    });
    let services = "/apis/apiregistration.k8s.io/v1/apiservices";
    post(&server, services, &service).await;
    make_namespace(&server, "a").await;
    post(&server, "/api/v1/namespaces/a/configmaps", &config_map("m")).await;
    delete(&server, "/api/v1/namespaces/a").await;
    eventually("the condition", async || {
        message(&server, "a", "NamespaceDeletionDiscoveryFailure").await
            == "Discovery failed for some groups, 1 failing: unable to retrieve the complete list of server APIs: \
                metrics.example.com/v1beta1: stale GroupVersion discovery: metrics.example.com/v1beta1"
    })
    .await;
    assert!(is_gone(&server, "/api/v1/namespaces/a/configmaps/m").await, "the rest goes all the same");
    delete(&server, &format!("{services}/v1beta1.metrics.example.com")).await;
    eventually("the namespace is gone", async || is_gone(&server, "/api/v1/namespaces/a").await).await;
}

#[tokio::test]
async fn controllers_write_as_those_of_kube_controller_manager() {
    let server = with_controllers("namespace").start().await;
    ready(&server).await;
    make_namespace(&server, "a").await;
    let mut held = config_map("m");
    held["metadata"]["finalizers"] = json!(["example.com/hold"]);
    post(&server, "/api/v1/namespaces/a/configmaps", &held).await;
    delete(&server, "/api/v1/namespaces/a").await;
    eventually("the condition", async || {
        conditions(&server, "a").await.contains_key("NamespaceContentRemaining")
    })
    .await;
    let found = server.admin().get("/api/v1/namespaces/a").await.gives(200);
    let managers = found["metadata"]["managedFields"].as_array().expect("managers");
    let manager = managers.iter().find(|found| found["manager"] == "kube-controller-manager");
    assert_eq!(manager.expect("the controller")["subresource"], "status");

    // Without its permissions the controller can do nothing, and says why.
    let role = "/apis/rbac.authorization.k8s.io/v1/clusterroles/system:controller:namespace-controller";
    send(&server, Method::DELETE, role, &json!({})).await.code_is(200);
    make_namespace(&server, "b").await;
    post(&server, "/api/v1/namespaces/b/configmaps", &config_map("m")).await;
    delete(&server, "/api/v1/namespaces/b").await;
    eventually("the refusal is logged", async || {
        server.stderr().contains(
            "User \\\"system:serviceaccount:kube-system:namespace-controller\\\" cannot get resource",
        )
    })
    .await;
    server.admin().get("/api/v1/namespaces/b").await.code_is(200);
}

#[tokio::test]
async fn the_elected_one_of_two_servers_deletes_namespaces() {
    let etcd = Etcd::start(Version::New);
    let launch = || Launch::on_etcd(&etcd).arg("--controllers=namespace");
    let (one, other) = (launch(), launch());
    let (one, other) = tokio::join!(Box::pin(one.start()), Box::pin(other.start()));
    tokio::join!(Box::pin(ready(&one)), Box::pin(ready(&other)));
    let lease = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/pintle-controllers";
    eventually("a leader", async || one.admin().get(lease).await.code == 200).await;
    make_namespace(&one, "a").await;
    post(&one, "/api/v1/namespaces/a/configmaps", &config_map("m")).await;
    delete(&one, "/api/v1/namespaces/a").await;
    eventually("the namespace is gone", async || is_gone(&other, "/api/v1/namespaces/a").await).await;

    // The leader ends, and gives the lease up: the other one need not wait for its end.
    let is_leader = |server: &Server| server.stderr().contains("became leader");
    let (mut leader, follower) = if is_leader(&one) { (one, other) } else { (other, one) };
    assert!(!is_leader(&follower));
    make_namespace(&follower, "b").await;
    leader.stop().await;
    eventually("the other leads", async || is_leader(&follower)).await;
    delete(&follower, "/api/v1/namespaces/b").await;
    eventually("the namespace is gone", async || is_gone(&follower, "/api/v1/namespaces/b").await).await;
}
