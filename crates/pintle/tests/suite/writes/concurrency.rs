//! Concurrent writers of one object: no change is lost.

use http::Method;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::{JSON, JSON_PATCH, MERGE, Maps, done, map};
use crate::support::shared::{Shared, on_both_stores};

on_both_stores! {
    increments_by_put_are_all_there,
    increments_by_json_patch_are_all_there,
    merge_patches_of_different_keys_are_all_there,
}

const CLIENTS: usize = 32;
const EACH: usize = 4;

fn count(object: &Value) -> usize {
    object["data"]["count"].as_str().and_then(|text| text.parse().ok()).expect("a count")
}

async fn increments_by_put_are_all_there(shared: &Shared) {
    let maps = Maps::new(shared, "increments-put").await;
    let first = done(&maps.create(&map("a", &json!({"count": "0"}))).await);
    let mut clients = JoinSet::new();
    for client in 0..CLIENTS {
        let maps = maps.clone();
        clients.spawn(async move {
            let (mut connection, path) = (maps.connect().await, maps.of("a"));
            let mut conflicts = 0;
            for _ in 0..EACH {
                loop {
                    let mut object = done(&connection.get(&path).await.expect("an answer"));
                    object["data"]["count"] = json!((count(&object) + 1).to_string());
                    object["data"][format!("by-{client}")] = json!("1");
                    let headers = [("content-type", JSON)];
                    let answer = connection.send(Method::PUT, &path, &headers, object.to_string()).await;
                    let answer = answer.expect("an answer");
                    match answer.code {
                        200 => break,
                        409 => {
                            assert_eq!(answer.json()["reason"], "Conflict");
                            conflicts += 1;
                        }
                        _ => panic!("{answer:?}"),
                    }
                }
            }
            conflicts
        });
    }
    let conflicts: usize = clients.join_all().await.into_iter().sum();
    assert!(conflicts > 0, "they were never at it at once");
    let last = maps.get("a").await;
    assert_eq!(count(&last), CLIENTS * EACH);
    assert_eq!(last["data"].as_object().map(serde_json::Map::len), Some(CLIENTS + 1));
    assert_eq!(last["metadata"]["uid"], first["metadata"]["uid"]);
}

/// A patch that says what it expects is refused when that is no longer so.
async fn increments_by_json_patch_are_all_there(shared: &Shared) {
    let maps = Maps::new(shared, "increments-patch").await;
    done(&maps.create(&map("a", &json!({"count": "0"}))).await);
    let mut clients = JoinSet::new();
    for _ in 0..CLIENTS {
        let maps = maps.clone();
        clients.spawn(async move {
            let (mut connection, path) = (maps.connect().await, maps.of("a"));
            let mut expected = 0;
            for _ in 0..EACH {
                loop {
                    let patch = json!([
                        {"op": "test", "path": "/data/count", "value": expected.to_string()},
                        {"op": "replace", "path": "/data/count", "value": (expected + 1).to_string()},
                    ]);
                    let headers = [("content-type", JSON_PATCH)];
                    let answer = connection.send(Method::PATCH, &path, &headers, patch.to_string()).await;
                    let answer = answer.expect("an answer");
                    match answer.code {
                        200 => {
                            expected += 1;
                            assert_eq!(
                                count(&answer.json()),
                                expected,
                                "what was answered is what was written"
                            );
                            break;
                        }
                        422 => expected = count(&done(&connection.get(&path).await.expect("an answer"))),
                        _ => panic!("{answer:?}"),
                    }
                }
            }
        });
    }
    clients.join_all().await;
    assert_eq!(count(&maps.get("a").await), CLIENTS * EACH);
}

/// Clients do not retry these patches: the server does.
async fn merge_patches_of_different_keys_are_all_there(shared: &Shared) {
    let maps = Maps::new(shared, "increments-merge").await;
    done(&maps.create(&map("a", &json!({"first": "0"}))).await);
    let mut clients = JoinSet::new();
    for client in 0..CLIENTS {
        let maps = maps.clone();
        clients.spawn(async move {
            let (mut connection, path) = (maps.connect().await, maps.of("a"));
            let key = format!("key-{client}");
            let mut revision = 0;
            for number in 1..=EACH {
                let patch = json!({"data": {key.as_str(): number.to_string()}});
                let headers = [("content-type", MERGE)];
                let answer = connection.send(Method::PATCH, &path, &headers, patch.to_string()).await;
                let object = done(&answer.expect("an answer"));
                assert_eq!(object["data"][key.as_str()], number.to_string());
                let version = object["metadata"]["resourceVersion"].as_str().expect("a version");
                let version: u64 = version.parse().expect("a number");
                assert!(version > revision, "{version} after {revision}");
                revision = version;
            }
        });
    }
    clients.join_all().await;
    let object = maps.get("a").await;
    for client in 0..CLIENTS {
        assert_eq!(object["data"][format!("key-{client}")], EACH.to_string());
    }
    assert_eq!(object["data"].as_object().map(serde_json::Map::len), Some(CLIENTS + 1));
    // All clients have the same user agent, so they are one field manager.
    let managers = object["metadata"]["managedFields"].as_array().expect("managers");
    assert_eq!(managers.len(), 1, "{managers:?}");
}
