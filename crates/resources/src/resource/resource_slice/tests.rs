//! Slices as a whole; their devices are in `devices`.

mod devices;

use pintle_features::Feature;

use crate::framework::strategy::Settings;
use crate::framework::strategy::testing::{of, text, warnings, with_settings};
use crate::framework::validation::testing::Base;

const GROUP: &str = "resource.k8s.io";
const SLICE: &str = r#"{"metadata":{"name":"a"},"spec":{"driver":"d.example.com","nodeName":"n",
    "pool":{"name":"p","generation":1,"resourceSliceCount":1},"devices":[{"name":"x"}]}}"#;
const LABEL: &str = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with \
                     an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is \
                     '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const SUBDOMAIN: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start \
                         and end with an alphanumeric character (e.g. 'example.com', regex used for validation is \
                         '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const ONE_OF: &str =
    "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required";
const SELECTOR: &str =
    r#"{"nodeSelectorTerms":[{"matchExpressions":[{"key":"zone","operator":"In","values":["a"]}]}]}"#;

fn base() -> Base {
    Base::new(GROUP, "resourceslices", SLICE)
}

#[test]
fn a_slice_is_of_a_driver_and_a_pool() {
    base().refuses(&[
        (&[("/spec/driver", r#""""#)], &["spec.driver: Required value"]),
        (
            &[("/spec/pool", "{}")],
            &[
                "spec.pool.name: Required value",
                "spec.pool.resourceSliceCount: Invalid value: 0: must be greater than zero",
            ],
        ),
        (
            &[("/spec/pool/generation", "-1")],
            &["spec.pool.generation: Invalid value: -1: must be greater than or equal to zero"],
        ),
    ]);
    base().refuses_update(&[
        (&[("/spec/driver", r#""e""#)], &["spec.driver: Invalid value: \"e\": field is immutable"]),
        (&[("/spec/pool/name", r#""q""#)], &["spec.pool.name: Invalid value: \"q\": field is immutable"]),
    ]);
    base().accepts_update(&[&[("/spec/pool/generation", "2")]]);
}

#[test]
fn a_slice_stays_with_its_nodes() {
    let base = base();
    let two_terms = SELECTOR.replace(r#"[{"match"#, r#"[{"matchFields":[]},{"match"#);
    base.accepts(&[
        &[("/spec/nodeName", ""), ("/spec/nodeSelector", SELECTOR)],
        &[("/spec/nodeName", ""), ("/spec/allNodes", "true")],
        &[
            ("/spec/nodeName", ""),
            ("/spec/perDeviceNodeSelection", "true"),
            ("/spec/devices/0/allNodes", "true"),
        ],
    ]);
    let missing = format!("spec: Required value: {ONE_OF}");
    base.refuses(&[
        (&[("/spec/nodeName", "")], &[&missing]),
        (
            &[("/spec/nodeName", r#""""#)],
            &["spec.nodeName: Invalid value: \"\": must be either unset or set to a non-empty string", &missing],
        ),
        (&[("/spec/nodeName", r#""N""#)], &[&format!("spec.nodeName: Invalid value: \"N\": {SUBDOMAIN}")]),
        (
            &[("/spec/nodeName", ""), ("/spec/nodeSelector", "{}")],
            &[
                "spec.nodeSelector.nodeSelectorTerms: Required value: must have at least one node selector term",
                "spec.nodeSelector.nodeSelectorTerms: Invalid value: null: must have exactly one node selector term",
            ],
        ),
        (
            &[("/spec/nodeName", ""), ("/spec/nodeSelector", &two_terms)],
            &["spec.nodeSelector.nodeSelectorTerms: Invalid value: [{\"MatchExpressions\":null,\"MatchFields\":[]},\
               {\"MatchExpressions\":[{\"Key\":\"zone\",\"Operator\":\"In\",\"Values\":[\"a\"]}],\"MatchFields\":null}]: must \
               have exactly one node selector term"],
        ),
        (
            &[("/spec/allNodes", "false"), ("/spec/perDeviceNodeSelection", "false")],
            &[
                "spec.allNodes: Invalid value: false: must be either unset or set to true",
                "spec.perDeviceNodeSelection: Invalid value: false: must be either unset or set to true",
            ],
        ),
        (
            &[("/spec/allNodes", "true"), ("/spec/nodeSelector", SELECTOR)],
            &[&format!(
                "spec: Invalid value: \"{{`nodeName`, `nodeSelector`, `allNodes`}}\": {ONE_OF}, but multiple fields are set"
            )],
        ),
    ]);
    let moved = "spec.nodeName: Invalid value: null: field is immutable";
    base.refuses_update(&[
        (&[("/spec/nodeName", r#""m""#)], &["spec.nodeName: Invalid value: \"m\": field is immutable"]),
        (&[("/spec/nodeName", ""), ("/spec/allNodes", "true")], &[moved]),
    ]);
}

#[test]
fn a_slice_has_devices_or_counters() {
    let base = base();
    let counter = |name: &str| format!(r#"{{"name":"{name}","counters":{{"m":{{"value":"1"}}}}}}"#);
    let sets = |count: usize| {
        let sets: Vec<String> = (0..count).map(|index| counter(&format!("s{index}"))).collect();
        format!("[{}]", sets.join(","))
    };
    let none = ("/spec/devices", "");
    let counters = |count: usize| {
        let all: Vec<String> = (0..count).map(|index| format!(r#""c{index}":{{"value":"1"}}"#)).collect();
        format!(r#"[{{"name":"s","counters":{{{}}}}}]"#, all.join(","))
    };
    let field = "/spec/sharedCounters";
    base.accepts(&[&[none, (field, &sets(8))], &[none, (field, &counters(32))], &[none]]);
    let long = "a".repeat(64);
    base.refuses(&[
        (&[(field, &sets(1))], &["spec: Invalid value: \"\": only one of `sharedCounters` or `devices` is allowed"]),
        // An empty list counts as one.
        (&[(field, "[]")], &["spec: Invalid value: \"\": only one of `sharedCounters` or `devices` is allowed"]),
        (&[none, (field, &sets(9))], &["spec.sharedCounters: Too many: 9: must have at most 8 items"]),
        (
            &[none, (field, &counters(33))],
            &["spec.sharedCounters[0].counters: Too many: 33: must have at most 32 items"],
        ),
        (
            &[none, (field, &format!("[{},{}]", counter("a"), counter("a")))],
            &["spec.sharedCounters[1]: Duplicate value: \"a\""],
        ),
        (
            &[none, (field, "[{}]")],
            &["spec.sharedCounters[0].name: Required value", "spec.sharedCounters[0].counters: Required value"],
        ),
        (
            &[none, (field, &format!(r#"[{{"name":"S","counters":{{"{long}":{{"value":"1"}},"M":{{"value":"1"}}}}}}]"#))],
            &[
                &format!("spec.sharedCounters[0].name: Invalid value: \"S\": {LABEL}"),
                &format!("spec.sharedCounters[0].counters: Invalid value: \"M\": {LABEL}"),
                &format!("spec.sharedCounters[0].counters: Invalid value: {long:?}: must be no more than 63 characters"),
            ],
        ),
    ]);
}

#[test]
fn a_slice_has_fewer_devices_if_they_are_advanced() {
    let devices = |count: usize, more: &str| {
        let all: Vec<String> = (0..count).map(|index| format!(r#"{{"name":"d{index}"{more}}}"#)).collect();
        format!("[{}]", all.join(","))
    };
    let field = "/spec/devices";
    let features = [(Feature::DRAListTypeAttributes, true)];
    let base = Base::with_features(GROUP, "resourceslices", SLICE, &features);
    base.accepts(&[&[(field, &devices(128, ""))]]);
    base.refuses(&[
        (&[(field, &devices(129, ""))], &["spec.devices: Too many: 129: must have at most 128 items"]),
        (&[("/spec/devices/-", r#"{"name":"x"}"#)], &["spec.devices[1]: Duplicate value: \"x\""]),
    ]);
    for more in [
        r#","taints":[{"key":"k","effect":"None"}]"#,
        r#","consumesCounters":[{"counterSet":"s","counters":{"m":{"value":"1"}}}]"#,
        r#","attributes":{"a":{"ints":[1]}}"#,
    ] {
        base.accepts(&[&[(field, &devices(64, more))]]);
        base.refuses(&[(
            &[(field, &devices(65, more))],
            &["spec.devices: Too many: 65: must have at most 64 items"],
        )]);
    }
}

#[test]
fn drivers_in_upper_case_are_warned_of() {
    assert_eq!(
        warnings(&of(GROUP, "resourceslices"), &SLICE.replace("d.example", "D.example"), None),
        [r#"spec.driver: driver names should be lowercase; "D.example.com" contains uppercase characters"#]
    );
    assert!(warnings(&of(GROUP, "resourceslices"), SLICE, None).is_empty());
}

#[test]
fn fields_of_features_that_are_off_go_unless_they_were_there() {
    let slice = |generation: u8, spec: &str, device: &str| {
        format!(
            r#"{{"metadata":{{"name":"a","generation":{generation}}},"spec":{{"driver":"d","pool":{{"name":"p","generation":1,"resourceSliceCount":1}},"devices":[{{"name":"x"{device}}}]{spec}}}}}"#
        )
    };
    let attributes = |lists: &str| format!(r#","attributes":{{"a":{{"int":1}},"b":{{{lists}}}}}"#);
    let capacity = |policy: &str| format!(r#","capacity":{{"m":{{{policy}"value":"1"}}}}"#);
    let counters = r#","sharedCounters":[{"name":"s","counters":{"m":{"value":"1"}}}]"#;
    let cases = [
        (
            Feature::DRADeviceTaints,
            "",
            r#","taints":[{"key":"k","effect":"None"}]"#.to_owned(),
            String::new(),
        ),
        (Feature::DRAPartitionableDevices, "", r#","nodeName":"n""#.to_owned(), String::new()),
        (Feature::DRAPartitionableDevices, r#","perDeviceNodeSelection":true"#, String::new(), String::new()),
        (Feature::DRAPartitionableDevices, counters, String::new(), String::new()),
        (Feature::DRADeviceBindingConditions, "", r#","bindsToNode":true"#.to_owned(), String::new()),
        (
            Feature::DRAResourceClaimDeviceStatus,
            "",
            r#","bindingConditions":["a"],"bindingFailureConditions":["b"]"#.to_owned(),
            String::new(),
        ),
        (Feature::DRAConsumableCapacity, "", r#","allowMultipleAllocations":true"#.to_owned(), String::new()),
        (Feature::DRAConsumableCapacity, "", capacity(r#""requestPolicy":{"default":"1"},"#), capacity("")),
        (
            Feature::DRANodeAllocatableResources,
            "",
            r#","nodeAllocatableResourceMappings":{"cpu":{}}"#.to_owned(),
            String::new(),
        ),
        (Feature::DRAListTypeAttributes, "", attributes(r#""ints":[1]"#), attributes("")),
    ];
    for (feature, spec, device, dropped) in cases {
        let mut settings = Settings::default();
        settings.features.set(feature, true);
        let strategy = |settings: &Settings| with_settings(GROUP, "resourceslices", settings);
        let parsed = |text: &str| strategy(&settings).tree(text);
        let (gated, plain) = (slice(1, spec, &device), slice(1, "", &dropped));
        assert_eq!(text(&strategy(&settings).created(&gated)), text(&parsed(&gated)), "{feature:?}");
        settings.features.set(feature, false);
        let off = with_settings(GROUP, "resourceslices", &settings);
        assert_eq!(text(&off.created(&gated)), text(&off.tree(&plain)), "{feature:?}");
        // A dropped field counts as a change.
        assert_eq!(
            text(&off.updated(&gated, &plain)),
            text(&off.tree(&slice(2, "", &dropped))),
            "{feature:?}"
        );
        assert_eq!(text(&off.updated(&gated, &gated)), text(&off.tree(&gated)), "{feature:?}");
    }
}
