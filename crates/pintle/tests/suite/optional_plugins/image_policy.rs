//! `ImagePolicyWebhook` with a real webhook.

use http::Method;
use pintle_outbound::testing::{HttpsServer, Reply, Seen};
use serde_json::json;

use super::{PODS, configured, made, pod, post, send, start, with_file};
use crate::support::Launch;

/// Denies images that are named `bad`.
fn judge(seen: &Seen) -> Reply {
    let images = seen.json()["spec"]["containers"].as_array().cloned().unwrap_or_default();
    let status = match images.iter().any(|container| container["image"] == "bad") {
        true => json!({"allowed": false, "reason": "bad is bad"}),
        false => json!({"allowed": true}),
    };
    Reply::json(
        &json!({"apiVersion": "imagepolicy.k8s.io/v1alpha1", "kind": "ImageReview", "status": status}),
    )
}

fn containers(image: &str) -> serde_json::Value {
    json!({"containers": [{"name": "c", "image": image}]})
}

const DENIED: &str = "is forbidden: image policy webhook backend denied one or more images: bad is bad";

#[tokio::test]
async fn images_are_asked_about() {
    let (webhook, launch) = (HttpsServer::start(judge).await, Launch::new());
    let kubeconfig = launch.path("images.kubeconfig");
    std::fs::write(&kubeconfig, webhook.kubeconfig("/images")).expect("write a kubeconfig");
    let policy = json!({"imagePolicy": {"kubeConfigFile": kubeconfig, "retryBackoff": 1}});
    let entry = json!([{"name": "ImagePolicyWebhook", "configuration": policy}]);
    let server = start(configured(launch, &entry), "ImagePolicyWebhook").await;
    made(&server, PODS, &pod("good", containers("good"))).await;
    let message = format!("pods \"bad\" {DENIED}");
    post(&server, PODS, &pod("bad", containers("bad"))).await.is_status(403, "Forbidden", &message);
    let seen = webhook.seen();
    assert_eq!((seen.len(), seen[0].path.as_str()), (2, "/images?timeout=30s"));
    assert_eq!(seen[0].json()["spec"], json!({"containers": [{"image": "good"}], "namespace": "default"}));

    // Also about images that are added later.
    let added = |image: &str| json!({"spec": {"ephemeralContainers": [{"name": "e", "image": image}]}});
    let path = format!("{PODS}/good/ephemeralcontainers");
    let message = format!("pods \"good\" {DENIED}");
    send(&server, Method::PATCH, &path, &added("bad")).await.is_status(403, "Forbidden", &message);
    send(&server, Method::PATCH, &path, &added("fine")).await.gives(200);
    let swapped = json!({"spec": containers("bad")});
    let answer = send(&server, Method::PATCH, &format!("{PODS}/good"), &swapped).await;
    answer.is_status(403, "Forbidden", &message);
}

#[tokio::test]
async fn a_webhook_that_is_gone_is_as_configured() {
    for (default_allow, code) in [(false, 403), (true, 201)] {
        let (webhook, launch) = (HttpsServer::start(|_| Reply::text(400, "no")).await, Launch::new());
        let kubeconfig = launch.path("images.kubeconfig");
        std::fs::write(&kubeconfig, webhook.kubeconfig("/images")).expect("write a kubeconfig");
        // The file of this plugin alone, as before there was a kind for all.
        let policy = json!({"kubeConfigFile": kubeconfig, "retryBackoff": 1, "defaultAllow": default_allow});
        let file = launch.path("policy.json");
        let launch = with_file(launch, &file, &json!({"imagePolicy": policy}).to_string());
        let server = start(launch, "ImagePolicyWebhook").await;
        let answer = post(&server, PODS, &pod("p", containers("good"))).await;
        assert_eq!(answer.code, code, "{answer:?}");
        assert!(!webhook.seen().is_empty());
    }
}
