use std::collections::BTreeMap;

use serde::Deserialize;

use super::*;

static POD: Layout = Layout { names: &["kind", "apiVersion", "metadata", "spec"] };

fn object<const N: usize>(entries: [(&str, Value); N]) -> Value {
    Value::object(entries.into_iter().collect())
}

fn pod() -> Value {
    let mut pod = Object::of(&POD);
    pod.insert("metadata", object([("name", "a".into()), ("labels", object([("app", "b".into())]))]));
    pod.insert("kind", "Pod");
    Value::object(pod)
}

#[test]
fn fields_of_a_type_are_in_its_order_and_others_are_sorted() {
    let mut pod = pod();
    pod.as_object_mut().unwrap().insert("apiVersion", "v1");
    assert_eq!(pod.as_object().unwrap().keys().collect::<Vec<_>>(), ["kind", "apiVersion", "metadata"]);
    let mut map = Object::new();
    for key in ["b", "a", "B", "c", "a"] {
        map.insert(key, 1i64);
    }
    assert_eq!(map.keys().collect::<Vec<_>>(), ["B", "a", "b", "c"]);
}

#[test]
fn the_last_of_equal_keys_wins() {
    let map: Object = [("a", 1i64), ("b", 2), ("a", 3), ("a", 4)].into_iter().collect();
    assert_eq!(
        map.iter().map(|(key, value)| (key, value.as_i64().unwrap())).collect::<Vec<_>>(),
        [("a", 4), ("b", 2)]
    );
}

#[test]
fn a_change_leaves_clones_unchanged_and_shares_the_rest() {
    let before = pod();
    let mut after = before.clone();
    assert!(after.is_same(&before));
    after.at_mut(&["metadata"]).unwrap().as_object_mut().unwrap().insert("name", "z");
    assert_eq!((before.name(), after.name()), ("a", "z"));
    let labels = |pod: &Value| pod.at(&["metadata", "labels"]).unwrap().clone();
    assert!(labels(&before).is_same(&labels(&after)));
    assert_ne!(before, after);
}

#[test]
fn looking_up_a_missing_field_copies_nothing() {
    let before = pod();
    let mut after = before.clone();
    assert!(after.at_mut(&["spec", "containers"]).is_none());
    assert!(after.is_same(&before));
}

#[test]
fn equality_ignores_the_order() {
    let sorted = object([("kind", "Pod".into()), ("metadata", pod().get("metadata").unwrap().clone())]);
    assert_eq!(pod(), sorted);
    assert_ne!(Value::from(1i64), Value::from(1.0));
}

#[test]
fn metadata_accessors_read_the_object() {
    let pod = pod();
    assert_eq!((pod.name(), pod.namespace(), pod.kind(), pod.label("app")), ("a", "", "Pod", Some("b")));
    assert_eq!(pod.labels().collect::<Vec<_>>(), [("app", "b")]);
    assert_eq!(pod.finalizers().count(), 0);
}

#[test]
fn a_node_is_three_words() {
    assert_eq!(size_of::<Value>(), 24);
}

#[test]
fn a_view_decodes_the_tree_like_its_json() {
    #[derive(Debug, Deserialize, PartialEq)]
    #[serde(rename_all = "camelCase")]
    struct View {
        name: String,
        replicas: Option<i32>,
        data: String,
        fields: BTreeMap<String, serde_json::Value>,
        missing: Option<String>,
        ca_bundle: Option<String>,
    }
    let tree = object([
        ("name", "a".into()),
        ("replicas", 3i64.into()),
        ("data", Value::bytes(*b"hi")),
        ("fields", Value::raw(*b"{\"f:a\":{}}")),
        ("caBundle", Value::hollow()),
        ("other", Value::list(vec![Value::NULL])),
    ]);
    let view: View = tree.view().unwrap();
    assert_eq!((view.name.as_str(), view.replicas, view.data.as_str()), ("a", Some(3), "aGk="));
    assert_eq!(view.fields["f:a"], serde_json::json!({}));
    assert_eq!((view.missing, view.ca_bundle), (None, None));
    let json = r#"{"data":"aGk=","fields":{"f:a":{}},"name":"a","other":[null],"replicas":3}"#;
    assert_eq!(serde_json::to_string(&tree).unwrap(), json);
    assert!(object([("name", 1i64.into())]).view::<View>().is_err());
}
