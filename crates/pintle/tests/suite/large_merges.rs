//! Merges of thousands of fields and items: they are done, or refused, and the server goes on.

use http::Method;

use crate::support::{Answer, Client, Launch, Server};

const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const PODS: &str = "/api/v1/namespaces/default/pods";
const MERGE: &str = "application/merge-patch+json";
const STRATEGIC: &str = "application/strategic-merge-patch+json";

/// A server with a map and a pod, both called `a`.
async fn started() -> (Server, Client) {
    let server = Launch::new().start().await;
    server.until_it_has_namespaces().await;
    let client = server.admin();
    let json = [("content-type", "application/json")];
    let map = r#"{"metadata":{"name":"a"},"data":{"k":"0123456789"}}"#;
    assert_eq!(client.request(Method::POST, MAPS, &json, map).await.code, 201);
    let pod =
        r#"{"metadata":{"name":"a"},"spec":{"containers":[{"name":"c","image":"i","env":[{"name":"e"}]}]}}"#;
    assert_eq!(client.request(Method::POST, PODS, &json, pod).await.code, 201);
    (server, client)
}

async fn patch(client: &Client, resource: &str, kind: &str, body: String) -> Answer {
    client.request(Method::PATCH, &format!("{resource}/a"), &[("content-type", kind)], body).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn thousands_of_fields_and_items_are_merged() {
    let (_server, client) = started().await;
    for kind in [MERGE, STRATEGIC] {
        let fields: Vec<String> = (0..10_000).map(|n| format!(r#""k{n}":"""#)).collect();
        let answer = patch(&client, MAPS, kind, format!(r#"{{"data":{{{}}}}}"#, fields.join(","))).await;
        assert_eq!(answer.code, 200, "{answer:?}");
        assert_eq!(answer.json()["data"].as_object().map(serde_json::Map::len), Some(10_001));
        let nulls: Vec<String> = (0..10_000).map(|n| format!(r#""k{n}":null"#)).collect();
        let answer = patch(&client, MAPS, kind, format!(r#"{{"data":{{{}}}}}"#, nulls.join(","))).await;
        assert_eq!(answer.json()["data"].as_object().map(serde_json::Map::len), Some(1));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_merge_that_begins_anew_for_each_item_is_refused() {
    let (_server, client) = started().await;
    let again: Vec<String> =
        (0..30_000).map(|n| format!(r#"{{"name":"c","env":[{{"name":"e{n}"}}]}}"#)).collect();
    let body = format!(r#"{{"spec":{{"containers":[{}]}}}}"#, again.join(","));
    patch(&client, PODS, STRATEGIC, body).await.is_status(
        413,
        "RequestEntityTooLarge",
        "Request entity too large: the patch takes too much work",
    );
    assert_eq!(client.get(&format!("{PODS}/a")).await.code, 200);
}
