//! Namespaces, whose deletion begins with the deletion of what is in them.

use pintle_meta::Value;
use pintle_meta::field_path::{self, Error, Path as FieldPath};
use pintle_meta::validation::{object_meta, qualified_name};
use pintle_registry::{ResetFields, Stages};

use super::CLUSTER;
use crate::framework::strategy::{Recheck, Rules, rules, tree};

/// Held by the controller that empties namespaces.
const KUBERNETES: &str = "kubernetes";
const FINALIZERS: tree::Path = &["spec", "finalizers"];
const NAME_LABEL: &str = "kubernetes.io/metadata.name";

pub(super) const NAMESPACES: Rules = Rules {
    name: object_meta::label_name,
    recheck: Recheck::Both,
    keeps: &[FINALIZERS, &["status"]],
    returns_deleted_object: true,
    on_create: |_, _, namespace| {
        tree::set(namespace, &["status", "phase"], "Active");
        require_finalizer(namespace);
    },
    validate: |_, namespace| validate(namespace),
    validate_update: |_, new, _| validate(new),
    canonicalize: label,
    stages: Some(Stages {
        begin: |namespace| tree::set(namespace, &["status", "phase"], "Terminating"),
        is_held,
        first_decides: true,
    }),
    may_go: |new, _| !is_held(new),
    ..CLUSTER.with_status()
};

pub(super) const NAMESPACE_STATUS: Rules = Rules {
    validate_update: |_, new, _| {
        let is_going = new.deletion_timestamp().is_some();
        let (phase, when) = if is_going { ("Terminating", "not empty") } else { ("Active", "empty") };
        let given = new.text_at(&["status", "phase"]);
        let wrong = format!("may only be '{phase}' if `deletionTimestamp` is {when}");
        let path = FieldPath::new("status");
        let error = Error::invalid(&path.child("Phase"), field_path::Value::json(given), wrong);
        if given == phase { Vec::new() } else { vec![error] }
    },
    ..NAMESPACES.of_status()
};

pub(super) const FINALIZE: Rules = Rules {
    recheck: Recheck::Changes,
    keeps: &[&["status"]],
    resets: ResetFields::These(&[&["status"]]),
    validate_update: |_, new, _| {
        let path = FieldPath::new("spec");
        let path = path.child("finalizers");
        let names = new.items_at(FINALIZERS).iter().filter_map(Value::as_str).enumerate();
        names.flat_map(|(index, name)| check_finalizer(&path.index(index), name)).collect()
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

fn validate(namespace: &Value) -> Vec<Error> {
    let path = FieldPath::new("spec");
    let path = path.child("finalizers");
    let names = namespace.items_at(FINALIZERS).iter().filter_map(Value::as_str);
    names.flat_map(|name| check_finalizer(&path, name)).collect()
}

fn check_finalizer(path: &FieldPath<'_>, name: &str) -> Vec<Error> {
    let wrong = qualified_name(name).into_iter();
    let mut errors: Vec<Error> = wrong.map(|wrong| Error::invalid(path, name, wrong)).collect();
    errors.extend(rules::standard_finalizer(path, name));
    errors
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
            Some(labels) => drop(labels.insert(NAME_LABEL, name)),
            None => *labels = Value::object([(NAME_LABEL, name)].into_iter().collect()),
        }
    }
}
