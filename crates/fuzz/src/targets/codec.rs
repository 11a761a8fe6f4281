//! The decoders. The first byte of an input chooses the type that the rest is read as.

use pintle_codec::{Decoded, Error, json, protobuf};
use pintle_meta::{Node, Value};
use pintle_schema::{Type, find};

use super::{refused, way};
use crate::Target;

pub(super) const TARGETS: &[Target] = &[
    Target { name: "json", seeds: json_seeds, tokens: JSON, run: typed_json },
    Target { name: "json-untyped", seeds: json_seeds, tokens: JSON, run: untyped_json },
    Target {
        name: "protobuf",
        seeds: protobuf_seeds,
        tokens: &["\n\0", "\x12\0", "\x08\x01", "k8s\0"],
        run: protobuf,
    },
];

/// Between them they have every shape and every opaque type.
const KINDS: &[&str] = &[
    "core/v1.Pod",
    "core/v1.Secret",
    "core/v1.ConfigMap",
    "core/v1.Event",
    "apps/v1.Deployment",
    "apps/v1.ControllerRevision",
    "apiextensions/v1.CustomResourceDefinition",
    "autoscaling/v2.HorizontalPodAutoscaler",
    "resource/v1.ResourceSlice",
    "admissionregistration/v1.MutatingWebhookConfiguration",
    "meta/v1.Table",
    "meta/v1.Status",
];

const POD: &str = include_str!("../../../bench/data/pod.json");

const SMALL: &[(&str, &str)] = &[
    (
        "core/v1.Secret",
        r#"{"metadata":{"name":"a","creationTimestamp":null},"data":{"k":"aGk=","e":""},"immutable":false}"#,
    ),
    ("core/v1.ConfigMap", r#"{"data":{"a":"\u00e9\ud83d\ude00\n"},"binaryData":{"b":[1,2]}}"#),
    ("core/v1.Event", r#"{"eventTime":"2026-01-02T03:04:05.123456Z","count":3,"series":{"count":1}}"#),
    (
        "apps/v1.Deployment",
        r#"{"spec":{"replicas":0,"strategy":{"rollingUpdate":{"maxSurge":"25%","maxUnavailable":1}}}}"#,
    ),
    ("apps/v1.ControllerRevision", r#"{"data":{"a":[1,2.5,null]},"revision":7}"#),
    (
        "apiextensions/v1.CustomResourceDefinition",
        r#"{"spec":{"versions":[{"name":"v1","schema":{"openAPIV3Schema":{"type":"object","default":{"a":1},
        "properties":{"x":{"items":{"type":"string"},"additionalProperties":false,"maximum":1.5,"enum":[1,"a"]}}}}}]}}"#,
    ),
    (
        "autoscaling/v2.HorizontalPodAutoscaler",
        r#"{"spec":{"metrics":[{"type":"Resource","resource":{"name":"cpu","target":{"averageValue":"1500m"}}}]}}"#,
    ),
    (
        "resource/v1.ResourceSlice",
        r#"{"spec":{"devices":[{"name":"d","attributes":{"a":{"int":1}},"capacity":{"m":{"value":"1Gi"}}}]}}"#,
    ),
    (
        "admissionregistration/v1.MutatingWebhookConfiguration",
        r#"{"webhooks":[{"name":"a","clientConfig":{"caBundle":""},"rules":[{"operations":["*"],"apiGroups":[""]}]}]}"#,
    ),
    ("meta/v1.Table", r#"{"columnDefinitions":[],"rows":[{"cells":["a",1,null,true],"object":{"x":1}}]}"#),
    (
        "meta/v1.Status",
        r#"{"status":"Failure","details":{"causes":[{"reason":"x"}],"retryAfterSeconds":1},"code":404}"#,
    ),
];

const JSON: &[&str] = &[
    "{",
    "}",
    "[",
    "]",
    ":",
    ",",
    "\"",
    "null",
    "true",
    "false",
    "0",
    "-1",
    "1e3",
    "1.5",
    "9223372036854775808",
    "\\u0000",
    "\\ud800",
    "{\"a\":",
    "[[[[",
    "\"metadata\":{",
    "\"labels\":{\"a\":\"b\"}",
    "\"kind\":\"Pod\"",
    "\"spec\":",
    "\"1Gi\"",
    "\" \"",
];

fn kind(number: u8) -> &'static Type {
    let name = KINDS[usize::from(number) % KINDS.len()];
    find(name).expect("these are built-in types")
}

fn seed(name: &str, body: &[u8]) -> Vec<u8> {
    let number = KINDS.iter().position(|kind| *kind == name).unwrap_or_default();
    [&[number as u8], body].concat()
}

fn json_seeds() -> Vec<Vec<u8>> {
    let small = SMALL.iter().map(|(name, text)| seed(name, text.as_bytes()));
    small.chain([seed("core/v1.Pod", POD.as_bytes())]).collect()
}

fn protobuf_seeds() -> Vec<Vec<u8>> {
    let encode = |input: Vec<u8>| {
        let (of, text) = (kind(input[0]), &input[1..]);
        let value = json::decode(of, text).expect("the seeds are good").value;
        let mut message = vec![input[0]];
        protobuf::encode(of, &value, &mut message).expect("what was read can be written");
        message
    };
    json_seeds().into_iter().map(encode).collect()
}

fn printed(value: &Value) -> Vec<u8> {
    let mut text = Vec::new();
    json::encode(value, &mut text);
    text
}

fn same(left: &[u8], right: &[u8]) {
    let Some(at) = (0..left.len().max(right.len())).find(|at| left.get(*at) != right.get(*at)) else {
        return;
    };
    let near = |bytes: &[u8]| {
        bytes[at.saturating_sub(40).min(bytes.len())..bytes.len().min(at + 40)].escape_ascii().to_string()
    };
    panic!("from byte {at} on: {} is not {}", near(left), near(right));
}

/// The way of what was read: how much was minded, and what there is on the upper levels.
fn accepted(value: &Value, minded: usize) -> u64 {
    let mut kinds = 0u64;
    mark(value, 3, &mut kinds);
    way((minded.min(4), kinds, printed(value).len().ilog2()))
}

fn mark(value: &Value, depth: usize, kinds: &mut u64) {
    let bit = match value.node() {
        Node::Null => 0,
        Node::Bool(_) => 1,
        Node::Int(_) => 2,
        Node::Float(_) => 3,
        Node::String(text) => 4 + usize::from(text.is_empty()),
        Node::Bytes(bytes) => 6 + usize::from(bytes.is_empty()),
        Node::Hollow => 8,
        Node::Raw(_) => 9,
        Node::List(items) => {
            items.iter().take(4).filter(|_| depth > 0).for_each(|item| mark(item, depth - 1, kinds));
            10 + usize::from(items.is_empty())
        }
        Node::Object(object) => {
            object.iter().take(8).filter(|_| depth > 0).for_each(|(_, item)| mark(item, depth - 1, kinds));
            12 + usize::from(object.is_empty())
        }
    };
    *kinds |= 1 << (bit + 16 * depth.min(3));
}

fn split(input: &[u8]) -> Option<(&'static Type, &[u8])> {
    input.split_first().map(|(number, rest)| (kind(*number), rest))
}

/// What is read is normal: printed and read again it is the same, and nothing strict is left to mind.
fn typed_json(input: &[u8]) -> u64 {
    let Some((of, text)) = split(input) else { return 0 };
    match json::decode(of, text) {
        Err(error) => refused(error),
        Ok(Decoded { value, strict }) => {
            let text = printed(&value);
            let again = json::decode(of, &text).expect("what was printed can be read");
            same(&printed(&again.value), &text);
            assert_eq!(again.strict, Vec::<String>::new());
            through_protobuf(of, &value);
            accepted(&value, strict.len())
        }
    }
}

fn untyped_json(input: &[u8]) -> u64 {
    let Some((_, text)) = split(input) else { return 0 };
    match json::decode_untyped(text) {
        Err(error) => refused(error),
        Ok(Decoded { value, strict }) => {
            let text = printed(&value);
            let again = json::decode_untyped(&text).expect("what was printed can be read");
            same(&printed(&again.value), &text);
            accepted(&value, strict.len())
        }
    }
}

/// What protobuf can say of an object, it says again in the same bytes.
fn through_protobuf(of: &'static Type, value: &Value) {
    let mut message = Vec::new();
    if protobuf::encode(of, value, &mut message).is_err() {
        // A tree may hold what has no protobuf: a Table, cells of any type.
        return;
    }
    same_bytes(of, &message).expect("what was written can be read");
}

fn same_bytes(of: &'static Type, message: &[u8]) -> Result<Value, Error> {
    let value = protobuf::decode(of, message)?;
    let mut again = Vec::new();
    protobuf::encode(of, &value, &mut again)?;
    let settled = protobuf::decode(of, &again)?;
    let mut third = Vec::new();
    protobuf::encode(of, &settled, &mut third)?;
    same(&again, &third);
    Ok(value)
}

fn protobuf(input: &[u8]) -> u64 {
    let Some((of, message)) = split(input) else { return 0 };
    let envelope = protobuf::envelope::open(message).is_ok();
    match same_bytes(of, message) {
        Err(error) => way((envelope, refused(error))),
        Ok(value) => {
            // A raw part may say `null`, which JSON reads as nothing; so it is the second text that stays the same.
            let read =
                |text: &[u8]| printed(&json::decode(of, text).expect("what was printed can be read").value);
            let text = read(&printed(&value));
            same(&read(&text), &text);
            accepted(&value, usize::from(envelope))
        }
    }
}
