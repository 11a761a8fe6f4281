//! Tolerations.

use pintle_meta::field_path::Value as Printed;
use pintle_meta::quote;
use pintle_meta::validation::{decimal_integer, label_name, label_value};

use crate::framework::validation::Cursor;

/// Effects of taints, in the order in which errors list them.
pub(crate) const EFFECTS: &[&str] = &["NoSchedule", "PreferNoSchedule", "NoExecute"];

/// Checks tolerations. `allow_comparison` is about the operators `Lt` and `Gt`.
pub(crate) fn tolerations(tolerations: &Cursor<'_, '_>, allow_comparison: bool) {
    tolerations.each(|toleration| check(toleration, allow_comparison));
}

fn check(toleration: &Cursor<'_, '_>, allow_comparison: bool) {
    let (key, operator) = (toleration.field("key"), toleration.field("operator"));
    let (value, effect) = (toleration.field("value"), toleration.field("effect"));
    if !key.is_empty() {
        key.text_check(label_name);
    } else if operator.text() != "Exists" {
        operator.invalid(
            Printed::json(operator.text()),
            "operator must be Exists when `key` is empty, which means \"match all values and all keys\"",
        );
    }
    if toleration.field("tolerationSeconds").is_set() && effect.text() != "NoExecute" {
        effect.invalid(
            Printed::json(effect.text()),
            "effect must be 'NoExecute' when `tolerationSeconds` is set",
        );
    }
    match operator.text() {
        "Equal" | "" => {
            let wrong = label_value(value.text());
            if !wrong.is_empty() {
                operator.invalid(value.text(), wrong.join(";"));
            }
        }
        "Exists" if !value.is_empty() => {
            operator.invalid(value.text(), "value must be empty when `operator` is 'Exists'");
        }
        "Exists" => {}
        other @ ("Lt" | "Gt") if !allow_comparison => {
            operator.not_supported(Printed::json(other), &["Equal", "Exists", "Lt", "Gt"]);
        }
        "Lt" | "Gt" => {
            value.text_format(decimal_integer);
            if let Err(why) = parse_int64(value.text()) {
                value.invalid(value.text(), why);
            }
        }
        other => operator.not_supported(Printed::json(other), &["Equal", "Exists"]),
    }
    if !effect.is_empty() {
        effect.one_of(EFFECTS);
    }
}

/// Parses an integer of 64 bits; the error is Go's.
pub(crate) fn parse_int64(text: &str) -> Result<i64, String> {
    text.parse().map_err(|_| {
        let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
        let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        let why = if is_number { "value out of range" } else { "invalid syntax" };
        format!("strconv.ParseInt: parsing {}: {why}", quote(text))
    })
}

#[cfg(test)]
mod tests;
