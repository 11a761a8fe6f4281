use super::*;

fn read(body: &str) -> Result<Configuration, InitError> {
    let head = "apiVersion: pod-security.admission.config.k8s.io/v1\nkind: PodSecurityConfiguration\n";
    Configuration::read(Some(format!("{head}{body}").as_bytes()))
}

fn policy(configuration: &Configuration) -> String {
    let Policy { enforce, audit, warn } = configuration.defaults;
    format!("{enforce} {audit} {warn}")
}

#[test]
fn everything_is_allowed_without_a_configuration() {
    let none = Configuration::read(None).unwrap();
    assert_eq!(policy(&none), "privileged:latest privileged:latest privileged:latest");
    assert_eq!(none.exemptions, Exemptions::default());
    for same in [Configuration::read(Some(b"")), read(""), read("defaults:\nexemptions: {usernames: null}")] {
        assert_eq!(same.unwrap(), none);
    }
}

#[test]
fn all_versions_are_read() {
    for version in ["v1", "v1beta1", "v1alpha1"] {
        let text = format!(
            r#"{{"apiVersion":"pod-security.admission.config.k8s.io/{version}","kind":"PodSecurityConfiguration",
                "defaults":{{"enforce":"baseline","enforce-version":"v1.7","audit":"","warn":"restricted"}},
                "exemptions":{{"usernames":["alice"],"namespaces":["kube-system"],"runtimeClasses":["a.b"]}}}}"#
        );
        let read = Configuration::read(Some(text.as_bytes())).unwrap();
        assert_eq!(policy(&read), "baseline:v1.7 privileged:latest restricted:latest");
        let exemptions = &read.exemptions;
        assert!(exemptions.has_user("alice") && !exemptions.has_user("kube-system"));
        assert!(exemptions.has_namespace("kube-system") && !exemptions.has_namespace(""));
        assert!(exemptions.has_runtime_class("a.b") && !exemptions.has_runtime_class(""));
    }
}

#[test]
fn other_documents_and_unknown_fields_are_refused() {
    let configuration = |text: &str| InitError::Configuration(text.to_owned());
    let error = |text: &str| Configuration::read(Some(text.as_bytes())).unwrap_err();
    let version = "pod-security.admission.config.k8s.io/v1";
    for (text, expect) in [
        (
            r#"{"kind":"PodSecurityConfiguration"}"#.to_owned(),
            r#"Object 'apiVersion' is missing in '{"kind":"PodSecurityConfiguration"}'"#.to_owned(),
        ),
        (
            format!(r#"{{"apiVersion":"{version}"}}"#),
            format!(r#"Object 'Kind' is missing in '{{"apiVersion":"{version}"}}'"#),
        ),
        (
            format!(r#"{{"apiVersion":"{version}","kind":"Other"}}"#),
            format!(
                r#"no kind "Other" is registered for version "{version}" in scheme "k8s.io/pod-security-admission/admission/api/scheme/scheme.go:31""#
            ),
        ),
        (
            format!(r#"{{"apiVersion":"{version}9","kind":"PodSecurityConfiguration"}}"#),
            format!(
                r#"no kind "PodSecurityConfiguration" is registered for version "{version}9" in scheme "k8s.io/pod-security-admission/admission/api/scheme/scheme.go:31""#
            ),
        ),
    ] {
        assert_eq!(error(&text), configuration(&expect));
    }
    assert_eq!(
        read("deflaults: {}").unwrap_err(),
        configuration(r#"strict decoding error: unknown field "deflaults""#)
    );
    assert_eq!(
        read("defaults: {enforceVersion: latest}").unwrap_err(),
        configuration(r#"strict decoding error: unknown field "defaults.enforceVersion""#)
    );
}

#[test]
fn wrong_defaults_and_exemptions_are_named() {
    let error = |body: &str| match read(body) {
        Err(InitError::Initialization(why)) => why,
        other => panic!("{other:?}"),
    };
    assert_eq!(
        error("defaults: {enforce: none}"),
        "PodSecurity configuration error: enforce: must be one of privileged, baseline, restricted"
    );
    assert_eq!(
        error("defaults: {warn: Restricted, enforce-version: '1.2', audit: x}"),
        r#"PodSecurity configuration error: [enforce-version: must be "latest" or "v1.x", audit: must be one of privileged, baseline, restricted, warn: must be one of privileged, baseline, restricted]"#
    );
    let wrong = error(
        "exemptions: {usernames: ['', a, a], namespaces: ['n', 'n', 'a.b'], runtimeClasses: [c, c, 'A']}",
    );
    let parts = [
        r#"PodSecurity invalid: [exemptions.namespaces[1]: Duplicate value: "n", "#,
        r#"exemptions.namespaces[2]: Invalid value: "a.b": must not contain dots, "#,
        r#"exemptions.runtimeClasses[1]: Duplicate value: "c", "#,
        r#"exemptions.runtimeClasses[2]: Invalid value: "A": a lowercase RFC 1123 subdomain must consist of"#,
        r#"exemptions.usernames[0]: Invalid value: "": username must not be empty, "#,
        r#"exemptions.usernames[2]: Duplicate value: "a"]"#,
    ];
    let places: Vec<Option<usize>> = parts.iter().map(|part| wrong.find(part)).collect();
    assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{wrong}");
}
