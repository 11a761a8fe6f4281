//! PriorityClasses: their values, and the names that are reserved for the system's own.

use super::strategy::UNCONDITIONAL;
use crate::framework::strategy::{Rules, tree};
use crate::framework::validation::Cursor;

/// The prefix of names that only the system's classes have.
const RESERVED: &str = "system-";
/// Greater values are for the system's classes.
const MAX_VALUE: i64 = 1_000_000_000;
/// The classes that Kubernetes itself depends on, with their values.
const SYSTEM: &[(&str, i64)] =
    &[("system-node-critical", 2_000_001_000), ("system-cluster-critical", 2_000_000_000)];

pub(super) const PRIORITY_CLASSES: Rules = Rules {
    namespaced: false,
    on_create: |_, _, class| tree::set(class, &["metadata", "generation"], 1),
    validate: |_, class| validate(class),
    validate_update: |_, class| validate_update(class),
    forbids_deletion: |name| {
        let why = "this is a system priority class and cannot be deleted";
        SYSTEM.iter().any(|(known, _)| *known == name).then_some(why)
    },
    ..UNCONDITIONAL
};

fn validate(class: &Cursor<'_, '_>) {
    let name = class.at(&["metadata", "name"]);
    let value = class.field("value");
    if name.text().starts_with(RESERVED) {
        if let Some(why) = system_mismatch(class) {
            name.forbidden(format!(
                "priority class names with '{RESERVED}' prefix are reserved for system use only. error: {why}"
            ));
        }
    } else if value.integer() > MAX_VALUE {
        value.forbidden(format!("maximum allowed value of a user defined priority is {MAX_VALUE}"));
    }
    let policy = class.field("preemptionPolicy");
    if policy.is_set() {
        policy.required_one_of(&["PreemptLowerPriority", "Never"]);
    }
}

/// Returns the difference of a class with a reserved name from the system's class.
fn system_mismatch(class: &Cursor<'_, '_>) -> Option<String> {
    let name = class.at(&["metadata", "name"]).text();
    let Some((_, value)) = SYSTEM.iter().find(|(known, _)| *known == name) else {
        return Some(format!("{name} is not a known system priority class"));
    };
    if class.field("value").integer() != *value {
        return Some(format!("value of {name} PriorityClass must be {value}"));
    }
    class
        .field("globalDefault")
        .flag()
        .then(|| format!("globalDefault of {name} PriorityClass must be false"))
}

fn validate_update(class: &Cursor<'_, '_>) {
    let value = class.field("value");
    if value.integer() != value.before().integer() {
        value.forbidden("may not be changed in an update.");
    }
    class.field("preemptionPolicy").immutable("*core.PreemptionPolicy");
}

#[cfg(test)]
mod tests {
    use crate::framework::strategy::testing::of;
    use crate::framework::validation::testing::Base;

    const GROUP: &str = "scheduling.k8s.io";

    fn base() -> Base {
        Base::new(GROUP, "priorityclasses", r#"{"metadata":{"name":"a"},"value":1}"#)
    }

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
    }

    #[test]
    fn reserved_names_are_for_the_classes_of_the_system() {
        const WHY: &str = "metadata.name: Forbidden: priority class names with 'system-' prefix are reserved for system use only. error: ";
        let name = |name: &str| format!("{name:?}");
        let node = name("system-node-critical");
        base().accepts(&[
            &[("/metadata/name", node.as_str()), ("/value", "2000001000")],
            &[("/metadata/name", &name("system-cluster-critical")), ("/value", "2000000000")],
        ]);
        base().refuses(&[
            (
                &[("/metadata/name", &name("system-x"))],
                &[&format!("{WHY}system-x is not a known system priority class")],
            ),
            (
                &[("/metadata/name", &node)],
                &[&format!("{WHY}value of system-node-critical PriorityClass must be 2000001000")],
            ),
            (
                &[("/metadata/name", &node), ("/value", "2000001000"), ("/globalDefault", "true")],
                &[&format!("{WHY}globalDefault of system-node-critical PriorityClass must be false")],
            ),
        ]);
    }

    #[test]
    fn values_of_users_are_limited() {
        base().accepts(&[&[("/value", "1000000000")], &[("/value", "-2147483648")]]);
        base().refuses(&[
            (
                &[("/value", "1000000001")],
                &["value: Forbidden: maximum allowed value of a user defined priority is 1000000000"],
            ),
            (
                &[("/preemptionPolicy", r#""x""#)],
                &[
                    r#"preemptionPolicy: Unsupported value: "x": supported values: "PreemptLowerPriority", "Never""#,
                ],
            ),
            (&[("/preemptionPolicy", r#""""#)], &["preemptionPolicy: Required value"]),
        ]);
    }

    #[test]
    fn value_and_policy_are_immutable() {
        base().accepts_update(&[&[("/description", r#""d""#)], &[("/globalDefault", "true")]]);
        base().refuses_update(&[
            (&[("/value", "2")], &["value: Forbidden: may not be changed in an update."]),
            (
                &[("/preemptionPolicy", r#""Never""#)],
                &[r#"preemptionPolicy: Invalid value: "Never": field is immutable"#],
            ),
        ]);
        // A stored value above the limit may stay.
        base().accepts_update_of(&[("/value", "1000000001")], &[&[("/description", r#""d""#)]]);
    }
}
