//! The strategies of the group's resources.

use std::sync::Arc;

use pintle_features::Feature;
use pintle_meta::Value;
use pintle_meta::field_path::{Error, Path};
use pintle_registry::Strategy;

use crate::framework::strategy::{Entry, Rules, Settings, find, tree};

const TABLE: &[Entry] = &[
    Entry {
        name: "priorityclasses",
        kind: "scheduling/v1.PriorityClass",
        rules: Rules {
            unconditional_update: true,
            on_create: |_, _, class| tree::set(class, &["metadata", "generation"], 1),
            validate: |_, class| reserved_name(class),
            forbids_deletion: |name| {
                let why = "this is a system priority class and cannot be deleted";
                SYSTEM.iter().any(|(known, _)| *known == name).then_some(why)
            },
            ..Rules::CLUSTER
        },
    },
    Entry { name: "podgroups", kind: "scheduling/v1alpha2.PodGroup", rules: POD_GROUPS },
    Entry {
        name: "podgroups/status",
        kind: "scheduling/v1alpha2.PodGroup",
        rules: Rules {
            on_update: |settings, _, group, old| {
                let claims = settings.features.enabled(Feature::DRAWorkloadResourceClaims);
                if !claims && old.items_at(&["spec", "resourceClaims"]).is_empty() {
                    tree::remove(group, &["status", "resourceClaimStatuses"]);
                }
            },
            ..POD_GROUPS.of_status_alone()
        },
    },
    Entry {
        name: "workloads",
        kind: "scheduling/v1alpha2.Workload",
        rules: Rules {
            unconditional_update: true,
            on_create: |settings, _, workload| drop_from_templates(settings, workload, None),
            on_update: |settings, _, workload, old| drop_from_templates(settings, workload, Some(old)),
            ..Rules::NAMESPACED
        },
    },
];

/// The classes that Kubernetes itself depends on.
const SYSTEM: &[(&str, i64)] =
    &[("system-node-critical", 2_000_001_000), ("system-cluster-critical", 2_000_000_000)];

/// Names of the system's classes are for those that the system makes.
fn reserved_name(class: &Value) -> Vec<Error> {
    let name = class.name();
    if !name.starts_with("system-") {
        return Vec::new();
    }
    let value = class.get("value").and_then(Value::as_i64).unwrap_or_default();
    let is_default = class.get("globalDefault").and_then(Value::as_bool) == Some(true);
    let why = match SYSTEM.iter().find(|(known, _)| *known == name) {
        None => format!("{name} is not a known system priority class"),
        Some((_, known)) if *known != value => format!("value of {name} PriorityClass must be {known}"),
        Some(_) if is_default => format!("globalDefault of {name} PriorityClass must be false"),
        Some(_) => return Vec::new(),
    };
    let why =
        format!("priority class names with 'system-' prefix are reserved for system use only. error: {why}");
    vec![Error::forbidden(&Path::new("metadata").child("name"), why)]
}

const POD_GROUPS: Rules = Rules {
    unconditional_update: true,
    on_create: |settings, _, group| drop_from(SPEC, settings, group.get_mut("spec"), None),
    on_update: |settings, _, group, old| drop_from(SPEC, settings, group.get_mut("spec"), old.get("spec")),
    ..Rules::NAMESPACED.with_status()
};

const SPEC: &str = "scheduling/v1alpha2.PodGroupSpec";
const TEMPLATE: &str = "scheduling/v1alpha2.PodGroupTemplate";

/// Fields of pod groups whose features are off go, each unless it is there already.
fn drop_from(of: &str, settings: &Settings, spec: Option<&mut Value>, old: Option<&Value>) {
    let (Some(of), Some(spec)) = (pintle_schema::find(of), spec) else { return };
    let features = &settings.features;
    let gated: [(tree::Path, bool); 5] = [
        (&["schedulingConstraints"], features.enabled(Feature::TopologyAwareWorkloadScheduling)),
        (&["resourceClaims"], features.enabled(Feature::DRAWorkloadResourceClaims)),
        (&["disruptionMode"], features.enabled(Feature::WorkloadAwarePreemption)),
        (&["priorityClassName"], features.enabled(Feature::WorkloadAwarePreemption)),
        (&["priority"], features.enabled(Feature::WorkloadAwarePreemption)),
    ];
    for (field, enabled) in gated {
        if !enabled && old.is_none_or(|old| old.at(field).is_none_or(Value::is_null)) {
            tree::reset(of, spec, field);
        }
    }
}

fn drop_from_templates(settings: &Settings, workload: &mut Value, old: Option<&Value>) {
    const TEMPLATES: tree::Path = &["spec", "podGroupTemplates"];
    let old = old.map(|old| old.items_at(TEMPLATES)).unwrap_or_default();
    let templates = workload.at_mut(TEMPLATES).and_then(Value::as_list_mut);
    for (index, template) in templates.into_iter().flatten().enumerate() {
        drop_from(TEMPLATE, settings, Some(template), old.get(index));
    }
}

/// The strategy of a resource or subresource.
pub(crate) fn strategy(name: &str, settings: &Settings) -> Option<Arc<dyn Strategy>> {
    find(TABLE, name, settings)
}

#[cfg(test)]
mod tests {
    use crate::framework::strategy::testing::{invalid, of, text};

    const GROUP: &str = "scheduling.k8s.io";

    #[test]
    fn a_class_stays_of_the_first_generation_and_those_of_the_system_stay() {
        let classes = of(GROUP, "priorityclasses");
        let class = r#"{"metadata":{"name":"a"},"value":1}"#;
        assert_eq!(classes.created(class).generation(), 1);
        let changed = r#"{"metadata":{"name":"a"},"value":1,"description":"d"}"#;
        assert_eq!(classes.updated(changed, class).generation(), 0);
        assert!(classes.strategy.forbids_deletion("a").is_none());
        assert_eq!(
            classes.strategy.forbids_deletion("system-node-critical"),
            Some("this is a system priority class and cannot be deleted")
        );
        assert!(
            invalid(&classes, r#"{"metadata":{"name":"system-node-critical"},"value":2000001000}"#)
                .is_empty()
        );
        let prefix = "metadata.name: Forbidden: priority class names with 'system-' prefix are reserved for system use only. error: ";
        assert_eq!(
            invalid(&classes, r#"{"metadata":{"name":"system-x"},"value":1}"#),
            [format!("{prefix}system-x is not a known system priority class")]
        );
        assert_eq!(
            invalid(&classes, r#"{"metadata":{"name":"system-node-critical"},"value":1}"#),
            [format!("{prefix}value of system-node-critical PriorityClass must be 2000001000")]
        );
    }

    #[test]
    fn fields_of_features_that_are_off_go_unless_they_were_there() {
        let groups = of(GROUP, "podgroups");
        let object = |spec: &str| {
            format!(r#"{{"metadata":{{"name":"a","namespace":"n"}},"spec":{{{spec}}},"status":{{}}}}"#)
        };
        let policy = r#""podGroupTemplateRef":null,"schedulingPolicy":{"gang":{"minCount":2}}"#;
        let gated = object(&format!(r#"{policy},"priorityClassName":"p","priority":3"#));
        assert_eq!(text(&groups.created(&gated)), object(policy));
        let old = object(&format!(r#"{policy},"priority":1"#));
        assert_eq!(text(&groups.updated(&gated, &old)), object(&format!(r#"{policy},"priority":3"#)));
        let workloads = of(GROUP, "workloads");
        let workload = r#"{"metadata":{"name":"a","namespace":"n"},"spec":{"podGroupTemplates":[{"name":"x","schedulingPolicy":{},"priority":1}]}}"#;
        assert!(!text(&workloads.created(workload)).contains("priority"));
        assert!(text(&workloads.updated(workload, workload)).contains("priority"));
    }
}
