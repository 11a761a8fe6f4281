//! Managers of custom resources, whose types are the schemas of a definition.

use pintle_codec::json;
use pintle_meta::Value;
use pintle_schema::structural::Structural;

use super::*;
use crate::typed::TypeRef;

const NOW: &str = "2026-01-02T03:04:05Z";

/// Definition with two versions; `size` in one is `width` in the other.
struct Definition {
    one: Structural,
    two: Structural,
}

fn read(text: &[u8]) -> Option<Value> {
    Some(json::decode_any(text).ok()?.value)
}

fn compiled(size: &str) -> Structural {
    let text = format!(
        r#"{{"type":"object","properties":{{"spec":{{"type":"object","properties":{{
            "{size}":{{"type":"integer"}},
            "parts":{{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["name"],
                "items":{{"type":"object","properties":{{"name":{{"type":"string"}},"color":{{"type":"string"}}}}}}}}}}}}}}}}"#
    );
    Structural::compile(&read(text.as_bytes()).unwrap(), read).unwrap()
}

impl Definition {
    fn new() -> Definition {
        Definition { one: compiled("size"), two: compiled("width") }
    }

    fn write<'a>(&'a self, manager: &'a str, version: &'a str) -> Write<'a> {
        const NONE: &Resets = &Resets::none();
        let of = TypeRef::custom(if version == "g/v1" { &self.one } else { &self.two });
        Write { of, manager, subresource: "", api_version: version, now: NOW, resets: NONE, converter: self }
    }

    fn updated(&self, manager: &str, version: &str, live: Option<&Value>, rest: &str) -> Value {
        let mut new = object(version, rest);
        if let Some(live) = live {
            let entries = live.at(&["metadata", "managedFields"]).unwrap().clone();
            new.metadata_mut().unwrap().insert("managedFields", entries);
        }
        update(&self.write(manager, version), live, &mut new).unwrap();
        new
    }
}

impl Converter for Definition {
    fn convert(
        &self,
        _: TypeRef<'_>,
        object: &Value,
        api_version: &str,
    ) -> Result<Option<(TypeRef<'_>, Value)>, String> {
        let (of, from, to) = match api_version {
            "g/v1" => (&self.one, "width", "size"),
            "g/v2" => (&self.two, "size", "width"),
            _ => return Ok(None),
        };
        let mut object = object.clone();
        if let Some(root) = object.as_object_mut() {
            root.insert("apiVersion", api_version);
            if let Some(spec) = root.get_mut("spec").and_then(Value::as_object_mut)
                && let Some(size) = spec.remove(from)
            {
                spec.insert(to, size);
            }
        }
        Ok(Some((TypeRef::custom(of), object)))
    }
}

fn object(version: &str, rest: &str) -> Value {
    let text =
        format!(r#"{{"kind":"Widget","apiVersion":"{version}","metadata":{{"name":"a","uid":"u"}},{rest}}}"#);
    json::decode_untyped(text.as_bytes()).unwrap().value
}

fn formatted(managed: &Managed) -> Vec<String> {
    let line = |(id, manager): (&Id, &Manager)| {
        let fields = String::from_utf8(manager.fields.to_json()).unwrap();
        format!("{} {} {fields}", id.manager, manager.api_version)
    };
    managed.managers.iter().map(line).collect()
}

#[test]
fn an_update_is_tracked_by_the_definitions_schema() {
    let definition = Definition::new();
    let first = r#""spec":{"size":1,"parts":[{"name":"p","color":"red"}]}"#;
    let live = definition.updated("me", "g/v1", None, first);
    let all = r#"{"f:spec":{".":{},"f:parts":{".":{},"k:{\"name\":\"p\"}":{".":{},"f:color":{},"f:name":{}}},"f:size":{}}}"#;
    assert_eq!(formatted(&Managed::of(&live).unwrap()), [format!("me g/v1 {all}")]);
    let second = r#""spec":{"size":1,"parts":[{"name":"q"},{"name":"p","color":"blue"}]}"#;
    let new = definition.updated("you", "g/v1", Some(&live), second);
    assert_eq!(
        formatted(&Managed::of(&new).unwrap()),
        [
            r#"me g/v1 {"f:spec":{".":{},"f:parts":{".":{},"k:{\"name\":\"p\"}":{".":{},"f:name":{}}},"f:size":{}}}"#,
            r#"you g/v1 {"f:spec":{"f:parts":{"k:{\"name\":\"p\"}":{"f:color":{}},"k:{\"name\":\"q\"}":{".":{},"f:name":{}}}}}"#,
        ]
    );
}

#[test]
fn fields_are_recorded_in_their_managers_version() {
    let definition = Definition::new();
    let live = definition.updated("me", "g/v1", None, r#""spec":{"size":1}"#);
    let (_, live) = definition.convert(TypeRef::Deduced, &live, "g/v2").unwrap().unwrap();
    let new = definition.updated("you", "g/v2", Some(&live), r#""spec":{"width":2}"#);
    assert_eq!(
        formatted(&Managed::of(&new).unwrap()),
        [r#"me g/v1 {"f:spec":{}}"#, r#"you g/v2 {"f:spec":{"f:width":{}}}"#]
    );
}

#[test]
fn an_apply_merges_conflicts_and_prunes() {
    let definition = Definition::new();
    let first = r#""spec":{"size":1,"parts":[{"name":"p","color":"red"}]}"#;
    let live = definition.updated("me", "g/v1", None, first);
    let config = |rest: &str| {
        let text = format!(r#"{{"kind":"Widget","apiVersion":"g/v1","metadata":{{"name":"a"}},{rest}}}"#);
        json::decode_untyped(text.as_bytes()).unwrap().value
    };
    let write = definition.write("you", "g/v1");
    let wanted = config(r#""spec":{"size":2,"parts":[{"name":"q","color":"x"}]}"#);
    let refused = apply(&write, &live, &wanted, false).unwrap_err();
    assert_eq!(
        refused.to_string(),
        r#"Apply failed with 1 conflict: conflict with "me" using g/v1: .spec.size"#
    );
    let applied = apply(&write, &live, &wanted, true).unwrap();
    let mut live = applied.object.unwrap();
    applied.managed.set(&mut live);
    assert_eq!(live.at(&["spec", "size"]).and_then(Value::as_i64), Some(2));
    assert_eq!(live.items_at(&["spec", "parts"]).len(), 2);
    let applied = apply(&write, &live, &config(r#""spec":{"size":2}"#), false).unwrap();
    assert_eq!(applied.object.unwrap().items_at(&["spec", "parts"]).len(), 1);
    assert_eq!(
        formatted(&applied.managed),
        [
            r#"me g/v1 {"f:spec":{".":{},"f:parts":{".":{},"k:{\"name\":\"p\"}":{".":{},"f:color":{},"f:name":{}}}}}"#,
            r#"you g/v1 {"f:spec":{"f:size":{}}}"#,
        ]
    );
    let unknown = apply(&write, &live, &config(r#""spec":{"depth":2}"#), false).unwrap_err();
    assert_eq!(
        unknown.to_string(),
        "failed to create typed patch object (/a; g/v1, Kind=Widget): .spec.depth: field not declared in schema"
    );
}
