//! Patches, and what field management reads.

use pintle_codec::json;
use pintle_codec::unstructured::{decode_since, from_typed, to_typed, to_typed_since};
use pintle_meta::Value;
use pintle_patch::fieldset::Set;
use pintle_patch::{json_patch, merge_patch, strategic};
use pintle_schema::{Type, find};

use super::{refused, skeleton, way};
use crate::Target;

pub(super) const TARGETS: &[Target] = &[FIELDS, JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH];

const FIELDS: Target = Target {
    name: "fields-v1",
    seeds: || {
        let seeds = [
            r#"{"f:metadata":{"f:labels":{".":{},"f:app":{}}},"f:spec":{"f:replicas":{}}}"#,
            r#"{"f:spec":{"f:ports":{"k:{\"port\":80,\"protocol\":\"TCP\"}":{".":{},"f:port":{}}}}}"#,
            r#"{"v:\"a\"":{},"v:1.5":{},"v:null":{},"i:3":{},"x:?":[1,{"a":"]"}]}"#,
            r#"{"k:{}":{},"v:{\"a\":[1]}":{},"f:\u00e9\ud83d\ude00":null}"#,
        ];
        seeds.into_iter().map(|seed| seed.as_bytes().to_vec()).collect()
    },
    tokens: &[
        "\"f:a\":{}",
        "\"k:{\\\"a\\\":1}\":{}",
        "\"v:1e9\":{}",
        "\"i:0\":{}",
        "\".\":{}",
        "{",
        "}",
        ",",
        ":",
        "null",
        "\\u003c",
        "\\\"",
        "{\"f:a\":",
    ],
    run: fields,
};

/// A parsed field set serializes to an equal one, and is its own union and intersection.
fn fields(input: &[u8]) -> u64 {
    match Set::from_json(input) {
        Err(error) => refused(error),
        Ok(set) => {
            let text = set.to_json();
            assert_eq!(Set::from_json(&text).as_ref(), Ok(&set));
            assert_eq!(set.clone().union(set.clone()), set);
            assert_eq!(set.intersection(&set), set);
            assert!(set.clone().difference(&set).is_empty());
            way((set.len().min(16), skeleton(&String::from_utf8_lossy(&text))))
        }
    }
}

const DOCUMENT: &str = r#"{"a":{"b":[1,{"c":"d"},[]],"e":null},"~/":{"":"x"},"l":[{},{}]}"#;

const JSON_PATCH: Target = Target {
    name: "json-patch",
    seeds: || {
        let seeds = [
            r#"[{"op":"add","path":"/a/b/1","value":{"x":1}},{"op":"remove","path":"/a/e"}]"#,
            r#"[{"op":"move","from":"/a","path":"/l/-"},{"op":"copy","from":"/l","path":"/l/0/z"}]"#,
            r#"[{"op":"test","path":"/~0~1/","value":"x"},{"op":"replace","path":"","value":{}}]"#,
            r#"[{"op":"add","path":"/spec/containers/0","value":{"name":"n","tty":true,"env":[{"name":"E"}]}}]"#,
        ];
        seeds.into_iter().map(|seed| seed.as_bytes().to_vec()).collect()
    },
    tokens: &[
        "{\"op\":\"copy\",\"from\":\"/a\",\"path\":\"/a/b/-\"},",
        "\"op\":",
        "\"add\"",
        "\"move\"",
        "\"/a\"",
        "\"/l/-1\"",
        "~1",
        "/-",
        "/0",
        "[",
        "]",
        "{",
        "}",
        ",",
    ],
    run: patch,
};

const MERGE_PATCH: Target = Target {
    name: "merge-patch",
    seeds: || {
        let seeds = [
            r#"{"a":{"b":null,"e":{"x":null}},"l":[null,{"y":null}]}"#,
            r#"{"a":1,"new":{"z":{"n":null}}}"#,
            r#"{"metadata":{"labels":{"a":null,"b":"c"},"managedFields":[{"fieldsV1":{"z":1}}]},"spec":{"volumes":[{"name":"x","emptyDir":{"sizeLimit":1.50}}],
                "priority":1.0,"containers":[{"name":"q","ports":[{"containerPort":8e1}]}]}}"#,
        ];
        seeds.into_iter().map(|seed| seed.as_bytes().to_vec()).collect()
    },
    tokens: &["null", "{\"a\":", "\"b\":", "\"l\":[", "]", "{", "}", ",", "1"],
    run: merge,
};

const STRATEGIC_PATCH: Target = Target {
    name: "strategic-patch",
    seeds: || {
        let seeds = [
            r#"{"spec":{"containers":[{"name":"c","image":"y"},{"name":"a","$patch":"delete"}]}}"#,
            r#"{"spec":{"$setElementOrder/containers":[{"name":"b"},{"name":"a"}],"containers":[{"name":"b","tty":true}]}}"#,
            r#"{"metadata":{"$deleteFromPrimitiveList/finalizers":["x"],"finalizers":["z"],"labels":{"$patch":"replace"}}}"#,
            r#"{"spec":{"volumes":[{"$retainKeys":["hostPath","name"],"hostPath":{"path":"/"},"name":"v"}]}}"#,
            r#"{"spec":{"containers":[{"$patch":"replace"},{"name":"q","env":[{"name":"E","value":null}]}],"nodeName":null}}"#,
        ];
        seeds.into_iter().map(|seed| seed.as_bytes().to_vec()).collect()
    },
    tokens: &[
        "\"$patch\":\"delete\"",
        "\"$patch\":\"replace\"",
        "\"$patch\":\"merge\"",
        "\"$retainKeys\":[",
        "\"$setElementOrder/containers\":[",
        "\"$deleteFromPrimitiveList/finalizers\":[",
        "\"name\":\"a\"",
        "\"spec\":{",
        "\"containers\":[{",
        "\"env\":[{",
        "null",
        "[",
        "]",
        "{",
        "}",
        ",",
    ],
    run: strategic,
};

const POD: &str = r#"{"kind":"Pod","apiVersion":"v1","metadata":{"name":"p","labels":{"a":"b"},"finalizers":["x","y"],
    "managedFields":[{"fieldsV1":{"f:a":{}}}]},"spec":{"containers":[{"name":"a","image":"x","env":[{"name":"E","value":"1"}]},
    {"name":"b","ports":[{"containerPort":80}]}],"volumes":[{"name":"v","emptyDir":{}}],"tolerations":[{"key":"k"}]}}"#;

fn pod() -> &'static Type {
    find("core/v1.Pod").expect("there are pods")
}

fn typed_document() -> Value {
    json::decode(pod(), POD.as_bytes()).expect("it is a pod").value
}

/// A typed document decodes as its text does, or both fail.
fn reads_as_text(before: &Value, after: &Value) {
    let mut text = Vec::new();
    json::encode(after, &mut text);
    if let Some(read) = decode_since(pod(), after, before) {
        let decoded = json::decode(pod(), &text).expect("it was read");
        assert_eq!((&decoded.value, decoded.strict.is_empty()), (&read, true));
    }
}

/// The result decodes as its type or fails, and is the same whether the document was typed or not.
fn strategic(input: &[u8]) -> u64 {
    let mut patch = match strategic::decode(input) {
        Err(error) => return refused(error),
        Ok(patch) => patch.value,
    };
    let document = typed_document();
    let plain = strategic::apply(pod(), from_typed(&document), &mut patch.clone());
    match (strategic::apply(pod(), document.clone(), &mut patch), plain) {
        (Err(error), plain) => {
            assert_eq!(plain.as_ref().err(), Some(&error));
            refused(error)
        }
        (Ok(patched), plain) => {
            let plain = to_typed(pod(), &plain.expect("it is the same patch"));
            let read = to_typed_since(pod(), &patched, &document);
            assert_eq!(read, plain);
            match read {
                Err(error) => refused(error),
                Ok(read) => outcome(&read.value),
            }
        }
    }
}

fn document() -> Value {
    json::decode_any(DOCUMENT.as_bytes()).expect("it is JSON").value
}

/// The result of a patch can be encoded and decoded again.
fn outcome(patched: &Value) -> u64 {
    let mut text = Vec::new();
    json::encode(patched, &mut text);
    // Numbers stay as they were written, however large.
    assert!(json::validate(&text).is_ok(), "a patched document is a document");
    way((text.len().min(256) / 16, skeleton(&String::from_utf8_lossy(&text))))
}

fn patch(input: &[u8]) -> u64 {
    match json_patch::Patch::decode(input) {
        Err(error) => refused(error),
        Ok(patch) => {
            if let Ok(patched) = patch.apply(typed_document()) {
                reads_as_text(&typed_document(), &patched);
            }
            match patch.apply(document()) {
                Err(error) => refused(error),
                Ok(patched) => outcome(&patched),
            }
        }
    }
}

fn merge(input: &[u8]) -> u64 {
    let before = typed_document();
    if let Ok(patched) = merge_patch::apply(before.clone(), input) {
        reads_as_text(&before, &patched);
    }
    match merge_patch::apply(document(), input) {
        Err(error) => refused(error),
        Ok(patched) => outcome(&patched),
    }
}
