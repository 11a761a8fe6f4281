use super::*;

const HEAD: &str = "apiVersion: apiserver.config.k8s.io/v1\nkind: AuthenticationConfiguration\n";

fn issuer(rest: &str) -> String {
    format!("{HEAD}jwt:\n- issuer: {{url: 'https://a', audiences: [x]}}\n{rest}")
}

fn error(text: &str) -> String {
    let rules = Rules { disallowed: &["https://own".into()], egress_selectors: true };
    AuthenticationConfiguration::read(text.as_bytes(), rules)
        .err()
        .map(|error| error.to_string())
        .unwrap_or_default()
}

const NAMED: &str = "  claimMappings: {username: {claim: sub, prefix: ''}}\n";

#[test]
fn a_good_file_is_read() {
    for version in ["v1", "v1beta1", "v1alpha1"] {
        assert_eq!(error(&issuer(NAMED).replace("/v1", &format!("/{version}"))), "");
    }
    let text = format!("{HEAD}anonymous:\n  enabled: true\n  conditions:\n  - path: /livez\n");
    let read = AuthenticationConfiguration::read(text.as_bytes(), Rules::default()).unwrap();
    assert_eq!(read.anonymous.unwrap().conditions[0].path, "/livez");
}

#[test]
fn a_malformed_file_is_refused() {
    assert_eq!(error(""), "empty config data");
    assert_eq!(error("a: b"), "Object 'Kind' is missing");
    assert_eq!(
        error("apiVersion: v1\nkind: Pod"),
        "no kind \"Pod\" is registered for version \"v1\" in scheme"
    );
}

#[test]
fn all_unknown_fields_are_reported() {
    assert_eq!(
        error(&format!("{}foo: 1\n", issuer("  claimMapping: {}\n"))),
        r#"strict decoding error: unknown field "foo", unknown field "jwt[0].claimMapping""#
    );
    assert_eq!(
        error(&format!("{HEAD}jwt: []\njwt: []\nfoo: 1\n")),
        "strict decoding error: yaml: unmarshal errors:\n  line 4: key \"jwt\" already set in map, unknown field \"foo\""
    );
    let json = r#"{"kind":"AuthenticationConfiguration","apiVersion":"apiserver.config.k8s.io/v1","jwt":[],"jwt":[],"b":1,"a":1}"#;
    assert_eq!(
        error(json),
        r#"strict decoding error: duplicate field "jwt", unknown field "b", unknown field "a""#
    );
}

#[test]
fn every_rule_about_issuers_has_its_words() {
    let check = |issuer: &str, expect: &str| {
        let text = format!("{HEAD}jwt:\n- issuer: {issuer}\n{NAMED}");
        assert_eq!(error(&text), expect, "{issuer}");
    };
    check("{audiences: [x]}", "jwt[0].issuer.url: Required value");
    check(
        "{url: 'http://a', audiences: [x]}",
        "jwt[0].issuer.url: Invalid value: \"http://a\": URL scheme must be https",
    );
    check(
        "{url: 'https://u:p@a', audiences: [x]}",
        "jwt[0].issuer.url: Invalid value: \"https://u:p@a\": URL must not contain a username or password",
    );
    check(
        "{url: 'https://a?b=c', audiences: [x]}",
        "jwt[0].issuer.url: Invalid value: \"https://a?b=c\": URL must not contain a query",
    );
    check(
        "{url: 'https://own', audiences: [x]}",
        "jwt[0].issuer.url: Invalid value: \"https://own\": URL must not overlap with disallowed issuers: [https://own]",
    );
    check(
        "{url: 'https://a', discoveryURL: 'https://a/', audiences: [x]}",
        "jwt[0].issuer.discoveryURL: Invalid value: \"https://a/\": discoveryURL must be different from URL",
    );
    check(
        "{url: 'https://a'}",
        "jwt[0].issuer.audiences: Required value: at least one jwt[0].issuer.audiences is required",
    );
    check(
        "{url: 'https://a', audiences: [x, z]}",
        "jwt[0].issuer.audienceMatchPolicy: Invalid value: \"\": audienceMatchPolicy must be MatchAny for multiple audiences",
    );
    check(
        "{url: 'https://a', audiences: [x, x], audienceMatchPolicy: MatchAny}",
        "jwt[0].issuer.audiences[1]: Duplicate value: \"x\"",
    );
    check(
        "{url: 'https://a', audiences: [x], certificateAuthority: nothing}",
        "jwt[0].issuer.certificateAuthority: Invalid value: \"<omitted>\": data does not contain any valid RSA or ECDSA certificates",
    );
}

#[test]
fn every_rule_about_claims_has_its_words() {
    let check = |rest: &str, expect: &str| {
        let found = error(&issuer(rest));
        assert!(found.contains(expect), "{rest}\n{found}");
    };
    check("", "jwt[0].claimMappings.username: Required value: claim or expression is required");
    check(
        "  claimMappings: {username: {claim: sub}}\n",
        "jwt[0].claimMappings.username.prefix: Required value: prefix is required when claim is set. It can be set to an \
         empty string to disable prefixing",
    );
    check(
        "  claimMappings: {username: {claim: sub, expression: claims.sub}}\n",
        "jwt[0].claimMappings.username: Invalid value: \"\": claim and expression can't both be set",
    );
    check(
        "  claimMappings: {username: {expression: claims.email}}\n",
        "claims.email_verified must be used in claimMappings.username.expression",
    );
    check(
        "  claimMappings: {username: {expression: 'claims.'}}\n",
        "jwt[0].claimMappings.username.expression: Invalid value: \"claims.\": compilation failed: ERROR: <input>:1:8",
    );
    let extra = |mapping: &str| {
        format!("  claimMappings: {{username: {{claim: sub, prefix: ''}}, extra: [{mapping}]}}\n")
    };
    check(
        &extra("{key: foo, valueExpression: claims.a}"),
        "jwt[0].claimMappings.extra[0].key: Invalid value: \"foo\": must be a domain-prefixed path (such as \"acme.io/foo\")",
    );
    check(
        &extra("{key: kubernetes.io/foo, valueExpression: claims.a}"),
        "k8s.io, kubernetes.io and their subdomains are reserved for Kubernetes use",
    );
    check(&extra("{key: a.b/Foo, valueExpression: claims.a}"), "must be lowercase");
    check(&extra("{key: a.b/foo}"), "jwt[0].claimMappings.extra[0].valueExpression: Required value");
    let rules = |rule: &str| format!("{NAMED}  claimValidationRules: [{rule}]\n");
    check(&rules("{}"), "jwt[0].claimValidationRules[0]: Required value: claim or expression is required");
    check(
        &rules("{expression: 'claims.a'}"),
        "jwt[0].claimValidationRules[0].expression: Invalid value: \"claims.a\": must evaluate to bool",
    );
    check(
        &rules("{claim: a, message: b}"),
        "jwt[0].claimValidationRules[0].message: Invalid value: \"b\": may not be specified when claim is set",
    );
    check(
        &format!("{NAMED}  userValidationRules: [{{expression: user.nam}}]\n"),
        "jwt[0].userValidationRules[0].expression: Invalid value: \"user.nam\": compilation failed",
    );
}

#[test]
fn issuers_are_different_and_anonymous_is_consistent() {
    let twice = format!("{}- issuer: {{url: 'https://a', audiences: [x]}}\n{NAMED}", issuer(NAMED));
    assert_eq!(error(&twice), "jwt[1].issuer.url: Duplicate value: \"https://a\"");
    let text = format!("{HEAD}anonymous: {{enabled: false, conditions: [{{path: /a}}]}}\n");
    let found = error(&text);
    assert!(
        found.contains("anonymous.conditions")
            && found.ends_with("enabled should be set to true when conditions are defined"),
        "{found}"
    );
}

#[test]
fn issuers_may_name_a_network_where_the_gate_is_on() {
    let file = |kind: &str| {
        format!(
            "{HEAD}jwt:\n- issuer: {{url: 'https://a', audiences: [x], egressSelectorType: {kind}}}\n{NAMED}"
        )
    };
    assert_eq!(error(&file("controlplane")), "");
    assert_eq!(error(&file("cluster")), "");
    let must = "egress selector must be either controlplane or cluster";
    let at = "jwt[0].issuer.egressSelectorType: Invalid value:";
    assert_eq!(error(&file("etcd")), format!("{at} \"etcd\": {must}"));
    let off = |kind: &str| {
        let rules = Rules::default();
        AuthenticationConfiguration::read(file(kind).as_bytes(), rules).unwrap_err().to_string()
    };
    let disabled = "egress selector is not supported when StructuredAuthenticationConfigurationEgressSelector feature gate is \
                    disabled";
    assert_eq!(off("cluster"), format!("{at} \"cluster\": {disabled}"));
    assert_eq!(off("etcd"), format!("[{at} \"etcd\": {disabled}, {at} \"etcd\": {must}]"));
}
