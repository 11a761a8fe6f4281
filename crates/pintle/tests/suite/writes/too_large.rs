//! Objects that the store does not take as they are.

use serde_json::{Map, Value, json};

use super::{JSON_PATCH, MERGE, Maps, done, map};
use crate::support::shared::{Shared, on_both_stores};

on_both_stores! {
    an_object_too_large_for_its_managers_is_written_without_them,
    objects_too_large_without_managers_are_refused,
}

/// Keys that take more room among the managers than in the object.
fn many_keys(count: usize) -> Value {
    let key = |number: usize| format!("{number:0>200}");
    (0..count).map(|number| (key(number), json!(""))).collect::<Map<_, _>>().into()
}

fn managers(object: &Value) -> usize {
    object["metadata"]["managedFields"].as_array().map_or(0, Vec::len)
}

async fn an_object_too_large_for_its_managers_is_written_without_them(shared: &Shared) {
    let maps = Maps::new(shared, "too-large-managers").await;
    let large = many_keys(4500);
    let created = done(&maps.create(&map("new", &large)).await);
    assert_eq!((managers(&created), created["data"].as_object().map(Map::len)), (0, Some(4500)));
    assert_eq!(maps.get("new").await, created);

    for name in ["put", "merge", "json"] {
        let small = done(&maps.create(&map(name, &json!({"a": "b"}))).await);
        assert_eq!(managers(&small), 1);
        let answer = match name {
            "put" => maps.put(name, &map(name, &large)).await,
            "merge" => maps.patch(name, MERGE, &json!({"data": large})).await,
            _ => {
                let patch = json!([{"op": "replace", "path": "/data", "value": large}]);
                maps.patch(name, JSON_PATCH, &patch).await
            }
        };
        let written = done(&answer);
        assert_eq!(managers(&written), 0, "{name}");
        assert_ne!(written["metadata"]["resourceVersion"], small["metadata"]["resourceVersion"]);
        assert_eq!(maps.get(name).await, written, "{name}");
        // Later writes record no managers for an object that has none.
        let same = done(&maps.patch(name, MERGE, &json!({"data": {"a": null}})).await);
        assert_eq!(managers(&same), 0, "{name}");
    }
    // An apply needs the managed fields, so it fails instead.
    let (name, small) = ("apply", map("apply", &json!({"a": "b"})));
    let path = format!("{name}?fieldManager=suite&force=true");
    for (object, code) in [(&small, 201), (&map(name, &large), 500)] {
        let answer = maps.patch(&path, "application/apply-patch+yaml", object).await;
        assert_eq!(answer.code, code, "{}", &answer.body[..answer.body.len().min(500)]);
    }
    assert_eq!(maps.get(name).await["data"], small["data"]);
}

async fn objects_too_large_without_managers_are_refused(shared: &Shared) {
    let maps = Maps::new(shared, "too-large-anyway").await;
    done(&maps.create(&map("a", &json!({}))).await);
    let note = |size: usize| json!({"metadata": {"annotations": {"a": "x".repeat(size)}}});
    // Annotations have a limit of their own, so that what is large is told before the store is asked.
    let answer = maps.patch("a", MERGE, &note(300_000)).await;
    assert_eq!((answer.code, answer.json()["reason"].as_str()), (422, Some("Invalid")));
    let mut object = map("a", &json!({}));
    let owners = |count: usize| -> Vec<Value> {
        let owner = |number: usize| json!({"apiVersion": "v1", "kind": "K", "name": "n".repeat(200), "uid": format!("{number:0>200}")});
        (0..count).map(owner).collect()
    };
    object["metadata"]["ownerReferences"] = owners(4000).into();
    let before = maps.get("a").await;
    let answer = maps.put("a", &object).await;
    assert_eq!((answer.code, &answer.json()["message"]), (500, &json!("etcdserver: request is too large")));
    object["metadata"]["ownerReferences"] = owners(5500).into();
    object["metadata"]["name"] = json!("b");
    let answer = maps.create(&object).await;
    let message = answer.json()["message"].as_str().expect("a message").to_owned();
    assert_eq!(answer.code, 500, "{message}");
    let start = "rpc error: code = ResourceExhausted desc = trying to send message larger than max (";
    assert!(message.starts_with(start) && message.ends_with(" vs. 2097152)"), "{message}");
    assert_eq!(maps.get("a").await, before);
    assert_eq!(maps.client.get(&maps.of("b")).await.code, 404);
}
