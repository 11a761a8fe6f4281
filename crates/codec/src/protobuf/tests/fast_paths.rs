//! Fast paths that do not build a tree.

use pintle_meta::Value;

use super::super::transcode::{Options, Transcoder, TypeMeta, is_normal, to_json};
use super::super::with_resource_version;
use super::{Bytes, of, read, write};
use crate::json;

#[track_caller]
fn json_of(name: &str, message: &Bytes, options: Options<'_>, quick: bool) -> String {
    let (mut out, mut again) = (Vec::new(), b"before".to_vec());
    to_json(of(name), &message.0, &options, &mut out).unwrap();
    assert_eq!(Transcoder::default().transcode_directly(of(name), &message.0, &options, &mut again), quick);
    assert_eq!(again, if quick { [b"before", &*out].concat() } else { b"before".to_vec() });
    String::from_utf8(out).unwrap()
}

/// Encodes a JSON document.
fn message(name: &str, text: &str) -> Bytes {
    Bytes(write(name, &json::decode(of(name), text.as_bytes()).unwrap().value))
}

const NAMED: Options<'_> = Options {
    type_meta: Some(TypeMeta { kind: "ConfigMap", api_version: "v1" }),
    resource_version: Some("17"),
};

#[test]
fn kind_and_resource_version_are_inserted() {
    let map = message(
        "core/v1.ConfigMap",
        r#"{"metadata":{"name":"a","uid":"u","generation":2},"data":{"k":"<v>"}}"#,
    );
    assert_eq!(
        json_of("core/v1.ConfigMap", &map, NAMED, true),
        r#"{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a","uid":"u","resourceVersion":"17","generation":2},"data":{"k":"\u003cv\u003e"}}"#
    );
    assert_eq!(
        json_of("core/v1.ConfigMap", &map, Options::default(), true),
        r#"{"metadata":{"name":"a","uid":"u","generation":2},"data":{"k":"\u003cv\u003e"}}"#
    );
    // Also without metadata, and where the tree is needed.
    let bare = r#"{"kind":"ConfigMap","apiVersion":"v1","metadata":{"resourceVersion":"17"}}"#;
    assert_eq!(json_of("core/v1.ConfigMap", &Bytes::new(), NAMED, true), bare);
    assert_eq!(json_of("core/v1.ConfigMap", &Bytes::new().bytes(99, ""), NAMED, false), bare);
}

#[test]
fn an_empty_message_is_an_object() {
    assert_eq!(json_of("core/v1.ResourceRequirements", &Bytes::new(), Options::default(), true), "{}");
    assert_eq!(
        json_of("core/v1.Pod", &Bytes::new(), Options::default(), true),
        r#"{"metadata":{},"spec":{"containers":null},"status":{}}"#
    );
}

#[test]
fn messages_that_are_not_canonical_fall_back_to_the_tree() {
    let entry = |key: &str| Bytes::new().bytes(1, key).bytes(2, "v");
    let cases = [
        Bytes::new().message(2, entry("b")).message(2, entry("a")),
        Bytes::new().message(2, entry("a")).message(2, entry("a")),
        Bytes::new().message(2, Bytes::new().bytes(1, "a")),
        Bytes::new().varint(4, 1).message(1, Bytes::new()),
        Bytes::new().varint(4, 1).varint(4, 0),
        Bytes::new().message(2, entry("a").bytes(3, "")),
        Bytes::new().message(1, Bytes::new().bytes(1, b"\xff")),
    ];
    for case in cases {
        let mut want = Vec::new();
        json::encode(&read("core/v1.ConfigMap", &case).unwrap(), &mut want);
        assert_eq!(json_of("core/v1.ConfigMap", &case, Options::default(), false).as_bytes(), want);
        assert!(!is_normal(of("core/v1.ConfigMap"), &case.0));
    }
    let broken = to_json(of("core/v1.ConfigMap"), &[0x0a, 5], &NAMED, &mut Vec::new());
    assert_eq!(broken.unwrap_err().to_string(), "unexpected EOF");
}

#[test]
fn raw_json_is_compacted_and_invalid_json_is_null() {
    let raw = |json: &str| {
        let entry = Bytes::new().message(7, Bytes::new().bytes(1, json));
        json_of("meta/v1.ManagedFieldsEntry", &entry, Options::default(), true)
    };
    assert_eq!(raw(r#"{"f:a":{}}"#), r#"{"fieldsV1":{"f:a":{}}}"#);
    assert_eq!(raw(r#"{ "f:a": [1, "<"] }"#), r#"{"fieldsV1":{"f:a":[1,"\u003c"]}}"#);
    assert_eq!(raw(r#"{"f:a"#), r#"{"fieldsV1":null}"#);
    assert_eq!(raw(""), "{}");
}

#[test]
fn canonical_messages_are_recognized() {
    let document = r#"{"metadata":{"name":"a","creationTimestamp":"2026-11-15T19:48:18Z","labels":{"a":"1","b":"2"}},
        "spec":{"containers":[{"name":"c","resources":{"limits":{"cpu":"1500m","memory":"1Gi"}},
        "livenessProbe":{"httpGet":{"port":"http"}}}],"volumes":[{"name":"v","emptyDir":{}}]}}"#;
    let normal = message("core/v1.Pod", document).0;
    assert!(is_normal(of("core/v1.Pod"), &normal));
    let replaced = |from: &[u8], to: &[u8]| {
        let at = normal.windows(from.len()).position(|window| window == from).unwrap();
        [&normal[..at], to, &normal[at + from.len()..]].concat()
    };
    let odd = [
        ("a quantity", replaced(b"1500m", b"2000m")),
        ("keys", replaced(b"\x0a\x01a\x12\x011", b"\x0a\x01c\x12\x011")),
        ("a fraction of a second", replaced(b"\x10\x00\x5a", b"\x10\x01\x5a")),
        ("an unused number", replaced(b"\x08\x01\x10\x00\x1a\x04http", b"\x08\x01\x10\x01\x1a\x04http")),
        ("an unused text", replaced(b"\x08\x01\x10\x00\x1a\x04http", b"\x08\x00\x10\x00\x1a\x04http")),
        ("something behind", [&normal[..], b"\x9a\x06\x00"].concat()),
        ("twice", [&normal[..], b"\x1a\x00"].concat()),
        ("no status", Bytes::new().message(1, Bytes::new()).message(2, Bytes::new()).0),
    ];
    for (what, message) in odd {
        assert!(!is_normal(of("core/v1.Pod"), &message), "{what}");
    }
}

#[test]
fn a_message_without_a_value_field_is_not_canonical() {
    // A lease's spec has only pointers; its metadata is canonical only with all its value fields.
    let whole = message("coordination/v1.Lease", r#"{"metadata":{"name":"a"}}"#).0;
    assert!(is_normal(of("coordination/v1.Lease"), &whole));
    let strings = |skip: u32| {
        let meta = (1..=6)
            .filter(|number| *number != skip)
            .fold(Bytes::new(), |meta, number| meta.bytes(number, ""));
        let meta = if skip == 7 { meta } else { meta.varint(7, 0) };
        let meta = if skip == 8 { meta } else { meta.message(8, Bytes::new()) };
        Bytes::new().message(1, meta).message(2, Bytes::new())
    };
    assert!(is_normal(of("coordination/v1.Lease"), &strings(0).0));
    for number in 1..=8 {
        assert!(!is_normal(of("coordination/v1.Lease"), &strings(number).0), "{number}");
    }
}

#[test]
fn overlong_varints_are_not_canonical() {
    let scale = |replicas: &[u8]| {
        let spec = Bytes::new().raw(b"\x08").raw(replicas);
        let status = Bytes::new().varint(1, 0).bytes(2, "");
        let meta = message("core/v1.ConfigMap", "{}").0;
        Bytes(meta).message(2, spec).message(3, status).0
    };
    let of = of("autoscaling/v1.Scale");
    assert!(is_normal(of, &scale(b"\x05")));
    assert!(!is_normal(of, &scale(b"\x85\x00")));
    let minus_one = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01];
    assert!(is_normal(of, &scale(&minus_one)));
    assert!(!is_normal(of, &scale(&minus_one[..5]).iter().copied().chain([0x0f]).collect::<Vec<_>>()));
    let mut cut = minus_one;
    cut[9] = 0x7f;
    assert!(!is_normal(of, &scale(&cut)));
    let too_large = Bytes::new().varint(1, 1 << 40).0;
    assert!(!is_normal(of, &scale(&too_large[1..])));
    let tree = read("autoscaling/v1.Scale", &Bytes(scale(&minus_one))).unwrap();
    assert_eq!(tree.at(&["spec", "replicas"]).and_then(Value::as_i64), Some(-1));
}

#[test]
fn a_resource_version_is_spliced_in() {
    let spliced = |name: &str, message: &[u8]| {
        let mut out = Vec::new();
        with_resource_version(of(name), message, "12345", &mut out).unwrap();
        out
    };
    let long = format!(r#"{{"metadata":{{"name":"{}"}},"data":{{"k":"v"}}}}"#, "a".repeat(90));
    for document in [r#"{"metadata":{"name":"a"},"data":{"k":"v"}}"#, &long] {
        let stored = message("core/v1.ConfigMap", document);
        let mut tree = read("core/v1.ConfigMap", &stored).unwrap();
        tree.metadata_mut().unwrap().insert("resourceVersion", "12345");
        let want = write("core/v1.ConfigMap", &tree);
        assert_eq!(spliced("core/v1.ConfigMap", &stored.0), want);
        // Again, replacing another version.
        assert_eq!(spliced("core/v1.ConfigMap", &want), want);
    }
    // Not canonical: no such field, metadata twice or last.
    let name = |name: &str| Bytes::new().bytes(1, name).bytes(6, "");
    let odd = [
        Bytes::new(),
        Bytes::new().message(1, Bytes::new().bytes(1, "a")),
        Bytes::new().message(1, name("a")).message(1, name("b")),
        Bytes::new().varint(4, 1).message(1, name("a")),
        Bytes::new().message(1, name("a").bytes(6, "7")),
    ];
    for message in odd {
        let out = Bytes(spliced("core/v1.ConfigMap", &message.0));
        let mut tree = read("core/v1.ConfigMap", &message).unwrap();
        tree.metadata_mut().unwrap().insert("resourceVersion", "12345");
        assert_eq!(read("core/v1.ConfigMap", &out).unwrap(), tree);
    }
    assert!(with_resource_version(of("core/v1.ConfigMap"), &[0x0a, 9], "1", &mut Vec::new()).is_err());
}
