//! The spec of claims.

mod statuses;

use pintle_features::Feature;

use crate::framework::strategy::Settings;
use crate::framework::strategy::testing::{text, with_settings};
use crate::framework::validation::testing::Base;

const GROUP: &str = "resource.k8s.io";
pub(super) const CLAIM: &str = r#"{"metadata":{"name":"a","namespace":"n"},"spec":{"devices":{
    "requests":[
        {"name":"r0","exactly":{"deviceClassName":"c","tolerations":[{"key":"k"}]}},
        {"name":"r1","firstAvailable":[{"name":"s0","deviceClassName":"c"},{"name":"s1","deviceClassName":"c"}]}],
    "constraints":[{"requests":["r0","r1/s0"],"matchAttribute":"d.example.com/x"}],
    "config":[{"requests":["r1"],"opaque":{"driver":"d","parameters":{}}}]}}}"#;
const LABEL: &str = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with \
                     an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is \
                     '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const SUBDOMAIN: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start \
                         and end with an alphanumeric character (e.g. 'example.com', regex used for validation is \
                         '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const IDENTIFIER: &str = "a valid C identifier must start with alphabetic character or '_', followed by a string of alphanumeric \
                          characters or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName', regex used for validation is \
                          '[A-Za-z_][A-Za-z0-9_]*')";
const REFERENCE: &str =
    "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'";

fn base() -> Base {
    Base::new(GROUP, "resourceclaims", CLAIM)
}

#[test]
fn a_request_is_exact_or_has_alternatives() {
    let base = base();
    let request = |count: usize| {
        let one = |index: usize| format!(r#"{{"name":"a{index}","exactly":{{"deviceClassName":"c"}}}}"#);
        format!("[{}]", (0..count).map(one).collect::<Vec<_>>().join(","))
    };
    let alternatives = |count: usize| {
        let request = |index: usize| format!(r#"{{"name":"a{index}","deviceClassName":"c"}}"#);
        format!("[{}]", (0..count).map(request).collect::<Vec<_>>().join(","))
    };
    let alone = [("/spec/devices/constraints", ""), ("/spec/devices/config", "")];
    base.refuses(&[
        (
            &[alone[0], alone[1], ("/spec/devices/requests", &request(33))],
            &["spec.devices.requests: Too many: 33: must have at most 32 items"],
        ),
        (
            &[("/spec/devices/requests/0/name", r#""R""#), alone[0]],
            &[&format!("spec.devices.requests[0].name: Invalid value: \"R\": {LABEL}")],
        ),
        (
            &[("/spec/devices/requests/0/exactly", "")],
            &["spec.devices.requests[0]: Required value: exactly one of `exactly` or `firstAvailable` is required"],
        ),
        (
            &[("/spec/devices/requests/1/exactly", "{}")],
            &["spec.devices.requests[1]: Invalid value: null: exactly one of `exactly` or `firstAvailable` is required, but \
               multiple fields are set"],
        ),
        (
            &[("/spec/devices/requests/-", r#"{"name":"r0","exactly":{"deviceClassName":"c"}}"#)],
            &["spec.devices.requests[2]: Duplicate value: \"r0\""],
        ),
        (
            &[("/spec/devices/requests/1/firstAvailable", &alternatives(9)), alone[0]],
            &["spec.devices.requests[1].firstAvailable: Too many: 9: must have at most 8 items"],
        ),
        (
            &[("/spec/devices/requests/1/firstAvailable/1/name", r#""s0""#)],
            &["spec.devices.requests[1].firstAvailable[1]: Duplicate value: \"s0\""],
        ),
        (
            &[("/spec/devices/requests/1/firstAvailable/1/name", r#""S""#)],
            &[&format!("spec.devices.requests[1].firstAvailable[1].name: Invalid value: \"S\": {LABEL}")],
        ),
    ]);
    base.accepts(&[
        &[alone[0], alone[1], ("/spec/devices/requests", &request(32))],
        &[("/spec/devices/requests/1/firstAvailable", &alternatives(8)), alone[0]],
        &[("/spec/devices", "")],
    ]);
}

#[test]
fn requests_say_how_many_devices_of_which_class() {
    let base = base();
    let exactly = "/spec/devices/requests/0/exactly";
    let case = |changes: &[(&str, &str)], errors: &[&str]| {
        let changes: Vec<(String, &str)> =
            changes.iter().map(|(field, value)| (format!("{exactly}/{field}"), *value)).collect();
        let changes: Vec<(&str, &str)> =
            changes.iter().map(|(path, value)| (path.as_str(), *value)).collect();
        if errors.is_empty() {
            return base.accepts(&[&changes]);
        }
        let errors: Vec<String> =
            errors.iter().map(|error| format!("spec.devices.requests[0].exactly.{error}")).collect();
        let errors: Vec<&str> = errors.iter().map(String::as_str).collect();
        base.refuses(&[(&changes, &errors)]);
    };
    case(&[("deviceClassName", r#""""#)], &["deviceClassName: Required value"]);
    case(&[("deviceClassName", r#""C""#)], &[&format!("deviceClassName: Invalid value: \"C\": {SUBDOMAIN}")]);
    case(&[("selectors", "[{}]")], &["selectors[0].cel: Required value"]);
    case(&[("allocationMode", r#""All""#)], &[]);
    case(
        &[("allocationMode", r#""All""#), ("count", "1")],
        &["count: Invalid value: 1: must not be specified when allocationMode is 'All'"],
    );
    case(&[("count", "-1")], &["count: Invalid value: -1: must be greater than zero"]);
    case(
        &[("allocationMode", r#""Some""#)],
        &["allocationMode: Unsupported value: \"Some\": supported values: \"All\", \"ExactCount\""],
    );
    case(&[("tolerations/0", r#"{"operator":"Exists","effect":"NoExecute"}"#)], &[]);
    case(
        &[("tolerations/0", r#"{"key":"k","operator":"Exists","value":"v"}"#)],
        &["tolerations[0].value: Invalid value: \"v\": must be empty for operator `Exists`"],
    );
    case(
        &[("tolerations/0", r#"{"operator":"Exists","effect":"x"}"#)],
        &[
            "tolerations[0].effect: Unsupported value: \"x\": supported values: \"NoExecute\", \"NoSchedule\", \"None\"",
        ],
    );
    case(
        &[("tolerations/0", r#"{"operator":"x"}"#)],
        &["tolerations[0].operator: Unsupported value: \"x\": supported values: \"Equal\", \"Exists\""],
    );
    case(
        &[("tolerations/0", r#"{"key":"-","value":"-"}"#)],
        &[
            "tolerations[0].key: Invalid value: \"-\": name part must consist of alphanumeric characters, '-', '_' or '.', and \
             must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for \
             validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
            "tolerations[0].value: Invalid value: \"-\": a valid label must be an empty string or consist of alphanumeric \
             characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  \
             or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')",
        ],
    );
    base.refuses(&[(
        &[("/spec/devices/requests/1/firstAvailable/0/deviceClassName", r#""""#)],
        &["spec.devices.requests[1].firstAvailable[0].deviceClassName: Required value"],
    )]);
}

#[test]
fn constraints_are_about_an_attribute_of_requests() {
    let base = base();
    let (first, requests) = ("/spec/devices/constraints/0", "/spec/devices/constraints/0/requests");
    let attribute = "/spec/devices/constraints/0/matchAttribute";
    let path = "spec.devices.constraints[0].matchAttribute";
    let many = format!("[{}]", vec!["{}"; 33].join(","));
    let names = format!("[{}]", vec![r#""r0""#; 33].join(","));
    let long = format!("d/{}", "a".repeat(33));
    base.accepts(&[
        &[(requests, "")],
        &[(attribute, ""), ("/spec/devices/constraints/0/distinctAttribute", r#""d/x""#)],
        &[(attribute, r#""a/b/c""#)],
    ]);
    base.refuses(&[
        (&[("/spec/devices/constraints", &many)], &["spec.devices.constraints: Too many: 33: must have at most 32 items"]),
        (&[(requests, &names)], &["spec.devices.constraints[0].requests: Too many: 33: must have at most 32 items"]),
        (&[(requests, r#"["r0","r0"]"#)], &["spec.devices.constraints[0].requests[1]: Duplicate value: \"r0\""]),
        (
            &[(requests, r#"["x","r1/x","r0/s0","a/b/c"]"#)],
            &[
                &format!("spec.devices.constraints[0].requests[0]: Invalid value: \"x\": {REFERENCE}"),
                &format!("spec.devices.constraints[0].requests[1]: Invalid value: \"r1/x\": {REFERENCE}"),
                &format!("spec.devices.constraints[0].requests[2]: Invalid value: \"r0/s0\": {REFERENCE}"),
                &format!("spec.devices.constraints[0].requests[3]: Invalid value: \"a/b/c\": {REFERENCE}"),
            ],
        ),
        (
            &[(requests, r#"["r1/S"]"#)],
            &[
                &format!("spec.devices.constraints[0].requests[0]: Invalid value: \"S\": {LABEL}"),
                &format!("spec.devices.constraints[0].requests[0]: Invalid value: \"r1/S\": {REFERENCE}"),
            ],
        ),
        (
            &[(first, "{}")],
            &["spec.devices.constraints[0]: Required value: exactly one of \"matchAttribute\" or \"distinctAttribute\" is \
               required, but multiple fields are set"],
        ),
        (
            &[(attribute, r#""x""#)],
            &[&format!(
                "{path}: Invalid value: \"x\": a fully qualified name must be a domain and a name separated by a slash"
            )],
        ),
        (
            &[(attribute, r#""/""#)],
            &[
                &format!("{path}: Invalid value: \"\": the domain must not be empty"),
                &format!("{path}: Invalid value: \"\": the name must not be empty"),
            ],
        ),
        (
            &[(attribute, r#""-/1""#)],
            &[
                &format!("{path}: Invalid value: \"-\": {SUBDOMAIN}"),
                &format!("{path}: Invalid value: \"1\": {IDENTIFIER}"),
            ],
        ),
        (&[(attribute, &format!("{long:?}"))], &[&format!("{path}: Too long: may not be more than 32 bytes")]),
    ]);
    let off = Base::with_features(GROUP, "resourceclaims", CLAIM, &[(Feature::DRAConsumableCapacity, false)]);
    let distinct = ("/spec/devices/constraints/0/distinctAttribute", r#""d/x""#);
    off.refuses(&[(
        &[(attribute, ""), distinct],
        &["spec.devices.constraints[0].matchAttribute: Required value"],
    )]);
}

#[test]
fn configuration_is_for_requests() {
    let base = base();
    let many = format!("[{}]", vec![r#"{"opaque":{"driver":"d","parameters":{}}}"#; 33].join(","));
    base.refuses(&[
        (
            &[("/spec/devices/config", &many)],
            &["spec.devices.config: Too many: 33: must have at most 32 items"],
        ),
        (
            &[("/spec/devices/config/0", r#"{"requests":["x"]}"#)],
            &[
                &format!("spec.devices.config[0].requests[0]: Invalid value: \"x\": {REFERENCE}"),
                "spec.devices.config[0].opaque: Required value",
            ],
        ),
    ]);
}

#[test]
fn the_spec_does_not_change() {
    let base = Base::new(
        GROUP,
        "resourceclaims",
        r#"{"metadata":{"name":"a","namespace":"n"},"spec":{"devices":{"requests":[{"name":"r","firstAvailable":[{"name":"s",
            "deviceClassName":"c","capacity":{"requests":{"m":"1Ki"}}}]}]}}}"#,
    );
    let amount = "/spec/devices/requests/0/firstAvailable/0/capacity/requests";
    let printed = |amounts: &str| {
        format!(
            "spec: Invalid value: {{\"Devices\":{{\"Requests\":[{{\"Name\":\"r\",\"Exactly\":null,\"FirstAvailable\":[{{\"Name\":\"s\",\
             \"DeviceClassName\":\"c\",\"Selectors\":null,\"AllocationMode\":\"ExactCount\",\"Count\":1,\"Tolerations\":null,\
             \"Capacity\":{{\"Requests\":{amounts}}}}}]}}],\"Constraints\":null,\"Config\":null}}}}: field is immutable"
        )
    };
    base.accepts_update(&[&[(amount, r#"{"m":"1024"}"#)], &[("/metadata/annotations", r#"{"a":"b"}"#)]]);
    base.refuses_update(&[
        (&[(amount, r#"{"m":"2Ki"}"#)], &[&printed(r#"{"m":"2Ki"}"#)]),
        (&[(amount, r#"{"n":"1Ki"}"#)], &[&printed(r#"{"n":"1Ki"}"#)]),
        (
            &[("/metadata/finalizers", r#"["x"]"#)],
            &["metadata.finalizers[0]: Invalid value: \"x\": name is neither a standard finalizer name nor is it fully qualified"; 2],
        ),
    ]);
}

#[test]
fn fields_of_features_that_are_off_go_unless_they_were_there() {
    let claim = |requests: &str, constraints: &str| {
        format!(
            r#"{{"metadata":{{"name":"a","namespace":"n"}},"spec":{{"devices":{{"requests":[{requests}]{constraints}}}}},"status":{{}}}}"#
        )
    };
    let exactly = |more: &str| format!(r#"{{"name":"r","exactly":{{"deviceClassName":"c"{more}}}}}"#);
    let first = |more: &str| {
        format!(r#"{{"name":"r","firstAvailable":[{{"name":"s","deviceClassName":"c"{more}}}]}}"#)
    };
    let both = |more: &str| format!("{},{}", exactly(more), first(more));
    let capacity = r#","capacity":{"requests":{"m":"1"}}"#;
    let distinct = r#","constraints":[{"distinctAttribute":"d/x"}]"#;
    let cases = [
        (Feature::DRAPrioritizedList, claim(&first(""), ""), claim(r#"{"name":"r"}"#, "")),
        (Feature::DRADeviceTaints, claim(&both(r#","tolerations":[{"key":"k"}]"#), ""), claim(&both(""), "")),
        (Feature::DRAAdminAccess, claim(&exactly(r#","adminAccess":true"#), ""), claim(&exactly(""), "")),
        (Feature::DRAConsumableCapacity, claim(&both(capacity), ""), claim(&both(""), "")),
        (
            Feature::DRAConsumableCapacity,
            claim(&exactly(""), distinct),
            claim(&exactly(""), r#","constraints":[{}]"#),
        ),
    ];
    for (feature, gated, plain) in cases {
        let mut settings = Settings::default();
        settings.features.set(feature, false);
        let off = with_settings(GROUP, "resourceclaims", &settings);
        assert_eq!(text(&off.created(&gated)), plain);
        assert_eq!(text(&off.updated(&gated, &plain)), plain);
        assert_eq!(text(&off.updated(&gated, &gated)), gated);
        settings.features.set(feature, true);
        assert_eq!(text(&with_settings(GROUP, "resourceclaims", &settings).created(&gated)), gated);
    }
}
