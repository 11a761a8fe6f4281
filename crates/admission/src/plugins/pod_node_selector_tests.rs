use super::*;
use crate::configuration::Configurations;
use crate::testing::{TestCluster, create, target, text};

/// A plugin with selectors by namespace, and the namespaces `annotated` (`infra=true`), `plain` and `broken`.
async fn plugin(selectors: &str) -> (PodNodeSelector, TestCluster) {
    let mut cluster = TestCluster::new().await;
    for (name, annotation) in [
        ("plain", None),
        ("annotated", Some(" infra = true")),
        ("empty", Some("")),
        ("broken", Some("infra")),
        ("misnamed", Some("a b=c")),
        ("misvalued", Some("a=b c")),
    ] {
        let annotations =
            annotation.map(|annotation| format!(r#","annotations":{{"{ANNOTATION}":"{annotation}"}}"#));
        let annotations = annotations.unwrap_or_default();
        cluster
            .put(Resource::Namespace, &format!(r#"{{"metadata":{{"name":"{name}"{annotations}}}}}"#))
            .await;
    }
    let config = format!("podNodeSelectorPluginConfig: {selectors}");
    cluster.cluster.configurations = Configurations::new([(NAME.to_owned(), config.into())]);
    (PodNodeSelector::new(&cluster.cluster).unwrap(), cluster)
}

/// Checks the selector of a pod after admission, or the message of the rejection.
async fn check(plugin: &PodNodeSelector, namespace: &str, selector: &str, expected: &str) {
    let pod = format!(r#"{{"metadata":{{"name":"p"}},"spec":{{"nodeSelector":{selector}}}}}"#);
    let outcome = create("pods").in_namespace(namespace).json(&pod).run(plugin).await;
    let shown = match outcome {
        crate::testing::Outcome::Rejected(status) => format!("{} {}", status.code, status.message),
        outcome => outcome.normal("core/v1.Pod").at(&["spec", "nodeSelector"]).map(text).unwrap_or_default(),
    };
    assert_eq!(shown, expected, "{namespace} {selector}");
}

#[tokio::test]
async fn a_pod_has_the_selector_of_its_namespace() {
    let (plugin, _cluster) = plugin("{clusterDefaultNodeSelector: 'env=dev, zone=a'}").await;
    let conflict = format!("403 pods \"p\" is forbidden: {CONFLICT}");
    check(&plugin, "annotated", "{}", r#"{"infra":"true"}"#).await;
    check(&plugin, "annotated", r#"{"env":"prod"}"#, r#"{"env":"prod","infra":"true"}"#).await;
    check(&plugin, "annotated", r#"{"infra":"true"}"#, r#"{"infra":"true"}"#).await;
    check(&plugin, "annotated", r#"{"infra":"false"}"#, &conflict).await;
    check(&plugin, "plain", "{}", r#"{"env":"dev","zone":"a"}"#).await;
    check(&plugin, "plain", r#"{"env":"prod"}"#, &conflict).await;
    // An empty annotation is one: the default does not count.
    check(&plugin, "empty", "{}", "").await;
    check(&plugin, "empty", r#"{"env":"prod"}"#, r#"{"env":"prod"}"#).await;
}

#[tokio::test]
async fn a_pod_has_only_labels_that_its_namespace_may_have() {
    let (plugin, _cluster) = plugin("{annotated: 'infra=true,disk=ssd', plain: 'a=', missing: x}").await;
    let denied = format!("403 pods \"p\" is forbidden: {NOT_ALLOWED}");
    check(&plugin, "annotated", r#"{"disk":"ssd"}"#, r#"{"disk":"ssd","infra":"true"}"#).await;
    check(&plugin, "annotated", r#"{"disk":"hdd"}"#, &denied).await;
    check(&plugin, "annotated", r#"{"env":"x"}"#, &denied).await;
    check(&plugin, "plain", r#"{"a":""}"#, r#"{"a":""}"#).await;
    check(&plugin, "plain", r#"{"a":"b"}"#, &denied).await;
    check(&plugin, "empty", r#"{"b":"c"}"#, r#"{"b":"c"}"#).await;
}

#[tokio::test]
async fn a_selector_that_cannot_be_read_is_an_error() {
    let (plugin, _cluster) = plugin("{plain: 'a=b=c'}").await;
    check(&plugin, "broken", "{}", "500 invalid selector: [infra]").await;
    check(&plugin, "plain", "{}", "500 invalid selector: [a b c]").await;
    check(&plugin, "gone", "{}", "500 Internal error occurred: namespace gone does not exist").await;
    let error = labels("a b=c").unwrap_err().message;
    assert!(error.starts_with("<nil>: Invalid value: \"a b\": name part must consist of"), "{error}");
    let error = labels("a=b c").unwrap_err().message;
    assert!(error.starts_with("[a]: Invalid value: \"b c\": a valid label must be"), "{error}");
}

#[tokio::test]
async fn validation_sees_changes_of_other_plugins() {
    let (plugin, _cluster) = plugin("{annotated: 'infra=true'}").await;
    for (selector, expected) in [
        (r#"{"infra":"true"}"#, None),
        // A label that another plugin took away again is not missed.
        ("{}", None),
        (r#"{"infra":"no"}"#, Some(CONFLICT)),
        (r#"{"a":"b"}"#, Some(NOT_ALLOWED)),
    ] {
        let pod = format!(r#"{{"spec":{{"nodeSelector":{selector}}}}}"#);
        let case = create("pods").in_namespace("annotated").json(&pod);
        let error = plugin.validate(&case.attributes()).await.err();
        // A pod whose name will be generated is not named.
        let expected = expected.map(|why| format!("pods is forbidden: {why}"));
        assert_eq!(error.map(|status| status.message), expected, "{selector}");
    }
}

#[test]
fn the_configuration_is_read_from_json_and_yaml() {
    let entries = |text: &str| read(text.as_bytes()).map(|read| read.into_iter().collect::<Vec<_>>());
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let json = r#"{"podNodeSelectorPluginConfig":{"a":"b=c","d":1}}"#;
    assert_eq!(entries(json), Ok(vec![pair("a", "b=c"), pair("d", "")]));
    assert_eq!(entries("PodNodeSelectorPluginConfig:\n  a: b=c\n"), Ok(vec![pair("a", "b=c")]));
    for empty in ["", "a: b", "podNodeSelectorPluginConfig:", "[]"] {
        assert_eq!(entries(empty), Ok(vec![]), "{empty}");
    }
    assert!(read(b"{").is_err());
}

#[tokio::test]
async fn only_creations_of_pods_are_handled() {
    let (plugin, _cluster) = plugin("{}").await;
    assert!(
        plugin.admits(Operation::Create, &target("pods"))
            && plugin.validates(Operation::Create, &target("pods"))
    );
    assert!(!plugin.admits(Operation::Update, &target("pods")));
    assert!(!plugin.validates(Operation::Create, &target("pods/binding")));
    assert!(!plugin.admits(Operation::Create, &target("namespaces")));
}
