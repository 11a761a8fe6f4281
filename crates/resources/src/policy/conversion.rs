//! Versions of disruption budgets: an empty selector selects nothing in `v1beta1` and everything in `v1`.

use pintle_meta::value::Key;
use pintle_meta::{Object, Value};

use crate::framework::conversion::{Error, Fields, Fix, Pair, build, with};

pub(crate) const PAIRS: &[Pair] =
    &[Pair::new("policy/v1beta1.PodDisruptionBudget", "policy/v1.PodDisruptionBudget")
        .inward(inward)
        .outward(outward)];

pub(crate) const FIXES: &[Fix] = &[Fix::new("policy/v1.PodDisruptionBudget").change(strip)];

/// Says what the other version cannot say with an empty selector.
const LABEL: &str = "pdb.kubernetes.io/deprecated-v1beta1-empty-selector-match";
const NOTHING: &str = "Exists";
const EVERYTHING: &str = "DoesNotExist";

fn inward(value: &Value, out: &mut Fields) -> Result<(), Error> {
    let Some(selector) = value.at(&["spec", "selector"]) else { return Ok(()) };
    let new = if is_empty(selector) {
        Some(only(NOTHING))
    } else if is_only(selector, EVERYTHING) {
        Some(empty())
    } else {
        stripped(selector)
    };
    replace(out, new);
    Ok(())
}

fn outward(value: &Value, out: &mut Fields) -> Result<(), Error> {
    let Some(selector) = value.at(&["spec", "selector"]) else { return Ok(()) };
    if is_only(selector, NOTHING) {
        replace(out, Some(empty()));
    } else if is_empty(selector) {
        replace(out, Some(only(EVERYTHING)));
    }
    Ok(())
}

/// The label never stands beside what users have selected.
fn strip(value: &Value) -> Result<Option<Value>, Error> {
    let (Some(spec), Some(selector)) = (value.get("spec"), value.at(&["spec", "selector"])) else {
        return Ok(None);
    };
    if is_empty(selector) || is_only(selector, NOTHING) {
        return Ok(None);
    }
    Ok(stripped(selector).map(|selector| with(value, "spec", with(spec, "selector", selector))))
}

fn replace(out: &mut Fields, selector: Option<Value>) {
    if let (Some(selector), Some(spec)) = (selector, out.get_mut("spec").and_then(Value::as_object_mut)) {
        spec.insert(Key::new_static("selector"), selector);
    }
}

fn is_empty(selector: &Value) -> bool {
    selector.as_object().is_some_and(Object::is_empty)
}

/// Whether the selector is the label and nothing else.
fn is_only(selector: &Value, operator: &str) -> bool {
    selector.get("matchLabels").is_none()
        && matches!(selector.items_at(&["matchExpressions"]), [one] if one.text_at(&["key"]) == LABEL
            && one.text_at(&["operator"]) == operator && one.get("values").is_none())
}

fn stripped(selector: &Value) -> Option<Value> {
    let expressions = selector.items_at(&["matchExpressions"]);
    let left: Vec<Value> = expressions.iter().filter(|one| one.text_at(&["key"]) != LABEL).cloned().collect();
    if left.len() == expressions.len() {
        return None;
    }
    if !left.is_empty() {
        return Some(with(selector, "matchExpressions", left));
    }
    let mut selector = selector.clone();
    selector.as_object_mut()?.remove("matchExpressions");
    Some(selector)
}

fn empty() -> Value {
    build("meta/v1.LabelSelector", [])
}

fn only(operator: &'static str) -> Value {
    let requirement = build(
        "meta/v1.LabelSelectorRequirement",
        [("key", Some(Value::literal(LABEL))), ("operator", Some(Value::literal(operator)))],
    );
    build("meta/v1.LabelSelector", [("matchExpressions", Some(vec![requirement].into()))])
}
