//! Field managers of versions whose schemas differ, where versions are converted by their name only.

use serde_json::{Value, json};

use super::{DEFINITIONS, Session, definition, object, version};
use crate::support::Answer;
use crate::support::shared::{Shared, on_both_stores};

on_both_stores! { of EXTENDED:
    an_apply_is_refused_where_a_managers_version_lacks_a_field,
    an_update_drops_managers_that_cannot_be_brought_up_to_date,
    an_apply_is_refused_where_a_managers_version_is_gone,
}

/// A version whose `spec` has these fields, all of them texts.
fn with(name: &str, fields: &[&str]) -> Value {
    let fields: serde_json::Map<String, Value> =
        fields.iter().map(|field| ((*field).to_owned(), json!({"type": "string"}))).collect();
    let spec = json!({"type": "object", "properties": fields});
    version(name, &json!({"type": "object", "properties": {"spec": spec}}))
}

fn managers(answer: &Answer) -> Vec<String> {
    let entries = answer.gives(200)["metadata"]["managedFields"].as_array().cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    entries
        .iter()
        .map(|entry| format!("{} {}", text(&entry["manager"]), text(&entry["apiVersion"])))
        .collect()
}

async fn an_apply_is_refused_where_a_managers_version_lacks_a_field(shared: &Shared) {
    let mut session = Session::to(&shared.server).await;
    let group = "unlike.test";
    let versions = vec![with("v1", &["color", "size"]), with("v2", &["color"])];
    session.install(&definition(group, "Thing", "Cluster", versions)).await;
    let (v1, v2) = (format!("/apis/{group}/v1/things/a"), format!("/apis/{group}/v2/things/a"));
    let thing = |version: &str, spec: Value| object(&format!("{group}/{version}"), "Thing", "a", spec);
    let first = session.apply(&v2, "first", &thing("v2", json!({"color": "red"}))).await;
    assert_eq!(first.code, 201, "{first:?}");
    // As long as nothing is there that only one version knows, managers of both are fine.
    session.apply(&v1, "second", &thing("v1", json!({"color": "red"}))).await.gives(200);
    let again = "failed to prune fields: failed add back owned items: failed to convert merged object at version \
                 unlike.test/v2: ";
    for (manager, start) in [("second", again), ("third", "failed to convert new object: ")] {
        let sized = thing("v1", json!({"color": "red", "size": "big"}));
        let refused = session.apply(&v1, manager, &sized).await;
        let message = format!("{start}.spec.size: field not declared in schema");
        assert_eq!((refused.code, refused.json()["message"].as_str()), (500, Some(&*message)));
    }
    assert!(session.get(&v1).await.gives(200)["spec"].get("size").is_none());
    session.uninstall(&format!("things.{group}")).await;
}

async fn an_update_drops_managers_that_cannot_be_brought_up_to_date(shared: &Shared) {
    let mut session = Session::to(&shared.server).await;
    let group = "dropping.test";
    let versions = vec![with("v1", &["color", "size"]), with("v2", &["color"])];
    session.install(&definition(group, "Thing", "Cluster", versions)).await;
    let (v1, v2) = (format!("/apis/{group}/v1/things/a"), format!("/apis/{group}/v2/things/a"));
    let thing = object(&format!("{group}/v2"), "Thing", "a", json!({"color": "red"}));
    session.apply(&v2, "first", &thing).await.gives(201);
    let updated = session.merge(&v1, &json!({"spec": {"size": "big"}})).await;
    assert_eq!(managers(&updated), [""; 0], "{updated:?}");
    session.uninstall(&format!("things.{group}")).await;
}

async fn an_apply_is_refused_where_a_managers_version_is_gone(shared: &Shared) {
    let mut session = Session::to(&shared.server).await;
    let group = "gone.test";
    let versions = vec![with("v1", &["color"]), with("v2", &["color"])];
    session.install(&definition(group, "Thing", "Cluster", versions)).await;
    let (v1, v2) = (format!("/apis/{group}/v1/things/a"), format!("/apis/{group}/v2/things/a"));
    let thing = |version: &str| object(&format!("{group}/{version}"), "Thing", "a", json!({"color": "red"}));
    session.apply(&v2, "first", &thing("v2")).await.gives(201);
    let name = format!("things.{group}");
    let patch = json!({"spec": {"versions": definition(group, "Thing", "Cluster", vec![with("v1", &["color"])])
        ["spec"]["versions"]}});
    session.merge(&format!("{DEFINITIONS}/{name}"), &patch).await.gives(200);
    let refused = session.apply(&v1, "second", &thing("v1")).await;
    let message = format!("request to convert CR to an invalid group/version: {group}/v2");
    assert_eq!((refused.code, refused.json()["message"].as_str()), (500, Some(&*message)));
    let updated = session.merge(&v1, &json!({"spec": {"color": "blue"}})).await;
    assert_eq!(managers(&updated), [""; 0], "{updated:?}");
    session.uninstall(&name).await;
}
