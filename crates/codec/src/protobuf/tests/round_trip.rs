//! Recognition of trees that survive encoding.

use pintle_meta::value::Key;
use pintle_meta::{Node, Value};
use pintle_schema::Type;

use super::super::{decode, encode, envelope, round_trips};
use super::upstream;
use crate::json;

/// Returns `None` if the object cannot be encoded.
fn again(of: &'static Type, object: &Value) -> Option<Value> {
    let mut message = Vec::new();
    encode(of, object, &mut message).ok()?;
    Some(decode(of, &message).unwrap())
}

fn tree(of: &'static Type, text: &str) -> Value {
    json::decode(of, text.as_bytes()).unwrap().value
}

#[test]
fn an_ordinary_object_round_trips() {
    let of = pintle_schema::find("core/v1.Pod").unwrap();
    let pod = r#"{"metadata":{"name":"a","labels":{"b":"c"},"creationTimestamp":"2026-01-02T03:04:05Z","managedFields":[
        {"manager":"m","operation":"Update","fieldsType":"FieldsV1","fieldsV1":{"f:spec":{}}}]},
        "spec":{"containers":[{"name":"c","image":"i","resources":{"limits":{"cpu":"1"}},
        "livenessProbe":{"httpGet":{"port":80,"path":"/"}}}],"terminationGracePeriodSeconds":0},
        "status":{"conditions":[{"type":"Ready","status":"True","lastProbeTime":null,"lastTransitionTime":null}]}}"#;
    let pod = tree(of, pod);
    assert!(round_trips(of, &pod));
    assert_eq!(again(of, &pod), Some(pod));
}

#[test]
fn values_that_protobuf_cannot_represent_do_not_round_trip() {
    for (of, text) in [
        ("core/v1.Pod", r#"{"spec":{"containers":[]}}"#),
        ("core/v1.Secret", r#"{"data":{"a":""}}"#),
        ("rbac/v1.ClusterRole", r#"{"rules":[]}"#),
    ] {
        let of = pintle_schema::find(of).unwrap();
        assert!(!round_trips(of, &tree(of, text)), "{text}");
    }
}

/// Visits trees with one change each.
fn each_change(value: &Value, see: &mut dyn FnMut(Value)) {
    for other in [Value::NULL, Value::list(Vec::new()), "".into(), 0i64.into(), false.into()] {
        see(other);
    }
    match value.node() {
        Node::Object(object) => {
            let names: Vec<Key> = object.iter().map(|(name, _)| Key::new(name)).collect();
            for name in names {
                let with = |to: Option<Value>| {
                    let mut changed = value.clone();
                    let object = changed.as_object_mut().unwrap();
                    if let Some(to) = to {
                        object.insert(name.clone(), to);
                    } else {
                        object.remove(&name);
                    }
                    changed
                };
                see(with(None));
                each_change(object.get(&name).unwrap(), &mut |part| see(with(Some(part))));
            }
        }
        Node::List(items) => {
            if let Some(first) = items.first() {
                each_change(first, &mut |part| see(Value::list(vec![part])));
            }
        }
        _ => {}
    }
}

#[test]
fn trees_recognized_as_round_tripping_do() {
    let (mut whole, mut kept, mut all) = (0, 0, 0);
    for (number, (name, document)) in upstream::documents().into_iter().enumerate() {
        let envelope = envelope::open(&document).unwrap();
        let Some(of) = upstream::kind(envelope.api_version, envelope.kind) else { continue };
        let Ok(object) = decode(of, envelope.raw) else { continue };
        whole += usize::from(round_trips(of, &object));
        // Large documents take long.
        if number % 7 != 0 && document.len() > 4096 {
            continue;
        }
        each_change(&object, &mut |changed| {
            all += 1;
            if round_trips(of, &changed)
                && let Some(again) = again(of, &changed)
            {
                kept += 1;
                assert_eq!(again, changed, "{name}");
            }
        });
    }
    if upstream::folder().is_some() {
        assert!(
            whole > 500 && kept > 1000 && all > 10 * kept / 9,
            "{whole} of documents, {kept} of {all} changes"
        );
    }
}
