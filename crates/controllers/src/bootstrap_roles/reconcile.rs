//! Adds the rules and subjects that a role or binding lacks. Additional ones are an administrator's choice and stay.

use pintle_auth::authorizer::rbac::{Rule, uncovered};
use pintle_meta::Value;
use pintle_meta::value::Object;
use pintle_registry::Result;

use pintle_registry::Client;

/// The annotation that exempts an object from reconciliation if it is `false`.
const AUTO_UPDATE: &str = "rbac.authorization.kubernetes.io/autoupdate";

pub(super) enum Outcome {
    /// Nothing is missing.
    Same,
    /// Something is, and is to stay so.
    Protected,
    Changed(Value),
    /// A binding is to another role, which cannot be changed.
    Replaced,
}

pub(super) fn reconciled(found: &Value, wanted: &Value, objects: &Client) -> Result<Outcome> {
    let mut new = found.clone();
    let mut is_changed = false;
    let mut is_replaced = false;
    for field in ["annotations", "labels"] {
        is_changed |= add_missing_keys(&mut new, wanted, field);
    }
    if wanted.get("roleRef").is_some() {
        is_replaced = ["apiGroup", "kind", "name"]
            .iter()
            .any(|field| found.text_at(&["roleRef", field]) != wanted.text_at(&["roleRef", field]));
        is_changed |= add_missing_items(&mut new, wanted, &["subjects"], is_same_subject);
    } else {
        is_changed |= add_missing_rules(&mut new, wanted, objects)?;
        is_changed |= reconcile_aggregation(&mut new, wanted);
    }
    let is_protected = found.annotation(AUTO_UPDATE) == Some("false");
    Ok(match (is_changed || is_replaced, is_protected, is_replaced) {
        (false, ..) => Outcome::Same,
        (_, true, _) => Outcome::Protected,
        (_, _, true) => Outcome::Replaced,
        _ => Outcome::Changed(new),
    })
}

/// Adds labels or annotations. Those that are there keep their values.
fn add_missing_keys(new: &mut Value, wanted: &Value, field: &'static str) -> bool {
    let Some(wanted) = wanted.at(&["metadata", field]).and_then(Value::as_object) else { return false };
    let has = |key: &str| new.at(&["metadata", field]).is_some_and(|map| map.get(key).is_some());
    let missing: Vec<_> = wanted.iter().filter(|(key, _)| !has(key)).collect();
    if missing.is_empty() {
        return false;
    }
    let map = new.metadata_mut().map(|metadata| {
        let map = metadata.get_or_insert_with(field, || Value::object(Object::default()));
        if map.is_null() {
            *map = Value::object(Object::default());
        }
        map
    });
    let Some(map) = map.and_then(Value::as_object_mut) else { return false };
    for (key, value) in missing {
        map.insert(key.to_owned(), value.clone());
    }
    true
}

/// Adds to a list what it has nothing like.
fn add_missing_items(
    new: &mut Value,
    wanted: &Value,
    path: &[&'static str],
    is_same: fn(&Value, &Value) -> bool,
) -> bool {
    let mut items = new.items_at(path).to_vec();
    let before = items.len();
    for item in wanted.items_at(path) {
        if !items.iter().any(|own| is_same(own, item)) {
            items.push(item.clone());
        }
    }
    if items.len() == before {
        return false;
    }
    set(new, path, wanted, Value::list(items))
}

/// Sets a field; what leads there is as in `wanted` where it is not there yet.
fn set(new: &mut Value, path: &[&'static str], wanted: &Value, value: Value) -> bool {
    let Some(object) = new.as_object_mut() else { return false };
    match path {
        [] => false,
        [field] => {
            object.insert(*field, value);
            true
        }
        [field, rest @ ..] => {
            let Some(wanted) = wanted.get(field) else { return false };
            if object.get(field).is_none_or(Value::is_null) {
                object.insert(*field, wanted.clone());
            }
            object.get_mut(field).is_some_and(|inner| set(inner, rest, wanted, value))
        }
    }
}

fn is_same_subject(a: &Value, b: &Value) -> bool {
    ["kind", "apiGroup", "name", "namespace"].iter().all(|field| a.text_at(&[field]) == b.text_at(&[field]))
}

fn add_missing_rules(new: &mut Value, wanted: &Value, objects: &Client) -> Result<bool> {
    let (own, wanted) = (Rule::read_all(new), Rule::read_all(wanted));
    // Mostly nothing was changed, and the rules need not be broken down.
    if wanted.iter().all(|rule| own.contains(rule)) {
        return Ok(false);
    }
    let missing = uncovered(&own.iter().collect::<Vec<_>>(), &wanted);
    if missing.is_empty() {
        return Ok(false);
    }
    let mut text = format!(r#"{{"kind":"{}","apiVersion":"{}","rules":["#, new.kind(), new.api_version());
    let mut rules = Vec::new();
    for (place, rule) in missing.iter().enumerate() {
        if place > 0 {
            rules.push(b',');
        }
        rule.write_json(&mut rules);
    }
    text.push_str(&String::from_utf8_lossy(&rules));
    text.push_str("]}");
    let read = objects.read(text.as_bytes())?;
    let rules = [new.items_at(&["rules"]), read.items_at(&["rules"])].concat();
    if let Some(object) = new.as_object_mut() {
        object.insert("rules", Value::list(rules));
    }
    Ok(true)
}

/// A role that should not be an aggregate is none; one that should gathers at least from where it should.
fn reconcile_aggregation(new: &mut Value, wanted: &Value) -> bool {
    const FIELD: &str = "aggregationRule";
    let is_there = |object: &Value| object.get(FIELD).is_some_and(|rule| !rule.is_null());
    match (is_there(wanted), is_there(new)) {
        (false, false) => false,
        (false, true) => {
            new.as_object_mut().map(|object| object.remove(FIELD));
            true
        }
        _ => add_missing_items(new, wanted, &[FIELD, "clusterRoleSelectors"], |a, b| a == b),
    }
}
