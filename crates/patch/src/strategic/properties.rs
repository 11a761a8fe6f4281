//! A patch computed from two objects turns the first into the second.

use pintle_codec::unstructured::{from_typed, to_typed, to_typed_since};
use pintle_meta::value::{Key, Object};
use pintle_schema::find;
use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;
use proptest::sample::{Index, subsequence};

use super::lookup::{self, Found};
use super::*;

const NAMES: [&str; 5] = ["a", "b", "c", "d", "e"];

fn map(entries: Vec<(&str, Option<Value>)>) -> Value {
    let entries = entries.into_iter().filter_map(|(key, value)| Some((Key::new(key), value?)));
    Value::object(Object::from_unsorted(entries.collect()))
}

fn texts() -> impl Strategy<Value = Value> {
    prop_oneof![Just("x"), Just("y"), Just("")].prop_map(Value::literal)
}

fn plain_map() -> impl Strategy<Value = Value> {
    btree_map(prop_oneof![Just("k"), Just("l"), Just("m")], texts(), 0..3)
        .prop_map(|entries| Value::object(entries.into_iter().collect()))
}

/// Generates some of the names, in any order.
fn names() -> impl Strategy<Value = Vec<&'static str>> {
    subsequence(NAMES.to_vec(), 0..=5).prop_shuffle()
}

fn plain_list() -> impl Strategy<Value = Value> {
    names().prop_map(|names| Value::list(names.into_iter().map(Value::literal).collect()))
}

/// Generates items with distinct keys, in any order.
fn keyed(
    key: &'static str,
    numbers: bool,
    item: impl Strategy<Value = Value>,
) -> impl Strategy<Value = Value> {
    (names(), vec(item, 5)).prop_map(move |(names, items)| {
        let with_key = |(name, mut item): (&'static str, Value)| {
            let number = name.as_bytes().first().copied().map(i64::from).unwrap_or_default();
            let value = if numbers { number.into() } else { Value::literal(name) };
            item.as_object_mut().unwrap().insert(key, value);
            item
        };
        Value::list(names.into_iter().zip(items).map(with_key).collect())
    })
}

fn containers() -> impl Strategy<Value = Value> {
    let env = keyed("name", false, option::of(texts()).prop_map(|value| map(vec![("value", value)])));
    let port = option::of(texts()).prop_map(|name| map(vec![("name", name)]));
    let ports = keyed("containerPort", true, port);
    let container = (option::of(texts()), option::of(env), option::of(ports), option::of(plain_list()));
    let container = container.prop_map(|(image, env, ports, args)| {
        map(vec![("image", image), ("env", env), ("ports", ports), ("args", args)])
    });
    keyed("name", false, container)
}

fn volumes() -> impl Strategy<Value = Value> {
    let source =
        option::of(plain_map()).prop_map(|nothing| map(vec![("emptyDir", nothing.map(|_| map(vec![])))]));
    keyed("name", false, source)
}

pub(crate) fn pods() -> impl Strategy<Value = Value> {
    let metadata = (option::of(plain_map()), option::of(plain_list()));
    let metadata =
        metadata.prop_map(|(labels, finalizers)| map(vec![("labels", labels), ("finalizers", finalizers)]));
    let tolerations = option::of(texts()).prop_map(|key| Value::list(vec![map(vec![("key", key)])]));
    let context = (option::of(0i64..3), option::of(0i64..3)).prop_map(|(user, group)| {
        map(vec![("runAsUser", user.map(Value::from)), ("fsGroup", group.map(Value::from))])
    });
    let spec = (
        containers(),
        option::of(containers()),
        option::of(volumes()),
        option::of(plain_map()),
        option::of(tolerations),
        option::of(context),
    );
    let spec = spec.prop_map(|(containers, init, volumes, selector, tolerations, context)| {
        map(vec![
            ("containers", Some(containers)),
            ("initContainers", init),
            ("volumes", volumes),
            ("nodeSelector", selector),
            ("tolerations", tolerations),
            ("securityContext", context),
        ])
    });
    (metadata, spec)
        .prop_map(|(metadata, spec)| map(vec![("metadata", Some(metadata)), ("spec", Some(spec))]))
}

/// Computes a patch from one object to another, as clients do.
fn difference(of: Shape, old: &Value, new: &Value) -> Value {
    let (before, after) = (old.as_object().unwrap(), new.as_object().unwrap());
    let mut patch = Object::new();
    for key in before.keys().filter(|key| !after.contains(key)) {
        patch.insert(key, Value::NULL);
    }
    for (key, new) in after.iter() {
        let Some(old) = before.get(key) else {
            patch.insert(key, new.clone());
            continue;
        };
        match (old.node(), new.node()) {
            _ if old == new => {}
            (Node::Object(_), Node::Object(_)) => {
                let shape = lookup::object(of, key).unwrap().shape;
                patch.insert(key, difference(shape, old, new));
            }
            (Node::List(old), Node::List(items)) => {
                let found = lookup::list(of, key).unwrap();
                match (found.strategy, found.merge_key) {
                    ("merge", "") => plain_difference(key, old, items, &mut patch),
                    ("merge", _) => keyed_difference(key, old, items, &found, &mut patch),
                    _ => {
                        patch.insert(key, new.clone());
                    }
                }
            }
            _ => {
                patch.insert(key, new.clone());
            }
        }
    }
    Value::object(patch)
}

fn plain_difference(key: &str, old: &[Value], new: &[Value], patch: &mut Object) {
    let only = |these: &[Value], those: &[Value]| -> Value {
        Value::list(these.iter().filter(|item| !those.contains(item)).cloned().collect())
    };
    patch.insert(key, only(new, old));
    patch.insert(format!("$deleteFromPrimitiveList/{key}"), only(old, new));
    set_order(key, new.to_vec(), patch);
}

fn keyed_difference(key: &str, old: &[Value], new: &[Value], found: &Found, patch: &mut Object) {
    let merge_key = found.merge_key;
    let find = |items: &[Value], like: &Value| {
        items.iter().find(|item| item.get(merge_key) == like.get(merge_key)).cloned()
    };
    let key_only = |item: &Value| map(vec![(merge_key, item.get(merge_key).cloned())]);
    let mut changes = Vec::new();
    for item in new {
        let Some(old) = find(old, item) else {
            changes.push(item.clone());
            continue;
        };
        if old != *item {
            let mut change = difference(found.shape, &old, item);
            change.as_object_mut().unwrap().insert(merge_key, item.get(merge_key).cloned().unwrap());
            changes.push(change);
        }
    }
    for item in old.iter().filter(|item| find(new, item).is_none()) {
        let mut gone = key_only(item);
        gone.as_object_mut().unwrap().insert("$patch", "delete");
        changes.push(gone);
    }
    patch.insert(key, Value::list(changes));
    set_order(key, new.iter().map(key_only).collect(), patch);
}

/// No order is set for an empty list: it could not be applied twice.
fn set_order(key: &str, order: Vec<Value>, patch: &mut Object) {
    if !order.is_empty() {
        patch.insert(format!("$setElementOrder/{key}"), Value::list(order));
    }
}

fn pod() -> &'static Type {
    find("core/v1.Pod").unwrap()
}

fn patched(document: &Value, patch: &Value) -> Value {
    apply(pod(), document.clone(), &mut patch.clone()).unwrap()
}

proptest! {
    #[test]
    fn a_patch_of_two_objects_turns_the_first_into_the_second(old in pods(), new in pods()) {
        let patch = difference(Shape::Named(pod()), &old, &new);
        let result = patched(&old, &patch);
        prop_assert_eq!(&result, &new, "{:?}", patch);
        // And changes nothing more.
        prop_assert_eq!(&patched(&new, &patch), &new, "{:?}", patch);
        prop_assert!(difference(Shape::Named(pod()), &new, &new).as_object().unwrap().is_empty());
    }

    #[test]
    fn any_object_is_an_idempotent_patch(document in pods(), patch in pods()) {
        let once = patched(&document, &patch);
        prop_assert_eq!(&patched(&once, &patch), &once);
        prop_assert_eq!(&patched(&document, &document), &document);
    }

    #[test]
    fn a_replacement_keeps_no_field(document in pods(), mut patch in pods()) {
        let new = patch.clone();
        patch.as_object_mut().unwrap().insert("$patch", "replace");
        prop_assert_eq!(patched(&document, &patch), new);
    }

    #[test]
    fn typed_and_untyped_trees_are_patched_alike(
        document in pods(),
        patch in pods(),
        deleted in any::<Index>(),
    ) {
        let mut patch = patch;
        let items = patch.at_mut(&["spec", "containers"]).and_then(Value::as_list_mut).unwrap();
        if !items.is_empty() {
            let place = deleted.index(items.len());
            items[place].as_object_mut().unwrap().insert("$patch", "delete");
        }
        let plain = to_typed(pod(), &patched(&document, &patch)).unwrap();
        let before = to_typed(pod(), &document).unwrap().value;
        let after = patched(&before, &patch);
        prop_assert_eq!(&to_typed(pod(), &from_typed(&after)).unwrap().value, &plain.value);
        prop_assert_eq!(&to_typed_since(pod(), &after, &before).unwrap(), &plain);
        prop_assert_eq!(&to_typed(pod(), &after).unwrap(), &plain);
    }
}
