use super::*;

const ALL: [&str; 4] = ["ImagePolicyWebhook", "PodNodeSelector", "EventRateLimit", "ResourceQuota"];

fn sources(text: &str, plugins: &[&'static str]) -> Result<Vec<(&'static str, String)>, String> {
    let found = configuration_sources(text.as_bytes(), Path::new("/etc/k/admission.yaml"), plugins.to_vec())?;
    let shown = found.into_iter().map(|(name, source)| match source {
        ConfigurationSource::Embedded(json) => (name, String::from_utf8(json.to_vec()).unwrap()),
        ConfigurationSource::File(path) => (name, path.display().to_string()),
    });
    Ok(shown.collect())
}

fn versioned(version: &str, plugins: &str) -> String {
    format!(r#"{{"apiVersion":"{version}","kind":"AdmissionConfiguration","plugins":{plugins}}}"#)
}

fn v1(plugins: &str) -> String {
    versioned("apiserver.config.k8s.io/v1", plugins)
}

#[test]
fn paths_are_relative_to_the_file() {
    for version in KIND.versions {
        let text = versioned(
            version,
            r#"[{"name":"ImagePolicyWebhook","path":"image.json"},{"name":"EventRateLimit","path":"/abs/e.yaml"},
                {"name":"ResourceQuota"}]"#,
        );
        let expected = [("ImagePolicyWebhook", "/etc/k/image.json"), ("EventRateLimit", "/abs/e.yaml")];
        assert_eq!(sources(&text, &ALL), Ok(expected.map(|(name, path)| (name, path.to_owned())).to_vec()));
    }
}

#[test]
fn an_embedded_configuration_is_left_as_it_is_and_comes_before_the_path() {
    let text = v1(r#"[{"name":"EventRateLimit","path":"e.yaml","configuration":{"b": 1, "a": [1,1.50]}},
                      {"name":"EventRateLimit","path":"second.yaml"},
                      {"name":"ResourceQuota","path":"q.yaml","configuration":null}]"#);
    let expected = vec![
        ("EventRateLimit", r#"{"b": 1, "a": [1,1.50]}"#.to_owned()),
        ("ResourceQuota", "/etc/k/q.yaml".to_owned()),
    ];
    assert_eq!(sources(&text, &ALL), Ok(expected));
    let yaml = "apiVersion: apiserver.config.k8s.io/v1\nkind: AdmissionConfiguration\nplugins:\n- name: EventRateLimit\n  \
                configuration:\n    kind: Configuration\n    apiVersion: a/b\n";
    let expected = (ALL[2], r#"{"apiVersion":"a/b","kind":"Configuration"}"#.to_owned());
    assert_eq!(sources(yaml, &ALL), Ok(vec![expected]));
}

#[test]
fn only_configurations_of_plugins_that_are_on_are_returned() {
    let text = v1(r#"[{"name":"Nope","path":"a"},{"name":"ResourceQuota","path":"b"}]"#);
    assert_eq!(sources(&text, &["EventRateLimit"]), Ok(Vec::new()));
    for empty in [v1("[]"), v1("null"), v1("[]").replace(r#","plugins":[]"#, "")] {
        assert_eq!(sources(&empty, &ALL), Ok(Vec::new()), "{empty}");
    }
}

#[test]
fn a_file_of_one_plugin_is_the_configuration_of_both_old_plugins() {
    let path = || "/etc/k/admission.yaml".to_owned();
    for legacy in
        [r#"{"imagePolicy":{"allowTTL":30}}"#, "podNodeSelectorPluginConfig:\n  a: b\n", "imagePolicy:"]
    {
        let expected = vec![("ImagePolicyWebhook", path()), ("PodNodeSelector", path())];
        assert_eq!(sources(legacy, &ALL), Ok(expected), "{legacy}");
        assert_eq!(sources(legacy, &["ResourceQuota"]), Ok(Vec::new()), "{legacy}");
    }
    // Also if it names a kind that is not known.
    let named = r#"{"apiVersion":"v1","kind":"Image","imagePolicy":{}}"#;
    assert_eq!(sources(named, &["PodNodeSelector"]), Ok(vec![("PodNodeSelector", path())]));
}

#[test]
fn anything_else_is_an_error() {
    for (text, expected) in [
        ("", "Object 'Kind' is missing in ''"),
        ("a: b", "Object 'Kind' is missing in 'a: b'"),
        (
            r#"{"apiVersion":"v1","kind":"Pod"}"#,
            "no kind \"Pod\" is registered for version \"v1\" in scheme \"pkg/server/options/admission.go:51\"",
        ),
        (
            &v1(r#"[{"name":"a","foo":1,"name":"b"}]"#),
            "strict decoding error: unknown field \"plugins[0].foo\", duplicate field \"plugins[0].name\"",
        ),
        (&v1("[]").replace("\"plugins\"", "\"Plugins\""), "strict decoding error: unknown field \"Plugins\""),
        (
            "apiVersion: apiserver.config.k8s.io/v1alpha1\nkind: TracingConfiguration",
            "unexpected type: *apiserver.TracingConfiguration",
        ),
        (
            &versioned("apiserver.config.k8s.io/v1alpha1", "[]"),
            "no kind \"AdmissionConfiguration\" is registered for version \"apiserver.config.k8s.io/v1alpha1\" in scheme \
             \"pkg/server/options/admission.go:51\"",
        ),
        ("a: b: c", "mapping values are not allowed in this context"),
    ] {
        let error = sources(text, &ALL).unwrap_err();
        assert!(error.ends_with(expected), "{text}: {error}");
    }
}
