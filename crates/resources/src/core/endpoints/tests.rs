//! Cases of Endpoints.

use pintle_features::Feature;

use crate::framework::validation::testing::Base;

const BASE: &str = r#"{"metadata":{"name":"a","namespace":"n"},"subsets":[
    {"addresses":[{"ip":"10.0.0.1","hostname":"h","nodeName":"n.example"}],"ports":[{"port":80}]}]}"#;

fn base() -> Base {
    Base::new("", "endpoints", BASE)
}

#[test]
fn a_subset_has_addresses() {
    let empty = "subsets[0]: Required value: must specify `addresses` or `notReadyAddresses`";
    base().refuses(&[(&[("/subsets/0/addresses", "")], &[empty])]);
    base().accepts(&[
        &[("/subsets", "")],
        &[("/subsets/0/ports", "")],
        &[("/subsets/0/addresses", ""), ("/subsets/0/notReadyAddresses", r#"[{"ip":"fd00::1"}]"#)],
    ]);
}

#[test]
fn addresses_are_reachable_from_other_machines() {
    let refused = |ip: &str, why: &str| {
        let wrong = format!(r#"subsets[0].addresses[0].ip: Invalid value: "{ip}": {why}"#);
        base().refuses(&[(&[("/subsets/0/addresses/0/ip", &format!(r#""{ip}""#))], &[&wrong])]);
        let wrong = wrong.replace("addresses[0]", "notReadyAddresses[0]");
        let addresses = format!(r#"[{{"ip":"{ip}"}}]"#);
        base().refuses(&[(&[("/subsets/0/notReadyAddresses", &addresses)], &[&wrong])]);
    };
    refused("0.0.0.0", "may not be unspecified (0.0.0.0)");
    refused("::", "may not be unspecified (::)");
    for ip in ["127.0.0.1", "127.9.9.9", "::1"] {
        refused(ip, "may not be in the loopback range (127.0.0.0/8, ::1/128)");
    }
    for ip in ["169.254.169.254", "fe80::1", "febf::1"] {
        refused(ip, "may not be in the link-local range (169.254.0.0/16, fe80::/10)");
    }
    for ip in ["224.0.0.9", "ff02::1"] {
        refused(ip, "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)");
    }
    base().accepts(&[
        &[("/subsets/0/addresses/0/ip", r#""224.0.1.1""#)],
        &[("/subsets/0/addresses/0/ip", r#""fec0::1""#)],
    ]);
}

#[test]
fn addresses_are_spelled_in_one_way() {
    let ip = "subsets[0].addresses[0].ip: Invalid value:";
    let not_one = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)";
    base().refuses(&[
        (
            &[("/subsets/0/addresses/0/ip", r#""a""#)],
            &[&format!(r#"{ip} "a": {not_one}"#), &format!(r#"{ip} "a": must be a valid IP address"#)],
        ),
        (
            &[("/subsets/0/addresses/0/ip", r#""010.0.0.1""#)],
            &[&format!(r#"{ip} "010.0.0.1": must not have leading 0s"#)],
        ),
    ]);
    let sloppy = Base::with_features("", "endpoints", BASE, &[(Feature::StrictIPCIDRValidation, false)]);
    sloppy.accepts(&[&[("/subsets/0/addresses/0/ip", r#""010.0.0.1""#)]]);
    let names = [("hostname", "must not contain dots"), ("nodeName", "must be no more than 253 characters")];
    for (field, why) in names {
        let name = if field == "hostname" { "a.b".to_owned() } else { "a".repeat(254) };
        let path = format!("/subsets/0/addresses/0/{field}");
        let wrong = format!(r#"subsets[0].addresses[0].{field}: Invalid value: "{name}": {why}"#);
        base().refuses(&[(&[(&path, &format!(r#""{name}""#))], &[&wrong])]);
    }
}

#[test]
fn ports_are_told_apart_by_name() {
    let range = "must be between 1 and 65535, inclusive";
    base().refuses(&[
        (&[("/subsets/0/ports/-", r#"{"name":"b","port":81}"#)], &["subsets[0].ports[0].name: Required value"]),
        (
            &[("/subsets/0/ports/0/name", r#""a.b""#)],
            &[r#"subsets[0].ports[0].name: Invalid value: "a.b": must not contain dots"#],
        ),
        (
            &[("/subsets/0/ports/0/port", "0")],
            &[&format!("subsets[0].ports[0].port: Invalid value: 0: {range}")],
        ),
        (
            &[("/subsets/0/ports/0/protocol", r#""ICMP""#)],
            &[r#"subsets[0].ports[0].protocol: Unsupported value: "ICMP": supported values: "SCTP", "TCP", "UDP""#],
        ),
        (
            &[("/subsets/0/ports/0/appProtocol", &format!(r#""{}""#, "a".repeat(64)))],
            &[&format!(
                r#"subsets[0].ports[0].appProtocol: Invalid value: "{}": name part must be no more than 63 bytes"#,
                "a".repeat(64)
            )],
        ),
    ]);
}

#[test]
fn subsets_of_old_may_stay() {
    let old = [("/subsets/0/addresses/0/ip", r#""127.0.0.1""#)];
    base().accepts_update_of(&old, &[&[], &[("/metadata/labels", r#"{"a":"b"}"#)]]);
    base().refuses_update_of(
        &old,
        &[(
            &[("/subsets/0/ports/0/port", "81")],
            &[
                r#"subsets[0].addresses[0].ip: Invalid value: "127.0.0.1": may not be in the loopback range (127.0.0.0/8, ::1/128)"#,
            ],
        )],
    );
}
