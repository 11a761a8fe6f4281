//! Objects and their bytes as the reference encodes them.

use pintle_meta::{Node, Value};

use super::super::envelope::{self, Envelope};
use super::{Bytes, of, read, write};

#[track_caller]
fn round_trip(name: &str, message: &Bytes) -> Value {
    let value = read(name, message).unwrap();
    let written = write(name, &value);
    assert_eq!(written.escape_ascii().to_string(), message.0.escape_ascii().to_string(), "{value:?}");
    value
}

/// Empty metadata: all strings, the generation and the creation time are present.
fn empty_meta() -> Bytes {
    let strings = (1..=6).fold(Bytes::new(), |meta, number| meta.bytes(number, ""));
    strings.varint(7, 0).message(8, Bytes::new())
}

#[test]
fn value_fields_are_always_written_and_pointers_only_when_set() {
    let claim = Bytes::new().bytes(1, "a").bytes(2, "");
    assert_eq!(
        write("core/v1.ResourceClaim", &Value::object([("name", "a")].into_iter().collect())),
        claim.0
    );
    let immutable = Bytes::new().message(1, empty_meta()).varint(4, 0);
    let map = round_trip("core/v1.ConfigMap", &immutable);
    assert_eq!(map.get("immutable").and_then(Value::as_bool), Some(false));
    assert_eq!(write("core/v1.ConfigMap", &Value::NULL), Bytes::new().message(1, empty_meta()).0);
}

#[test]
fn maps_are_sorted_and_empty_bytes_are_encoded() {
    let entry = |key: &str, value: &[u8]| Bytes::new().bytes(1, key).bytes(2, value);
    let secret = Bytes::new()
        .message(1, empty_meta())
        .message(2, entry("a", b""))
        .message(2, entry("b", b"\0\xff"))
        .bytes(3, "Opaque");
    let value = round_trip("core/v1.Secret", &secret);
    assert_eq!(value.at(&["data", "b"]).unwrap().node(), Node::Bytes(b"\0\xff"));
    // A null value is a nil slice, which is absent.
    let nothing = Value::object([("a", Value::NULL)].into_iter().collect());
    let nothing = Value::object([("data", nothing)].into_iter().collect());
    let without = Bytes::new().message(1, empty_meta()).message(2, Bytes::new().bytes(1, "a")).bytes(3, "");
    assert_eq!(write("core/v1.Secret", &nothing), without.0);
}

#[test]
fn empty_bytes_that_json_omits_are_encoded() {
    let config = Bytes::new().bytes(2, "").bytes(3, "https://a");
    let value = round_trip("admissionregistration/v1.WebhookClientConfig", &config);
    assert_eq!(value.get("caBundle").unwrap().node(), Node::Hollow);
}

#[test]
fn types_with_their_own_json_have_their_own_messages() {
    let port = Bytes::new().varint(1, 1).varint(2, 0).bytes(3, "http");
    let action = Bytes::new().message(1, port).bytes(2, "");
    assert_eq!(round_trip("core/v1.TCPSocketAction", &action).text_at(&["port"]), "http");
    let negative = Bytes::new().varint(1, 0).varint(2, -1i64 as u64).bytes(3, "");
    let action = Bytes::new().message(1, negative).bytes(2, "");
    assert_eq!(round_trip("core/v1.TCPSocketAction", &action).get("port").unwrap().as_i64(), Some(-1));

    let fields = Bytes::new().bytes(1, r#"{"f:a": {}}"#);
    let entry = Bytes::new()
        .bytes(1, "me")
        .bytes(2, "Apply")
        .bytes(3, "v1")
        .message(4, Bytes::new().varint(1, 1_800_000_000).varint(2, 0))
        .bytes(6, "FieldsV1")
        .message(7, fields)
        .bytes(8, "");
    let entry = round_trip("meta/v1.ManagedFieldsEntry", &entry);
    assert_eq!(entry.text_at(&["time"]), "2027-01-15T08:00:00Z");
    assert_eq!(entry.get("fieldsV1").unwrap().node(), Node::Raw(br#"{"f:a": {}}"#));

    let micros = Bytes::new().varint(1, 1_800_000_000).varint(2, 1_000);
    let lease = Bytes::new().message(3, micros);
    assert_eq!(
        round_trip("coordination/v1.LeaseSpec", &lease).text_at(&["acquireTime"]),
        "2027-01-15T08:00:00.000001Z"
    );
}

#[test]
fn only_structs_have_messages_of_their_own() {
    let refused = super::super::decode(of("meta/v1.Duration"), &[]).unwrap_err();
    assert_eq!(refused.to_string(), "v1.Duration does not have a protobuf message of its own");
}

#[test]
fn schema_unions_are_encoded() {
    let schema = |message: &Bytes| {
        let schema = read("apiextensions/v1.JSONSchemaProps", message).unwrap();
        let again = read(
            "apiextensions/v1.JSONSchemaProps",
            &Bytes::new().raw(&write("apiextensions/v1.JSONSchemaProps", &schema)),
        );
        assert_eq!(again.unwrap(), schema);
        schema
    };
    let typed = Bytes::new().bytes(5, "string");
    let items = schema(&Bytes::new().message(24, Bytes::new().message(1, typed.clone())));
    assert_eq!(items.text_at(&["items", "type"]), "string");
    let items =
        schema(&Bytes::new().message(24, Bytes::new().message(2, typed.clone()).message(2, typed.clone())));
    assert_eq!(items.items_at(&["items"]).len(), 2);
    let additional = schema(&Bytes::new().message(30, Bytes::new().varint(1, 1)));
    assert_eq!(additional.get("additionalProperties").unwrap().as_bool(), Some(true));
    let additional = schema(&Bytes::new().message(30, Bytes::new().varint(1, 1).message(2, typed)));
    assert_eq!(additional.text_at(&["additionalProperties", "type"]), "string");
    let strings = Bytes::new().bytes(2, "a").bytes(2, "b");
    let dependencies = schema(&Bytes::new().message(32, Bytes::new().bytes(1, "k").message(2, strings)));
    assert_eq!(dependencies.items_at(&["dependencies", "k"]).len(), 2);
    let default = schema(&Bytes::new().message(8, Bytes::new().bytes(1, " 1 ")));
    assert_eq!(default.get("default").unwrap().node(), Node::Raw(b" 1 "));
}

#[test]
fn named_lists_of_strings_are_messages() {
    let extra = Bytes::new().bytes(1, "k").message(2, Bytes::new().bytes(1, "a").bytes(1, ""));
    let user = Bytes::new().bytes(1, "u").bytes(2, "").message(4, extra);
    assert_eq!(round_trip("authentication/v1.UserInfo", &user).items_at(&["extra", "k"]).len(), 2);
}

#[test]
fn an_envelope_has_all_its_fields_even_when_empty() {
    let mut out = Vec::new();
    envelope::write("v1", "Pod", b"raw", &mut out);
    assert_eq!(out, b"k8s\0\x0a\x09\x0a\x02v1\x12\x03Pod\x12\x03raw\x1a\x00\x22\x00");
    assert_eq!(out.len(), envelope::length("v1", "Pod", 3));
    let opened = envelope::open(&out).unwrap();
    assert_eq!(opened, Envelope { api_version: "v1", kind: "Pod", raw: b"raw", ..Envelope::default() });
}
