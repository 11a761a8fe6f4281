use crate::framework::strategy::testing::{NOW, of};
use crate::framework::validation::testing::Base;

const GROUP: &str = "resource.k8s.io";
const RULE: &str = r#"{"metadata":{"name":"a"},"spec":{
    "deviceSelector":{"driver":"d.example.com","pool":"p/q","device":"x"},
    "taint":{"key":"k","value":"v","effect":"NoSchedule"}}}"#;
const LABEL: &str = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with \
                     an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is \
                     '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const SUBDOMAIN: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start \
                         and end with an alphanumeric character (e.g. 'example.com', regex used for validation is \
                         '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";

#[test]
fn selectors_name_devices() {
    let base = Base::new(GROUP, "devicetaintrules", RULE);
    base.accepts(&[
        &[("/spec/deviceSelector", "")],
        &[("/spec/deviceSelector", "{}")],
        &[("/spec/deviceSelector/driver", r#""D.example.com""#)],
        &[("/spec/taint/value", r#""""#), ("/spec/taint/effect", r#""None""#)],
    ]);
    let long = "a".repeat(254);
    base.refuses(&[
        (&[("/spec/deviceSelector/driver", r#""""#)], &["spec.deviceSelector.driver: Required value"]),
        (&[("/spec/deviceSelector/pool", r#""""#)], &["spec.deviceSelector.pool: Required value"]),
        (
            &[("/spec/deviceSelector/pool", r#""a//B""#)],
            &[
                &format!("spec.deviceSelector.pool: Invalid value: \"\": {SUBDOMAIN}"),
                &format!("spec.deviceSelector.pool: Invalid value: \"B\": {SUBDOMAIN}"),
            ],
        ),
        (
            &[("/spec/deviceSelector/pool", &format!("{long:?}"))],
            &[
                "spec.deviceSelector.pool: Too long: may not be more than 253 bytes",
                &format!(
                    "spec.deviceSelector.pool: Invalid value: {long:?}: must be no more than 253 characters"
                ),
            ],
        ),
        (
            &[("/spec/deviceSelector/device", r#""A""#)],
            &[&format!("spec.deviceSelector.device: Invalid value: \"A\": {LABEL}")],
        ),
    ]);
}

#[test]
fn taints_have_a_key_and_a_known_effect() {
    let base = Base::new(GROUP, "devicetaintrules", RULE);
    let name = "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric \
                character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is \
                '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
    let value = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end \
                 with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is \
                 '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
    let effect = "spec.taint.effect: Unsupported value: \"x\": supported values: \"NoExecute\", \"NoSchedule\", \"None\"";
    base.refuses(&[
        (&[("/spec/taint/key", r#""-""#)], &[&format!("spec.taint.key: Invalid value: \"-\": {name}")]),
        (&[("/spec/taint/value", r#""-""#)], &[&format!("spec.taint.value: Invalid value: \"-\": {value}")]),
        (&[("/spec/taint/effect", r#""x""#)], &[effect]),
        (&[("/spec/taint/effect", r#""""#)], &["spec.taint.effect: Required value"]),
    ]);
    base.refuses_update(&[(&[("/spec/taint/effect", r#""x""#)], &[effect])]);
    base.accepts_update_of(&[("/spec/taint/effect", r#""x""#)], &[&[("/spec/taint/value", r#""w""#)]]);
}

#[test]
fn a_status_has_up_to_eight_conditions() {
    let base = Base::new(GROUP, "devicetaintrules/status", RULE);
    let condition = |of: usize| {
        format!(
            r#"{{"type":"T{of}","status":"True","reason":"R","message":"","lastTransitionTime":"2024-01-01T00:00:00Z"}}"#
        )
    };
    let conditions = |count: usize| format!("[{}]", (0..count).map(condition).collect::<Vec<_>>().join(","));
    base.accepts_update(&[&[("/status/conditions", &conditions(8))]]);
    base.refuses_update(&[
        (
            &[("/status/conditions", &conditions(9))],
            &["status.conditions: Too many: 9: must have at most 8 items"],
        ),
        (
            &[("/status/conditions", &conditions(1).replace("\"R\"", "\"\""))],
            &["status.conditions[0].reason: Required value"],
        ),
    ]);
}

#[test]
fn a_new_effect_makes_a_taint_new() {
    let rules = of(GROUP, "devicetaintrules");
    let rule = |effect: &str, time: &str| {
        format!(
            r#"{{"metadata":{{"name":"a","generation":2}},"spec":{{"taint":{{"key":"k","effect":"{effect}","timeAdded":"{time}"}}}}}}"#
        )
    };
    let (then, later) = ("2020-01-01T00:00:00Z", "2021-01-01T00:00:00Z");
    let old = rule("NoSchedule", then);
    let check = |new: &str, time: &str, generation: i64| {
        let updated = rules.updated(new, &old);
        assert_eq!(updated.text_at(&["spec", "taint", "timeAdded"]), time);
        assert_eq!(updated.generation(), generation);
    };
    check(&old, then, 2);
    check(&rule("NoExecute", then), NOW, 3);
    check(&rule("NoExecute", later), later, 3);
    check(&rule("NoSchedule", later), later, 3);
}
