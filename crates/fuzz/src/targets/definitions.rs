//! Objects and the schemas that they are to have.

use pintle_codec::json;
use pintle_definitions::object::{
    Coercion, Validator, coerce, default, embedded, lists, prune, prune_defaults,
};
use pintle_meta::Value;

use super::{refused, way};
use crate::Target;

pub(super) const TARGETS: &[Target] = &[Target {
    name: "custom-resource",
    seeds: || {
        [
            r#"{"schema":{"type":"object","properties":{"spec":{"type":"object","required":["a"],"properties":{"a":
                {"type":"string","maxLength":3,"pattern":"^[a-z]+$","default":"x"},"n":{"type":"integer","format":"int32",
                "minimum":1,"multipleOf":2}}}}},"object":{"metadata":{"name":"a"},"spec":{"a":"abcd","n":3,"z":1}}}"#,
            r#"{"schema":{"properties":{"l":{"type":"array","x-kubernetes-list-type":"map",
                "x-kubernetes-list-map-keys":["k"],"items":{"type":"object","properties":{"k":{"type":"string"}}}},
                "s":{"type":"array","x-kubernetes-list-type":"set","items":{"type":"string","format":"date"}}}},
                "object":{"l":[{"k":"a"},{"k":"a"}],"s":["a","a"]},"old":{"l":[{"k":"a"}]}}"#,
            r#"{"schema":{"properties":{"e":{"x-kubernetes-embedded-resource":true,
                "x-kubernetes-preserve-unknown-fields":true},"m":{"additionalProperties":{"oneOf":[{"required":["a"]},
                {"not":{"enum":[1,"b"]}}]}}}},"object":{"e":{"kind":1,"metadata":{"labels":[]}},"m":{"x":{"a":null}}}}"#,
        ]
        .iter()
        .map(|seed| seed.as_bytes().to_vec())
        .collect()
    },
    tokens: &[
        "\"type\":",
        "\"properties\":{\"a\":",
        "\"additionalProperties\":",
        "\"items\":",
        "\"anyOf\":[",
        "\"allOf\":[",
        "\"default\":",
        "\"nullable\":true",
        "\"format\":\"",
        "null",
        "\"a\":",
        "1.5",
        "[",
        "{",
        "}",
    ],
    run: custom_resource,
}];

fn custom_resource(input: &[u8]) -> u64 {
    let given = match json::decode_any(input) {
        Ok(decoded) => decoded.value,
        Err(error) => return refused(error),
    };
    let null = Value::NULL;
    let part = |name: &str| given.get(name).unwrap_or(&null);
    let mut schema = match pintle_definitions::compile(part("schema")) {
        Ok(schema) => schema,
        Err(error) => return refused(error),
    };
    if let Err(error) = prune_defaults(&mut schema) {
        return refused(error);
    }
    let mut object = part("object").clone();
    let removed = match coerce(&schema, &mut object, Coercion::REQUEST) {
        Ok(removed) => removed,
        Err(error) => return refused(error),
    };
    default(&schema, &mut object);
    let before = object.clone();
    default(&schema, &mut object);
    assert!(object.is_same(&before), "defaults were not all set");
    prune(&schema, &mut object, true);
    let again = object.clone();
    assert!(prune(&schema, &mut object, true).is_empty() && object.is_same(&again), "pruned twice");
    let validator = Validator::new(&schema);
    let mut errors = validator.validate(&object);
    assert!(
        validator.validate_update(&object, part("old")).errors.len() <= errors.len(),
        "more wrong than before"
    );
    errors.extend(embedded::validate(&schema, &object, false));
    errors.extend(lists::validate(&schema, &object));
    match errors.first() {
        Some(error) => refused(error),
        None => way((removed.len().min(3), object.as_object().map_or(0, pintle_meta::Object::len).min(3))),
    }
}
