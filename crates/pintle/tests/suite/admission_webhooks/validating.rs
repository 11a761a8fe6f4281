//! Writes that webhooks reject.

use super::*;

#[tokio::test]
async fn a_denial_reaches_the_client_and_takes_effect_at_once() {
    let webhook = HttpsServer::start(|seen| {
        let request = seen.json()["request"].clone();
        let status = json!({"code": 403, "reason": "Forbidden", "message": "not this one"});
        let allowed = request["name"] != "bad";
        reply(seen, json!({"allowed": allowed, "status": status, "warnings": ["mind the gap"]}))
    })
    .await;
    let server = started().await;
    made(&server, CONFIG_MAPS, &config_map("before")).await;
    configure(
        &server,
        "validating",
        "v",
        &[hook("v.example.io", &webhook, "/", &rules("", &["configmaps"]))],
    )
    .await;
    let denied = send(&server, Method::POST, CONFIG_MAPS, &config_map("bad")).await;
    denied.is_status(403, "Forbidden", "admission webhook \"v.example.io\" denied the request: not this one");
    assert_eq!(denied.header("warning"), "299 - \"mind the gap\"");
    let good = send(&server, Method::POST, CONFIG_MAPS, &config_map("good")).await;
    assert_eq!((good.code, good.header("warning")), (201, "299 - \"mind the gap\""));

    // A name that was generated is there when the object is validated.
    let generated = made(&server, CONFIG_MAPS, &json!({"metadata": {"generateName": "gen-"}})).await;
    assert_eq!(last(&webhook)["name"], generated["metadata"]["name"]);
    assert_eq!(last(&webhook)["object"]["metadata"]["uid"], generated["metadata"]["uid"]);

    // The configuration itself is not seen by its own webhook, and its end is the end of the calls.
    let calls = webhook.seen().len();
    let path = format!("{REGISTRATION}/validatingwebhookconfigurations/v");
    assert_eq!(send(&server, Method::DELETE, &path, &Value::Null).await.code, 200);
    made(&server, CONFIG_MAPS, &config_map("bad")).await;
    assert_eq!(webhook.seen().len(), calls);
}

#[tokio::test]
async fn a_failed_call_rejects_unless_it_is_ignored() {
    let webhook = HttpsServer::start(|_| Reply::text(500, "broken")).await;
    let server = started().await;
    let broken = hook("broken.example.io", &webhook, "/x", &rules("", &["configmaps"]));
    configure(&server, "validating", "v", std::slice::from_ref(&broken)).await;
    send(&server, Method::POST, CONFIG_MAPS, &config_map("a")).await.is_status(
        500,
        "InternalError",
        "Internal error occurred: failed calling webhook \"broken.example.io\": failed to call webhook: an error on the server (\"broken\") has \
         prevented the request from succeeding",
    );
    assert_eq!(webhook.seen()[0].path, "/x?timeout=10s");
    let path = format!("{REGISTRATION}/validatingwebhookconfigurations/v");
    let ignore = json!([{"op": "replace", "path": "/webhooks/0/failurePolicy", "value": "Ignore"}]);
    let patched = send_as(&server, Method::PATCH, &path, "application/json-patch+json", &ignore).await;
    assert_eq!(patched.code, 200, "{patched:?}");
    made(&server, CONFIG_MAPS, &config_map("a")).await;
    let metrics = server.admin().get("/metrics").await.body;
    for line in [
        r#"apiserver_admission_webhook_rejection_count{error_type="calling_webhook_error",name="broken.example.io",operation="CREATE",rejection_code="500",type="validating"} 1"#,
        r#"apiserver_admission_webhook_fail_open_count{name="broken.example.io",type="validating"} 1"#,
        r#"apiserver_admission_webhook_request_total{code="500",name="broken.example.io",operation="CREATE",rejected="false",type="validating"} 1"#,
    ] {
        assert!(metrics.contains(line), "{line}");
    }
}

#[tokio::test]
async fn a_request_keeps_its_own_time_limit() {
    let webhook = HttpsServer::start(|seen| allow(seen).after(std::time::Duration::from_secs(60))).await;
    let server = started().await;
    configure(
        &server,
        "validating",
        "v",
        &[hook("slow.example.io", &webhook, "/", &rules("", &["configmaps"]))],
    )
    .await;
    let slow = send(&server, Method::POST, &format!("{CONFIG_MAPS}?timeout=2s"), &config_map("a")).await;
    assert!([500, 504].contains(&slow.code), "{slow:?}");
    assert_eq!(webhook.seen()[0].path, "/?timeout=2s");
    // Requests that the webhook does not match are not held up.
    made(&server, "/api/v1/namespaces/default/secrets", &json!({"metadata": {"name": "s"}})).await;
}

#[tokio::test]
async fn webhooks_see_the_stored_object_as_it_is() {
    // CVE-2021-25735: fields of a node that an update may not change were shown as the update had them.
    let webhook = HttpsServer::start(allow).await;
    let server = started().await;
    let nodes = "/api/v1/nodes";
    let node = json!({"metadata": {"name": "n", "labels": {"zone": "a"}}, "spec": {"podCIDR": "10.0.0.0/24", "podCIDRs": ["10.0.0.0/24"]}});
    let stored = made(&server, nodes, &node).await;
    configure(&server, "validating", "v", &[hook("v.example.io", &webhook, "/", &rules("", &["nodes"]))])
        .await;
    let mut changed = stored.clone();
    changed["metadata"]["labels"]["zone"] = json!("b");
    changed["status"]["phase"] = json!("Running");
    let answer = send(&server, Method::PUT, &format!("{nodes}/n"), &changed).await;
    assert_eq!(answer.code, 200, "{answer:?}");
    let seen = last(&webhook);
    assert_eq!(seen["oldObject"]["metadata"], stored["metadata"]);
    assert_eq!(seen["oldObject"]["spec"], stored["spec"]);
    assert_eq!(seen["object"]["metadata"]["labels"]["zone"], "b");
    assert_eq!(seen["object"]["status"]["phase"], Value::Null, "the new object is as it will be stored");
    assert_eq!(json!([seen["namespace"], seen["name"]]), json!([null, "n"]));
}
