use pintle_schema::find;
use proptest::prelude::*;

use super::*;
use crate::{MAX_DEPTH, json};

/// Parses hexadecimal digits and quoted text: `a1 41 'a' f6`.
fn data(notation: &str) -> Vec<u8> {
    let mut out = Vec::new();
    for part in notation.split(' ').filter(|part| !part.is_empty()) {
        match part.strip_prefix('\'') {
            Some(text) => out.extend_from_slice(text.trim_end_matches('\'').as_bytes()),
            None => {
                let digits = |at: usize| u8::from_str_radix(&part[at..at + 2], 16).unwrap();
                out.extend((0..part.len()).step_by(2).map(digits));
            }
        }
    }
    out
}

fn text(value: &Value) -> String {
    let mut out = Vec::new();
    json::encode(value, &mut out);
    String::from_utf8(out).unwrap()
}

fn encoded(json: &str) -> Vec<u8> {
    let mut out = Vec::new();
    encode(&json::decode_any(json.as_bytes()).unwrap().value, &mut out);
    out
}

/// Decodes a map with one value and returns the value.
fn untyped(notation: &str) -> Result<String, String> {
    let mut map = data("a1 61 'v'");
    map.extend(data(notation));
    match decode_untyped(&map) {
        Ok(decoded) => Ok(text(decoded.value.get("v").unwrap())),
        Err(error) => Err(error.to_string()),
    }
}

fn typed(name: &str, notation: &str) -> Result<String, String> {
    let decoded = decode(find(name).unwrap(), &data(notation)).map_err(|error| error.to_string())?;
    Ok(text(&decoded.value))
}

fn error(name: &str, notation: &str) -> String {
    typed(name, notation).unwrap_err()
}

#[test]
fn encoding_is_deterministic() {
    let cases = [
        ("null", "f6"),
        ("true", "f5"),
        ("0", "00"),
        ("23", "17"),
        ("24", "1818"),
        ("256", "190100"),
        ("65536", "1a00010000"),
        ("9223372036854775807", "1b7fffffffffffffff"),
        ("-1", "20"),
        ("-256", "38ff"),
        ("-9223372036854775808", "3b7fffffffffffffff"),
        ("1.5", "f93e00"),
        ("1.0", "f93c00"),
        ("-0.0", "f98000"),
        ("65504.0", "f97bff"),
        ("65505.0", "fa477fe100"),
        ("0.00006103515625", "f90400"),
        ("5.960464477539063e-8", "f90001"),
        ("100000.5", "fa47c35040"),
        ("3.4028234663852886e+38", "fa7f7fffff"),
        ("1.1", "fb3ff199999999999a"),
        ("1e300", "fb7e37e43c8800759c"),
        (r#""""#, "40"),
        (r#""a""#, "41 'a'"),
        ("[]", "80"),
        ("[1,[2]]", "82 01 8102"),
        ("{}", "a0"),
        // The encoded length is compared first.
        (r#"{"b":1,"aa":2,"a":3}"#, "a3 41 'a' 03 41 'b' 01 42 'aa' 02"),
    ];
    for (json, want) in cases {
        let mut expected = SELF_DESCRIBED.to_vec();
        expected.extend(data(want));
        assert_eq!(encoded(json), expected, "{json}");
        assert!(is_self_described(&expected));
    }
    let object: Object =
        [("bytes", Value::bytes(*b"hi")), ("hollow", Value::hollow()), ("raw", Value::raw(*br#"{"b":1}"#))]
            .into_iter()
            .collect();
    let mut out = Vec::new();
    encode(&object.into(), &mut out);
    assert_eq!(out, data("d9d9f7 a2 43 'raw' a1 41 'b' 01 45 'bytes' d6 42 'hi'"));
}

#[test]
fn an_event_contains_the_encoded_object() {
    let mut out = Vec::new();
    encode_event("ADDED", &encoded("{}"), &mut out);
    assert_eq!(out, data("d9d9f7 a2 44 'type' 45 'ADDED' 46 'object' d9d9f7 a0"));
}

#[test]
fn values_that_json_can_express_are_decoded() {
    let cases = [
        ("00", "0"),
        ("1b7fffffffffffffff", "9223372036854775807"),
        ("3b7fffffffffffffff", "-9223372036854775808"),
        ("f93e00", "1.5"),
        ("f90001", "5.960464477539063e-8"),
        ("f9c400", "-4"),
        ("fa47c35040", "100000.5"),
        ("fb3ff199999999999a", "1.1"),
        ("f4", "false"),
        ("f6", "null"),
        ("62 c3a4", "\"ä\""),
        ("42 c3a4", "\"ä\""),
        ("42 ff 'a'", "\"\u{fffd}a\""),
        // Byte strings with an expected conversion to text.
        ("d6 42 'hi'", r#""aGk=""#),
        ("d5 42 fbff", r#""-_8""#),
        ("d7 42 'hi'", r#""6869""#),
        ("d6 82 42 'hi' d7 42 'hi'", r#"["aGk=","6869"]"#),
        // Chunked strings and indefinite lengths.
        ("5f 41 'h' 41 'i' ff", r#""hi""#),
        ("7f 61 'h' 61 'i' ff", r#""hi""#),
        ("9f 01 9f ff ff", "[1,[]]"),
        ("bf 61 'a' 01 41 'b' 02 ff", r#"{"a":1,"b":2}"#),
        // Tags.
        ("d9d9f7 01", "1"),
        ("d86f 01", "1"),
        ("c0 74 '2020-01-01T00:00:00Z'", r#""2020-01-01T00:00:00Z""#),
        ("c0 78 1e '2020-01-01T00:00:00.500+01:00'", ""),
        ("c1 00", r#""1970-01-01T00:00:00Z""#),
        ("c1 20", r#""1969-12-31T23:59:59Z""#),
        ("c1 f93e00", r#""1970-01-01T00:00:01.5Z""#),
        ("d86f c1 00", r#""1970-01-01T00:00:00Z""#),
    ];
    for (notation, want) in cases {
        if want.is_empty() {
            let with_zone = data("c0 78 1d '2020-01-01T00:00:00.500+01:00'");
            let mut map = data("a1 61 'v'");
            map.extend(with_zone);
            let value = decode_untyped(&map).unwrap().value;
            assert_eq!(value.text_at(&["v"]), "2020-01-01T00:00:00.5+01:00");
            continue;
        }
        assert_eq!(untyped(notation).as_deref(), Ok(want), "{notation}");
    }
    assert_eq!(text(&decode_untyped(&data("f6")).unwrap().value), "{}");
    assert_eq!(text(&decode_untyped(&data("d9d9f7 a0")).unwrap().value), "{}");
}

#[test]
fn values_that_json_cannot_express_are_rejected() {
    let not_accepted = "cbor: data item of cbor type";
    let cases = [
        ("f97e00", format!("{not_accepted} primitives is not accepted by protocol: floating-point NaN")),
        ("fa7f800000", format!("{not_accepted} primitives is not accepted by protocol: floating-point infinity")),
        ("f7", format!("{not_accepted} primitives is not accepted by protocol: simple value 23 is not recognized")),
        ("e0", format!("{not_accepted} primitives is not accepted by protocol: simple value 0 is not recognized")),
        ("f8ff", format!("{not_accepted} primitives is not accepted by protocol: simple value 255 is not recognized")),
        ("f81f", "cbor: invalid simple value 31 for type primitives".into()),
        ("c2 41 01", format!("{not_accepted} tag is not accepted by protocol: bignum")),
        ("1bffffffffffffffff", "cbor: cannot unmarshal positive integer into Go value of type int64 (18446744073709551615 overflows Go's int64)".into()),
        ("3bffffffffffffffff", "cbor: cannot unmarshal negative integer into Go value of type int64 (-18446744073709551616 overflows Go's int64)".into()),
        ("61 ff", "cbor: invalid UTF-8 string".into()),
        ("a2 61 'a' 01 41 'a' 02", "cbor: found duplicate map key \"a\" at map element index 1".into()),
        ("a1 01 01", "cbor: cannot unmarshal positive integer into Go value of type string".into()),
        ("c0 01", "cbor: tag number 0 must be followed by text string, got positive integer".into()),
        ("c1 61 'a'", "cbor: tag number 1 must be followed by integer or floating-point number, got UTF-8 text string".into()),
        ("c0 61 'a'", "cbor: cannot set a for time.Time: parsing time \"a\" as \"2006-01-02T15:04:05Z07:00\": cannot parse \"a\" as \"2006\"".into()),
        ("c1 1b7fffffffffffffff", "cbor: decoded time cannot be represented in RFC3339 format with sub-second precision: Time.MarshalText: year outside of range [0,9999]".into()),
        ("1c", "cbor: invalid additional information 28 for type positive integer".into()),
        ("1f", "cbor: invalid additional information 31 for type positive integer".into()),
        ("ff", "cbor: unexpected \"break\" code".into()),
        ("bf 61 'a' ff", "cbor: unexpected \"break\" code".into()),
        ("7f 41 'a' ff", "cbor: wrong element type byte string for indefinite-length UTF-8 text string".into()),
        ("5f 5f ff ff", "cbor: indefinite-length byte string chunk is not definite-length".into()),
        ("42 'a'", "unexpected EOF".into()),
        ("5b7fffffffffffffff", "unexpected EOF".into()),
        ("5bffffffffffffffff", "cbor: byte string length 18446744073709551615 is too large, causing integer overflow".into()),
        ("9bffffffffffffffff", "cbor: array length 18446744073709551615 is too large, it would cause integer overflow".into()),
        ("9b00000000ffffffff", "cbor: exceeded max number of elements 2147483647 for CBOR array".into()),
        ("ba00200001", "cbor: exceeded max number of key-value pairs 2097152 for CBOR map".into()),
        ("9a7fffffff", "unexpected EOF".into()),
        ("00 00", "cbor: 1 bytes of extraneous data starting at index 4".into()),
    ];
    let wrong: Vec<String> = cases
        .iter()
        .map(|(notation, want)| (notation, want, untyped(notation)))
        .filter(|(_, want, got)| got.as_ref().err() != Some(want))
        .map(|(notation, want, got)| format!("{notation}\n  got  {got:?}\n  want {want}"))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(decode_untyped(&[]).unwrap_err().to_string(), "EOF");
    assert_eq!(
        decode_untyped(&data("80")).unwrap_err().to_string(),
        "cbor: cannot unmarshal array into Go value of type map[string]interface {}"
    );
}

#[test]
fn objects_are_decoded_into_normal_form() {
    assert_eq!(
        typed(
            "core/v1.Pod",
            "d9d9f7 a2 44 'kind' 43 'Pod' 64 'spec' a1 6a 'containers' 81 a2 44 'name' 41 'a' 43 'tty' f4"
        ),
        Ok(r#"{"kind":"Pod","metadata":{},"spec":{"containers":[{"name":"a","resources":{}}]},"status":{}}"#
            .into())
    );
    assert_eq!(
        typed("core/v1.ConfigMap", "a2 44 'data' f6 48 'metadata' f6"),
        Ok(r#"{"metadata":{}}"#.into())
    );
    // Bytes: raw with a tag, base64 without, numbers as a list.
    assert_eq!(
        typed(
            "core/v1.Secret",
            "a1 44 'data' a4 41 'a' d6 42 'hi' 41 'b' 44 'aGk=' 41 'c' 82 1868 1869 41 'd' f6"
        ),
        Ok(r#"{"metadata":{},"data":{"a":"aGk=","b":"aGk=","c":"aGk=","d":null}}"#.into())
    );
    assert_eq!(
        typed("core/v1.ServicePort", "a3 44 'port' 1850 48 'protocol' 43 'TCP' 4a 'targetPort' 44 'http'"),
        Ok(r#"{"protocol":"TCP","port":80,"targetPort":"http"}"#.into())
    );
    assert_eq!(
        typed("core/v1.ServicePort", "a1 4a 'targetPort' f6"),
        Ok(r#"{"port":0,"targetPort":""}"#.into())
    );
    assert_eq!(
        typed("core/v1.ResourceRequirements", "a1 46 'limits' a2 43 'cpu' 44 '1000' 46 'memory' f6"),
        Ok(r#"{"limits":{"cpu":"1k","memory":"0"}}"#.into())
    );
    assert_eq!(
        typed(
            "meta/v1.ManagedFieldsEntry",
            "a2 44 'time' d0 54 '2020-01-01T00:00:00Z' 48 'fieldsV1' a1 43 'f:a' a0"
        ),
        Ok(r#"{"time":"2020-01-01T00:00:00Z","fieldsV1":{"f:a":{}}}"#.into())
    );
    assert_eq!(
        typed(
            "apiextensions/v1.JSONSchemaProps",
            "a4 43 'not' f6 47 'default' 81 01 45 'items' 80 54 'additionalProperties' f5"
        ),
        Ok(r#"{"default":[1],"additionalProperties":true}"#.into())
    );
    assert_eq!(
        typed("apiextensions/v1.JSONSchemaProps", "a1 45 'items' 81 a1 44 'type' 46 'string'"),
        Ok(r#"{"items":[{"type":"string"}]}"#.into())
    );
}

#[test]
fn type_errors_name_the_outermost_field() {
    let cases = [
        ("apps/v1.Deployment", "a1 44 'spec' a1 48 'replicas' 61 'a'", {
            "cbor: cannot unmarshal UTF-8 text string into Go struct field v1.Deployment.spec of type int32"
        }),
        ("apps/v1.Deployment", "a1 44 'spec' a1 48 'replicas' f93c00", {
            "cbor: cannot unmarshal primitives into Go struct field v1.Deployment.spec of type int32"
        }),
        ("apps/v1.Deployment", "a1 44 'spec' a1 48 'replicas' 1a80000000", {
            "cbor: cannot unmarshal positive integer into Go struct field v1.Deployment.spec of type int32 (2147483648 overflows int32)"
        }),
        ("core/v1.PodSpec", "a1 4d 'restartPolicy' 01", {
            "cbor: cannot unmarshal positive integer into Go struct field v1.PodSpec.restartPolicy of type v1.RestartPolicy"
        }),
        ("core/v1.PodSpec", "a1 4a 'containers' a0", {
            "cbor: cannot unmarshal map into Go struct field v1.PodSpec.containers of type []v1.Container"
        }),
        ("core/v1.Pod", "80", {
            "cbor: cannot unmarshal array into Go value of type v1.Pod (cannot decode CBOR array to struct without toarray option)"
        }),
        ("core/v1.Pod", "01", "cbor: cannot unmarshal positive integer into Go value of type v1.Pod"),
        ("core/v1.Secret", "a1 44 'data' a1 41 'a' 62 'hi'", {
            "cbor: cannot unmarshal UTF-8 text string into Go struct field v1.Secret.data of type []uint8"
        }),
        ("core/v1.Secret", "a1 44 'data' a1 41 'a' 41 '!'", {
            "cbor: failed to decode base64 from byte string: illegal base64 data at input byte 0"
        }),
        ("core/v1.ResourceRequirements", "a1 46 'limits' a1 43 'cpu' 01", {
            "cbor: cannot unmarshal positive integer into Go struct field v1.ResourceRequirements.limits of type string"
        }),
        ("core/v1.Pod", "a2 44 'kind' 41 'a' 64 'kind' 41 'b'", {
            "cbor: found duplicate map key \"kind\" at map element index 1"
        }),
        (
            "core/v1.Pod",
            "a2 41 'x' 01 61 'x' 02",
            "cbor: found duplicate map key \"x\" at map element index 1",
        ),
        ("core/v1.Pod", "a1 f5 01", {
            "cbor: cannot unmarshal primitives into Go value of type string (map key is of type primitives and cannot be used to match struct field name)"
        }),
        // The first error is reported, except that a duplicate key takes precedence.
        ("core/v1.Pod", "a3 44 'kind' 01 4a 'apiVersion' 02 44 'spec' 03", {
            "cbor: cannot unmarshal positive integer into Go struct field v1.Pod.kind of type string"
        }),
        ("core/v1.Pod", "a3 44 'spec' 01 44 'kind' 41 'a' 44 'kind' 41 'b'", {
            "cbor: found duplicate map key \"kind\" at map element index 2"
        }),
    ];
    let wrong: Vec<String> = cases
        .iter()
        .map(|(name, notation, want)| (name, notation, want, error(name, notation)))
        .filter(|(_, _, want, got)| got != *want)
        .map(|(name, notation, want, got)| format!("{name} {notation}\n  got  {got}\n  want {want}"))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_first_unknown_field_is_a_strict_error() {
    let decoded =
        decode(find("core/v1.Pod").unwrap(), &data("a3 44 'kind' 43 'Pod' 41 'x' 01 41 'y' 02")).unwrap();
    assert_eq!(decoded.strict, ["cbor: found unknown field at map element index 1"]);
    assert_eq!(decoded.value.text_at(&["kind"]), "Pod");
    let nested = "a2 44 'spec' a1 41 'x' 01 48 'metadata' a2 41 'a' 01 41 'b' 01";
    let decoded = decode(find("core/v1.Pod").unwrap(), &data(nested)).unwrap();
    assert_eq!(decoded.strict, ["cbor: found unknown field at map element index 0"]);
    let integer = decode(find("core/v1.Pod").unwrap(), &data("a2 44 'kind' 43 'Pod' 01 01")).unwrap();
    assert_eq!(integer.strict, ["cbor: found unknown field at map element index 1"]);
    // Schemas of a union type are always decoded strictly.
    assert_eq!(
        error("apiextensions/v1.JSONSchemaProps", "a1 54 'additionalProperties' a1 41 'x' 01"),
        "cbor: found unknown field at map element index 0"
    );
}

#[test]
fn type_meta_is_read_from_an_object() {
    assert_eq!(
        type_meta(&encoded(r#"{"apiVersion":"v1","kind":"Pod","x":1}"#)),
        Ok(("v1".into(), "Pod".into()))
    );
    assert_eq!(type_meta(&data("a0")), Ok((String::new(), String::new())));
    let prefix = "unable to determine group/version/kind: ";
    for (notation, want) in [
        ("", "EOF"),
        ("a1", "unexpected EOF"),
        (
            "a1 44 'kind' 01",
            "cbor: cannot unmarshal positive integer into Go struct field v1.TypeMeta.kind of type string",
        ),
        ("01", "cbor: cannot unmarshal positive integer into Go value of type v1.TypeMeta"),
    ] {
        assert_eq!(type_meta(&data(notation)).unwrap_err().to_string(), format!("{prefix}{want}"));
    }
}

#[test]
fn data_is_formatted_in_diagnostic_notation() {
    let cases = [
        ("d9d9f7 a2 44 'kind' 43 'Pod' 01 20", "55799({'kind': 'Pod', 1: -1})"),
        ("84 f4 f5 f6 f7", "[false, true, null, undefined]"),
        ("83 f93c00 fb7e37e43c8800759c f90001", "[1.0, 1.0e+300, 5.960464477539063e-8]"),
        ("82 40 42 ff00", "[h'', h'ff00']"),
        ("62 c3a4", r#""\u00e4""#),
        ("44 f09f9880", r"'\ud83d\ude00'"),
        ("63 220a5c", r#""\"\n\\""#),
        ("9f 5f 41 'a' ff 7f ff bf 01 02 ff ff", r#"[_ (_ 'a'), ""_, {_ 1: 2}]"#),
        ("f8ff", "simple(255)"),
        ("3bffffffffffffffff", "-18446744073709551616"),
        ("a1", "a1"),
    ];
    for (notation, want) in cases {
        assert_eq!(diagnose(&data(notation)), want, "{notation}");
    }
}

#[test]
fn items_of_a_sequence_are_separated() {
    let mut sequence = encoded("{\"a\":[1,2]}");
    let first = sequence.len();
    sequence.extend(encoded("\"b\""));
    assert_eq!(item_length(&sequence), Ok(first));
    assert_eq!(item_length(&sequence[first..]), Ok(sequence.len() - first));
    assert_eq!(item_length(&sequence[..first - 1]).unwrap_err().to_string(), "unexpected EOF");
    assert_eq!(item_length(&[]).unwrap_err().to_string(), "EOF");
}

#[test]
fn deep_and_large_data_is_rejected_without_recursion() {
    let too_deep = format!("cbor: exceeded max nested level {MAX_DEPTH}");
    for byte in [0x81, 0x9f, 0xc6] {
        let error = decode_untyped(&vec![byte; 3 << 20]).unwrap_err().to_string();
        assert_eq!(error, too_deep, "{byte:x}");
    }
    let maps = data("a1 60").repeat(1 << 20);
    assert_eq!(decode_untyped(&maps).unwrap_err().to_string(), too_deep);
    let mut deepest = data("a1 41 'a'").repeat(MAX_DEPTH - 1);
    deepest.push(0xa0);
    let value = decode_untyped(&deepest).unwrap().value;
    let mut again = Vec::new();
    encode(&value, &mut again);
    assert_eq!(again[3..], deepest);
    assert!(diagnose(&deepest).starts_with("{'a': {'a': "));
    let mut schema = data("a1 43 'not'").repeat(MAX_DEPTH - 1);
    schema.push(0xa0);
    assert!(decode(find("apiextensions/v1.JSONSchemaProps").unwrap(), &schema).is_ok());
    // Lists whose declared length is too large.
    assert_eq!(untyped("9a7ffffffe").unwrap_err(), "unexpected EOF");
    let mut keys = data("ba 00030000");
    for key in 0..0x30000u32 {
        keys.push(0x44);
        keys.extend_from_slice(&(key ^ 0x5555).to_be_bytes().map(|byte| byte & 0x7f));
        keys.push(0);
    }
    assert!(decode_untyped(&keys).unwrap_err().to_string().starts_with("cbor: found duplicate map key"));
}

proptest! {
    #[test]
    fn bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..100)) {
        let _ = decode_untyped(&bytes);
        let _ = decode(find("core/v1.Pod").unwrap(), &bytes);
        let _ = item_length(&bytes);
        let _ = diagnose(&bytes);
        let _ = type_meta(&bytes);
    }

    #[test]
    fn floats_round_trip(value in any::<f64>(), narrow in any::<f32>(), bits in any::<u16>()) {
        for value in [value, f64::from(narrow), f64::from(bits)] {
            if !value.is_finite() {
                continue;
            }
            let object: Object = [("v", Value::from(value))].into_iter().collect();
            let mut out = Vec::new();
            encode(&object.into(), &mut out);
            let read = decode_untyped(&out).unwrap().value.get("v").unwrap().as_f64().unwrap();
            prop_assert_eq!(read.to_bits(), value.to_bits());
        }
    }
}

#[test]
fn every_half_precision_float_round_trips() {
    for bits in 0..=u16::MAX {
        let [high, low] = bits.to_be_bytes();
        let item = [0xa1, 0x41, b'v', 0xf9, high, low];
        let Ok(decoded) = decode_untyped(&item) else { continue };
        let mut out = Vec::new();
        encode(&decoded.value, &mut out);
        assert_eq!(out[3..], item);
    }
}
