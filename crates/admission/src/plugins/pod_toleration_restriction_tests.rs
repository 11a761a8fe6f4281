use super::*;
use crate::configuration::Configurations;
use crate::testing::{Case, Outcome, TestCluster, create, target, text};

fn config(fields: &str) -> String {
    format!(
        r#"{{"apiVersion":"podtolerationrestriction.admission.k8s.io/v1alpha1","kind":"Configuration"{fields}}}"#
    )
}

async fn made(config: Option<String>) -> (Result<PodTolerationRestriction, String>, TestCluster) {
    let mut cluster = TestCluster::new().await;
    let config = config.map(|config| (NAME.to_owned(), config.into()));
    cluster.cluster.configurations = Configurations::new(config);
    (PodTolerationRestriction::new(&cluster.cluster), cluster)
}

/// A plugin with this configuration, and the namespace `n` with these annotations.
async fn plugin(
    config_fields: &str,
    annotations: &[(&str, &str)],
) -> (PodTolerationRestriction, TestCluster) {
    let (plugin, cluster) = made(Some(config(config_fields))).await;
    let annotations: serde_json::Map<String, serde_json::Value> =
        annotations.iter().map(|(key, value)| ((*key).to_owned(), (*value).into())).collect();
    let namespace = serde_json::json!({"metadata": {"name": "n", "annotations": annotations}});
    cluster.put(Resource::Namespace, &namespace.to_string()).await;
    (plugin.unwrap(), cluster)
}

const A: &str = r#"{"key":"a","operator":"Equal","value":"v","effect":"NoSchedule"}"#;
const B: &str = r#"{"key":"b","operator":"Equal","value":"v","effect":"NoSchedule"}"#;
const ANY_A: &str = r#"{"key":"a","operator":"Exists"}"#;
const PRESSURE: &str =
    r#"{"key":"node.kubernetes.io/memory-pressure","operator":"Exists","effect":"NoSchedule"}"#;

fn pod(tolerations: &str, requests: &str) -> String {
    format!(
        r#"{{"metadata":{{"name":"p"}},"spec":{{"containers":[{{"name":"c","resources":{{"requests":{{{requests}}}}}}}],"tolerations":[{tolerations}]}}}}"#
    )
}

fn shown(outcome: Outcome) -> String {
    match outcome {
        Outcome::Rejected(status) => format!("{} {}", status.code, status.message),
        outcome => {
            let pod = outcome.normal("core/v1.Pod");
            pod.items_at(&["spec", "tolerations"]).iter().map(text).collect::<Vec<_>>().join(",")
        }
    }
}

async fn check(plugin: &PodTolerationRestriction, tolerations: &str, expected: &str) {
    let outcome = create("pods").in_namespace("n").json(&pod(tolerations, "")).run(plugin).await;
    assert_eq!(shown(outcome), expected, "{tolerations}");
}

fn conflict(scope: &str) -> String {
    format!(
        "500 pod tolerations (possibly merged with namespace default tolerations) conflict with its {scope} whitelist"
    )
}

#[tokio::test]
async fn a_pod_has_default_tolerations() {
    let cluster_default = format!(r#","default":[{A}]"#);
    let (of_cluster, _one) = plugin(&cluster_default, &[("other", "x")]).await;
    check(&of_cluster, "", A).await;
    check(&of_cluster, B, &format!("{B},{A}")).await;
    check(&of_cluster, ANY_A, ANY_A).await;
    let (of_namespace, _two) = plugin(&cluster_default, &[(DEFAULT, &format!("[{B}]"))]).await;
    check(&of_namespace, "", B).await;
    // An empty annotation is one.
    for empty in ["", "[]", "null"] {
        let (none, _three) = plugin(&cluster_default, &[(DEFAULT, empty)]).await;
        check(&none, "", "").await;
    }
    let (nothing, _four) = plugin("", &[]).await;
    check(&nothing, "", "").await;
    // Without something to add, the list stays as it is.
    check(&nothing, &format!("{A},{A}"), &format!("{A},{A}")).await;
}

#[tokio::test]
async fn tolerations_must_be_allowed() {
    let of_cluster = format!(r#","whitelist":[{ANY_A}]"#);
    let (plugin_of_cluster, _one) = plugin(&of_cluster, &[]).await;
    check(&plugin_of_cluster, "", "").await;
    check(&plugin_of_cluster, A, A).await;
    check(&plugin_of_cluster, &format!("{A},{B}"), &conflict("cluster")).await;
    let (of_namespace, _two) = plugin(&of_cluster, &[(ALLOWED, &format!("[{B}]"))]).await;
    check(&of_namespace, A, &conflict("namespace")).await;
    check(&of_namespace, B, B).await;
    // An empty list allows everything.
    let (anything, _three) = plugin(&of_cluster, &[(ALLOWED, "[]")]).await;
    check(&anything, B, B).await;
    // Default tolerations are subject to the list too.
    let (contradiction, _four) =
        plugin(&of_cluster, &[(ALLOWED, &format!("[{A}]")), (DEFAULT, &format!("[{B}]"))]).await;
    check(&contradiction, A, &conflict("namespace")).await;
}

#[tokio::test]
async fn pods_with_resources_tolerate_memory_pressure() {
    let (plugin, _cluster) = plugin(&format!(r#","default":[{A}]"#), &[]).await;
    let run = async |case: Case| shown(case.in_namespace("n").run(&plugin).await);
    let burstable = pod(B, r#""cpu":"1""#);
    assert_eq!(run(create("pods").json(&burstable)).await, format!("{B},{A},{PRESSURE}"));
    // An update adds no defaults, but this one.
    let updated = run(Case::new(Operation::Update, "pods").json(&burstable).old_json(&burstable)).await;
    assert_eq!(updated, format!("{B},{PRESSURE}"));
    let best_effort = pod(B, "");
    let updated = run(Case::new(Operation::Update, "pods").json(&best_effort).old_json(&best_effort)).await;
    assert_eq!(updated, B);
}

#[tokio::test]
async fn namespaces_and_annotations_that_cannot_be_read_are_errors() {
    let (broken, cluster) = plugin("", &[(DEFAULT, "x"), (ALLOWED, "{}")]).await;
    check(&broken, "", "500 invalid character 'x' looking for beginning of value").await;
    let case = Case::new(Operation::Update, "pods").in_namespace("n").json(&pod(A, "")).old_json(&pod(A, ""));
    let expected = "500 json: cannot unmarshal object into Go value of type []v1.Toleration";
    assert_eq!(shown(case.run(&broken).await), expected);
    let gone = create("pods").in_namespace("gone").json(&pod("", "")).run(&broken).await;
    assert_eq!(shown(gone), "404 namespaces \"gone\" not found");
    drop(cluster);
}

#[tokio::test]
async fn a_wrong_configuration_is_an_error() {
    assert!(made(None).await.0.is_ok());
    // Unknown fields are ignored.
    assert!(made(Some(config(r#","foo":1"#))).await.0.is_ok());
    for (fields, expected) in [
        (
            r#","default":[{"operator":"Equal"}],"whitelist":[{"key":"a","operator":"Exists","value":"v"},{"key":"a","tolerationSeconds":1}]"#,
            "invalid config: [podtolerationrestriction.default[0].operator: Invalid value: \"Equal\": operator must be Exists \
             when `key` is empty, which means \"match all values and all keys\" \
             podtolerationrestriction.whitelist[0].operator: Invalid value: \"v\": value must be empty when `operator` is \
             'Exists' podtolerationrestriction.whitelist[1].effect: Invalid value: \"\": effect must be 'NoExecute' when \
             `tolerationSeconds` is set]",
        ),
        (
            r#","default":[{"key":"a","operator":"Like","effect":"Never"},{"key":"a","operator":"Gt","value":"1"}]"#,
            "invalid config: [podtolerationrestriction.default[0].operator: Unsupported value: \"Like\": supported values: \
             \"Equal\", \"Exists\" podtolerationrestriction.default[0].effect: Unsupported value: \"Never\": supported values: \
             \"NoSchedule\", \"PreferNoSchedule\", \"NoExecute\" podtolerationrestriction.default[1].operator: Unsupported \
             value: \"Gt\": supported values: \"Equal\", \"Exists\", \"Lt\", \"Gt\"]",
        ),
    ] {
        assert_eq!(made(Some(config(fields))).await.0.err().as_deref(), Some(expected));
    }
    let other = made(Some(r#"{"apiVersion":"v1","kind":"Configuration"}"#.into())).await.0.err().unwrap();
    assert_eq!(
        other,
        "no kind \"Configuration\" is registered for version \"v1\" in scheme \
         \"pkg/admission/podtolerationrestriction/config.go:32\""
    );
}

#[tokio::test]
async fn only_pods_are_handled() {
    let (plugin, _cluster) = plugin("", &[]).await;
    assert!(
        plugin.admits(Operation::Update, &target("pods"))
            && plugin.validates(Operation::Create, &target("pods"))
    );
    assert!(!plugin.admits(Operation::Update, &target("pods/status")));
    assert!(!plugin.validates(Operation::Delete, &target("pods")));
}
