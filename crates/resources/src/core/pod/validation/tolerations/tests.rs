//! Tests of tolerations.

use pintle_features::Feature;
use pintle_meta::validation::{label_value, qualified_name};

use crate::core::pod::validation::testing::{pods, pods_with, wrong};

const AT: &str = "/spec/tolerations/-";

#[test]
fn keys_operators_values_and_effects_fit_together() {
    let key = wrong("spec.tolerations[0].key", "a b", qualified_name);
    let value = wrong("spec.tolerations[0].operator", "-", label_value);
    pods().refuses(&[
        (&[(AT, r#"{"key":"a b","operator":"Exists"}"#)], &[&key]),
        (&[(AT, r#"{"key":"a","value":"-"}"#)], &[&value]),
        (
            &[(AT, r#"{"operator":"Equal"}"#)],
            &[
                r#"spec.tolerations[0].operator: Invalid value: "Equal": operator must be Exists when `key` is empty, which means "match all values and all keys""#,
            ],
        ),
        (
            &[(AT, r#"{"key":"a","operator":"Exists","tolerationSeconds":1,"effect":"NoSchedule"}"#)],
            &[
                r#"spec.tolerations[0].effect: Invalid value: "NoSchedule": effect must be 'NoExecute' when `tolerationSeconds` is set"#,
            ],
        ),
        (
            &[(AT, r#"{"key":"a","operator":"Exists","value":"v"}"#)],
            &[
                r#"spec.tolerations[0].operator: Invalid value: "v": value must be empty when `operator` is 'Exists'"#,
            ],
        ),
        (
            &[(AT, r#"{"key":"a","operator":"Lt","value":"1"}"#)],
            &[
                r#"spec.tolerations[0].operator: Unsupported value: "Lt": supported values: "Equal", "Exists", "Lt", "Gt""#,
            ],
        ),
        (
            &[(AT, r#"{"key":"a","operator":"In","effect":"noexecute"}"#)],
            &[
                r#"spec.tolerations[0].operator: Unsupported value: "In": supported values: "Equal", "Exists""#,
                r#"spec.tolerations[0].effect: Unsupported value: "noexecute": supported values: "NoSchedule", "PreferNoSchedule", "NoExecute""#,
            ],
        ),
    ]);
    pods().accepts(&[
        &[(AT, r#"{"operator":"Exists"}"#)],
        &[(AT, r#"{"key":"a","value":"v","effect":"NoExecute","tolerationSeconds":-1}"#)],
    ]);
}

#[test]
fn comparisons_are_of_whole_numbers() {
    let base = pods_with(&[(Feature::TaintTolerationComparisonOperators, true)]);
    let decimal = "must be a valid decimal integer in canonical form";
    let base_error =
        |value: &str, why: &str| format!("spec.tolerations[0].value: Invalid value: {value:?}: {why}");
    let syntax = base_error("x", r#"strconv.ParseInt: parsing "x": invalid syntax"#);
    let range = base_error(
        "9223372036854775808",
        r#"strconv.ParseInt: parsing "9223372036854775808": value out of range"#,
    );
    let plus = base_error("+1", decimal);
    let no_number = base_error("x", decimal);
    base.refuses(&[
        (&[(AT, r#"{"key":"a","operator":"Gt","value":"x"}"#)], &[&no_number, &syntax]),
        (&[(AT, r#"{"key":"a","operator":"Lt","value":"9223372036854775808"}"#)], &[&range]),
        (&[(AT, r#"{"key":"a","operator":"Lt","value":"+1"}"#)], &[&plus]),
    ]);
    base.accepts(&[&[(AT, r#"{"key":"a","operator":"Lt","value":"-5"}"#)]]);
    // Once used, they stay allowed.
    let before = (AT, r#"{"key":"a","operator":"Lt","value":"1"}"#);
    pods().accepts_update_of(&[before], &[&[(AT, r#"{"key":"b","operator":"Gt","value":"1"}"#)]]);
}
