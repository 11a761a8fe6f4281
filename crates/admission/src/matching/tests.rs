//! Rules, selectors and equivalent resources.

use std::sync::Arc;

use pintle_auth::authorizer::{AlwaysAllow, AlwaysDeny};
use pintle_meta::Object;

use super::conditions::{MatchConditions, Verdict};
use super::*;
use crate::expressions::Variables;
use crate::objects::Resource;
use crate::testing::{Case, TestCluster, TestVersions, create, update};
use crate::webhook_metrics::{ConditionLabels, WebhookMetrics};

fn value(json: &str) -> Value {
    pintle_codec::json::decode_any(json.as_bytes()).unwrap().value
}

fn predicate(json: &str) -> Predicate {
    let constraints = value(json);
    Predicate::read(&constraints, constraints.items_at(&["rules"]))
}

/// Returns the resource as which a predicate sees a request; empty if it does not match.
async fn seen(cluster: &TestCluster, predicate: &Predicate, case: &Case) -> String {
    let attributes = case.attributes();
    let namespaces = NamespaceLabels::new(&cluster.cluster.stores);
    let found = match predicate.find(&attributes, &namespaces).await {
        Ok(found) => found,
        Err(status) => return status.message,
    };
    let can = predicate.may_match(attributes.operation, attributes.target());
    assert!(found.is_none() || can, "a request that matches is a candidate");
    found.map(|found| format!("{} as {}", found.resource, found.kind)).unwrap_or_default()
}

fn rule(operations: &str, groups: &str, versions: &str, resources: &str, scope: &str) -> String {
    let list = |text: &str| {
        let items: Vec<_> = text.split(' ').map(|item| format!("\"{}\"", item.replace('-', ""))).collect();
        items.join(",")
    };
    format!(
        r#"{{"operations":[{}],"apiGroups":[{}],"apiVersions":[{}],"resources":[{}],"scope":"{scope}"}}"#,
        list(operations),
        list(groups),
        list(versions),
        list(resources)
    )
}

#[tokio::test]
async fn rules_match_by_operation_group_version_resource_and_scope() {
    let cluster = TestCluster::new().await;
    let pod = || create("pods").in_namespace("a");
    let scale = || update("deployments.apps/scale").in_namespace("a");
    let node = || create("nodes");
    let namespace = || update("namespaces").named("a");
    for (operations, groups, versions, resources, scope, case, expect) in [
        ("*", "*", "*", "*", "*", pod(), true),
        ("CREATE", "-", "v1", "pods", "*", pod(), true),
        ("UPDATE DELETE CONNECT", "-", "v1", "pods", "*", pod(), false),
        ("CREATE", "apps", "v1", "pods", "*", pod(), false),
        ("CREATE", "-", "v2", "pods", "*", pod(), false),
        ("CREATE", "- apps", "v1 v2", "services pods", "*", pod(), true),
        ("CREATE", "-", "v1", "pods/status pods/*", "*", pod(), true),
        ("CREATE", "-", "v1", "pods/status", "*", pod(), false),
        ("*", "*", "*", "*", "*", scale(), false),
        ("*", "*", "*", "*/*", "*", scale(), true),
        ("*", "*", "*", "*/scale", "*", scale(), true),
        ("*", "*", "*", "deployments/*", "*", scale(), true),
        ("*", "*", "*", "deployments/scale", "*", scale(), true),
        ("*", "*", "*", "deployments", "*", scale(), false),
        ("*", "*", "*", "deployments/status", "*", scale(), false),
        ("*", "*", "*", "*", "Namespaced", pod(), true),
        ("*", "*", "*", "*", "Cluster", pod(), false),
        ("*", "*", "*", "*", "Namespaced", node(), false),
        ("*", "*", "*", "*", "Cluster", node(), true),
        ("*", "*", "*", "*", "Namespaced", namespace(), false),
        ("*", "*", "*", "*", "Cluster", namespace(), true),
        ("*", "*", "*", "*", "Other", pod(), false),
    ] {
        let text = rule(operations, groups, versions, resources, scope);
        let predicate = predicate(&format!(r#"{{"rules":[{text}]}}"#));
        assert_eq!(!seen(&cluster, &predicate, &case).await.is_empty(), expect, "{text} {case:?}");
    }
    assert_eq!(seen(&cluster, &predicate("{}"), &pod()).await, "", "no rule matches nothing");
}

#[tokio::test]
async fn objects_are_seen_in_the_version_of_the_first_rule_that_matches() {
    let cluster = TestCluster::new().await;
    let versions =
        TestVersions::new("K", &["a.io/v1/ks", "a.io/v2/ks", "a.io/v3/ks", "b.io/v1/ks", "b.io/v1/other"]);
    let case = create("ks.a.io").in_namespace("n").versions(&versions);
    let check = async |policy: &str, rules: &[String], expect: &str| {
        let rules = rules.join(",");
        let predicate = predicate(&format!(r#"{{"matchPolicy":"{policy}","rules":[{rules}]}}"#));
        assert_eq!(seen(&cluster, &predicate, &case).await, expect, "{policy} {rules}");
    };
    let of = |group: &str, version: &str| rule("CREATE", group, version, "ks", "*");
    let own = "a.io/v1, Resource=ks as a.io/v1, Kind=Kind";
    check("Exact", &[of("a.io", "v1")], own).await;
    check("Exact", &[of("a.io", "v2")], "").await;
    check("Equivalent", &[of("a.io", "v2"), of("a.io", "v1")], own).await;
    check("Equivalent", &[of("a.io", "v3"), of("a.io", "v2")], "a.io/v3, Resource=ks as a.io/v3, Kind=K")
        .await;
    check("Equivalent", &[of("a.io", "v4 v3 v2")], "a.io/v2, Resource=ks as a.io/v2, Kind=K").await;
    check("Equivalent", &[of("b.io", "*")], "b.io/v1, Resource=ks as b.io/v1, Kind=K").await;
    check("Equivalent", &[of("c.io", "*")], "").await;
    check("Equivalent", &[rule("UPDATE", "a.io", "v2", "ks", "*")], "").await;
}

#[tokio::test]
async fn selectors_choose_namespaces_and_objects() {
    let cluster = TestCluster::new().await;
    let labelled = r#"{"metadata":{"name":"x","labels":{"env":"x"}}}"#;
    for name in ["x", "y"] {
        let json = format!(r#"{{"metadata":{{"name":"{name}","labels":{{"env":"{name}"}}}}}}"#);
        cluster.put(Resource::Namespace, &json).await;
    }
    let all = rule("*", "*", "*", "* */*", "*");
    let by_namespace = predicate(&format!(
        r#"{{"rules":[{all}],"namespaceSelector":{{"matchLabels":{{"env":"x"}}}},"objectSelector":{{}}}}"#
    ));
    let by_object = predicate(&format!(
        r#"{{"rules":[{all}],"objectSelector":{{"matchExpressions":[{{"key":"env","operator":"In","values":["x"]}}]}}}}"#
    ));
    let none = r#"{"metadata":{"name":"x"}}"#;
    let pod = |namespace: &str| create("pods").in_namespace(namespace);
    let delete_namespace =
        |name: &str| Case::new(Operation::Delete, "namespaces").named(name).old_json(labelled);
    for (what, predicate, case, expect) in [
        ("a namespace that is selected", &by_namespace, pod("x").json(none), true),
        ("one that is not", &by_namespace, pod("y").json(labelled), false),
        ("a cluster-scoped object", &by_namespace, create("nodes").json(none), true),
        ("a new namespace by its labels", &by_namespace, create("namespaces").json(labelled), true),
        ("and without them", &by_namespace, create("namespaces").json(none), false),
        ("an update, by the new labels", &by_namespace, update("namespaces").named("y").json(labelled), true),
        (
            "a subresource by the stored ones",
            &by_namespace,
            update("namespaces/status").named("y").json(labelled),
            false,
        ),
        ("a deletion by the stored ones", &by_namespace, delete_namespace("y"), false),
        ("a deletion of one that is selected", &by_namespace, delete_namespace("x"), true),
        ("the new object", &by_object, update("pods").in_namespace("y").json(labelled).old_json(none), true),
        ("the old object", &by_object, update("pods").in_namespace("y").json(none).old_json(labelled), true),
        ("neither", &by_object, pod("y").json(none), false),
        ("no object at all", &by_object, Case::new(Operation::Connect, "pods/exec").in_namespace("x"), false),
    ] {
        assert_eq!(!seen(&cluster, predicate, &case).await.is_empty(), expect, "{what}");
    }
    assert_eq!(seen(&cluster, &by_namespace, &pod("z").json(none)).await, "namespaces \"z\" not found");
    let both = predicate(&format!(
        r#"{{"rules":[{all}],"namespaceSelector":{{"matchLabels":{{"env":"x"}}}},"objectSelector":{{"matchLabels":{{"env":"x"}}}}}}"#
    ));
    assert_eq!(
        seen(&cluster, &both, &pod("z").json(none)).await,
        "",
        "an object that is not selected needs no namespace"
    );
    let invalid = predicate(&format!(
        r#"{{"rules":[{all}],"objectSelector":{{"matchExpressions":[{{"key":"a","operator":"Is"}}]}}}}"#
    ));
    assert_eq!(
        seen(&cluster, &invalid, &pod("x").json(none)).await,
        "Internal error occurred: \"Is\" is not a valid label selector operator"
    );
}

/// Evaluates match conditions on the creation of a pod `p` in the namespace `n`.
async fn verdict(conditions: &[&str], ignores_failures: bool, allows: bool) -> (Verdict, String) {
    let list: Vec<Value> = conditions
        .iter()
        .map(|text| Object::from_iter([("name", "c"), ("expression", *text)]).into())
        .collect();
    let conditions = MatchConditions::read(&list, None);
    let versions = TestVersions::new("Pod", &["/v1/pods"]);
    let case = create("pods").in_namespace("n").versions(&versions);
    let case =
        case.json(r#"{"metadata":{"name":"p","labels":{"a":"b"}},"spec":{"containers":[{"name":"c"}]}}"#);
    let attributes = case.attributes();
    let versioned = attributes.versioned(&attributes.target().kind).unwrap();
    let authorizer: Arc<dyn pintle_auth::Authorizer> =
        if allows { Arc::new(AlwaysAllow) } else { Arc::new(AlwaysDeny) };
    let kind = &attributes.target().kind;
    let variables = Variables::new(&attributes, &versioned, kind, None, authorizer);
    let registry = pintle_metrics::Registry::default();
    let metrics = WebhookMetrics::new(&registry).unwrap();
    let labels = ConditionLabels { name: "w", kind: "webhook", admission: "validating" };
    let verdict =
        conditions.evaluate(&variables, ignores_failures, attributes.operation, &metrics, labels).await;
    (verdict, String::from_utf8(registry.render().unwrap()).unwrap())
}

#[tokio::test]
async fn all_match_conditions_must_be_true() {
    let yes = "object.metadata.labels.a == 'b' && request.operation == 'CREATE' && request.namespace == 'n'";
    let no = "oldObject != null";
    let error = "object.metadata.annotations.x == 'y'";
    for (conditions, ignores, expect) in [
        (&[yes][..], false, Some(true)),
        (&[yes, "request.kind.kind == 'Pod' && request.resource.resource == 'pods'"], false, Some(true)),
        (&[yes, no], false, Some(false)),
        (&[error, no], false, Some(false)),
        (&[yes, error], true, Some(false)),
        (&[yes, error], false, None),
        (&[], false, Some(true)),
    ] {
        let (verdict, metrics) = verdict(conditions, ignores, true).await;
        match expect {
            Some(true) => assert_eq!(verdict, Verdict::Match, "{conditions:?}"),
            Some(false) => assert_eq!(verdict, Verdict::NoMatch, "{conditions:?}"),
            None => {
                let why = format!("expression '{error}' resulted in error: no such key: annotations");
                assert_eq!(verdict, Verdict::Failed(why));
            }
        }
        let labels = r#"{kind="webhook",name="w",operation="CREATE",type="validating"} 1"#;
        let counted =
            metrics.contains(&format!("apiserver_admission_match_condition_evaluation_errors_total{labels}"));
        assert_eq!(counted, conditions.contains(&error), "{metrics}");
        let timed = metrics.contains("match_condition_evaluation_seconds_count");
        assert_eq!(timed, verdict != Verdict::Match, "{metrics}");
    }
}

#[tokio::test]
async fn match_conditions_ask_the_authorizer_and_have_a_budget() {
    let check = "authorizer.group('').resource('pods').namespace('n').check('get').allowed()";
    let own = "authorizer.requestResource.check('create').allowed() && authorizer.path('/x').check('get').allowed()";
    for condition in [check, own] {
        assert_eq!(verdict(&[condition], false, true).await.0, Verdict::Match, "{condition}");
        assert_eq!(verdict(&[condition], false, false).await.0, Verdict::NoMatch, "{condition}");
    }
    let out = "validation failed due to running out of cost budget, no further validation rules will be run";
    let many = [check; 8];
    assert_eq!(verdict(&many, false, true).await.0, Verdict::Failed(out.into()));
    assert_eq!(verdict(&many, true, true).await.0, Verdict::NoMatch);
    let (broken, _) = verdict(&["object."], false, true).await;
    let Verdict::Failed(why) = broken else { panic!("{broken:?}") };
    assert!(why.starts_with("compilation error: compilation failed: ERROR: "), "{why}");
    let (number, _) = verdict(&["1"], false, true).await;
    assert_eq!(number, Verdict::Failed("compilation error: must evaluate to bool but got int".into()));
}
