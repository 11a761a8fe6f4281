//! Namespaces, whose deletion begins with the deletion of what is in them.

use pintle_meta::Value;
use pintle_meta::field_path::Value as Printed;
use pintle_meta::validation::{object_meta, qualified_name};
use pintle_registry::{ResetFields, StagedDeletion};

use crate::core::strategy::CLUSTER;
use crate::framework::strategy::{MetadataRecheck, Rules, rules, tree};
use crate::framework::validation::Cursor;

/// Held by the controller that empties namespaces.
const KUBERNETES: &str = "kubernetes";
const FINALIZERS: tree::Path = &["spec", "finalizers"];
const NAME_LABEL: &str = "kubernetes.io/metadata.name";

pub(in crate::core) const NAMESPACES: Rules = Rules {
    name: object_meta::label_name,
    recheck: MetadataRecheck::Both,
    kept_on_update: &[FINALIZERS, &["status"]],
    returns_deleted_object: true,
    on_create: |_, _, namespace| {
        tree::set(namespace, &["status", "phase"], "Active");
        require_finalizer(namespace);
    },
    validate: |_, namespace| validate(namespace),
    validate_update: |_, namespace| validate(namespace),
    canonicalize: label,
    stages: Some(StagedDeletion {
        begin: |namespace| tree::set(namespace, &["status", "phase"], "Terminating"),
        is_held,
        first_decides: true,
    }),
    may_go: |new, _| !is_held(new),
    ..CLUSTER.with_status()
};

pub(in crate::core) const NAMESPACE_STATUS: Rules = Rules {
    validate_update: |_, namespace| {
        let is_going = namespace.value().deletion_timestamp().is_some();
        let (wanted, when) = if is_going { ("Terminating", "not empty") } else { ("Active", "empty") };
        let status = namespace.field("status");
        let phase = status.at_as(&["phase"], "Phase");
        if phase.text() != wanted {
            let why = format!("may only be '{wanted}' if `deletionTimestamp` is {when}");
            phase.invalid(Printed::json(phase.text()), why);
        }
    },
    ..NAMESPACES.of_status()
};

pub(in crate::core) const FINALIZE: Rules = Rules {
    recheck: MetadataRecheck::Immutable,
    kept_on_update: &[&["status"]],
    reset_fields: ResetFields::These(&[&["status"]]),
    validate_update: |_, namespace| {
        namespace.at(FINALIZERS).each(|finalizer| check_finalizer(finalizer, finalizer.text()));
    },
    ..NAMESPACES
};

fn is_held(namespace: &Value) -> bool {
    !namespace.items_at(FINALIZERS).is_empty()
}

fn require_finalizer(namespace: &mut Value) {
    let finalizers = namespace.items_at(FINALIZERS);
    if !finalizers.iter().any(|name| name.as_str() == Some(KUBERNETES)) {
        let finalizers = finalizers.iter().cloned().chain([Value::literal(KUBERNETES)]);
        let finalizers: Vec<Value> = finalizers.collect();
        tree::set(namespace, FINALIZERS, finalizers);
    }
}

/// Errors name the list, as in the reference, and not the item.
fn validate(namespace: &Cursor<'_, '_>) {
    let finalizers = namespace.at(FINALIZERS);
    finalizers.texts().into_iter().for_each(|name| check_finalizer(&finalizers, name));
}

fn check_finalizer(place: &Cursor<'_, '_>, name: &str) {
    qualified_name(name).into_iter().for_each(|why| place.invalid(name, why));
    place.report(rules::standard_finalizer(place.path(), name));
}

/// A namespace carries its name as a label. Defaults see to that too, but not where the name was generated after them.
fn label(namespace: &mut Value) {
    if namespace.label(NAME_LABEL) == Some(namespace.name()) {
        return;
    }
    let name = Value::string(namespace.name());
    if let Some(metadata) = namespace.metadata_mut() {
        let labels = metadata.get_or_insert_with("labels", Value::default);
        match labels.as_object_mut() {
            Some(labels) => {
                labels.insert(NAME_LABEL, name);
            }
            None => *labels = Value::object([(NAME_LABEL, name)].into_iter().collect()),
        }
    }
}
