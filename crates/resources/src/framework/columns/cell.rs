//! What cells are made of: reading fields that may be absent, and the ways that values are shown.

use std::collections::BTreeSet;

use pintle_meta::selector::LabelSelector;
use pintle_meta::time::{Time, human_duration};
use pintle_meta::{Object, Value};

use super::Context;

pub(crate) const NONE: &str = "<none>";
pub(crate) const UNKNOWN: &str = "<unknown>";
pub(crate) const UNSET: &str = "<unset>";

impl Context {
    /// How long ago a time was that may be absent or null.
    pub(crate) fn since(&self, time: Option<&Value>) -> String {
        self.since_time(&self::time(time))
    }

    pub(crate) fn since_time(&self, time: &Time) -> String {
        match time.is_zero() {
            true => UNKNOWN.into(),
            false => human_duration(self.now.nanos_since(time)),
        }
    }

    pub(crate) fn age(&self, object: &Value) -> Value {
        self.since(object.at(&["metadata", "creationTimestamp"])).into()
    }
}

/// The cells of a kind that has nothing to show but its name and its age.
pub(crate) fn name_and_age(object: &Value, context: &Context, cells: &mut Vec<Value>) {
    cells.extend([name(object), context.age(object)]);
}

/// A time that may be absent or null; seconds or finer.
pub(crate) fn time(value: Option<&Value>) -> Time {
    value.and_then(Value::as_str).and_then(|text| Time::parse(text).ok()).unwrap_or_default()
}

pub(crate) fn name(object: &Value) -> Value {
    text(object, &["metadata", "name"])
}

/// A string; empty if it is absent.
pub(crate) fn text(object: &Value, path: &[&str]) -> Value {
    text_or(object, path, "")
}

/// A string, or what stands for its absence. An empty one is there.
pub(crate) fn text_or(object: &Value, path: &[&str], absent: &'static str) -> Value {
    let found = object.at(path).filter(|value| value.as_str().is_some());
    found.cloned().unwrap_or_else(|| Value::literal(absent))
}

/// A string, or what stands for none and for an empty one.
pub(crate) fn text_unless_empty(object: &Value, path: &[&str], empty: &'static str) -> Value {
    match object.text_at(path) {
        "" => Value::literal(empty),
        _ => text(object, path),
    }
}

/// A number; 0 if it is absent.
pub(crate) fn int(object: &Value, path: &[&str]) -> i64 {
    object.at(path).and_then(Value::as_i64).unwrap_or_default()
}

pub(crate) fn flag(object: &Value, path: &[&str], absent: bool) -> bool {
    object.at(path).and_then(Value::as_bool).unwrap_or(absent)
}

/// Whether a field that may be null is there.
pub(crate) fn has(object: &Value, path: &[&str]) -> bool {
    object.at(path).is_some_and(|value| !value.is_null())
}

/// How many items or entries there are.
pub(crate) fn count(object: &Value, path: &[&str]) -> i64 {
    let found = object.at(path);
    let items = found.and_then(Value::as_list).map(<[Value]>::len);
    items.or_else(|| found.and_then(Value::as_object).map(Object::len)).unwrap_or_default() as i64
}

/// A quantity; 0 if it is absent.
pub(crate) fn quantity<'a>(object: &'a Value, path: &[&str]) -> &'a str {
    match object.text_at(path) {
        "" => "0",
        found => found,
    }
}

/// The strings of a list.
pub(crate) fn texts<'a>(object: &'a Value, path: &[&str]) -> impl Iterator<Item = &'a str> {
    object.items_at(path).iter().filter_map(Value::as_str)
}

/// The names and images of the containers of a pod specification.
pub(crate) fn containers(object: &Value, spec: &[&str]) -> [Value; 2] {
    let containers = object.at(spec).map(|spec| spec.items_at(&["containers"])).unwrap_or_default();
    let all = |field: &str| {
        let texts: Vec<&str> = containers.iter().map(|container| container.text_at(&[field])).collect();
        Value::from(texts.join(","))
    };
    [all("name"), all("image")]
}

/// Labels as one text. The reference sorts whole pairs, so that `a-b=1` stands before `a=1`.
pub(crate) fn labels(object: &Value, path: &[&str]) -> Value {
    let entries = object.at(path).and_then(Value::as_object).into_iter().flat_map(Object::iter);
    let pairs = entries.map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or_default()));
    let mut pairs: Vec<String> = pairs.collect();
    if pairs.is_empty() {
        return Value::literal(NONE);
    }
    pairs.sort_unstable();
    pairs.join(",").into()
}

/// A label selector as one text.
pub(crate) fn selector(object: &Value, path: &[&str]) -> Value {
    match label_selector(object, path) {
        None => Value::literal(NONE),
        Some(selector) => selector.format().into(),
    }
}

pub(crate) fn label_selector(object: &Value, path: &[&str]) -> Option<LabelSelector> {
    object.at(path).filter(|value| !value.is_null())?.view().ok()
}

/// Whether the first condition of a type has a status.
pub(crate) fn has_condition(conditions: &[Value], kind: &str, status: &str) -> bool {
    let first = conditions.iter().find(|condition| condition.text_at(&["type"]) == kind);
    first.is_some_and(|condition| condition.text_at(&["status"]) == status)
}

/// The first few of many texts, and how many more there are.
pub(crate) fn first_of<S: AsRef<str>>(texts: impl Iterator<Item = S>, most: usize) -> String {
    let (mut shown, mut count) = (String::new(), 0);
    for text in texts {
        if count < most {
            if count > 0 {
                shown.push(',');
            }
            shown.push_str(text.as_ref());
        }
        count += 1;
    }
    match () {
        () if count > most => format!("{shown} + {} more...", count - most),
        () if shown.is_empty() => UNSET.into(),
        () => shown,
    }
}

/// The addresses or names of a load balancer.
pub(crate) fn load_balancer(object: &Value) -> String {
    let points = object.items_at(&["status", "loadBalancer", "ingress"]).iter();
    let points: BTreeSet<&str> = points
        .map(|point| match point.text_at(&["ip"]) {
            "" => point.text_at(&["hostname"]),
            ip => ip,
        })
        .filter(|point| !point.is_empty())
        .collect();
    points.into_iter().collect::<Vec<_>>().join(",")
}

/// As Go's `strings.ToLower`: each character by itself.
pub(crate) fn lower(text: &str) -> String {
    text.chars().map(|c| c.to_lowercase().next().unwrap_or(c)).collect()
}
