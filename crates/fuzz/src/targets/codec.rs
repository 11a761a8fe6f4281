//! The decoders. The first byte of an input chooses the type that the rest is read as.

use pintle_codec::scan::Paths;
use pintle_codec::{Decoded, Error, cbor, json, kind, protobuf, unstructured, yaml};
use pintle_meta::{Node, Value};
use pintle_schema::{Type, find};

use super::{refused, way};
use crate::Target;

pub(super) const TARGETS: &[Target] = &[
    Target { name: "yaml", seeds: yaml_seeds, tokens: YAML, run: from_yaml },
    Target { name: "cbor", seeds: cbor_seeds, tokens: &[], run: typed_cbor },
    Target { name: "cbor-untyped", seeds: cbor_seeds, tokens: &[], run: untyped_cbor },
    Target { name: "kind", seeds: kind_seeds, tokens: JSON, run: any_kind },
    Target { name: "scan", seeds: kind_seeds, tokens: JSON, run: scan },
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

const YAML: &[&str] = &[
    ": ",
    "- ",
    "? ",
    "\n",
    "\n  ",
    "&a ",
    "*a",
    "<<: *a",
    "!!str ",
    "!!binary ",
    "|\n",
    "|-\n",
    ">+\n",
    "---\n",
    "...\n",
    "%YAML 1.1\n",
    "{",
    "}",
    "[",
    "]",
    ", ",
    "'",
    "\"",
    "#",
    "yes",
    "0o17",
    "0x1f",
    "1_000",
    ".inf",
    "~",
    "null",
    "2001-01-01",
    "\t",
    "\u{feff}",
    "kind: Pod\n",
];

const YAMLS: &[&str] = &[
    "apiVersion: v1\nkind: Pod\nmetadata:\n  name: a\nspec:\n  containers:\n  - name: c\n    args: [a, 'b', \"c\\n\"]\n",
    "a: &x {k: 1}\nb: *x\nc:\n  <<: *x\n  d: |\n    text\n    more\n",
    "- 1\n- 1.5\n- yes\n- ~\n- !!str 3\n- >-\n  folded\n  text\n",
    "? a\n: b\n1: 2\ntrue: x\n",
    "--- # one\na: 1\n---\nb: 2\n...\n",
];

fn kind_of(number: u8) -> &'static Type {
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
        let (of, text) = (kind_of(input[0]), &input[1..]);
        let value = json::decode(of, text).expect("the seeds are good").value;
        let mut message = vec![input[0]];
        protobuf::encode(of, &value, &mut message).expect("what was read can be written");
        message
    };
    json_seeds().into_iter().map(encode).collect()
}

fn yaml_seeds() -> Vec<Vec<u8>> {
    let as_yaml = |(name, text): &(&str, &str)| {
        let of = find(name).expect("these are built-in types");
        let mut out = Vec::new();
        yaml::encode(&json::decode(of, text.as_bytes()).expect("the seeds are good").value, &mut out);
        out
    };
    YAMLS.iter().map(|text| text.as_bytes().to_vec()).chain(SMALL.iter().map(as_yaml)).collect()
}

fn cbor_seeds() -> Vec<Vec<u8>> {
    let encode = |input: Vec<u8>| {
        let value = json::decode(kind_of(input[0]), &input[1..]).expect("the seeds are good").value;
        let mut data = vec![input[0]];
        cbor::encode(&value, &mut data);
        data
    };
    json_seeds().into_iter().map(encode).collect()
}

/// In every encoding, saying what they are.
fn kind_seeds() -> Vec<Vec<u8>> {
    let pod = br#"{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a","labels":{"b":"c"}},"spec":{"nodeName":"n"}}"#;
    let value = json::decode(kind_of(0), pod).expect("the seed is good").value;
    let (mut message, mut envelope, mut text, mut item) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    protobuf::encode(kind_of(0), &value, &mut message).expect("what was read can be written");
    protobuf::envelope::write("v1", "Pod", &message, &mut envelope);
    yaml::encode(&value, &mut text);
    cbor::encode(&value, &mut item);
    vec![pod.to_vec(), envelope, text, item]
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
    input.split_first().map(|(number, rest)| (kind_of(*number), rest))
}

/// A decoded object is normal: encoded and decoded again it is equal, without strict-decoding errors.
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
            through_untyped(of, &value);
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

/// Protobuf encodes a decoded object to the same bytes again.
fn through_protobuf(of: &'static Type, value: &Value) {
    let mut message = Vec::new();
    if protobuf::encode(of, value, &mut message).is_err() {
        // A tree may hold what has no protobuf: a Table, cells of any type.
        return;
    }
    same_bytes(of, &message).expect("what was written can be read");
}

/// The untyped tree of an object is the object again.
fn through_untyped(of: &'static Type, value: &Value) {
    let untyped = unstructured::from_typed(value);
    if let Ok(again) = unstructured::to_typed(of, &untyped) {
        let untyped = unstructured::from_typed(&again.value);
        let settled = unstructured::to_typed(of, &untyped).expect("what was read can be read again");
        same(&printed(&settled.value), &printed(&again.value));
    }
}

/// Without a tree it is the same text as with one; and what is called normal is written back to the byte.
fn without_tree(of: &'static Type, message: &[u8], value: &Value) {
    let mut text = Vec::new();
    let options = protobuf::transcode::Options::default();
    protobuf::transcode::to_json(of, message, &options, &mut text)
        .expect("what can be decoded can be transcoded");
    same(&text, &printed(value));
    if protobuf::transcode::is_normal(of, message) {
        let mut again = Vec::new();
        protobuf::encode(of, value, &mut again).expect("what was read can be written");
        same(&again, message);
    }
}

fn from_yaml(input: &[u8]) -> u64 {
    match (yaml::to_json(input), yaml::to_json_strict(input)) {
        (Err(error), strict) => {
            assert!(strict.is_err());
            refused(error)
        }
        (Ok(text), strict) => {
            let minded = strict.expect("a strict reader minds, and reads").1;
            json::validate(&text).expect("what comes out is JSON");
            let value = json::decode_any(&text).expect("what comes out can be read").value;
            // Written and read again it is the same, but for what YAML cannot say: control characters and the like.
            let mut written = Vec::new();
            yaml::encode(&value, &mut written);
            if let Ok(again) = yaml::to_json(&written) {
                json::validate(&again).expect("what comes out is JSON");
            }
            accepted(&value, minded.len())
        }
    }
}

fn typed_cbor(input: &[u8]) -> u64 {
    let Some((of, data)) = split(input) else { return 0 };
    match cbor::decode(of, data) {
        Err(error) => refused(error),
        Ok(Decoded { value, strict }) => {
            let mut data = Vec::new();
            cbor::encode(&value, &mut data);
            let again = cbor::decode(of, &data).expect("what was written can be read");
            let mut third = Vec::new();
            cbor::encode(&again.value, &mut third);
            same(&third, &data);
            accepted(&value, strict.len())
        }
    }
}

fn untyped_cbor(input: &[u8]) -> u64 {
    let Some((_, data)) = split(input) else { return 0 };
    let _ = cbor::diagnose(data);
    match cbor::decode_untyped(data) {
        Err(error) => refused(error),
        Ok(Decoded { value, strict }) => {
            let mut data = Vec::new();
            cbor::encode(&value, &mut data);
            same(
                &printed(&cbor::decode_untyped(&data).expect("what was written can be read").value),
                &printed(&value),
            );
            accepted(&value, strict.len())
        }
    }
}

fn any_kind(input: &[u8]) -> u64 {
    match kind::decode(kind::recognize(input), input, None) {
        Err(error) => {
            let status = error.status("Pod", input);
            assert_eq!(status.code, 400, "{}", status.message);
            refused(error.error)
        }
        Ok(typed) => way((typed.of.index, accepted(&typed.decoded.value, typed.decoded.strict.len()))),
    }
}

/// The scan of stored bytes sees what a whole reading sees.
fn scan(input: &[u8]) -> u64 {
    let of = kind_of(0);
    let paths = Paths::new(of, &["spec.nodeName", "status.phase"]).expect("a Pod has these");
    match paths.scan(input) {
        Err(error) => refused(error),
        Ok(found) => {
            if let Ok(typed) = kind::decode(kind::recognize(input), input, None)
                && typed.of == of
                && typed.decoded.strict.is_empty()
            {
                assert_eq!(found.name, typed.decoded.value.name());
                assert_eq!(found.namespace, typed.decoded.value.namespace());
            }
            way((found.name.len().min(8), found.namespace.len().min(4), found.labels.len().min(8)))
        }
    }
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
            without_tree(of, message, &value);
            // A raw part may say `null`, which JSON reads as nothing; so it is the second text that stays the same.
            let read =
                |text: &[u8]| printed(&json::decode(of, text).expect("what was printed can be read").value);
            let text = read(&printed(&value));
            same(&read(&text), &text);
            accepted(&value, usize::from(envelope))
        }
    }
}
