use pintle_features::Feature;

use crate::framework::validation::testing::Base;

const POD: &str = r#"{
    "metadata": {"name": "a", "namespace": "n"},
    "spec": {"containers": [{"name": "c", "image": "i"}]}
}"#;

#[test]
fn policies() {
    let pods = Base::new("", "pods", POD);
    pods.refuses(&[(
        &[("/spec/dnsPolicy", r#""x""#)],
        &[
            r#"spec.dnsPolicy: Unsupported value: "x": supported values: "ClusterFirstWithHostNet", "ClusterFirst", "Default", "None""#,
        ],
    )]);
    pods.refuses(&[
        (
            &[("/spec/dnsPolicy", r#""None""#)],
            &["spec.dnsConfig: Required value: must provide `dnsConfig` when `dnsPolicy` is None"],
        ),
        (
            &[("/spec/dnsPolicy", r#""None""#), ("/spec/dnsConfig", r#"{"searches":["B"]}"#)],
            &[
                "spec.dnsConfig.nameservers: Required value: must provide at least one DNS nameserver when `dnsPolicy` is None",
            ],
        ),
    ]);
    pods.accepts(&[&[("/spec/dnsPolicy", r#""None""#), ("/spec/dnsConfig", r#"{"nameservers":["::1"]}"#)]]);
}

#[test]
fn servers_searches_and_options_have_limits() {
    let pods = Base::new("", "pods", POD);
    let subdomain = r"a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?(\._?[a-z0-9]([-_a-z0-9]*[a-z0-9])?)*')";
    let many = format!("[{}]", vec![r#""a""#; 33].join(","));
    // 2041 characters and eight spaces.
    let label = "a".repeat(63);
    let longest = format!("{label}.{label}.{label}.{}", "a".repeat(61));
    let long = format!("[{},{}]", vec![format!("\"{longest}\""); 8].join(","), r#""aaaaaaaaaaaaaaaaa""#);
    pods.accepts(&[
        &[(
            "/spec/dnsConfig",
            r#"{"nameservers":["1.2.3.4"],"searches":[".","a.b.","_a.b_c"],"options":[{"name":"a"}]}"#,
        )],
        &[("/spec/dnsConfig/searches", &long.replace("a\"]", "\"]"))],
    ]);
    pods.refuses(&[
        (
            &[("/spec/dnsConfig", r#"{"nameservers":["1.1.1.1","1.1.1.2","1.1.1.3","a"]}"#)],
            &[
                r#"spec.dnsConfig.nameservers: Invalid value: ["1.1.1.1","1.1.1.2","1.1.1.3","a"]: must not have more than 3 nameservers"#,
                r#"spec.dnsConfig.nameservers[3]: Invalid value: "a": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"#,
            ],
        ),
        (
            &[("/spec/dnsConfig", r#"{"searches":["..","A."],"options":[{"value":"a"}]}"#)],
            &[
                &format!(r#"spec.dnsConfig.searches[0]: Invalid value: ".": {subdomain}"#),
                &format!(r#"spec.dnsConfig.searches[1]: Invalid value: "A": {subdomain}"#),
                "spec.dnsConfig.options[0]: Required value: must not be empty",
            ],
        ),
        (
            &[("/spec/dnsConfig/searches", &many)],
            &[&format!("spec.dnsConfig.searches: Invalid value: {many}: must not have more than 32 search paths")],
        ),
        (
            &[("/spec/dnsConfig/searches", &long)],
            &[&format!(
                "spec.dnsConfig.searches: Invalid value: {long}: must not have more than 2048 characters (including spaces) in the search list"
            )],
        ),
    ]);
}

#[test]
fn addresses_are_strict_with_the_gate() {
    let zeros = ("/spec/dnsConfig/nameservers", r#"["010.0.0.1"]"#);
    let pods = Base::new("", "pods", POD);
    pods.refuses(&[(
        &[zeros],
        &[r#"spec.dnsConfig.nameservers[0]: Invalid value: "010.0.0.1": must not have leading 0s"#],
    )]);
    Base::with_features("", "pods", POD, &[(Feature::StrictIPCIDRValidation, false)]).accepts(&[&[zeros]]);
}

#[test]
fn a_policy_is_required_where_none_is_defaulted() {
    use crate::framework::validation::{Cursor, Errors};
    let object = pintle_codec::json::decode_any(b"{}").unwrap().value;
    let errors = Errors::default();
    super::policy(&Cursor::root(&object, None, &errors).field("s"));
    assert_eq!(errors.into_vec()[0].to_string(), "s: Required value");
}
