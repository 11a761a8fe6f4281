use pintle_features::Feature;

use crate::framework::validation::testing::Base;

const POD: &str = r#"{
    "metadata": {"name": "a", "namespace": "n"},
    "spec": {"containers": [{"name": "c", "image": "i"}]}
}"#;
const SUBDOMAIN: &str = r"a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";

#[test]
fn an_override_is_a_short_subdomain_of_the_pods_own() {
    let pods = Base::with_features("", "pods", POD, &[(Feature::HostnameOverride, true)]);
    let name = |name: &str| format!(r#""{name}""#);
    let (right, long) = (name("a.b"), name(&"a".repeat(65)));
    pods.accepts(&[&[("/spec/hostnameOverride", &right), ("/spec/setHostnameAsFQDN", "false")]]);
    let field = "spec.hostnameOverride";
    pods.refuses(&[
        (
            &[
                ("/spec/hostnameOverride", &right),
                ("/spec/setHostnameAsFQDN", "true"),
                ("/spec/hostNetwork", "true"),
            ],
            &[
                &format!("{field}: Forbidden: may not be specified when setHostnameAsFQDN is true"),
                &format!("{field}: Forbidden: may not be specified when hostNetwork is true"),
            ],
        ),
        (
            &[("/spec/hostnameOverride", &long)],
            &[&format!("{field}: Too long: may not be more than 64 bytes")],
        ),
        (&[("/spec/hostnameOverride", r#""""#)], &[&format!(r#"{field}: Invalid value: "": {SUBDOMAIN}"#)]),
    ]);
}

#[test]
fn aliases_are_names_of_addresses() {
    let pods = Base::new("", "pods", POD);
    pods.accepts(&[&[("/spec/hostAliases", r#"[{"ip":"1.2.3.4","hostnames":["a.b"]},{"ip":"::1"}]"#)]]);
    pods.refuses(&[(
        &[("/spec/hostAliases", r#"[{"ip":"a","hostnames":["b","B"]}]"#)],
        &[
            r#"spec.hostAliases[0].ip: Invalid value: "a": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"#,
            &format!(r#"spec.hostAliases[0].hostnames[1]: Invalid value: "B": {SUBDOMAIN}"#),
        ],
    )]);
    let mapped = ("/spec/hostAliases", r#"[{"ip":"::ffff:1.2.3.4"}]"#);
    pods.refuses(&[(
        &[mapped],
        &[r#"spec.hostAliases[0].ip: Invalid value: "::ffff:1.2.3.4": must not be an IPv4-mapped IPv6 address"#],
    )]);
    Base::with_features("", "pods", POD, &[(Feature::StrictIPCIDRValidation, false)]).accepts(&[&[mapped]]);
}
