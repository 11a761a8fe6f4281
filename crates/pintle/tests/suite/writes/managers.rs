//! Clients that want an object's managers forgotten.

use http::Method;
use serde_json::{Value, json};

use super::{JSON_PATCH, MERGE, Maps, done, map};
use crate::support::shared::{Shared, on_both_stores};

on_both_stores! {
    an_empty_list_of_managers_forgets_them,
    a_write_without_managers_keeps_them,
    forgotten_managers_of_a_new_object_are_recorded_anew,
}

fn managers(object: &Value) -> Vec<&str> {
    let entries = object["metadata"]["managedFields"].as_array();
    entries.into_iter().flatten().filter_map(|entry| entry["manager"].as_str()).collect()
}

/// Values of `managedFields` that clear the list of managers.
fn cleared_managers() -> [Value; 3] {
    let zero = json!({"manager": "", "operation": "", "apiVersion": "", "time": null, "fieldsV1": null});
    [json!([]), json!([{}]), json!([zero])]
}

async fn an_empty_list_of_managers_forgets_them(shared: &Shared) {
    let maps = Maps::new(shared, "managers-forgotten").await;
    for (number, cleared) in cleared_managers().into_iter().enumerate() {
        for way in ["put", "yaml", "merge", "json"] {
            let name = format!("{way}-{number}");
            let created = done(&maps.create(&map(&name, &json!({"a": "b"}))).await);
            assert_eq!(managers(&created).len(), 1);
            let mut object = map(&name, &json!({"a": "c"}));
            object["metadata"]["managedFields"] = cleared.clone();
            let answer = match way {
                "put" => maps.put(&name, &object).await,
                "yaml" => maps.send(Method::PUT, &name, "application/yaml", object.to_string()).await,
                "merge" => maps.patch(&name, MERGE, &json!({"metadata": object["metadata"]})).await,
                _ => {
                    let patch =
                        json!([{"op": "replace", "path": "/metadata/managedFields", "value": cleared}]);
                    maps.patch(&name, JSON_PATCH, &patch).await
                }
            };
            let changed = done(&answer);
            assert_eq!(changed["metadata"].get("managedFields"), None, "{name}");
            assert_eq!(maps.get(&name).await, changed, "{name}");
            // Later writes record no managers for an object that has none.
            let again = done(&maps.patch(&name, MERGE, &json!({"data": {"z": "1"}})).await);
            assert_eq!(again["metadata"].get("managedFields"), None, "{name}");
        }
    }
}

async fn a_write_without_managers_keeps_them(shared: &Shared) {
    let maps = Maps::new(shared, "managers-kept").await;
    for nothing in [None, Some(Value::Null)] {
        let name = if nothing.is_none() { "absent" } else { "null" };
        done(&maps.create(&map(name, &json!({"a": "b"}))).await);
        let mut object = map(name, &json!({"a": "c"}));
        if let Some(nothing) = nothing {
            object["metadata"]["managedFields"] = nothing;
        }
        assert_eq!(managers(&done(&maps.put(name, &object).await)).len(), 1, "{name}");
    }
    // A list that cannot be understood is none.
    let mut object = map("null", &json!({"a": "d"}));
    object["metadata"]["managedFields"] = json!([{}, {}]);
    assert_eq!(managers(&done(&maps.put("null", &object).await)).len(), 1);
}

async fn forgotten_managers_of_a_new_object_are_recorded_anew(shared: &Shared) {
    let maps = Maps::new(shared, "managers-new").await;
    for (number, cleared) in cleared_managers().into_iter().enumerate() {
        let mut object = map(&format!("new-{number}"), &json!({"a": "b"}));
        object["metadata"]["managedFields"] = cleared;
        let created = done(&maps.create(&object).await);
        assert_eq!(managers(&created).len(), 1, "{created}");
    }
}
