//! The strategies of the group's resources.

use std::collections::HashSet;
use std::sync::Arc;

use pintle_meta::Value;
use pintle_meta::field_path::Value as Printed;
use pintle_registry::{ResetFields, Strategy};

use super::{flow_schema, priority_level_configuration};
use crate::framework::strategy::{Entry, MetadataRecheck, Rules, Settings, find, tree};
use crate::framework::validation::Cursor;

const TABLE: &[Entry] = &[
    Entry { name: "flowschemas", kind: "flowcontrol/v1.FlowSchema", rules: flow_schema::FLOW_SCHEMAS },
    Entry { name: "flowschemas/status", kind: "flowcontrol/v1.FlowSchema", rules: flow_schema::STATUS },
    Entry {
        name: "prioritylevelconfigurations",
        kind: "flowcontrol/v1.PriorityLevelConfiguration",
        rules: priority_level_configuration::PRIORITY_LEVELS,
    },
    Entry {
        name: "prioritylevelconfigurations/status",
        kind: "flowcontrol/v1.PriorityLevelConfiguration",
        rules: priority_level_configuration::STATUS,
    },
];

/// The rules that both resources have.
pub(super) const RESOURCE: Rules = Rules {
    recheck: MetadataRecheck::Full,
    unconditional_update: true,
    ..Rules::CLUSTER.with_status().counting_spec()
};

pub(super) const STATUS_OF_RESOURCE: Rules = Rules {
    recheck: MetadataRecheck::None,
    reset_fields: ResetFields::These(&[&["metadata"], &["spec"]]),
    on_update: |_, _, new, old| keep_metadata(new, old),
    ..RESOURCE.of_status()
};

/// Keeps all metadata of the old object but for the managers of the status.
fn keep_metadata(new: &mut Value, old: &Value) {
    const MANAGERS: tree::Path = &["metadata", "managedFields"];
    let managers = new.at(MANAGERS).cloned();
    tree::keep(new, old, &["metadata"]);
    match managers {
        Some(managers) => tree::set(new, MANAGERS, managers),
        None => tree::remove(new, MANAGERS),
    }
}

/// Checks that conditions have types, each its own.
pub(super) fn conditions(conditions: &Cursor<'_, '_>) {
    let mut types = HashSet::new();
    for condition in conditions.items() {
        let kind = condition.field("type");
        if !types.insert(kind.text()) {
            kind.duplicate(Printed::json(kind.text()));
        }
        if kind.is_empty() {
            kind.required("");
        }
    }
}

/// The strategy of a resource or subresource.
pub(crate) fn strategy(name: &str, settings: &Settings) -> Option<Arc<dyn Strategy>> {
    find(TABLE, name, settings)
}

#[cfg(test)]
mod tests {
    use crate::framework::strategy::testing::{of, text};

    #[test]
    fn a_status_comes_with_no_metadata_but_managers() {
        let status = of("flowcontrol.apiserver.k8s.io", "flowschemas/status");
        let spec = r#""spec":{"priorityLevelConfiguration":{"name":"p"},"matchingPrecedence":1}"#;
        let old = format!(
            r#"{{"metadata":{{"name":"a","resourceVersion":"5","generation":3,"managedFields":[{{"manager":"m"}}]}},{spec},"status":{{}}}}"#
        );
        let new = r#"{"metadata":{"name":"a","labels":{"x":"y"},"managedFields":[{"manager":"o"}]},"status":{"conditions":[{"type":"Dangling"}]}}"#;
        let expected = old.replace(r#""m""#, r#""o""#).replace(
            r#""status":{}"#,
            r#""status":{"conditions":[{"type":"Dangling","lastTransitionTime":null}]}"#,
        );
        assert_eq!(text(&status.updated(new, &old)), expected);
    }
}
