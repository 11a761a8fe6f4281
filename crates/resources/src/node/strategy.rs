//! The strategies of the group's resources.

use std::sync::Arc;

use pintle_meta::{Object, Value};
use pintle_registry::Strategy;

use crate::framework::strategy::{Entry, Rules, Settings, find, labels};

const TABLE: &[Entry] = &[Entry { name: "runtimeclasses", kind: "node/v1.RuntimeClass", rules: CLASSES }];

const CLASSES: Rules = Rules {
    standard_finalizers: false,
    create_on_update: true,
    warnings: |_, class, _| warnings(class),
    ..Rules::CLUSTER
};

/// Labels of nodes that have newer names.
fn warnings(class: &Value) -> Vec<String> {
    let selector = class.at(&["scheduling", "nodeSelector"]).and_then(Value::as_object);
    let deprecated = selector.into_iter().flat_map(Object::keys).filter_map(labels::deprecated);
    deprecated.map(|why| format!("scheduling.nodeSelector: {why}")).collect()
}

/// The strategy of a resource or subresource.
pub(crate) fn strategy(name: &str, settings: &Settings) -> Option<Arc<dyn Strategy>> {
    find(TABLE, name, settings)
}

#[cfg(test)]
mod tests {
    use crate::framework::strategy::testing::{of, warnings};

    #[test]
    fn labels_of_nodes_with_newer_names_are_warned_of() {
        let classes = of("node.k8s.io", "runtimeclasses");
        let class = r#"{"metadata":{"name":"a"},"handler":"h","scheduling":{"nodeSelector":{"beta.kubernetes.io/os":"linux","x":"y"}}}"#;
        let expected = r#"scheduling.nodeSelector: deprecated since v1.14; use "kubernetes.io/os" instead"#;
        assert_eq!(warnings(&classes, class, None), [expected]);
        assert_eq!(warnings(&classes, class, Some(class)), [expected]);
    }
}
