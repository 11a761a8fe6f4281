use super::*;

const PATH: Path<'static> = Path::new("x");

fn details(errors: Vec<Error>) -> Vec<String> {
    errors.into_iter().map(|error| error.detail).collect()
}

#[test]
fn sloppy_addresses_may_have_leading_zeros() {
    let cases = [
        ("1.2.3.4", Some("1.2.3.4")),
        ("001.02.3.000", Some("1.2.3.0")),
        ("::", Some("::")),
        ("1::", Some("1::")),
        ("::1", Some("::1")),
        ("1:2:3:4:5:6:7:8", Some("1:2:3:4:5:6:7:8")),
        ("1:2:3:4:5:6:7::", Some("1:2:3:4:5:6:7:0")),
        ("000001::A", Some("1::a")),
        ("::ffff:1.2.3.4", Some("::ffff:1.2.3.4")),
        ("1:2:3:4:5:6:01.2.3.4", Some("1:2:3:4:5:6:102:304")),
        ("", None),
        ("1", None),
        ("1.2.3", None),
        ("1.2.3.4.5", None),
        ("1.2.3.256", None),
        ("1.2.3.", None),
        ("1..2.3", None),
        ("+1.2.3.4", None),
        ("1.2.3.4 ", None),
        (":", None),
        (":1::", None),
        ("1:", None),
        ("::1:", None),
        ("1::2::3", None),
        (":::", None),
        ("1:2:3:4:5:6:7", None),
        ("1:2:3:4:5:6:7:8:9", None),
        ("1:2:3:4:5:6:7:8::", None),
        ("1:2:3:4::5:6:7:8", None),
        ("fe80::1%eth0", None),
        ("10000::", None),
        ("1.2.3.4::", None),
        ("::1.2.3.4:5", None),
        ("1:2:3:4:5:6:7:1.2.3.4", None),
        ("99999999999999999999.1.1.1", None),
    ];
    for (text, want) in cases {
        assert_eq!(parse_ip_sloppy(text).map(|ip| ip.to_string()).as_deref(), want, "{text}");
    }
}

#[test]
fn an_address_must_be_canonical() {
    for good in ["10.9.8.7", "2001:db8::ffff", "::", "::1"] {
        assert!(ip(&PATH, good).is_empty(), "{good}");
    }
    let cases = [
        ("", "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"),
        ("a", "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"),
        ("010.0.0.1", "must not have leading 0s"),
        ("::00001", "must not have leading 0s"),
        ("::ffff:1.2.3.4", "must not be an IPv4-mapped IPv6 address"),
        ("2001:DB8::1", r#"must be in canonical form ("2001:db8::1")"#),
        ("0:0::1", r#"must be in canonical form ("::1")"#),
        ("::1.2.3.4", r#"must be in canonical form ("::102:304")"#),
    ];
    for (text, want) in cases {
        assert_eq!(details(ip(&PATH, text)), [want], "{text}");
    }
}

#[test]
fn legacy_fields_keep_existing_values() {
    assert!(ip_for_legacy_field(&PATH, "010.0.0.1", false, &[]).is_empty());
    assert_eq!(details(ip_for_legacy_field(&PATH, "010.0.0.1", true, &[])), ["must not have leading 0s"]);
    assert!(ip_for_legacy_field(&PATH, "nonsense", true, &["nonsense"]).is_empty());
    assert!(ip_for_legacy_field(&PATH, "2001:DB8::1", true, &[]).is_empty());
    assert!(cidr_for_legacy_field(&PATH, "010.0.0.1/8", false, &[]).is_empty());
    assert!(cidr_for_legacy_field(&PATH, "nonsense", true, &["nonsense"]).is_empty());
}

#[test]
fn a_cidr_must_be_canonical() {
    for good in ["10.9.8.0/24", "0.0.0.0/0", "1.2.3.4/32", "2001:db8::/64", "::/0", "::1/128"] {
        assert!(cidr(&PATH, good).is_empty(), "{good}: {:?}", cidr(&PATH, good));
    }
    let cases = [
        ("1.2.3.4", "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"),
        ("1.2.3.4/", "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"),
        ("1.2.3.4/33", "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"),
        ("::/129", "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"),
        ("10.0.0.0/08", "must not have leading 0s in IP or prefix length"),
        ("010.0.0.0/8", "must not have leading 0s in IP or prefix length"),
        ("::ffff:1.2.3.0/120", "must not have an IPv4-mapped IPv6 address"),
        ("10.0.0.1/8", "must not have bits set beyond the prefix length"),
        ("2001:DB8::/64", r#"must be in canonical form ("2001:db8::/64")"#),
    ];
    for (text, want) in cases {
        assert_eq!(details(cidr(&PATH, text)), [want], "{text}");
    }
}

#[test]
fn unusual_addresses_and_cidrs_have_warnings() {
    assert!(ip_warnings(&PATH, "1.2.3.4").is_empty());
    assert_eq!(
        ip_warnings(&PATH, "01.2.3.4"),
        [r#"x: non-standard IP address "01.2.3.4" is invalid: use "1.2.3.4""#]
    );
    assert_eq!(
        ip_warnings(&PATH, "::ffff:1.2.3.4"),
        [r#"x: non-standard IP address "::ffff:1.2.3.4" is invalid: use "1.2.3.4""#]
    );
    assert_eq!(
        ip_warnings(&PATH, "2001:DB8::1"),
        [r#"x: IPv6 address "2001:DB8::1" should be in RFC 5952 canonical format ("2001:db8::1")"#]
    );
    assert!(cidr_warnings(&PATH, "10.0.0.0/8").is_empty());
    assert_eq!(
        cidr_warnings(&PATH, "10.0.0.1/8"),
        [
            r#"x: CIDR value "10.0.0.1/8" is ambiguous in this context (should be "10.0.0.0/8" or "10.0.0.1/32"?)"#
        ]
    );
    assert_eq!(
        cidr_warnings(&PATH, "::ffff:1.2.3.0/120"),
        [r#"x: non-standard CIDR value "::ffff:1.2.3.0/120" is invalid: use "1.2.3.0/24""#]
    );
    assert_eq!(
        cidr_warnings(&PATH, "2001:DB8::/64"),
        [r#"x: IPv6 CIDR value "2001:DB8::/64" should be in RFC 5952 canonical format ("2001:db8::/64")"#]
    );
}

#[test]
fn an_interface_address_has_a_prefix_length() {
    assert!(interface_address(&PATH, "10.9.8.7/24").is_empty());
    assert!(interface_address(&PATH, "2001:db8::1/64").is_empty());
    assert_eq!(
        details(interface_address(&PATH, "010.9.8.7/24")),
        [r#"must be in canonical form ("10.9.8.7/24")"#]
    );
    assert_eq!(
        details(interface_address(&PATH, "::ffff:10.9.8.7/120")),
        [r#"must be in canonical form ("10.9.8.7/24")"#]
    );
    assert_eq!(
        details(interface_address(&PATH, "::ffff:10.9.8.7/64")),
        [r#"must be in canonical form ("10.9.8.7/-32")"#]
    );
    assert_eq!(
        details(interface_address(&PATH, "10.9.8.7")),
        ["must be a valid address in CIDR form, (e.g. 10.9.8.7/24 or 2001:db8::1/64)"]
    );
}

#[test]
fn networks_contain_addresses_of_their_family() {
    let contains = |network: &str, address: &str| {
        parse_cidr_sloppy(network).unwrap().contains(parse_ip_sloppy(address).unwrap())
    };
    assert!(contains("10.0.0.0/8", "10.255.0.1"));
    assert!(contains("10.1.2.3/8", "10.0.0.0"));
    assert!(contains("0.0.0.0/0", "255.255.255.255"));
    assert!(contains("fd00::/8", "fdff::1"));
    assert!(contains("::ffff:10.0.0.0/104", "10.9.9.9"));
    assert!(contains("10.0.0.0/8", "::ffff:10.0.0.1"));
    assert!(!contains("10.0.0.0/8", "11.0.0.0"));
    assert!(!contains("fd00::/8", "fe00::1"));
    assert!(!contains("::/0", "10.0.0.1"));
    assert!(!contains("0.0.0.0/0", "fd00::1"));
}
