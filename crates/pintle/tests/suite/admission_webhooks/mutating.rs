//! Objects that webhooks change on their way to the store.

use super::*;

#[tokio::test]
async fn a_patch_is_stored_and_defaulted() {
    let webhook = HttpsServer::start(|seen| {
        let request = seen.json()["request"].clone();
        match request["operation"].as_str() {
            Some("CREATE") => patch(
                seen,
                &json!([
                    {"op": "add", "path": "/spec/containers/-", "value": {"name": "side", "image": "s"}},
                    {"op": "add", "path": "/metadata/labels", "value": {"injected": "yes"}},
                ]),
            ),
            _ => allow(seen),
        }
    })
    .await;
    let server = started().await;
    configure(
        &server,
        "mutating",
        "inject",
        &[hook("inject.example.io", &webhook, "/", &rules("", &["pods"]))],
    )
    .await;
    let pod = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"},
        "spec": {"containers": [{"name": "c", "image": "i"}]},
    });
    let stored = made(&server, PODS, &pod).await;
    assert_eq!(stored["metadata"]["labels"], json!({"injected": "yes"}));
    let side = &stored["spec"]["containers"][1];
    assert_eq!(
        json!([side["name"], side["imagePullPolicy"]]),
        json!(["side", "Always"]),
        "with its defaults"
    );
    let seen = last(&webhook);
    assert_eq!(seen["object"]["spec"]["containers"][0]["imagePullPolicy"], "Always", "webhooks see defaults");
    assert_eq!(seen["object"]["metadata"]["uid"], Value::Null, "and nothing that is set later");
    // Only the client's own fields are its manager's.
    let fields = &stored["metadata"]["managedFields"][0]["fieldsV1"];
    assert_eq!(fields["f:metadata"]["f:labels"], Value::Null, "{fields}");

    let other = made(&server, CONFIG_MAPS, &config_map("other")).await;
    assert_eq!(other["metadata"]["labels"], Value::Null, "it is asked about pods alone");
    assert_eq!(webhook.seen().len(), 1);

    // A patch that makes the object invalid is found by validation.
    let breaking = HttpsServer::start(|seen| {
        patch(seen, &json!([{"op": "replace", "path": "/spec/containers/0/name", "value": "Not A Name"}]))
    })
    .await;
    configure(
        &server,
        "mutating",
        "z-break",
        &[hook("break.example.io", &breaking, "/", &rules("", &["pods"]))],
    )
    .await;
    let refused =
        send(&server, Method::POST, PODS, &json!({"metadata": {"name": "q"}, "spec": pod["spec"]})).await;
    assert_eq!(refused.code, 422, "{refused:?}");
    assert!(refused.body.contains("spec.containers[0].name: Invalid value"), "{refused:?}");
}

#[tokio::test]
async fn every_kind_of_write_goes_through_webhooks() {
    let webhook = HttpsServer::start(|seen| {
        let request = seen.json()["request"].clone();
        let data = if request["object"]["data"].is_null() { "/data" } else { "/data/hook" };
        let value = if data == "/data" { json!({"hook": "1"}) } else { json!("1") };
        match request["object"].is_null() {
            true => allow(seen),
            false => patch(seen, &json!([{"op": "add", "path": data, "value": value}])),
        }
    })
    .await;
    let server = started().await;
    configure(&server, "mutating", "m", &[hook("m.example.io", &webhook, "/", &rules("", &["configmaps"]))])
        .await;
    let hooked = |answer: &Answer| assert_eq!(answer.json()["data"]["hook"], "1", "{answer:?}");
    let path = format!("{CONFIG_MAPS}/c");
    let created =
        send(&server, Method::POST, &format!("{CONFIG_MAPS}?fieldManager=me"), &config_map("c")).await;
    hooked(&created);
    let seen = last(&webhook);
    assert_eq!(
        seen["options"],
        json!({"apiVersion": "meta.k8s.io/v1", "kind": "CreateOptions", "fieldManager": "me"})
    );
    assert_eq!(seen["userInfo"]["groups"][0], "system:masters", "{seen}");

    let replaced = send(&server, Method::PUT, &path, &config_map("c")).await;
    hooked(&replaced);
    let seen = last(&webhook);
    assert_eq!(json!([seen["operation"], seen["oldObject"]["data"]["hook"]]), json!(["UPDATE", "1"]));
    assert_eq!(seen["object"]["data"], Value::Null);

    let merged =
        send_as(&server, Method::PATCH, &path, "application/merge-patch+json", &json!({"data": {"a": "b"}}))
            .await;
    hooked(&merged);
    assert_eq!(last(&webhook)["options"]["kind"], "UpdateOptions");

    let applied = format!("{CONFIG_MAPS}/new?fieldManager=applier");
    let applied =
        send_as(&server, Method::PATCH, &applied, "application/apply-patch+yaml", &config_map("new")).await;
    assert_eq!(applied.code, 201, "{applied:?}");
    hooked(&applied);
    let seen = last(&webhook);
    assert_eq!(
        json!([seen["operation"], seen["options"]["kind"], seen["name"]]),
        json!(["CREATE", "CreateOptions", "new"])
    );

    let generated = json!({"metadata": {"generateName": "gen-"}});
    hooked(&send(&server, Method::POST, CONFIG_MAPS, &generated).await);
    assert_eq!(last(&webhook)["name"], Value::Null, "the name is not made yet");

    let dry = send(&server, Method::POST, &format!("{CONFIG_MAPS}?dryRun=All"), &config_map("dry")).await;
    hooked(&dry);
    assert_eq!(last(&webhook)["dryRun"], true);
    assert_eq!(server.admin().get(&format!("{CONFIG_MAPS}/dry")).await.code, 404);
}

#[tokio::test]
async fn managed_fields_that_a_webhook_breaks_are_reset() {
    let webhook = HttpsServer::start(|seen| {
        patch(seen, &json!([{"op": "add", "path": "/metadata/managedFields/0/operation", "value": "Broken"}]))
    })
    .await;
    let server = started().await;
    configure(&server, "mutating", "m", &[hook("m.example.io", &webhook, "/", &rules("", &["configmaps"]))])
        .await;
    let mut object = config_map("c");
    object["data"] = json!({"a": "b"});
    let answer = send(&server, Method::POST, CONFIG_MAPS, &object).await;
    assert_eq!(answer.code, 201, "{answer:?}");
    assert_eq!(answer.json()["metadata"]["managedFields"][0]["operation"], "Update");
    let warning = answer.header("warning");
    assert!(
        warning.contains(".metadata.managedFields was in an invalid state after admission; this could be caused by an outdated \
                          mutating admission controller; please fix your requests: "),
        "{warning}"
    );
}

#[tokio::test]
async fn one_hundred_creates_do_not_wait_for_each_other() {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (counting, seen_most) = (now.clone(), most.clone());
    let webhook = HttpsServer::start(move |seen| {
        seen_most.fetch_max(counting.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
        // Long enough for all requests to be there at once on a busy machine.
        allow(seen).after(Duration::from_secs(3))
    })
    .await;
    let server = started().await;
    configure(&server, "mutating", "m", &[hook("m.example.io", &webhook, "/", &rules("", &["configmaps"]))])
        .await;
    let client = server.admin();
    let creates = (0..100).map(|number| {
        let (client, body) = (client.clone(), config_map(&format!("c{number}")).to_string());
        tokio::spawn(async move {
            client.request(Method::POST, CONFIG_MAPS, &[("content-type", "application/json")], body).await
        })
    });
    for create in creates.collect::<Vec<_>>() {
        let answer = create.await.expect("no panic");
        assert_eq!(answer.code, 201, "{answer:?}");
    }
    assert_eq!(most.load(Ordering::SeqCst), 100, "all were asked before the first answer");
}
