//! Labels and annotations of nodes that nobody should use any more.

use pintle_meta::field_path::Path;
use pintle_meta::{Value, Warnings};

const DEPRECATED: &[(&str, &str)] = &[
    ("beta.kubernetes.io/arch", r#"deprecated since v1.14; use "kubernetes.io/arch" instead"#),
    ("beta.kubernetes.io/os", r#"deprecated since v1.14; use "kubernetes.io/os" instead"#),
    (
        "failure-domain.beta.kubernetes.io/region",
        r#"deprecated since v1.17; use "topology.kubernetes.io/region" instead"#,
    ),
    (
        "failure-domain.beta.kubernetes.io/zone",
        r#"deprecated since v1.17; use "topology.kubernetes.io/zone" instead"#,
    ),
    (
        "beta.kubernetes.io/instance-type",
        r#"deprecated since v1.17; use "node.kubernetes.io/instance-type" instead"#,
    ),
    ("app.kubernetes.io/created-by", "deprecated since v1.9"),
    (
        "scheduler.alpha.kubernetes.io/preferAvoidPods",
        "deprecated since v1.22; use Taints and Tolerations instead",
    ),
    ("node-role.kubernetes.io/master", r#"use "node-role.kubernetes.io/control-plane" instead"#),
];

/// What to say about a label of a node; `None` if there is nothing wrong with it.
pub(crate) fn deprecated(label: &str) -> Option<&'static str> {
    DEPRECATED.iter().find(|(known, _)| *known == label).map(|(_, why)| *why)
}

/// What to say about a selector of nodes.
pub(crate) fn in_selector(selector: &Value, path: &Path<'_>) -> Vec<String> {
    let expressions = path.child("matchExpressions");
    let mut warnings = Warnings::new();
    for (index, expression) in selector.items_at(&["matchExpressions"]).iter().enumerate() {
        let key = expression.text_at(&["key"]);
        if let Some(why) = deprecated(key) {
            warnings.push(format!("{}: {key} is {why}", expressions.index(index).child("key")));
        }
    }
    let labels = selector.get("matchLabels").and_then(Value::as_object);
    for label in labels.into_iter().flat_map(pintle_meta::Object::keys) {
        if let Some(why) = deprecated(label) {
            warnings.push(format!("{}: {why}", path.child("matchLabels").child(label)));
        }
    }
    warnings.into_texts()
}
