//! Starts with configurations of plugins that cannot be used.

use serde_json::{Value, json};

use super::{configured, with_file};
use crate::support::Launch;

fn with_plugin(plugin: &str, entry: &Value) -> Launch {
    let launch = Launch::new().arg(format!("--enable-admission-plugins={plugin}"));
    configured(launch, &json!([entry]))
}

#[tokio::test]
async fn a_file_that_is_no_configuration_keeps_the_server_from_starting() {
    const SCHEME: &str = "in scheme \"pkg/server/options/admission.go:51\"";
    let read = "failed to apply admission: failed to read plugin config: ";
    for (text, expected) in [
        ("a: b", "Object 'Kind' is missing in 'a: b'".to_owned()),
        (
            r#"{"apiVersion":"v1","kind":"Pod"}"#,
            format!("no kind \"Pod\" is registered for version \"v1\" {SCHEME}"),
        ),
        (
            r#"{"apiVersion":"apiserver.config.k8s.io/v2","kind":"AdmissionConfiguration"}"#,
            format!(
                "no kind \"AdmissionConfiguration\" is registered for version \"apiserver.config.k8s.io/v2\" {SCHEME}"
            ),
        ),
        (
            r#"{"apiVersion":"apiserver.config.k8s.io/v1","kind":"AdmissionConfiguration","plugins":[{"nam":"x"}]}"#,
            "strict decoding error: unknown field \"plugins[0].nam\"".to_owned(),
        ),
        (
            r#"{"apiVersion":"apiserver.k8s.io/v1alpha1","kind":"AdmissionConfiguration","plugins":[],"plugins":[]}"#,
            "strict decoding error: duplicate field \"plugins\"".to_owned(),
        ),
    ] {
        let launch = Launch::new();
        let file = launch.path("admission.yaml");
        assert_eq!(with_file(launch, &file, text).fails().await, format!("{read}{expected}"), "{text}");
    }
    let launch = Launch::new();
    let missing = launch.path("missing.yaml").display().to_string();
    let sentence = launch.arg(format!("--admission-control-config-file={missing}")).fails().await;
    assert_eq!(
        sentence,
        format!(
            "{read}unable to read admission control configuration from {missing:?} [open {missing}: no such file or directory]"
        )
    );
}

#[tokio::test]
async fn a_wrong_configuration_of_a_plugin_is_named_with_the_plugin() {
    let limits = "eventratelimit.admission.k8s.io/v1alpha1";
    for (plugin, configuration, expected) in [
        ("EventRateLimit", None, "limits: Invalid value: null: must not be empty"),
        (
            "EventRateLimit",
            Some(
                json!({"apiVersion": limits, "kind": "Configuration", "limits": [{"type": "Server", "qps": 1}]}),
            ),
            "limits[0].burst: Invalid value: 0: must be positive",
        ),
        (
            "EventRateLimit",
            Some(json!({"apiVersion": limits, "kind": "Limits"})),
            "no kind \"Limits\" is registered for version \"eventratelimit.admission.k8s.io/v1alpha1\" in scheme \
             \"pkg/admission/eventratelimit/config.go:31\"",
        ),
        ("ImagePolicyWebhook", None, "no config specified"),
        (
            "ImagePolicyWebhook",
            Some(json!({"imagePolicy": {"kubeConfigFile": "/nowhere/kubeconfig"}})),
            "stat /nowhere/kubeconfig: no such file or directory",
        ),
        (
            "ImagePolicyWebhook",
            Some(json!({"imagePolicy": {"kubeConfigFile": "/nowhere/kubeconfig", "denyTTL": 1801}})),
            "valid value is between 1s and 30m0s, got 30m1s",
        ),
        (
            "PodTolerationRestriction",
            Some(json!({
                "apiVersion": "podtolerationrestriction.admission.k8s.io/v1alpha1", "kind": "Configuration",
                "whitelist": [{"key": "a", "operator": "Near"}],
            })),
            "invalid config: [podtolerationrestriction.whitelist[0].operator: Unsupported value: \"Near\": supported values: \
             \"Equal\", \"Exists\"]",
        ),
    ] {
        let entry = json!({"name": plugin, "configuration": configuration});
        let sentence = with_plugin(plugin, &entry).fails().await;
        let start = "failed to apply admission: couldn't init admission plugin";
        assert_eq!(sentence, format!("{start} {plugin:?}: {expected}"));
    }
}

#[tokio::test]
async fn a_missing_file_of_a_plugin_is_named_unless_the_plugin_is_off() {
    let entry = json!({"name": "EventRateLimit", "path": "missing.yaml"});
    let launch = with_plugin("EventRateLimit", &entry);
    let missing = launch.path("missing.yaml").display().to_string();
    assert_eq!(
        launch.fails().await,
        format!(
            "Couldn't open admission plugin configuration {missing} of EventRateLimit: open {missing}: no such file or directory"
        )
    );
    with_plugin("AlwaysPullImages", &entry).start().await;
}
