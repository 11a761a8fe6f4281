//! Objects that obey rules, and those that do not.

use super::{of_spec, said};

/// A schema of `spec`, an object, perhaps what it was before, what is said.
type Case<'c> = (&'c str, &'c str, Option<&'c str>, &'c [&'c str]);

#[track_caller]
fn check(cases: &[Case<'_>]) {
    for (spec, new, old, expect) in cases {
        let object = |spec: &str| {
            format!(r#"{{"apiVersion":"a/v1","kind":"B","metadata":{{"name":"n"}},"spec":{spec}}}"#)
        };
        let old = old.map(object);
        assert_eq!(said(&of_spec(spec), &object(new), old.as_deref()), *expect, "{spec}\n{new}");
    }
}

#[test]
fn a_broken_rule_says_its_message_or_itself() {
    check(&[
        (
            r#"{"type":"object","properties":{"a":{"type":"integer"}},"x-kubernetes-validations":[
                {"rule":"self.a > 1"},{"rule":"self.a > 2","message":" too small "},{"rule":"self.a > 0"}]}"#,
            r#"{"a":1}"#,
            None,
            &["spec: Invalid value: failed rule: self.a > 1", "spec: Invalid value: too small"],
        ),
        (
            r#"{"type":"string","x-kubernetes-validations":[{"rule":"self == 'x'"}]}"#,
            r#""y""#,
            None,
            &[r#"spec: Invalid value: "y": failed rule: self == 'x'"#],
        ),
    ]);
}
