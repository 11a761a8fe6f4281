//! Devices of slices.

use pintle_features::Feature;

use super::{GROUP, LABEL, SELECTOR, SLICE, SUBDOMAIN};
use crate::framework::validation::testing::Base;

fn base() -> Base {
    let features = [(Feature::DRAListTypeAttributes, true), (Feature::DRANodeAllocatableResources, true)];
    Base::with_features(GROUP, "resourceslices", SLICE, &features)
}

/// Checks a slice with one device of these fields.
#[track_caller]
fn check(device: &str, errors: &[&str]) {
    check_with(&[], device, errors);
}

#[track_caller]
fn check_with(before: &[(&str, &str)], device: &str, errors: &[&str]) {
    let device = format!(r#"{{"name":"x",{device}}}"#);
    let mut changes = before.to_vec();
    changes.push(("/spec/devices/0", &device));
    if errors.is_empty() {
        return base().accepts(&[&changes]);
    }
    let errors: Vec<String> = errors.iter().map(|error| format!("spec.devices[0]{error}")).collect();
    let errors: Vec<&str> = errors.iter().map(String::as_str).collect();
    base().refuses(&[(&changes, &errors)]);
}

#[test]
fn an_attribute_has_one_value() {
    let one = "exactly one value must be specified";
    let attribute = |of: &str, errors: &[&str]| {
        let errors: Vec<String> = errors.iter().map(|error| format!(".attributes[a]{error}")).collect();
        let errors: Vec<&str> = errors.iter().map(String::as_str).collect();
        check(&format!(r#""attributes":{{"a":{of}}}"#), &errors);
    };
    for good in [
        r#"{"bool":false}"#,
        r#"{"int":0}"#,
        r#"{"string":""}"#,
        r#"{"version":"1.2.3-a+b"}"#,
        r#"{"bools":[true]}"#,
        r#"{"ints":[1,2]}"#,
        r#"{"strings":["a"]}"#,
        r#"{"versions":["1.2.3"]}"#,
    ] {
        attribute(good, &[]);
    }
    let long = "a".repeat(65);
    let version = "must be a string compatible with semver.org spec 2.0.0";
    attribute("{}", &[&format!(": Invalid value: \"\": {one}")]);
    attribute(
        r#"{"int":1,"bools":[true]}"#,
        &[&format!(
            ": Invalid value: {{\"IntValue\":1,\"BoolValue\":null,\"StringValue\":null,\"VersionValue\":null,\"IntValues\":null,\
             \"BoolValues\":[true],\"StringValues\":null,\"VersionValues\":null}}: {one}"
        )],
    );
    attribute(&format!(r#"{{"string":"{long}"}}"#), &[".string: Too long: may not be more than 64 bytes"]);
    attribute(
        &format!(r#"{{"version":"{long}"}}"#),
        &[
            &format!(".version: Invalid value: \"{long}\": {version}"),
            ".version: Too long: may not be more than 64 bytes",
        ],
    );
    attribute(
        &format!(r#"{{"strings":["{long}"]}}"#),
        &[".strings[0]: Too long: may not be more than 64 bytes"],
    );
    attribute(r#"{"versions":["1"]}"#, &[&format!(".versions[0]: Invalid value: \"1\": {version}")]);
}

#[test]
fn attributes_and_capacities_are_counted_and_named() {
    let entries = |prefix: &str, count: usize, value: &str| {
        let all: Vec<String> = (0..count).map(|index| format!(r#""{prefix}{index}":{value}"#)).collect();
        format!("{{{}}}", all.join(","))
    };
    let both = |attributes: usize, capacities: usize| {
        let (attributes, capacities) =
            (entries("a", attributes, r#"{"int":1}"#), entries("c", capacities, r#"{"value":"1"}"#));
        format!(r#""attributes":{attributes},"capacity":{capacities}"#)
    };
    check(&both(16, 16), &[]);
    check(
        &both(17, 16),
        &[": Invalid value: 33: the total number of attributes and capacities must not exceed 32"],
    );
    let lists = |count: usize| {
        format!(r#""attributes":{{"a":{{"int":1}},"b":{{"ints":[{}]}}}}"#, vec!["1"; count].join(","))
    };
    check(&lists(47), &[]);
    check(&lists(48), &[": Invalid value: 49: the total number of attribute values must not exceed 48"]);
    let identifier = "a valid C identifier must start with alphabetic character or '_', followed by a string of alphanumeric \
                      characters or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName', regex used for validation is \
                      '[A-Za-z_][A-Za-z0-9_]*')";
    check(
        r#""attributes":{"-/a":{"int":1}},"capacity":{"-":{"value":"1"}}"#,
        &[
            &format!(".attributes: Invalid value: \"-\": {SUBDOMAIN}"),
            &format!(".capacity: Invalid value: \"-\": {identifier}"),
        ],
    );
    let long = "a".repeat(97);
    let short = format!("{}...{}", "a".repeat(47), "a".repeat(46));
    check(
        &format!(r#""attributes":{{"{long}":{{}}}}"#),
        &[
            ".attributes: Too long: may not be more than 32 bytes",
            &format!(".attributes[{short}]: Invalid value: \"\": exactly one value must be specified"),
        ],
    );
    base().refuses(&[(
        &[("/spec/devices/0/name", r#""X""#)],
        &[&format!("spec.devices[0].name: Invalid value: \"X\": {LABEL}")],
    )]);
}

/// Checks the policy of a capacity of 10.
#[track_caller]
fn check_policy(policy: &str, errors: &[&str]) {
    let device = format!(
        r#""allowMultipleAllocations":true,"capacity":{{"m":{{"value":"10","requestPolicy":{policy}}}}}"#
    );
    let errors: Vec<String> =
        errors.iter().map(|error| format!(".capacity[m].requestPolicy{error}")).collect();
    let errors: Vec<&str> = errors.iter().map(String::as_str).collect();
    check(&device, &errors);
}

#[test]
fn policies_list_valid_amounts() {
    check_policy("{}", &[]);
    check_policy(r#"{"default":"1"}"#, &[]);
    check_policy(r#"{"default":"2","validValues":["1","2000m","10"]}"#, &[]);
    check(
        r#""capacity":{"m":{"value":"10","requestPolicy":{}}}"#,
        &[".capacity[m].requestPolicy: Forbidden: allowMultipleAllocations must be true"],
    );
    check_policy(
        r#"{"default":"1","validValues":["1"],"validRange":{"min":"1"}}"#,
        &[
            ": Forbidden: exactly one policy can be specified, cannot specify \"validValues\" and \"validRange\" at the same time",
        ],
    );
    check_policy(
        r#"{"validValues":["1"]}"#,
        &[".default: Required value: required when validValues is defined"],
    );
    let invalid = "default value is not valid according to the requestPolicy";
    check_policy(
        r#"{"default":"4","validValues":["3","2","2","11"]}"#,
        &[
            ".validValues[1]: Invalid value: \"2\": values must be sorted in ascending order",
            ".validValues[3]: Invalid value: \"11\": option is larger than capacity value: 10",
            ".validValues[2]: Duplicate value: \"2\"",
            &format!(".validValues: Invalid value: \"4\": {invalid}"),
        ],
    );
    let many = [r#""1""#; 11].join(",");
    check_policy(
        &format!(r#"{{"default":"1","validValues":[{many}]}}"#),
        &[
            ".validValues: Too many: 11: must have at most 10 items",
            &format!(".validValues: Invalid value: \"1\": {invalid}"),
        ],
    );
}

#[test]
fn policies_have_ranges_in_steps() {
    check_policy(r#"{"default":"2","validRange":{"min":"2"}}"#, &[]);
    check_policy(r#"{"default":"4","validRange":{"min":"2","max":"8","step":"2"}}"#, &[]);
    check_policy(
        r#"{"validRange":{"min":"1"}}"#,
        &[".default: Required value: required when validRange is defined"],
    );
    check_policy(
        r#"{"default":"1","validRange":{}}"#,
        &[".validRange.min: Required value: required when validRange is defined"],
    );
    check_policy(
        r#"{"default":"1","validRange":{"min":"11"}}"#,
        &[
            ".validRange.min: Invalid value: \"11\": min is larger than capacity value: 10",
            ".validRange.min: Invalid value: \"1\": default is less than min: 11",
        ],
    );
    check_policy(
        r#"{"default":"3","validRange":{"min":"2","max":"1"}}"#,
        &[
            ".validRange.max: Invalid value: \"2\": min is larger than max: 1",
            ".validRange.max: Invalid value: \"3\": default is more than max: 1",
        ],
    );
    check_policy(
        r#"{"default":"2","validRange":{"min":"2","max":"11"}}"#,
        &[".validRange.max: Invalid value: \"11\": max is larger than capacity value: 10"],
    );
    check_policy(
        r#"{"default":"3","validRange":{"min":"2","max":"5","step":"9"}}"#,
        &[
            ".validRange.step: Invalid value: \"9\": one step 11 is larger than capacity value: 10",
            ".validRange.step: Invalid value: \"3\": value is not a multiple of a given step (9) from (2)",
            ".validRange.step: Invalid value: \"5\": value is not a multiple of a given step (9) from (2)",
        ],
    );
    check_policy(
        r#"{"default":"3","validRange":{"min":"2","step":"0"}}"#,
        &[".validRange.step: Invalid value: \"3\": value is not a multiple of a given step (0) from (2)"],
    );
}

#[test]
fn taints_are_checked_when_they_change() {
    let taints = |count: usize, effect: &str| {
        format!("[{}]", vec![format!(r#"{{"key":"k","effect":"{effect}"}}"#); count].join(","))
    };
    check(&format!(r#""taints":{}"#, taints(16, "None")), &[]);
    check(
        &format!(r#""taints":{}"#, taints(17, "None")),
        &[".taints: Too many: 17: must have at most 16 items"],
    );
    let effect = ".taints[0].effect: Unsupported value: \"x\": supported values: \"NoExecute\", \"NoSchedule\", \"None\"";
    check(&format!(r#""taints":{}"#, taints(1, "x")), &[effect]);
    let base = base();
    let field = "/spec/devices/0/taints";
    let time = ("/spec/devices/0/taints/0/timeAdded", r#""2024-01-01T00:00:00Z""#);
    base.accepts_update_of(&[(field, &taints(1, "x")), time], &[&[("/spec/pool/generation", "2")]]);
    base.refuses_update_of(
        &[(field, &taints(1, "x")), time],
        &[(&[("/spec/devices/0/taints/0/value", r#""v""#)], &[&format!("spec.devices[0]{effect}")])],
    );
}

#[test]
fn devices_consume_counters_of_different_sets() {
    let consumption = |set: &str| format!(r#"{{"counterSet":"{set}","counters":{{"m":{{"value":"1"}}}}}}"#);
    let all = |sets: &[&str]| {
        let all: Vec<String> = sets.iter().map(|set| consumption(set)).collect();
        format!(r#""consumesCounters":[{}]"#, all.join(","))
    };
    check(&all(&["a", "b"]), &[]);
    check(&all(&["a", "b", "c"]), &[".consumesCounters: Too many: 3: must have at most 2 items"]);
    check(&all(&["a", "a"]), &[".consumesCounters[1]: Duplicate value: \"a\""]);
    check(
        r#""consumesCounters":[{}]"#,
        &[".consumesCounters[0].counterSet: Required value", ".consumesCounters[0].counters: Required value"],
    );
}

#[test]
fn devices_name_nodes_if_their_slice_does_not() {
    let only = "`nodeName`, `nodeSelector` and `allNodes` can only be set if `perDeviceNodeSelection` is set to true in the \
                ResourceSlice spec";
    let only = format!(": Invalid value: null: {only}");
    check(r#""nodeName":"n""#, &[&only]);
    check(r#""allNodes":true"#, &[&only]);
    check(&format!(r#""nodeSelector":{SELECTOR}"#), &[&only]);
    let one = "exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required when `perDeviceNodeSelection` is set to true in \
               the ResourceSlice spec";
    let each = [("/spec/nodeName", ""), ("/spec/perDeviceNodeSelection", "true")];
    let check = |device: &str, errors: &[&str]| check_with(&each, device, errors);
    check(r#""nodeName":"n""#, &[]);
    check(r#""allNodes":true"#, &[]);
    check(&format!(r#""nodeSelector":{SELECTOR}"#), &[]);
    check(
        r#""nodeName":"""#,
        &[".nodeName: Invalid value: \"\": must not be empty", &format!(": Required value: {one}")],
    );
    check(
        r#""allNodes":false"#,
        &[
            ".allNodes: Invalid value: false: must be either unset or set to true",
            &format!(": Required value: {one}"),
        ],
    );
    check(
        r#""nodeName":"n","allNodes":true"#,
        &[&format!(": Invalid value: \"{{`nodeName`, `allNodes`}}\": {one}")],
    );
}

#[test]
fn devices_take_resources_of_their_node() {
    let mapping = |name: &str, mapping: &str| {
        format!(
            r#""capacity":{{"m":{{"value":"1"}}}},"nodeAllocatableResourceMappings":{{"{name}":{{{mapping}}}}}"#
        )
    };
    check(&mapping("cpu", r#""capacityKey":"m""#), &[]);
    check(&mapping("cpu", r#""allocationMultiplier":"2""#), &[]);
    check(
        &mapping("example.com/x", ""),
        &[
            ".nodeAllocatableResourceMappings[example.com/x]: Invalid value: \"example.com/x\": must be a node allocatable resource \
           name",
        ],
    );
    check(
        &mapping("cpu", r#""allocationMultiplier":"0","capacityKey":"""#),
        &[
            ".nodeAllocatableResourceMappings[cpu].allocationMultiplier: Invalid value: \"0\": must be positive",
            ".nodeAllocatableResourceMappings[cpu].capacityKey: Invalid value: \"\": capacityKey must not be an empty string",
        ],
    );
    check(
        &mapping("cpu", r#""capacityKey":"n""#),
        &[".nodeAllocatableResourceMappings[cpu].capacityKey: Not found: \"n\""],
    );
}
