use pintle_codec::json;
use pintle_schema::find;

use super::*;

fn tree(text: &str) -> Value {
    json::decode_untyped(text.as_bytes()).unwrap().value
}

fn text(value: &Value) -> String {
    let mut out = Vec::new();
    json::encode(value, &mut out);
    String::from_utf8(out).unwrap()
}

/// Merges into an object of a built-in type; the result as JSON.
fn merged(of: &str, live: &str, config: &str) -> Result<String, String> {
    let of = find(of).unwrap();
    let live = json::decode(of, live.as_bytes()).unwrap().value;
    let new = merge(of.into(), &live, &tree(config)).map_err(|error| error.to_string())?;
    let again = json::decode(of, text(&new).as_bytes()).unwrap().value;
    assert_eq!(new, again, "in normal form");
    Ok(text(&new))
}

#[test]
fn lists_are_merged_by_their_keys() {
    let live =
        r#"{"kind":"Pod","apiVersion":"v1","spec":{"containers":[{"name":"a","image":"i"}],"nodeName":"n"}}"#;
    let config = r#"{"kind":"Pod","apiVersion":"v1","spec":{"containers":[{"name":"b","image":"j"},{"name":"a","image":"k"}]}}"#;
    let new = merged("core/v1.Pod", live, config).unwrap();
    assert!(
        new.contains(r#"[{"name":"b","image":"j","resources":{}},{"name":"a","image":"k","resources":{}}]"#),
        "{new}"
    );
    assert!(new.contains(r#""nodeName":"n""#), "{new}");
}

#[test]
fn duplicates_of_the_object_are_joined_where_the_configuration_has_them() {
    let env = |values: &str| {
        format!(
            r#"{{"kind":"Pod","apiVersion":"v1","spec":{{"containers":[{{"name":"a","env":[{values}]}}]}}}}"#
        )
    };
    let live = env(r#"{"name":"x","value":"1"},{"name":"x","value":"2"},{"name":"y","value":"3"}"#);
    let new = merged("core/v1.Pod", &live, &env(r#"{"name":"x","value":"4"}"#)).unwrap();
    assert!(new.contains(r#""env":[{"name":"x","value":"4"},{"name":"y","value":"3"}]"#), "{new}");
    let new =
        merged("core/v1.Pod", &live, r#"{"kind":"Pod","apiVersion":"v1","spec":{"nodeName":"n"}}"#).unwrap();
    assert!(new.contains(r#"[{"name":"x","value":"1"},{"name":"x","value":"2"},"#), "{new}");
}

#[test]
fn what_a_configuration_cannot_say_is_refused() {
    for (config, why) in [
        (
            r#"{"spec":{"nosuch":1}}"#,
            "failed to convert patch object to typed object: .spec.nosuch: field not declared in schema",
        ),
        (
            r#"{"spec":{"containers":[{"name":"a","image":1}]}}"#,
            "failed to convert patch object to typed object: .spec.containers[name=\"a\"].image: expected string, got &value.valueUnstructured{Value:1}",
        ),
        (
            r#"{"spec":{"nodeSelector":{"a":"b"},"containers":[{"name":"a","args":["b"]}]}}"#,
            "invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: .spec.containers[0].args, .spec.nodeSelector",
        ),
        (
            r#"{"spec":{"tolerations":[{"key":"a"}]}}"#,
            "invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: .spec.tolerations",
        ),
    ] {
        let live = r#"{"kind":"Pod","apiVersion":"v1","spec":{"containers":[{"name":"a"}]}}"#;
        assert_eq!(merged("core/v1.Pod", live, config).unwrap_err(), why, "{config}");
    }
}

#[test]
fn foreign_values_are_described_as_go_does() {
    let of = find("core/v1.Pod").unwrap();
    let error = |path: &[Element]| {
        let foreign = Foreign { path, go_type: "structpb.NullValue", source: "0", display: "NULL_VALUE" };
        refuse(of.into(), &foreign).to_string()
    };
    let field = Element::field;
    for (path, why) in [
        (
            vec![field("spec"), field("priority")],
            ".spec.priority: expected numeric (int or float), got structpb.NullValue",
        ),
        (
            vec![field("spec"), field("nodeName")],
            ".spec.nodeName: expected string, got &value.valueUnstructured{Value:0}",
        ),
        (vec![field("spec"), field("hostNetwork")], ".spec.hostNetwork: expected boolean, got &{NULL_VALUE}"),
        (vec![field("spec"), field("affinity")], ".spec.affinity: expected map, got &{NULL_VALUE}"),
        (vec![field("spec"), field("containers")], ".spec.containers: expected list, got &{NULL_VALUE}"),
        (
            vec![field("spec"), field("containers"), Element::Index(0)],
            ".spec.containers: element 0: associative list with keys may not have non-map elements",
        ),
        (vec![field("spec"), field("nosuch")], ".spec.nosuch: field not declared in schema"),
    ] {
        assert_eq!(error(&path), format!("failed to convert patch object to typed object: {why}"));
    }
}
