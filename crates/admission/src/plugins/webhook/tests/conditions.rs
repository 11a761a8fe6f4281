//! Match conditions are compiled by requests that need them.

use std::sync::Arc;

use super::super::hook::Hook;
use super::*;

const RESOURCE: Resource = Resource::ValidatingWebhookConfiguration;

fn conditions(texts: &[&str]) -> Value {
    let conditions: Vec<Value> = texts.iter().map(|text| json!({"name": "c", "expression": text})).collect();
    json!({ "matchConditions": conditions })
}

/// Returns the webhooks that may match the creation of a pod.
async fn hooks(plugin: &ValidatingWebhooks, fixture: &Fixture) -> Vec<Arc<Hook>> {
    let case = fixture.pod();
    let attributes = case.attributes();
    let candidates = plugin.0.candidates(&attributes).await.unwrap();
    candidates.iter().map(|candidate| candidate.hook.clone()).collect()
}

fn compiled(hooks: &[Arc<Hook>]) -> Vec<usize> {
    hooks.iter().map(|hook| hook.conditions.compiled_count()).collect()
}

#[tokio::test]
async fn conditions_are_compiled_for_requests_that_match_and_stay_while_they_are_the_same() {
    let server = HttpsServer::start(allow).await;
    let fixture = Fixture::new().await;
    let elsewhere = json!({"namespaceSelector": {"matchLabels": {"a": "b"}}});
    let webhooks = |texts: &[&str]| {
        let here = with(hook("here.io", &server, "/"), conditions(texts));
        let there = with(hook("there.io", &server, "/"), conditions(&["true"]));
        [here, with(there, elsewhere.clone())]
    };
    fixture.configure(RESOURCE, "c", &webhooks(&["1 < 2", "2 < 3"])).await;
    let plugin = fixture.validating();
    let first = hooks(&plugin, &fixture).await;
    assert_eq!(compiled(&first), [0, 0], "finding webhooks compiles nothing");
    assert_eq!(fixture.rejection(&plugin).await, None);
    assert_eq!(compiled(&first), [2, 0], "nothing matches the other");

    let annotated = json!({"metadata": {"name": "c", "annotations": {"a": "b"}}, "webhooks": webhooks(&["1 < 2", "2 < 3"])});
    fixture.cluster.put(RESOURCE, &annotated.to_string()).await;
    let second = hooks(&plugin, &fixture).await;
    assert!(first.iter().zip(&second).all(|(first, second)| Arc::ptr_eq(first, second)));

    fixture.configure(RESOURCE, "c", &webhooks(&["2 < 3", "3 < 4"])).await;
    let third = hooks(&plugin, &fixture).await;
    assert_eq!(compiled(&third), [1, 0], "the condition that it had before");
    assert!(Arc::ptr_eq(&first[1], &third[1]), "the other is the same");
    assert_eq!(fixture.rejection(&plugin).await, None);
    assert_eq!(compiled(&third), [2, 0]);
    assert_eq!(server.seen().len(), 2);
}
