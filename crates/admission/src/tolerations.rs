//! Union of two lists of tolerations, and comparison with a list of allowed ones.

use pintle_meta::Value;

/// Returns the tolerations of both lists without those that another one covers. Of equal tolerations the first stays.
pub(crate) fn merge(first: &[Value], second: &[Value]) -> Vec<Value> {
    let all: Vec<&Value> = first.iter().chain(second).collect();
    let mut merged: Vec<Value> = Vec::new();
    for (index, &toleration) in all.iter().enumerate() {
        let is_covered = merged.iter().any(|earlier| covers(earlier, toleration));
        let mut later = all[index + 1..].iter();
        if !is_covered && !later.any(|&later| later != toleration && covers(later, toleration)) {
            merged.push(toleration.clone());
        }
    }
    merged
}

/// Reports whether each toleration is covered by one of `allowed`.
pub(crate) fn are_allowed(tolerations: &[Value], allowed: &[Value]) -> bool {
    tolerations.iter().all(|toleration| allowed.iter().any(|wide| covers(wide, toleration)))
}

/// Reports whether `wide` tolerates every taint that `narrow` tolerates, for at least as long, by the reference's rules: it takes
/// a toleration for covered by one with the operator `Equal` only if its own operator is spelled out, and by one with an
/// operator for numbers only if it is the same.
fn covers(wide: &Value, narrow: &Value) -> bool {
    if wide == narrow {
        return true;
    }
    let of = |field: &str| (wide.text_at(&[field]), narrow.text_at(&[field]));
    let (key, narrow_key) = of("key");
    let (operator, narrow_operator) = of("operator");
    let (effect, narrow_effect) = of("effect");
    // The empty key with `Exists` is for all keys, and the empty effect for all effects.
    let has_key = key == narrow_key || (key.is_empty() && operator == "Exists");
    let has_effect = effect == narrow_effect || effect.is_empty();
    let seconds = |toleration: &Value| toleration.get("tolerationSeconds").and_then(Value::as_i64);
    let is_shorter = effect == "NoExecute"
        && seconds(wide).is_some_and(|most| seconds(narrow).is_none_or(|wanted| wanted > most));
    if !has_key || !has_effect || is_shorter {
        return false;
    }
    match operator {
        "" | "Equal" => narrow_operator == "Equal" && wide.text_at(&["value"]) == narrow.text_at(&["value"]),
        "Exists" => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{decoded, text};

    /// Merges lists of tolerations written as `key operator value effect seconds`, with `-` for an empty field.
    fn check(first: &[&str], second: &[&str], expected: &[&str]) {
        let tolerations =
            |lines: &[&str]| -> Vec<Value> { lines.iter().map(|line| toleration(line)).collect() };
        let merged = merge(&tolerations(first), &tolerations(second));
        let shown = |tolerations: Vec<Value>| tolerations.iter().map(text).collect::<Vec<_>>();
        assert_eq!(shown(merged), shown(tolerations(expected)), "{first:?} and {second:?}");
    }

    fn toleration(line: &str) -> Value {
        let names = ["key", "operator", "value", "effect", "tolerationSeconds"];
        let fields = names.iter().zip(line.split(' ')).filter(|(_, value)| *value != "-");
        let fields = fields.map(|(name, value)| match *name {
            "tolerationSeconds" => format!(r#""{name}":{value}"#),
            _ => format!(r#""{name}":"{value}""#),
        });
        let json = format!("{{{}}}", fields.collect::<Vec<_>>().join(","));
        decoded("core/v1.Toleration", &json)
    }

    #[test]
    fn different_tolerations_are_all_kept_in_order() {
        check(&[], &[], &[]);
        check(&["b Exists - -"], &[], &["b Exists - -"]);
        check(&["b Exists - -"], &["a Exists - -"], &["b Exists - -", "a Exists - -"]);
        check(&["a Equal 1 -"], &["a Equal 2 -"], &["a Equal 1 -", "a Equal 2 -"]);
        let effects = ["a Exists - NoSchedule", "a Exists - NoExecute"];
        check(&effects[..1], &effects[1..], &effects);
        // Numbers are compared by no toleration but the same.
        let numbers = ["a Gt 5 NoSchedule", "a Gt 6 NoSchedule"];
        check(&numbers, &numbers, &numbers);
    }

    #[test]
    fn covered_tolerations_are_left_out() {
        let all = "- Exists - -";
        check(&[all], &["a Equal 1 NoSchedule", "b Exists - NoExecute 5"], &[all]);
        check(&["a Equal 1 NoSchedule", "b Exists - NoExecute 5"], &[all], &[all]);
        check(&["a Equal 1 NoSchedule"], &["a Exists - NoSchedule"], &["a Exists - NoSchedule"]);
        check(&["a Equal 1 NoSchedule"], &["a Equal 1 -"], &["a Equal 1 -"]);
        check(&["a Equal 1 NoSchedule"], &["a - 1 -"], &["a - 1 -"]);
        check(&["a Gt 5 -"], &["a Exists - -"], &["a Exists - -"]);
        // Within one list too.
        check(&["a Exists - -", "a Exists - -", "a Equal 1 -"], &[], &["a Exists - -"]);
        // An operator that is left out is not taken for `Equal`.
        check(&["a - 1 NoSchedule"], &["a Equal 1 -"], &["a - 1 NoSchedule", "a Equal 1 -"]);
    }

    #[test]
    fn a_longer_toleration_covers_a_shorter_one() {
        let (short, long, forever) =
            ("a Exists - NoExecute 5", "a Exists - NoExecute 6", "a Exists - NoExecute");
        check(&[short], &[long], &[long]);
        check(&[long], &[short], &[long]);
        check(&[short, forever], &[long], &[forever]);
        check(&[short], &["a Exists - -"], &["a Exists - -"]);
        // Seconds count for the effect `NoExecute` alone.
        check(&["a Exists - NoSchedule 5"], &["a Exists - NoSchedule 6"], &["a Exists - NoSchedule 6"]);
    }
}
