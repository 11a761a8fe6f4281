//! The status of claims.

use pintle_features::Feature;

use super::{CLAIM, GROUP, LABEL, REFERENCE};
use crate::framework::strategy::Settings;
use crate::framework::strategy::testing::{of, text, with_settings};
use crate::framework::validation::testing::{Base, Change};

const UID: &str = "00000000-0000-4000-8000-00000000000a";

fn base() -> Base {
    Base::new(GROUP, "resourceclaims/status", CLAIM)
}

/// An allocation of one device, with more fields of the result.
fn allocation(more: &str) -> String {
    format!(
        r#"{{"devices":{{"results":[{{"request":"r0","driver":"d.example.com","pool":"p","device":"x"{more}}}]}}}}"#
    )
}

#[track_caller]
fn refuses(changes: &[Change<'_>], errors: &[&str]) {
    base().refuses_update(&[(changes, errors)]);
}

#[test]
fn results_name_a_request_and_a_device() {
    let case = |more: &str, errors: &[&str]| {
        let errors: Vec<String> =
            errors.iter().map(|error| format!("status.allocation.devices.results[0]{error}")).collect();
        let errors: Vec<&str> = errors.iter().map(String::as_str).collect();
        refuses(&[("/status/allocation", &allocation(more))], &errors);
    };
    base().accepts_update(&[
        &[("/status/allocation", &allocation(""))],
        &[("/status/allocation", &allocation(&format!(r#","shareID":"{UID}""#)))],
        &[(
            "/status/allocation",
            &allocation(r#","bindingConditions":["a"],"bindingFailureConditions":["b"]"#),
        )],
    ]);
    case(r#","request":"x""#, &[&format!(".request: Invalid value: \"x\": {REFERENCE}")]);
    case(r#","driver":"","pool":"""#, &[".driver: Required value", ".pool: Required value"]);
    case(r#","device":"X""#, &[&format!(".device: Invalid value: \"X\": {LABEL}")]);
    let share = |id: &str, why: &str| {
        let more = format!(r#","shareID":"{id}""#);
        case(&more, &[&format!(".shareID: Invalid value: \"{id}\": {why}")]);
    };
    let format = "error validating uid: invalid UUID format";
    let normal = "uid must be in RFC 4122 normalized form, `xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx` with lowercase hexadecimal characters";
    share("x", "error validating uid: invalid UUID length: 1");
    share(&UID.replace('-', "0"), format);
    share(&UID.replace('a', "g"), format);
    share(&format!("x{}", &UID.replace('-', "")[1..]), format);
    share(&format!("<{UID}>"), "error validating uid: invalid bracketed UUID format");
    share(&format!("urn:ouid:{UID}"), "error validating uid: invalid urn prefix: \"urn:ouid:\"");
    for id in [UID.to_uppercase(), format!("{{{UID}}}"), format!("URN:uuid:{UID}"), UID.replace('-', "")] {
        share(&id, normal);
    }
    let results = vec![r#"{"request":"r0","driver":"d","pool":"p","device":"x"}"#; 33].join(",");
    refuses(
        &[("/status/allocation", &format!(r#"{{"devices":{{"results":[{results}]}}}}"#))],
        &["status.allocation.devices.results: Too many: 33: must have at most 32 items"],
    );
}

#[test]
fn binding_conditions_come_with_failure_conditions() {
    let case = |conditions: &str, failures: &str, errors: &[&str]| {
        let more = format!(r#","bindingConditions":{conditions},"bindingFailureConditions":{failures}"#);
        let errors: Vec<String> =
            errors.iter().map(|error| format!("status.allocation.devices.results[0].{error}")).collect();
        let errors: Vec<&str> = errors.iter().map(String::as_str).collect();
        refuses(&[("/status/allocation", &allocation(&more))], &errors);
    };
    case(
        r#"["a"]"#,
        "null",
        &[
            "bindingFailureConditions: Invalid value: null: bindingFailureConditions are required to use bindingConditions",
        ],
    );
    case(
        "null",
        r#"["a"]"#,
        &[
            "bindingConditions: Invalid value: null: bindingConditions are required to use bindingFailureConditions",
        ],
    );
    let many = r#"["a","b","c","d","e"]"#;
    case(many, r#"["x"]"#, &["bindingConditions: Too many: 5: must have at most 4 items"]);
    case(r#"["x"]"#, many, &["bindingFailureConditions: Too many: 5: must have at most 4 items"]);
    case(
        r#"["a","a"]"#,
        r#"["b","b","a"]"#,
        &[
            "bindingConditions[1]: Duplicate value: \"a\"",
            "bindingFailureConditions[1]: Duplicate value: \"b\"",
            "bindingFailureConditions[2]: Invalid value: \"a\": bindingFailureConditions must not overlap with bindingConditions",
        ],
    );
    let name = "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric \
                character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is \
                '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
    case(
        r#"["-"]"#,
        r#"["+"]"#,
        &[
            &format!("bindingConditions[0]: Invalid value: \"-\": {name}"),
            &format!("bindingFailureConditions[0]: Invalid value: \"+\": {name}"),
        ],
    );
}

#[test]
fn configuration_of_an_allocation_has_a_source() {
    let config = |config: &str| format!(r#"{{"devices":{{"config":[{config}]}}}}"#);
    let opaque = r#""opaque":{"driver":"d","parameters":{}}"#;
    let case = |text: &str, errors: &[&str]| refuses(&[("/status/allocation", &config(text))], errors);
    base().accepts_update(&[&[(
        "/status/allocation",
        &config(&vec![format!(r#"{{"source":"FromClass",{opaque}}}"#); 64].join(",")),
    )]]);
    case(
        &vec![format!(r#"{{"source":"FromClass",{opaque}}}"#); 65].join(","),
        &["status.allocation.devices.config: Too many: 65: must have at most 64 items"],
    );
    case(&format!("{{{opaque}}}"), &["status.allocation.devices.config[0].source: Required value"]);
    case(
        &format!(r#"{{"source":"x","requests":["x"],{opaque}}}"#),
        &[
            "status.allocation.devices.config[0].source: Unsupported value: \"x\": supported values: \"FromClaim\", \"FromClass\"",
            &format!("status.allocation.devices.config[0].requests[0]: Invalid value: \"x\": {REFERENCE}"),
        ],
    );
    case(r#"{"source":"FromClaim"}"#, &["status.allocation.devices.config[0].opaque: Required value"]);
    refuses(
        &[("/status/allocation", r#"{"nodeSelector":{"nodeSelectorTerms":[]}}"#)],
        &[
            "status.allocation.nodeSelector.nodeSelectorTerms: Required value: must have at least one node selector term",
        ],
    );
}

#[test]
fn an_allocation_does_not_change_but_goes() {
    let consumed = |amount: &str| allocation(&format!(r#","consumedCapacity":{{"m":"{amount}"}}"#));
    let before = [("/status/allocation", &*consumed("1Ki"))];
    base().accepts_update_of(
        &before,
        &[&[("/status/allocation", "")], &[("/status/allocation", &consumed("1024"))]],
    );
    base().refuses_update_of(
        &before,
        &[(
            &[("/status/allocation", &consumed("2Ki"))],
            &["status.allocation: Invalid value: {\"Devices\":{\"Results\":[{\"Request\":\"r0\",\"Driver\":\"d.example.com\",\
               \"Pool\":\"p\",\"Device\":\"x\",\"AdminAccess\":null,\"Tolerations\":null,\"BindingConditions\":null,\
               \"BindingFailureConditions\":null,\"ShareID\":null,\"ConsumedCapacity\":{\"m\":\"2Ki\"}}],\"Config\":null},\
               \"NodeSelector\":null,\"AllocationTimestamp\":null}: field is immutable"],
        )],
    );
    // An allocation that was valid once is not validated again.
    let old = allocation(r#","request":"gone""#);
    base().accepts_update_of(
        &[("/status/allocation", &old)],
        &[&[("/status/reservedFor", r#"[{"resource":"pods","name":"p","uid":"1"}]"#)]],
    );
}

#[test]
fn consumers_are_of_an_allocated_claim() {
    let (field, allocated) = ("/status/reservedFor", allocation(""));
    let allocated = ("/status/allocation", &*allocated);
    let consumer = |uid: usize| format!(r#"{{"resource":"pods","name":"p","uid":"{uid}"}}"#);
    let consumers = |count: usize| format!("[{}]", (0..count).map(consumer).collect::<Vec<_>>().join(","));
    base().accepts_update(&[&[allocated, (field, &consumers(256))]]);
    refuses(
        &[allocated, (field, &consumers(257))],
        &["status.reservedFor: Too many: 257: must have at most 256 items"],
    );
    refuses(
        &[allocated, (field, "[{}]")],
        &[
            "status.reservedFor[0].resource: Required value",
            "status.reservedFor[0].name: Required value",
            "status.reservedFor[0].uid: Required value",
        ],
    );
    refuses(
        &[allocated, (field, &format!("[{},{}]", consumer(1), consumer(1)))],
        &["status.reservedFor[1]: Duplicate value: \"1\""],
    );
    refuses(
        &[(field, &consumers(1))],
        &["status.reservedFor: Forbidden: may not be specified when `allocated` is not set"],
    );
    let deleted = ("/metadata/deletionTimestamp", r#""2024-01-01T00:00:00Z""#);
    let grace = ("/metadata/deletionGracePeriodSeconds", "0");
    let before = [deleted, grace, allocated, (field, &*consumers(2))];
    base().accepts_update_of(
        &before,
        &[
            &[(field, &consumers(1))],
            &[("/status/reservedFor/0/uid", r#""1""#), ("/status/reservedFor/1", "")],
        ],
    );
    base().refuses_update_of(
        &before,
        &[(
            &[(field, &consumers(3))],
            &["status.reservedFor: Forbidden: new entries may not be added while `deallocationRequested` or `deletionTimestamp` \
               are set"],
        )],
    );
}

#[test]
fn devices_are_allocated_ones() {
    let allocated = allocation("");
    let allocated = ("/status/allocation", &*allocated);
    let device = |more: &str| format!(r#"{{"driver":"d.example.com","pool":"p","device":"x"{more}}}"#);
    let case = |more: &str, errors: &[&str]| {
        let devices = format!("[{}]", device(more));
        if errors.is_empty() {
            return base().accepts_update(&[&[allocated, ("/status/devices", &devices)]]);
        }
        let errors: Vec<String> = errors.iter().map(|error| format!("status.devices[0]{error}")).collect();
        let errors: Vec<&str> = errors.iter().map(String::as_str).collect();
        refuses(&[allocated, ("/status/devices", &devices)], &errors);
    };
    case(
        r#","data":{"a":1},"networkData":{"interfaceName":"eth0","ips":["10.0.0.1/8"],"hardwareAddress":"x"}"#,
        &[],
    );
    case(
        r#","driver":"","pool":"","device":"X","shareID":"y""#,
        &[
            ".driver: Required value",
            ".pool: Required value",
            &format!(".device: Invalid value: \"X\": {LABEL}"),
            ".shareID: Invalid value: \"y\": error validating uid: invalid UUID length: 1",
            ": Invalid value: {\"Driver\":\"\",\"Pool\":\"\",\"Device\":\"X\",\"ShareID\":\"y\"}: must be an allocated device in the claim",
        ],
    );
    let condition = |of: usize| {
        format!(
            r#"{{"type":"T{of}","status":"True","reason":"R","message":"","lastTransitionTime":"2024-01-01T00:00:00Z"}}"#
        )
    };
    let conditions: Vec<String> = (0..9).map(condition).collect();
    case(
        &format!(r#","conditions":[{}]"#, conditions.join(",")),
        &[".conditions: Too many: 9: must have at most 8 items"],
    );
    case(
        &format!(r#","conditions":[{}]"#, condition(1).replace("True", "x")),
        &[
            ".conditions[0].status: Unsupported value: \"x\": supported values: \"False\", \"True\", \"Unknown\"",
        ],
    );
    case(r#","data":1"#, &[".data: Invalid value: \"<value omitted>\": must be a valid JSON object"]);
    case(
        &format!(r#","data":{{"a":"{}"}}"#, "x".repeat(10 * 1024)),
        &[".data: Too long: may not be more than 10240 bytes"],
    );
    case(
        &format!(
            r#","networkData":{{"interfaceName":"{}","hardwareAddress":"{}","ips":["10.0.0.1/8","x","10.0.0.1/8"]}}"#,
            "x".repeat(257),
            "x".repeat(129)
        ),
        &[
            ".networkData.interfaceName: Too long: may not be more than 256 bytes",
            ".networkData.hardwareAddress: Too long: may not be more than 128 bytes",
            ".networkData.ips[1]: Invalid value: \"x\": must be a valid address in CIDR form, (e.g. 10.9.8.7/24 or 2001:db8::1/64)",
            ".networkData.ips[2]: Duplicate value: \"10.0.0.1/8\"",
        ],
    );
    let addresses: Vec<String> = (0..17).map(|index| format!(r#""10.0.0.{index}/8""#)).collect();
    case(
        &format!(r#","networkData":{{"ips":[{}]}}"#, addresses.join(",")),
        &[".networkData.ips: Too many: 17: must have at most 16 items"],
    );
    refuses(
        &[allocated, ("/status/devices", &format!("[{},{}]", device(""), device("")))],
        &[
            "status.devices[1]: Duplicate value: {\"Driver\":\"d.example.com\",\"Pool\":\"p\",\"Device\":\"x\",\"ShareID\":\"\"}",
        ],
    );
}

#[test]
fn a_device_that_is_freed_is_forgotten() {
    let status = of(GROUP, "resourceclaims/status");
    let claim = |results: &str, devices: &str| {
        format!(
            r#"{{"metadata":{{"name":"a","namespace":"n"}},"spec":{{"devices":{{"requests":null}}}},"status":{{"allocation":{{"devices":{{{results}}}}}{devices}}}}}"#
        )
    };
    let result = |device: &str| format!(r#"{{"request":"r","driver":"d","pool":"p","device":"{device}"}}"#);
    let known =
        |device: &str| format!(r#"{{"driver":"d","pool":"p","device":"{device}","conditions":null}}"#);
    let (x, y, z) = (known("x"), known("y"), known("z"));
    let both = format!(r#""results":[{},{}]"#, result("x"), result("y"));
    let one = format!(r#""results":[{}]"#, result("x"));
    let old = claim(&both, "");
    let new = claim(&one, &format!(r#","devices":[{x},{y},{z}]"#));
    assert_eq!(text(&status.updated(&new, &old)), claim(&one, &format!(r#","devices":[{x},{z}]"#)));
    let new = claim("", &format!(r#","devices":[{x},{y}]"#));
    assert_eq!(text(&status.updated(&new, &old)), claim("", ""));
}

#[test]
fn fields_of_features_that_are_off_go_unless_they_were_there() {
    let claim = |exactly: &str, result: &str, devices: &str| {
        format!(
            r#"{{"metadata":{{"name":"a","namespace":"n"}},"spec":{{"devices":{{"requests":[{{"name":"r","exactly":{{"deviceClassName":"c"{exactly}}}}}]}}}},"status":{{"allocation":{{"devices":{{"results":[{{"request":"r","driver":"d","pool":"p","device":"x"{result}}}]}}}}{devices}}}}}"#
        )
    };
    let devices = |more: &str| {
        format!(r#","devices":[{{"driver":"d","pool":"p","device":"x"{more},"conditions":null}}]"#)
    };
    let plain = claim("", "", "");
    let binding = r#","bindingConditions":["a"],"bindingFailureConditions":["b"]"#;
    let cases = [
        (Feature::DRAResourceClaimDeviceStatus, claim("", "", &devices("")), plain.clone()),
        (Feature::DRAAdminAccess, claim("", r#","adminAccess":true"#, ""), plain.clone()),
        (Feature::DRADeviceBindingConditions, claim("", binding, ""), plain.clone()),
        (
            Feature::DRAConsumableCapacity,
            claim("", r#","shareID":"s","consumedCapacity":{"m":"1"}"#, ""),
            plain.clone(),
        ),
        (
            Feature::DRAConsumableCapacity,
            claim("", "", &devices(r#","shareID":"s""#)),
            claim("", "", &devices("")),
        ),
    ];
    for (feature, gated, dropped) in cases {
        let mut settings = Settings::default();
        settings.features.set(feature, false);
        let off = with_settings(GROUP, "resourceclaims/status", &settings);
        assert_eq!(text(&off.updated(&gated, &plain)), dropped, "{feature:?}");
        assert_eq!(text(&off.updated(&gated, &gated)), gated, "{feature:?}");
        settings.features.set(feature, true);
        let on = with_settings(GROUP, "resourceclaims/status", &settings);
        assert_eq!(text(&on.updated(&gated, &plain)), gated, "{feature:?}");
    }
    // The spec counts as a use.
    let mut settings = Settings::default();
    settings.features.set(Feature::DRAAdminAccess, false);
    settings.features.set(Feature::DRAConsumableCapacity, false);
    let off = with_settings(GROUP, "resourceclaims/status", &settings);
    let spec = r#","adminAccess":true,"capacity":{"requests":{"m":"1"}}"#;
    let gated = claim(spec, r#","adminAccess":true,"shareID":"s""#, "");
    assert_eq!(text(&off.updated(&gated, &claim(spec, "", ""))), gated);
}
