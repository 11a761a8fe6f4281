//! The strategies of the group's resources.

use std::sync::Arc;

use pintle_meta::Value;
use pintle_registry::{ResetFields, Strategy};

use crate::framework::strategy::{Entry, MetadataRecheck, Rules, Settings, find, tree};

const TABLE: &[Entry] = &[
    Entry { name: "flowschemas", kind: "flowcontrol/v1.FlowSchema", rules: BOTH },
    Entry { name: "flowschemas/status", kind: "flowcontrol/v1.FlowSchema", rules: STATUS },
    Entry {
        name: "prioritylevelconfigurations",
        kind: "flowcontrol/v1.PriorityLevelConfiguration",
        rules: BOTH,
    },
    Entry {
        name: "prioritylevelconfigurations/status",
        kind: "flowcontrol/v1.PriorityLevelConfiguration",
        rules: STATUS,
    },
];

const BOTH: Rules = Rules {
    recheck: MetadataRecheck::Full,
    unconditional_update: true,
    ..Rules::CLUSTER.with_status().counting_spec()
};

const STATUS: Rules = Rules {
    recheck: MetadataRecheck::None,
    reset_fields: ResetFields::These(&[&["metadata"], &["spec"]]),
    on_update: |_, _, new, old| keep_metadata(new, old),
    ..BOTH.of_status()
};

/// All metadata is the old one's, but for who wrote the status.
fn keep_metadata(new: &mut Value, old: &Value) {
    const MANAGERS: tree::Path = &["metadata", "managedFields"];
    let managers = new.at(MANAGERS).cloned();
    tree::keep(new, old, &["metadata"]);
    match managers {
        Some(managers) => tree::set(new, MANAGERS, managers),
        None => tree::remove(new, MANAGERS),
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
