//! Properties of every apply.

use std::collections::BTreeMap;

use pintle_codec::{json, unstructured};
use pintle_meta::Value;
use pintle_schema::find;
use proptest::prelude::*;
use serde_json::{Value as Json, json};

use super::*;
use crate::typed::{self, TypeRef};

fn of() -> TypeRef<'static> {
    find("core/v1.Pod").unwrap().into()
}

fn empty() -> Value {
    json::decode(find("core/v1.Pod").unwrap(), br#"{"kind":"Pod","apiVersion":"v1"}"#).unwrap().value
}

fn attempt(live: &Value, manager: &str, config: &Json, force: bool) -> Result<Value, Refusal> {
    let mut config = config.clone();
    config["kind"] = "Pod".into();
    config["apiVersion"] = "v1".into();
    config["metadata"]["name"] = "a".into();
    let config = json::decode_untyped(config.to_string().as_bytes()).unwrap().value;
    let converter = SameShape { of: of(), api_versions: &["v1"] };
    let write = Write {
        of: of(),
        manager,
        subresource: "",
        api_version: "v1",
        now: "2026-01-02T03:04:05Z",
        resets: &Resets::none(),
        converter: &converter,
    };
    let applied = apply(&write, live, &config, force)?;
    let mut new = applied.object.unwrap_or_else(|| live.clone());
    new.metadata_mut().unwrap().insert("uid", "u");
    applied.managed.set(&mut new);
    // The result is in normal form.
    let again = unstructured::to_typed(find("core/v1.Pod").unwrap(), &new).unwrap().value;
    assert!(again.is_same(&new), "{new:?}");
    Ok(new)
}

/// Checks that fields and values are equal in any order, and managers except for their times.
fn assert_same(a: &Value, b: &Value) {
    let without = |object: &Value| {
        let mut object = object.clone();
        object.metadata_mut().unwrap().remove("managedFields");
        object
    };
    let changes = typed::compare(of(), &without(a), &without(b)).unwrap();
    assert!(changes.is_same(), "{changes:?}");
    let managers = |object: &Value| {
        let all = Managed::of(object).unwrap().managers;
        all.into_iter().map(|(id, manager)| (id, manager.fields)).collect::<BTreeMap<_, _>>()
    };
    assert_eq!(managers(a), managers(b));
}

fn entries(keys: &'static str) -> impl Strategy<Value = Json> {
    prop::collection::btree_map(keys, "[0-2]", 0..4).prop_map(|map| json!(map))
}

/// Generates a part of a pod, with keys from a set of letters.
fn config(keys: &'static str) -> impl Strategy<Value = Json> {
    let ports = prop::collection::btree_map(1..4i64, "[0-2]", 0..3).prop_map(|ports| {
        let ports = ports.into_iter().map(|(port, name)| json!({"containerPort": port, "name": name}));
        Json::Array(ports.collect())
    });
    let container =
        (proptest::option::of("[0-2]"), proptest::option::of(Just(true)), ports, entries("[a-c]"));
    let containers = prop::collection::btree_map(keys, container, 0..3).prop_map(|all| {
        let item =
            |(name, (image, tty, ports, limits)): (String, (Option<String>, Option<bool>, Json, Json))| {
                let mut item = json!({"name": name});
                if let Some(image) = image {
                    item["image"] = image.into();
                }
                if let Some(tty) = tty {
                    item["tty"] = tty.into();
                }
                if ports.as_array().is_some_and(|ports| !ports.is_empty()) {
                    item["ports"] = ports;
                }
                if limits.as_object().is_some_and(|limits| !limits.is_empty()) {
                    item["resources"] = json!({"limits": limits});
                }
                item
            };
        all.into_iter().map(item).collect::<Vec<_>>()
    });
    let finalizers = prop::collection::btree_set(keys, 0..4)
        .prop_map(|all| all.into_iter().map(Json::from).collect::<Vec<_>>());
    (entries(keys), finalizers.prop_shuffle(), containers.prop_shuffle(), any::<[bool; 3]>()).prop_map(
        |(labels, finalizers, containers, has)| {
            let mut config = json!({"metadata": {}});
            // Applying an empty map owns it as a whole, which conflicts with others.
            if has[0] && labels.as_object().is_some_and(|labels| !labels.is_empty()) {
                config["metadata"]["labels"] = labels;
            }
            if has[1] && !finalizers.is_empty() {
                config["metadata"]["finalizers"] = finalizers.into();
            }
            if has[2] && !containers.is_empty() {
                config["spec"] = json!({"containers": containers});
            }
            config
        },
    )
}

/// Generates an object that several managers applied to, and that may have untracked changes.
fn object() -> impl Strategy<Value = Value> {
    let applies = prop::collection::vec(("[m-o]", config("[a-d]")), 0..5);
    applies.prop_map(|applies| {
        applies.iter().fold(empty(), |live, (manager, config)| attempt(&live, manager, config, true).unwrap())
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 192, ..ProptestConfig::default() })]

    #[test]
    fn applying_again_changes_nothing(live in object(), config in config("[a-d]")) {
        let once = attempt(&live, "x", &config, true).unwrap();
        let twice = attempt(&once, "x", &config, false).unwrap();
        prop_assert_eq!(once, twice);
    }

    #[test]
    fn applied_fields_exist(live in object(), config in config("[a-d]")) {
        let new = attempt(&live, "x", &config, true).unwrap();
        let config = json::decode_untyped(config.to_string().as_bytes()).unwrap().value;
        let merged = typed::merge(of(), &new, &config).unwrap();
        prop_assert!(typed::compare(of(), &new, &merged).unwrap().is_same());
        // Every owned field exists.
        let present = typed::with_named(of(), &typed::to_field_set(of(), &new).unwrap());
        for manager in Managed::of(&new).unwrap().managers.into_values() {
            prop_assert!(manager.fields.is_subset(&present), "{:?} {:?}", manager.fields, present);
        }
    }

    #[test]
    fn applying_and_removing_leaves_the_others_fields_untouched(live in object(), config in config("[a-d]")) {
        let Ok(with) = attempt(&live, "x", &config, false) else { return Ok(()) };
        let without = attempt(&with, "x", &json!({}), false).unwrap();
        let mut live = live;
        live.metadata_mut().unwrap().insert("uid", "u");
        live.metadata_mut().unwrap().insert("name", "a");
        assert_same(&live, &without);
    }

    #[test]
    fn disjoint_configurations_commute(live in object(), a in config("[e-g]"), b in config("[h-j]")) {
        let x_first = attempt(&attempt(&live, "x", &a, false).unwrap(), "y", &b, false).unwrap();
        let y_first = attempt(&attempt(&live, "y", &b, false).unwrap(), "x", &a, false).unwrap();
        assert_same(&x_first, &y_first);
    }

    #[test]
    fn a_conflict_is_with_a_manager_of_another_value(live in object(), config in config("[a-d]")) {
        if let Err(refusal) = attempt(&live, "x", &config, false) {
            let Refusal::Conflicts(conflicts) = refusal else { panic!("{refusal}") };
            prop_assert!(!conflicts.is_empty());
            let forced = attempt(&live, "x", &config, true).unwrap();
            prop_assert!(attempt(&forced, "x", &config, false).is_ok());
        }
    }
}
