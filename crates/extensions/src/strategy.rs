//! The rules about custom resources of one version, and about their statuses.

use std::sync::Arc;

use pintle_definitions::object::{Scale, embedded, finalizer_warnings, lists, validate_kind};
use pintle_definitions::rules;
use pintle_meta::field_path::{Error, Path};
use pintle_meta::validation::object_meta;
use pintle_meta::{Object, Value};
use pintle_registry::{Context, ResetFields, Strategy};
use pintle_runtime::Stopwatch;
use tokio::runtime::{Handle, RuntimeFlavor};

use crate::metrics::Metrics;
use crate::schemas::{VersionSchema, VersionSchemas};

/// The rules of a version.
#[derive(Clone)]
pub(crate) struct Custom {
    pub(crate) schemas: Arc<VersionSchemas>,
    pub(crate) place: usize,
    pub(crate) namespaced: bool,
    /// The status is written through a path of its own.
    pub(crate) has_status: bool,
    pub(crate) scale: Option<Scale>,
    pub(crate) metrics: Metrics,
}

impl Custom {
    fn schema(&self) -> &VersionSchema {
        &self.schemas.versions[self.place]
    }

    fn validate_kind(&self, object: &Value) -> Vec<Error> {
        validate_kind(object, &self.schemas.group, &self.schema().name, &self.schemas.kind)
    }

    /// Checks the CEL rules, if the object has the form that they were written for. Returns warnings.
    fn check_rules(&self, object: &Value, old: Option<&Value>, errors: &mut Vec<Error>) -> Vec<String> {
        let version = self.schema();
        let all = version.rules(|took| self.metrics.rules_compiled(took));
        if all.is_empty() {
            return Vec::new();
        }
        if let Some(blocked) = rules::blocked(errors) {
            errors.push(blocked);
            return Vec::new();
        }
        let stopwatch = Stopwatch::start();
        let checked = aside(|| all.check(&version.schema, object, old));
        self.metrics.rules_checked(stopwatch.elapsed());
        errors.extend(checked.errors);
        checked.warnings
    }
}

/// Runs work that may take seconds for hostile input, without blocking other tasks of the thread.
fn aside<T>(work: impl FnOnce() -> T) -> T {
    let flavor = Handle::try_current().map(|handle| handle.runtime_flavor());
    match flavor {
        Ok(RuntimeFlavor::MultiThread) => tokio::task::block_in_place(work),
        _ => work(),
    }
}

impl Strategy for Custom {
    fn prepare_for_create(&self, _: &mut Context, object: &mut Value) {
        if let Some(object) = object.as_object_mut().filter(|_| self.has_status) {
            object.remove("status");
        }
        if let Some(metadata) = object.metadata_mut() {
            metadata.insert("generation", 1i64);
        }
    }

    fn validate(&self, _: &Context, object: &Value) -> Vec<Error> {
        let mut errors = self.validate_kind(object);
        if !errors.is_empty() {
            self.after_validation(object, None, &mut errors);
            return errors;
        }
        let path = Path::new("metadata");
        errors.extend(object_meta::validate(object, self.namespaced, &object_meta::subdomain_name, &path));
        errors.extend(self.schema().validator().validate(object));
        if let Some(scale) = &self.scale {
            errors.extend(scale.validate_spec(object));
            errors.extend(scale.validate_status(object));
        }
        self.after_validation(object, None, &mut errors);
        errors
    }

    fn warnings_on_create(&self, _: &Context, object: &Value) -> Vec<String> {
        finalizer_warnings(object, None)
    }

    fn prepare_for_update(&self, _: &Context, new: &mut Value, old: &Value) {
        if self.has_status
            && let Some(object) = new.as_object_mut()
        {
            set_or_remove(object, "status", old.get("status").cloned());
        }
        if differ_beside_metadata(new, old)
            && let Some(metadata) = new.metadata_mut()
        {
            metadata.insert("generation", old.generation() + 1);
        }
    }

    fn examine_update(&self, context: &mut Context, new: &Value, old: &Value) -> Vec<Error> {
        let mut errors = self.validate_kind(new);
        let mut took = None;
        if errors.is_empty() {
            errors.extend(object_meta::validate_update(new, old, &Path::new("metadata")));
            let found = self.schema().validator().validate_update(new, old);
            took = Some(found.took);
            errors.extend(found.errors);
            if let Some(scale) = &self.scale {
                errors.extend(scale.validate_spec(new));
                errors.extend(scale.validate_status(new));
            }
        }
        context.warnings.extend(self.after_validation(new, Some(old), &mut errors));
        // Last: all before it may be begun anew on another thread.
        took.into_iter().for_each(|took| self.metrics.ratcheted(took));
        errors
    }

    fn warnings_on_update(&self, _: &Context, new: &Value, old: &Value) -> Vec<String> {
        finalizer_warnings(new, Some(old))
    }

    fn reset_fields(&self) -> ResetFields {
        if self.has_status { ResetFields::These(&[&["status"]]) } else { ResetFields::These(&[]) }
    }
}

impl Custom {
    fn after_validation(&self, new: &Value, old: Option<&Value>, errors: &mut Vec<Error>) -> Vec<String> {
        let schema = &self.schema().schema;
        errors.extend(embedded::validate(schema, new, false));
        errors.extend(match old {
            None => lists::validate(schema, new),
            Some(old) => lists::validate_update(schema, new, old),
        });
        self.check_rules(new, old, errors)
    }
}

/// The rules about the status of a version's objects.
pub(crate) struct Status(pub(crate) Custom);

impl Strategy for Status {
    fn prepare_for_update(&self, _: &Context, new: &mut Value, old: &Value) {
        let status = new.get("status").cloned();
        let managers = new.metadata().and_then(|metadata| metadata.get("managedFields")).cloned();
        *new = old.clone();
        if let Some(metadata) = new.metadata_mut() {
            set_or_remove(metadata, "managedFields", managers);
        }
        if let Some(object) = new.as_object_mut() {
            set_or_remove(object, "status", status);
        }
    }

    fn examine_update(&self, context: &mut Context, new: &Value, old: &Value) -> Vec<Error> {
        let Status(custom) = self;
        let mut errors = custom.validate_kind(new);
        let mut took = None;
        if errors.is_empty() {
            errors.extend(object_meta::validate_update(new, old, &Path::new("metadata")));
            let found = custom.schema().validator().validate_status_update(new, old);
            took = Some(found.took);
            errors.extend(found.errors);
            if let Some(scale) = &custom.scale {
                errors.extend(scale.validate_status(new));
            }
        }
        errors.extend(lists::validate_update(&custom.schema().schema, new, old));
        context.warnings.extend(custom.check_rules(new, Some(old), &mut errors));
        took.into_iter().for_each(|took| custom.metrics.ratcheted(took));
        errors
    }

    fn reset_fields(&self) -> ResetFields {
        ResetFields::These(&[&["metadata"], &["spec"]])
    }
}

fn set_or_remove(object: &mut Object, field: &'static str, value: Option<Value>) {
    match value {
        Some(value) => {
            object.insert(field, value);
        }
        None => {
            object.remove(field);
        }
    }
}

fn differ_beside_metadata(new: &Value, old: &Value) -> bool {
    let (Some(new), Some(old)) = (new.as_object(), old.as_object()) else { return true };
    let others = |object: &'_ Object| -> Vec<(String, Value)> {
        let entries = object.iter().filter(|(name, _)| *name != "metadata");
        entries.map(|(name, value)| (name.to_owned(), value.clone())).collect()
    };
    new.len() != old.len() || others(new) != others(old)
}
