//! Tests of EndpointSlices.

use pintle_features::Feature;

use crate::framework::strategy::Settings;
use crate::framework::strategy::testing::{of, text, warnings, with_settings};
use crate::framework::validation::testing::Base;

fn slice(metadata: &str, endpoints: &str) -> String {
    format!(
        r#"{{"metadata":{{"name":"a","namespace":"n"{metadata}}},"addressType":"IPv4","endpoints":[{endpoints}],"ports":null}}"#
    )
}

const OLD: &str =
    r#"{"addresses":["1.1.1.1"],"conditions":{},"deprecatedTopology":{"kubernetes.io/hostname":"h"}}"#;

#[test]
fn everything_but_the_metadata_counts_and_the_labels_do_too() {
    let slices = of("discovery.k8s.io", "endpointslices");
    let old = slice(r#","generation":3"#, r#"{"addresses":["1.1.1.1"],"conditions":{}}"#);
    assert_eq!(slices.created(&old).generation(), 1);
    assert_eq!(slices.updated(&old, &old).generation(), 3);
    let annotated = old.replace(r#""generation":3"#, r#""generation":3,"annotations":{"a":"b"}"#);
    assert_eq!(slices.updated(&annotated, &old).generation(), 3);
    let labelled = old.replace(r#""generation":3"#, r#""generation":3,"labels":{"a":"b"}"#);
    assert_eq!(slices.updated(&labelled, &old).generation(), 4);
    assert_eq!(slices.updated(&old.replace("1.1.1.1", "1.1.1.2"), &old).generation(), 4);
}

#[test]
fn the_topology_of_old_goes_with_the_first_change_of_endpoints() {
    let slices = of("discovery.k8s.io", "endpointslices");
    assert!(!text(&slices.created(&slice("", OLD))).contains("nodeName"));
    assert!(!text(&slices.created(&slice("", OLD))).contains("Topology"));
    let old = slice("", OLD);
    assert_eq!(text(&slices.updated(&old, &old)), old);
    let new = slice(
        "",
        &format!(
            r#"{OLD},{{"addresses":["2.2.2.2"],"conditions":{{}},"deprecatedTopology":{{"kubernetes.io/hostname":"new"}}}}"#
        ),
    );
    assert_eq!(
        text(&slices.updated(&new, &old)),
        slice(
            r#","generation":1"#,
            r#"{"addresses":["1.1.1.1"],"conditions":{},"nodeName":"h"},{"addresses":["2.2.2.2"],"conditions":{}}"#
        )
    );
}

#[test]
fn names_and_odd_addresses_are_warned_of() {
    let slices = of("discovery.k8s.io", "endpointslices");
    let odd = slice("", r#"{"addresses":["1.1.1.1","01.1.1.1"]}"#);
    let found = warnings(&slices, &odd, Some(&odd));
    assert!(found.len() == 1 && found[0].starts_with("endpoints[0].addresses[1]: "), "{found:?}");
    let controlled = odd.replace(
        r#""namespace""#,
        r#""labels":{"endpointslice.kubernetes.io/managed-by":"endpointslice-controller.k8s.io"},"namespace""#,
    );
    assert!(warnings(&slices, &controlled, None).is_empty());
    let names = slice("", "").replace("IPv4", "FQDN");
    assert_eq!(warnings(&slices, &names, None), ["spec.addressType: FQDN endpoints are deprecated"]);
    assert!(warnings(&slices, &names, Some(&names)).is_empty());
}

const BASE: &str = r#"{"metadata":{"name":"a","namespace":"n"},"addressType":"IPv4","ports":[{"port":80}],
    "endpoints":[{"addresses":["10.0.0.1"]}]}"#;

fn base() -> Base {
    Base::new("discovery.k8s.io", "endpointslices", BASE)
}

#[test]
fn addresses_are_of_one_family_and_reachable_from_other_machines() {
    let refused = |kind: &str, address: &str, why: &str| {
        let wrong = format!(r#"endpoints[0].addresses[0]: Invalid value: "{address}": {why}"#);
        let kind = format!(r#""{kind}""#);
        let addresses = format!(r#"["{address}"]"#);
        base().refuses(&[(&[("/addressType", &kind), ("/endpoints/0/addresses", &addresses)], &[&wrong])]);
    };
    refused("IPv4", "0.0.0.0", "may not be unspecified (0.0.0.0)");
    refused("IPv6", "::", "may not be unspecified (::)");
    refused("IPv4", "127.0.0.1", "may not be in the loopback range (127.0.0.0/8, ::1/128)");
    refused("IPv6", "::1", "may not be in the loopback range (127.0.0.0/8, ::1/128)");
    refused("IPv4", "169.254.0.1", "may not be in the link-local range (169.254.0.0/16, fe80::/10)");
    refused("IPv6", "fe80::1", "may not be in the link-local range (169.254.0.0/16, fe80::/10)");
    refused("IPv4", "224.0.0.1", "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)");
    refused("IPv6", "ff02::1", "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)");
    refused("IPv4", "010.0.0.1", "must not have leading 0s");
    refused("IPv6", "a", "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)");
    refused("FQDN", "a", "should be a domain with at least two segments separated by dots");
    base().refuses(&[
        (
            &[("/endpoints/0/addresses/0", r#""fd00::1""#)],
            &[r#"endpoints[0].addresses: Invalid value: "fd00::1": must be an IPv4 address"#],
        ),
        (
            &[("/addressType", r#""IPv6""#)],
            &[r#"endpoints[0].addresses: Invalid value: "10.0.0.1": must be an IPv6 address"#],
        ),
        (&[("/addressType", r#""""#)], &["addressType: Required value"]),
        (
            &[("/addressType", r#""IP""#)],
            &[r#"addressType: Unsupported value: "IP": supported values: "FQDN", "IPv4", "IPv6""#],
        ),
    ]);
    base().accepts(&[&[("/addressType", r#""FQDN""#), ("/endpoints/0/addresses/0", r#""a.example""#)]]);
    let off = [(Feature::StrictIPCIDRValidation, false)];
    Base::with_features("discovery.k8s.io", "endpointslices", BASE, &off)
        .accepts(&[&[("/endpoints/0/addresses/0", r#""010.0.0.1""#)]]);
}

#[test]
fn numbers_of_things_are_limited() {
    let list = |count: usize, item: &str| format!("[{}]", vec![item; count].join(","));
    let addresses: Vec<String> = (0..101).map(|n| format!(r#""10.0.0.{n}""#)).collect();
    base().refuses(&[
        (
            &[("/endpoints/0/addresses", "[]")],
            &["endpoints[0].addresses: Required value: must contain at least 1 address"],
        ),
        (
            &[("/endpoints/0/addresses", &format!("[{}]", addresses.join(",")))],
            &["endpoints[0].addresses: Too many: 101: must have at most 100 items"],
        ),
        (
            &[("/endpoints", &list(1001, r#"{"addresses":["10.0.0.1"]}"#))],
            &["endpoints: Too many: 1001: must have at most 1000 items"],
        ),
        (
            &[("/ports", &list(20_001, r#"{"port":1}"#))],
            &["ports: Too many: 20001: must have at most 20000 items"],
        ),
        (
            &[
                ("/endpoints/0/hints/forZones", &list(9, r#"{"name":"z"}"#)),
                ("/endpoints/0/hints/forNodes", &list(9, r#"{"name":"n"}"#)),
            ],
            &["endpoints[0].hints.forZones: Too many: 9: must have at most 8 items"],
        ),
        (
            &[("/endpoints/0/hints/forNodes", &list(9, r#"{"name":"n"}"#))],
            &["endpoints[0].hints.forNodes: Too many: 9: must have at most 8 items"],
        ),
    ]);
}

#[test]
fn names_are_checked() {
    let label = "a".repeat(64);
    let long = "a".repeat(254);
    base().refuses(&[
        (
            &[("/ports/0/name", r#""a.b""#), ("/ports/-", r#"{"name":"a.b"}"#)],
            &[
                r#"ports[0].name: Invalid value: "a.b": must not contain dots"#,
                r#"ports[1].name: Invalid value: "a.b": must not contain dots"#,
                r#"ports[1].name: Duplicate value: "a.b""#,
            ],
        ),
        (
            &[("/ports/0/protocol", r#""ICMP""#)],
            &[r#"ports[0].protocol: Unsupported value: "ICMP": supported values: "SCTP", "TCP", "UDP""#],
        ),
        (
            &[("/ports/0/appProtocol", &format!(r#""{label}""#))],
            &[&format!(r#"ports[0].appProtocol: Invalid value: "{label}": name part must be no more than 63 bytes"#)],
        ),
        (
            &[("/endpoints/0/nodeName", &format!(r#""{long}""#)), ("/endpoints/0/hostname", r#""a.b""#)],
            &[
                &format!(r#"endpoints[0].nodeName: Invalid value: "{long}": must be no more than 253 characters"#),
                r#"endpoints[0].hostname: Invalid value: "a.b": must not contain dots"#,
            ],
        ),
        (
            &[
                ("/endpoints/0/hints/forZones", &format!(r#"[{{"name":"z"}},{{"name":"z"}},{{"name":"{label}"}}]"#)),
                ("/endpoints/0/hints/forNodes", &format!(r#"[{{"name":"n"}},{{"name":"n"}},{{"name":"{long}"}}]"#)),
            ],
            &[
                r#"endpoints[0].hints.forZones[1].name: Duplicate value: "z""#,
                &format!(
                    r#"endpoints[0].hints.forZones[2].name: Invalid value: "{label}": must be no more than 63 bytes"#
                ),
                r#"endpoints[0].hints.forNodes[1].name: Duplicate value: "n""#,
                &format!(
                    r#"endpoints[0].hints.forNodes[2].name: Invalid value: "{long}": must be no more than 253 characters"#
                ),
            ],
        ),
    ]);
}

#[test]
fn the_type_is_immutable_and_endpoints_of_old_may_stay() {
    base().refuses_update(&[(
        &[("/addressType", r#""IPv6""#)],
        &[r#"addressType: Invalid value: "IPv6": field is immutable"#],
    )]);
    let old = [("/endpoints/0/addresses/0", r#""127.0.0.1""#)];
    base().accepts_update_of(&old, &[&[("/ports/0/port", "81")]]);
    base().refuses_update_of(
        &old,
        &[(
            &[("/endpoints/0/hostname", r#""h""#)],
            &[
                r#"endpoints[0].addresses[0]: Invalid value: "127.0.0.1": may not be in the loopback range (127.0.0.0/8, ::1/128)"#,
            ],
        )],
    );
}

#[test]
fn hints_by_node_go_while_their_feature_is_off() {
    let mut settings = Settings::default();
    settings.features.set(Feature::PreferSameTrafficDistribution, false);
    let slices = with_settings("discovery.k8s.io", "endpointslices", &settings);
    let with = slice("", r#"{"addresses":["1.1.1.1"],"conditions":{},"hints":{"forNodes":[{"name":"n"}]}}"#);
    let without = slice("", r#"{"addresses":["1.1.1.1"],"conditions":{},"hints":{}}"#);
    assert!(!text(&slices.created(&with)).contains("forNodes"));
    assert!(!text(&slices.updated(&with, &without)).contains("forNodes"));
    assert!(text(&slices.updated(&with, &with)).contains("forNodes"));
}
