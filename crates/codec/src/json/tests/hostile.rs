//! Hostile input: no panic, no stack overflow, no disproportionate time or memory.

use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::*;
use crate::MAX_DEPTH;

/// Runs a test on a stack of a worker thread's size, which is smaller than the main thread's.
fn on_a_small_stack(test: impl FnOnce() + Send + 'static) {
    std::thread::Builder::new().stack_size(2 << 20).spawn(test).unwrap().join().unwrap();
}

#[test]
fn depth_is_bounded_in_every_decoder() {
    on_a_small_stack(|| {
        let too_deep = |error: Result<String, String>| {
            assert!(error.unwrap_err().ends_with("exceeded max depth"));
        };
        let lists = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
        let objects =
            |key: &str, depth: usize| format!("{{\"{key}\":").repeat(depth) + "{}" + &"}".repeat(depth);
        // Typed, with a recursive type.
        assert!(normal("apiextensions/v1.JSONSchemaProps", &objects("not", MAX_DEPTH - 1)).is_ok());
        too_deep(normal("apiextensions/v1.JSONSchemaProps", &objects("not", MAX_DEPTH)));
        assert!(normal("apiextensions/v1.JSONSchemaProps", &objects("items", MAX_DEPTH - 1)).is_ok());
        too_deep(normal("apiextensions/v1.JSONSchemaProps", &objects("items", 100_000)));
        // Without a type.
        assert!(untyped(&objects("a", MAX_DEPTH - 1)).is_ok());
        too_deep(untyped(&objects("a", 100_000)));
        let any = |text: &str| decode_any(text.as_bytes()).map(|d| text_of(&d)).map_err(|e| e.to_string());
        assert_eq!(any(&lists(MAX_DEPTH)), Ok(lists(MAX_DEPTH)));
        too_deep(any(&lists(MAX_DEPTH + 1)));
        // Skipped, raw, and of a wrong type.
        for field in ["x", "data", "revision"] {
            let text = format!("{{\"{field}\":{}}}", lists(100_000));
            too_deep(normal("apps/v1.ControllerRevision", &text));
        }
    });
}

#[test]
fn pretty_printing_a_deep_tree_terminates() {
    on_a_small_stack(|| {
        let text = "[".repeat(MAX_DEPTH) + &"]".repeat(MAX_DEPTH);
        let decoded = decode_any(text.as_bytes()).unwrap();
        let mut out = Vec::new();
        encode_pretty(&decoded.value, &mut out);
        assert_eq!(decode_any(&out).unwrap(), decoded);
    });
}

#[test]
fn repeated_fields_below_a_long_name_are_fast() {
    let name = "x".repeat(1 << 20);
    let text = format!("{{\"{name}\":{{{}\"a\":1}}}}", "\"a\":1,".repeat(300_000));
    let before = Instant::now();
    let found = decode_untyped(text.as_bytes()).unwrap();
    assert_eq!(found.strict.len(), 1);
    assert!(before.elapsed() < Duration::from_secs(20), "{:?}", before.elapsed());
}

#[test]
fn repetitions_of_a_large_map_are_fast() {
    let labels = |count: usize| (0..count).map(|n| format!(r#""l{n}":"v""#)).collect::<Vec<_>>().join(",");
    let again = |count: usize| {
        let more = r#""labels":{"a":"b"},"#.repeat(count);
        format!(r#"{{"metadata":{{"labels":{{{}}},{more}"name":"x"}}}}"#, labels(20_000))
    };
    let before = Instant::now();
    let few = normal("core/v1.ConfigMap", &again(10)).unwrap();
    assert!(few.contains(r#""a":"b""#) && few.contains(r#""l19999":"v""#));
    assert_eq!(normal("core/v1.ConfigMap", &again(100_000)).unwrap_err(), "exceeded max repetition of maps");
    assert!(before.elapsed() < Duration::from_secs(60), "{:?}", before.elapsed());
}

#[test]
fn many_keys_in_descending_order_are_fast() {
    let keys: Vec<String> = (0..200_000).rev().map(|n| format!("\"{n:06}\":1")).collect();
    let text = format!("{{{}}}", keys.join(","));
    let before = Instant::now();
    let found = decode_untyped(text.as_bytes()).unwrap();
    assert_eq!(found.strict, [""; 0]);
    assert_eq!(found.value.as_object().unwrap().len(), 200_000);
    assert!(before.elapsed() < Duration::from_secs(20), "{:?}", before.elapsed());
}

/// Generates text that resembles an object: its fragments in any order.
fn pieces() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop::sample::select(
        &[
            "{",
            "}",
            "[",
            "]",
            ":",
            ",",
            "\"",
            "\\",
            "\\u",
            "d83d",
            "null",
            "true",
            "1",
            "-",
            ".5",
            "e9",
            " ",
            "\n",
            "\u{2028}",
            "<",
            "\"metadata\":",
            "\"spec\":{",
            "\"containers\":[{",
            "\"name\":\"a\"",
            "\"kind\"",
            "\"limits\":{\"cpu\":\"1\"}",
            "\"resources\":{",
            "\"creationTimestamp\":\"2020-01-01T00:00:00Z\"",
            "\"managedFields\":[{\"fieldsV1\":",
            "\"ports\":[{\"containerPort\":",
        ][..],
    );
    let noise = prop::collection::vec(any::<u8>(), 0..4);
    prop::collection::vec(prop_oneof![20 => piece.prop_map(|p| p.as_bytes().to_vec()), 1 => noise], 0..40)
        .prop_map(|pieces| pieces.concat())
}

fn json_value() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(Into::into),
        any::<i64>().prop_map(Into::into),
        // Negative zero is encoded as Go does, and decoded as an integer.
        any::<f64>()
            .prop_map(|f| f + 0.0)
            .prop_map(|f| serde_json::Number::from_f64(f).map_or(serde_json::Value::Null, Into::into)),
        ".*".prop_map(Into::into),
    ];
    leaf.prop_recursive(6, 64, 8, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..8).prop_map(Into::into),
            prop::collection::btree_map(".*", inner, 0..8)
                .prop_map(|map| serde_json::Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn any_bytes_are_decoded_or_rejected(text in prop_oneof![pieces(), prop::collection::vec(any::<u8>(), 0..64)]) {
        let typed = decode(of("core/v1.Pod"), &text);
        let schema = decode(of("apiextensions/v1.JSONSchemaProps"), &text);
        let any = decode_any(&text);
        // Whatever serde_json accepts is accepted; not the reverse, since Go accepts invalid UTF-8 too.
        prop_assert!(validate(&text).is_ok() || serde_json::from_slice::<serde_json::Value>(&text).is_err());
        prop_assert!(any.is_err() || validate(&text).is_ok());
        for decoded in [typed, schema, any].into_iter().flatten() {
            let mut out = Vec::new();
            encode(&decoded.value, &mut out);
            prop_assert!(validate(&out).is_ok(), "{}", String::from_utf8_lossy(&out));
        }
        let mut out = Vec::new();
        write::raw(&text, &mut out);
        prop_assert!(validate(&out).is_ok());
    }

    #[test]
    fn values_round_trip(value in json_value()) {
        let decoded = decode_any(value.to_string().as_bytes()).unwrap();
        for write in [encode, encode_pretty] {
            let (mut once, mut twice) = (Vec::new(), Vec::new());
            write(&decoded.value, &mut once);
            write(&decode_any(&once).unwrap().value, &mut twice);
            prop_assert_eq!(String::from_utf8_lossy(&once), String::from_utf8_lossy(&twice));
        }
    }
}
