//! Cases of LimitRanges.

use crate::framework::validation::testing::Base;

fn base() -> Base {
    Base::new(
        "",
        "limitranges",
        r#"{"metadata":{"name":"a","namespace":"n"},"spec":{"limits":[
            {"type":"Container","min":{"cpu":"1"},"max":{"cpu":"4"},"default":{"cpu":"3"},"defaultRequest":{"cpu":"2"},
             "maxLimitRequestRatio":{"cpu":"2"}}]}}"#,
    )
}

#[test]
fn types_are_known_and_unique() {
    base().refuses(&[
        (
            &[("/spec/limits/0/type", r#""Node""#)],
            &[r#"spec.limits[0].type: Invalid value: "Node": must be a standard limit type or fully qualified"#],
        ),
        (
            &[("/spec/limits/0/type", r#""a b""#), ("/spec/limits/0/max", "")],
            &[
                "spec.limits[0].type: Invalid value: \"a b\": name part must consist of alphanumeric characters, '-', '_' or '.', \
                 and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used \
                 for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
            ],
        ),
        (
            &[("/spec/limits/-", r#"{"type":"Container"}"#)],
            &[r#"spec.limits[1].type: Duplicate value: "Container""#],
        ),
    ]);
    base().accepts(&[&[("/spec/limits/0/type", r#""example.com/thing""#)], &[("/spec/limits", "")]]);
}

#[test]
fn resources_fit_the_type() {
    base().refuses(&[
        (
            &[("/spec/limits/0/max/storage", r#""1""#)],
            &[
                r#"spec.limits[0].max[storage]: Invalid value: "storage": must be a standard resource for containers"#,
                // Defaults come from the limits.
                r#"spec.limits[0].default[storage]: Invalid value: "storage": must be a standard resource for containers"#,
                r#"spec.limits[0].defaultRequest[storage]: Invalid value: "storage": must be a standard resource for containers"#,
            ],
        ),
        (
            &[("/spec/limits/0/min/thing", r#""1""#)],
            &[
                r#"spec.limits[0].min[thing]: Invalid value: "thing": must be a standard resource type or fully qualified"#,
                r#"spec.limits[0].min[thing]: Invalid value: "thing": must be a standard resource for containers"#,
                r#"spec.limits[0].defaultRequest[thing]: Invalid value: "thing": must be a standard resource type or fully qualified"#,
                r#"spec.limits[0].defaultRequest[thing]: Invalid value: "thing": must be a standard resource for containers"#,
            ],
        ),
        (
            &[("/spec/limits/0/type", r#""example.com/a""#), ("/spec/limits/0/default/thing", r#""1""#)],
            &[r#"spec.limits[0].default[thing]: Invalid value: "thing": must be a standard resource type or fully qualified"#],
        ),
        (
            &[("/spec/limits/0/type", r#""Pod""#), ("/spec/limits/0/defaultRequest/cpu", r#""9""#)],
            &[
                "spec.limits[0].default: Forbidden: may not be specified when `type` is 'Pod'",
                "spec.limits[0].defaultRequest: Forbidden: may not be specified when `type` is 'Pod'",
            ],
        ),
        (
            &[("/spec/limits/0", r#"{"type":"PersistentVolumeClaim","max":{"cpu":"1"}}"#)],
            &[
                "spec.limits[0].limits: Required value: either minimum or maximum storage value is required, but neither was \
                 provided",
            ],
        ),
    ]);
    base().accepts(&[
        &[("/spec/limits/0", r#"{"type":"PersistentVolumeClaim","max":{"storage":"1"}}"#)],
        &[("/spec/limits/0", r#"{"type":"PersistentVolumeClaim","min":{"storage":"1"}}"#)],
    ]);
}

#[test]
fn amounts_are_in_order() {
    base().refuses(&[
        (
            &[("/spec/limits/0/min/cpu", r#""5000m""#)],
            &[
                r#"spec.limits[0].min[cpu]: Invalid value: "5": min value 5 is greater than max value 4"#,
                r#"spec.limits[0].defaultRequest[cpu]: Invalid value: "2": min value 5 is greater than default request value 2"#,
                r#"spec.limits[0].default[cpu]: Invalid value: "5": min value 5 is greater than default value 3"#,
                r#"spec.limits[0].maxLimitRequestRatio[cpu]: Invalid value: "2": ratio 2 is greater than max/min = 0.800000"#,
            ],
        ),
        (
            &[("/spec/limits/0/defaultRequest/cpu", r#""5""#)],
            &[
                r#"spec.limits[0].defaultRequest[cpu]: Invalid value: "5": default request value 5 is greater than max value 4"#,
                r#"spec.limits[0].defaultRequest[cpu]: Invalid value: "5": default request value 5 is greater than default limit value 3"#,
            ],
        ),
        (
            &[("/spec/limits/0/default/cpu", r#""5""#)],
            &[r#"spec.limits[0].default[cpu]: Invalid value: "4": default value 5 is greater than max value 4"#],
        ),
        (
            &[("/spec/limits/0/maxLimitRequestRatio/cpu", r#""500m""#)],
            &[r#"spec.limits[0].maxLimitRequestRatio[cpu]: Invalid value: "500m": ratio 500m is less than 1"#],
        ),
        (
            &[("/spec/limits/0", r#"{"type":"Container","default":{"example.com/a":"3"},"defaultRequest":{"example.com/a":"2"}}"#)],
            &[
                r#"spec.limits[0].defaultRequest[example.com/a]: Invalid value: "2": default value 3 must equal to defaultRequest value 2 in example.com/a"#,
            ],
        ),
    ]);
    // A ratio of what would overflow in thousandths is compared in whole numbers.
    base().refuses(&[(
        &[(
            "/spec/limits/0",
            r#"{"type":"Container","min":{"memory":"4Ei"},"max":{"memory":"4Ei"},"maxLimitRequestRatio":{"memory":"2"}}"#,
        )],
        &[r#"spec.limits[0].maxLimitRequestRatio[memory]: Invalid value: "2": ratio 2 is greater than max/min = 1.000000"#],
    )]);
    base().refuses_update(&[(
        &[("/spec/limits/0/default/cpu", r#""5""#)],
        &[r#"spec.limits[0].default[cpu]: Invalid value: "4": default value 5 is greater than max value 4"#],
    )]);
    // Nothing is above what a minimum of zero would allow.
    base().accepts(&[&[("/spec/limits/0/min/cpu", r#""0""#)]]);
}
