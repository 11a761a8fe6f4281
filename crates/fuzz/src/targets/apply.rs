//! Server-side apply: configurations, and the fields that managers say they have.

use pintle_codec::unstructured::to_typed;
use pintle_codec::{json, yaml};
use pintle_meta::Value;
use pintle_patch::managed::{Managed, Refusal, Resets, SameShape, Write, apply, keep_last_applied};
use pintle_schema::{Type, find};

use super::{refused, skeleton, way};
use crate::Target;

pub(super) const TARGETS: &[Target] = &[APPLY, PRUNE];

const APPLY: Target = Target {
    name: "apply",
    seeds: || {
        let seeds = [
            r#"{"kind":"Pod","apiVersion":"v1","metadata":{"name":"p","labels":{"a":"c"},"finalizers":["z","x"]}}"#,
            r#"{"kind":"Pod","apiVersion":"v1","spec":{"containers":[{"name":"b","image":"y"},{"name":"n","env":[{"name":"E","value":"1"}]}]}}"#,
            r#"{"kind":"Pod","apiVersion":"v1","spec":{"containers":[{"name":"a","ports":[{"containerPort":80,"protocol":"UDP"}],"resources":{"limits":{"cpu":"1000m"}}}],"nodeName":null}}"#,
            "apiVersion: v1\nkind: Pod\nmetadata:\n  annotations: {a: b}\nspec:\n  tolerations:\n  - key: x\n  volumes: []\n",
        ];
        seeds.into_iter().map(|seed| seed.as_bytes().to_vec()).collect()
    },
    tokens: &[
        "\"containers\":[{\"name\":\"a\"}],",
        "\"labels\":null,",
        "\"finalizers\":[\"x\"],",
        "\"env\":[{\"name\":\"E\"}],",
        "\"protocol\":\"UDP\"",
        "\"spec\":{",
        "\"metadata\":{",
        "null",
        "1.5",
        "\"1000m\"",
        "[",
        "]",
        "{",
        "}",
        ",",
    ],
    run: configuration,
};

const PRUNE: Target = Target {
    name: "apply-prune",
    seeds: || {
        let seeds = [
            r#"{"f:metadata":{"f:labels":{"f:a":{}},"f:finalizers":{"v:\"x\"":{}}},"f:spec":{"f:containers":{"k:{\"name\":\"a\"}":{".":{},"f:image":{}}}}}"#,
            r#"{"f:spec":{},"f:metadata":{".":{},"f:name":{}},"f:apiVersion":{}}"#,
            r#"{"f:spec":{"f:tolerations":{"i:0":{}},"f:volumes":{"k:{\"name\":\"v\"}":{"f:emptyDir":{"f:medium":{}}}}}}"#,
        ];
        seeds.into_iter().map(|seed| seed.as_bytes().to_vec()).collect()
    },
    tokens: &[
        "\"f:spec\":{}",
        "\"f:containers\":{",
        "\"k:{\\\"name\\\":\\\"b\\\"}\":{",
        "\"v:\\\"y\\\"\":{}",
        "\".\":{}",
        "\"f:kind\":{}",
        "{",
        "}",
        ",",
    ],
    run: prune,
};

const POD: &str = r#"{"kind":"Pod","apiVersion":"v1","metadata":{"name":"p","uid":"u","labels":{"a":"b"},"finalizers":["x","y"],
    "managedFields":[{"manager":"m","operation":"Apply","apiVersion":"v1","fieldsType":"FieldsV1",
    "fieldsV1":{"f:metadata":{"f:labels":{"f:a":{}}},"f:spec":{"f:containers":{"k:{\"name\":\"a\"}":{".":{},"f:image":{},"f:name":{}}}}}}]},
    "spec":{"containers":[{"name":"a","image":"x","env":[{"name":"E","value":"1"},{"name":"E","value":"2"}]},
    {"name":"b","ports":[{"containerPort":80}]}],"volumes":[{"name":"v","emptyDir":{}}],"tolerations":[{"key":"k"}]}}"#;

fn pod() -> &'static Type {
    find("core/v1.Pod").expect("there are pods")
}

fn live() -> Value {
    json::decode(pod(), POD.as_bytes()).expect("it is a pod").value
}

/// The object after an apply. It is in normal form.
fn applied(live: &Value, manager: &str, config: &Value, force: bool) -> Result<Value, Refusal> {
    let of = pod().into();
    let converter = SameShape { of, api_versions: &["v1"] };
    let write = Write {
        of,
        manager,
        subresource: "",
        api_version: "v1",
        now: "2026-01-02T03:04:05Z",
        resets: &Resets::none(),
        converter: &converter,
    };
    let applied = apply(&write, live, config, force)?;
    let mut new = applied.object.unwrap_or_else(|| live.clone());
    keep_last_applied(&mut new, manager, config);
    applied.managed.set(&mut new);
    assert_eq!(to_typed(pod(), &new).map(|read| read.value), Ok(new.clone()));
    Ok(new)
}

/// A configuration is refused, or is there afterwards: to apply it again changes nothing.
fn configuration(input: &[u8]) -> u64 {
    let config = match yaml::decode_untyped(input) {
        Err(error) => return refused(error),
        Ok(decoded) => decoded.value,
    };
    if (config.kind(), config.api_version()) != ("Pod", "v1") {
        return 0;
    }
    let live = live();
    let gently = applied(&live, "x", &config, false);
    let forced = match applied(&live, "x", &config, true) {
        Err(refusal) => {
            assert_eq!(gently, Err(refusal.clone()));
            return refused(refusal);
        }
        Ok(forced) => forced,
    };
    match gently {
        Ok(gently) => assert_eq!(gently, forced),
        Err(refusal) => assert!(matches!(refusal, Refusal::Conflicts(_)), "{refusal}"),
    }
    if !forced.uid().is_empty() {
        assert_eq!(applied(&forced, "x", &config, false).as_ref(), Ok(&forced));
    }
    let mut text = Vec::new();
    json::encode(&forced, &mut text);
    way((text.len().min(2048) / 32, skeleton(&String::from_utf8_lossy(&text))))
}

/// A manager can release every field that it owns.
fn prune(input: &[u8]) -> u64 {
    let entry = |fields: &str| {
        format!(
            r#"{{"manager":"x","operation":"Apply","apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{fields}}}"#
        )
    };
    let Ok(text) = std::str::from_utf8(input) else { return 0 };
    let Ok(entry) = json::decode_any(entry(text).as_bytes()) else { return 1 };
    let mut live = live();
    let mut managed = match Managed::read(&[entry.value]) {
        Err(error) => return refused(error),
        Ok(managed) => managed,
    };
    managed.managers.extend(Managed::of(&live).expect("they are readable").managers);
    managed.set(&mut live);
    let config = json::decode_untyped(br#"{"kind":"Pod","apiVersion":"v1","metadata":{"name":"p"}}"#);
    match applied(&live, "x", &config.expect("it is JSON").value, false) {
        Err(refusal) => refused(refusal),
        Ok(new) => {
            // Fields of another manager stay.
            assert_eq!(new.at(&["metadata", "labels"]), live.at(&["metadata", "labels"]));
            let mut text = Vec::new();
            json::encode(&new, &mut text);
            way((text.len().min(2048) / 32, skeleton(&String::from_utf8_lossy(&text))))
        }
    }
}
