//! Tests of affinity.

use pintle_meta::validation::{label_value, object_meta, qualified_name};

use crate::core::pod::validation::testing::{pods, wrong};
use crate::framework::validation::testing::Change;

const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";
const PREFERRED: &str = "preferredDuringSchedulingIgnoredDuringExecution";

/// Refuses a pod whose affinity of a kind is this, with errors whose paths start there.
#[track_caller]
fn refuses(kind: &str, affinity: &str, expected: &[&str]) {
    let expected: Vec<String> =
        expected.iter().map(|error| format!("spec.affinity.{kind}.{error}")).collect();
    let expected: Vec<&str> = expected.iter().map(String::as_str).collect();
    let path = format!("/spec/affinity/{kind}");
    let change: Change<'_> = (&path, affinity);
    pods().refuses(&[(&[change], &expected)]);
}

#[track_caller]
fn accepts(kind: &str, affinity: &str) {
    let path = format!("/spec/affinity/{kind}");
    let change: Change<'_> = (&path, affinity);
    pods().accepts(&[&[change]]);
}

/// Returns a node affinity with a term that has this list.
fn nodes(list: &str, requirement: &str) -> String {
    format!(r#"{{"{REQUIRED}":{{"nodeSelectorTerms":[{{"{list}":[{requirement}]}}]}}}}"#)
}

#[test]
fn node_selectors_have_terms() {
    refuses(
        "nodeAffinity",
        &format!(r#"{{"{REQUIRED}":{{"nodeSelectorTerms":[]}}}}"#),
        &[&format!(
            "{REQUIRED}.nodeSelectorTerms: Required value: must have at least one node selector term"
        )],
    );
    accepts("nodeAffinity", &format!(r#"{{"{REQUIRED}":{{"nodeSelectorTerms":[{{}}]}}}}"#));
}

#[test]
fn requirements_of_labels_have_the_values_of_their_operator() {
    let at = format!("{REQUIRED}.nodeSelectorTerms[0].matchExpressions[0]");
    let at_full = format!("spec.affinity.nodeAffinity.{at}");
    for (requirement, expected) in [
        (
            r#"{"key":"a","operator":"In"}"#,
            "values: Required value: must be specified when `operator` is 'In' or 'NotIn'",
        ),
        (
            r#"{"key":"a","operator":"Exists","values":["v"]}"#,
            "values: Forbidden: may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
        ),
        (
            r#"{"key":"a","operator":"Gt","values":["1","2"]}"#,
            "values: Required value: must be specified single value when `operator` is 'Lt' or 'Gt'",
        ),
        (r#"{"key":"a","operator":"in"}"#, r#"operator: Invalid value: "in": not a valid selector operator"#),
    ] {
        refuses("nodeAffinity", &nodes("matchExpressions", requirement), &[&format!("{at}.{expected}")]);
    }
    let key = wrong(&format!("{at_full}.key"), "a b", qualified_name);
    let value = wrong(&format!("{at_full}.values[1]"), "-", label_value);
    let path = "/spec/affinity/nodeAffinity";
    let bad = nodes("matchExpressions", r#"{"key":"a b","operator":"NotIn","values":["v","-"]}"#);
    pods().refuses(&[(&[(path, &bad)], &[&key, &value])]);
    for operator in ["In", "NotIn", "Gt", "Lt"] {
        let requirement = format!(r#"{{"key":"a","operator":"{operator}","values":["1"]}}"#);
        accepts("nodeAffinity", &nodes("matchExpressions", &requirement));
    }
    accepts("nodeAffinity", &nodes("matchExpressions", r#"{"key":"a","operator":"DoesNotExist"}"#));
}

#[test]
fn requirements_of_fields_are_about_one_name() {
    let at = format!("{REQUIRED}.nodeSelectorTerms[0].matchFields[0]");
    for (requirement, expected) in [
        (
            r#"{"key":"metadata.name","operator":"In","values":["a","b"]}"#,
            "values: Required value: must be only one value when `operator` is 'In' or 'NotIn' for node field selector",
        ),
        (
            r#"{"key":"metadata.name","operator":"Exists"}"#,
            r#"operator: Invalid value: "Exists": not a valid selector operator"#,
        ),
        (
            r#"{"key":"metadata.uid","operator":"In","values":["a"]}"#,
            r#"key: Invalid value: "metadata.uid": not a valid field selector key"#,
        ),
    ] {
        refuses("nodeAffinity", &nodes("matchFields", requirement), &[&format!("{at}.{expected}")]);
    }
    let name = wrong(&format!("spec.affinity.nodeAffinity.{at}.values[0]"), "A", |name| {
        object_meta::subdomain_name(name, false)
    });
    let bad = nodes("matchFields", r#"{"key":"metadata.name","operator":"In","values":["A"]}"#);
    pods().refuses(&[(&[("/spec/affinity/nodeAffinity", &bad)], &[&name])]);
    accepts(
        "nodeAffinity",
        &nodes("matchFields", r#"{"key":"metadata.name","operator":"NotIn","values":["a"]}"#),
    );
}

#[test]
fn preferences_have_a_weight_and_any_values() {
    let term = |weight: i32| {
        let preference = r#"{"matchExpressions":[{"key":"a","operator":"In","values":["-"]}]}"#;
        format!(r#"{{"{PREFERRED}":[{{"weight":{weight},"preference":{preference}}}]}}"#)
    };
    accepts("nodeAffinity", &term(100));
    for weight in [0, 101] {
        let expected = format!("{PREFERRED}[0].weight: Invalid value: {weight}: must be in the range 1-100");
        refuses("nodeAffinity", &term(weight), &[&expected]);
    }
}

#[test]
fn pod_affinity_terms_are_checked_in_all_lists() {
    let term = r#"{"topologyKey":"","namespaces":["A"],"labelSelector":{"matchLabels":{"a":"-"}},"namespaceSelector":{"matchExpressions":[{"key":"a","operator":"In","values":["-"]}]}}"#;
    for kind in ["podAffinity", "podAntiAffinity"] {
        for (list, text, at) in [
            (REQUIRED, format!("[{term}]"), "[0]"),
            (PREFERRED, format!(r#"[{{"weight":1,"podAffinityTerm":{term}}}]"#), "[0].podAffinityTerm"),
        ] {
            let at = format!("spec.affinity.{kind}.{list}{at}");
            let empty: Vec<String> = qualified_name("")
                .iter()
                .map(|why| format!("{at}.topologyKey: Invalid value: \"\": {why}"))
                .collect();
            let path = format!("/spec/affinity/{kind}/{list}");
            let expected = [
                wrong(&format!("{at}.labelSelector.matchLabels"), "-", label_value),
                wrong(&format!("{at}.namespaceSelector.matchExpressions[0].values[0]"), "-", label_value),
                wrong(&format!("{at}.namespace"), "A", |name| object_meta::label_name(name, false)),
                format!("{at}.topologyKey: Required value: can not be empty"),
            ];
            let expected: Vec<&str> = expected.iter().chain(&empty).map(String::as_str).collect();
            pods().refuses(&[(&[(&path, &text)], &expected)]);
        }
    }
    refuses(
        "podAffinity",
        &format!(r#"{{"{PREFERRED}":[{{"weight":0,"podAffinityTerm":{{"topologyKey":"t"}}}}]}}"#),
        &[&format!("{PREFERRED}[0].weight: Invalid value: 0: must be in the range 1-100")],
    );
}

#[test]
fn label_keys_go_with_a_selector_that_does_not_have_them() {
    let term = |rest: &str| format!(r#"{{"{REQUIRED}":[{{"topologyKey":"t",{rest}}}]}}"#);
    refuses(
        "podAffinity",
        &term(r#""matchLabelKeys":["a"],"mismatchLabelKeys":["b"]"#),
        &[
            &format!(
                "{REQUIRED}[0].matchLabelKeys: Forbidden: must not be specified when labelSelector is not set"
            ),
            &format!(
                "{REQUIRED}[0].mismatchLabelKeys: Forbidden: must not be specified when labelSelector is not set"
            ),
        ],
    );
    refuses(
        "podAffinity",
        &term(r#""labelSelector":{},"matchLabelKeys":["a","b"],"mismatchLabelKeys":["c","b"]"#),
        &[&format!(
            "{REQUIRED}[0].matchLabelKeys[1]: Invalid value: \"b\": exists in both matchLabelKeys and mismatchLabelKeys"
        )],
    );
    // The pod's label is added to the selector first.
    let labels: Change<'_> = ("/metadata/labels", r#"{"a":"1","b":"2"}"#);
    let twice = term(r#""labelSelector":{"matchLabels":{"b":"2"}},"matchLabelKeys":["a","b"]"#);
    let path = "/spec/affinity/podAffinity";
    let at = format!("spec.affinity.podAffinity.{REQUIRED}[0]");
    let expected = format!("{at}[1]: Invalid value: \"b\": exists in both matchLabelKeys and labelSelector");
    pods().refuses(&[(&[labels, (path, &twice)], &[&expected])]);
    let key = wrong(&format!("{at}.matchLabelKeys[0]"), "a b", qualified_name);
    let bad = term(r#""labelSelector":{},"matchLabelKeys":["a b"]"#);
    pods().refuses(&[(&[(path, &bad)], &[&key])]);
    let good =
        term(r#""labelSelector":{"matchLabels":{"c":"1"}},"matchLabelKeys":["a"],"mismatchLabelKeys":["b"]"#);
    pods().accepts(&[&[labels, (path, &good)]]);
}

#[test]
fn invalid_values_of_the_old_pod_may_stay() {
    let label: Change<'_> = ("/metadata/labels", r#"{"x":"y"}"#);
    let required = nodes("matchExpressions", r#"{"key":"a","operator":"In","values":["-"]}"#);
    let term = r#"{"topologyKey":"t","labelSelector":{"matchExpressions":[{"key":"a","operator":"In","values":["-"]}]}}"#;
    let selector = format!("[{term}]");
    let weighted = format!(r#"[{{"weight":1,"podAffinityTerm":{term}}}]"#);
    for before in [
        ("/spec/affinity/nodeAffinity".to_owned(), &required),
        (format!("/spec/affinity/podAffinity/{REQUIRED}"), &selector),
        (format!("/spec/affinity/podAntiAffinity/{PREFERRED}"), &weighted),
    ] {
        pods().accepts_update_of(&[(&before.0, before.1)], &[&[label]]);
    }
}
