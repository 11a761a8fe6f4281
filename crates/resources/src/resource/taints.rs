//! Taints of devices and the tolerations of requests.

use pintle_meta::validation::{label_value, qualified_name};

use crate::framework::validation::Cursor;

const EFFECTS: &[&str] = &["NoExecute", "NoSchedule", "None"];

/// Checks a taint. An effect that an update leaves as it was is not checked.
pub(super) fn taint(taint: &Cursor<'_, '_>) {
    taint.field("key").text_format(qualified_name);
    let value = taint.field("value");
    if !value.is_empty() {
        value.text_format(label_value);
    }
    let effect = taint.field("effect");
    if !taint.has_old() || effect.changed() {
        effect.required_one_of(EFFECTS);
    }
}

/// Checks a toleration.
pub(super) fn toleration(toleration: &Cursor<'_, '_>) {
    let (key, value) = (toleration.field("key"), toleration.field("value"));
    let (operator, effect) = (toleration.field("operator"), toleration.field("effect"));
    if !key.is_empty() {
        key.text_format(qualified_name);
    }
    match operator.text() {
        "Exists" if !value.is_empty() => value.invalid(value.text(), "must be empty for operator `Exists`"),
        "Exists" => {}
        "Equal" => value.text_format(label_value),
        _ => operator.one_of(&["Equal", "Exists"]),
    }
    if !effect.is_empty() {
        effect.one_of(EFFECTS);
    }
}
