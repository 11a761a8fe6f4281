//! The rules about custom resources of one version, and about their statuses.

use std::sync::Arc;
use std::time::Instant;

use pintle_definitions::object::{Scale, embedded, finalizer_warnings, lists, validate_kind};
use pintle_definitions::rules;
use pintle_meta::Value;
use pintle_meta::field_path::{Error, Path};
use pintle_meta::validation::object_meta;
use pintle_registry::{Context, ResetFields, Strategy};
use tokio::runtime::{Handle, RuntimeFlavor};

use crate::metrics::Metrics;
use crate::shape::{Shape, Shapes};

/// The rules of a version.
#[derive(Clone)]
pub(crate) struct Custom {
    pub(crate) shapes: Arc<Shapes>,
    pub(crate) place: usize,
    pub(crate) namespaced: bool,
    /// The status is written through a path of its own.
    pub(crate) has_status: bool,
    pub(crate) scale: Option<Scale>,
    pub(crate) metrics: Metrics,
}

impl Custom {
    fn shape(&self) -> &Shape {
        &self.shapes.versions[self.place]
    }

    fn validate_kind(&self, object: &Value) -> Vec<Error> {
        validate_kind(object, &self.shapes.group, &self.shape().name, &self.shapes.kind)
    }

    /// Rules are asked only about what has the form that they were written for. What they tolerate is to be told.
    fn check_rules(&self, object: &Value, old: Option<&Value>, errors: &mut Vec<Error>) -> Vec<String> {
        let shape = self.shape();
        let all = shape.rules(|took| self.metrics.rules_compiled(took));
        if all.is_empty() {
            return Vec::new();
        }
        if let Some(blocked) = rules::blocked(errors) {
            errors.push(blocked);
            return Vec::new();
        }
        let begun = Instant::now();
        let checked = aside(|| all.check(&shape.schema, object, old));
        self.metrics.rules_checked(begun.elapsed());
        errors.extend(checked.errors);
        checked.warnings
    }
}

/// Does something that may take a while, up to seconds for what was made to hurt, so that others of the same thread go on.
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
        errors.extend(self.shape().validator().validate(object));
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
            match old.get("status") {
                Some(status) => drop(object.insert("status", status.clone())),
                None => drop(object.remove("status")),
            }
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
            let found = self.shape().validator().validate_update(new, old);
            took = Some(found.took);
            errors.extend(found.errors);
            if let Some(scale) = &self.scale {
                errors.extend(scale.validate_spec(new));
                errors.extend(scale.validate_status(new));
            }
        }
        context.warnings.extend(self.after_validation(new, Some(old), &mut errors));
        // Last: what comes before may be begun anew elsewhere.
        took.into_iter().for_each(|took| self.metrics.ratcheted(took));
        errors
    }

    fn warnings_on_update(&self, _: &Context, new: &Value, old: &Value) -> Vec<String> {
        finalizer_warnings(new, Some(old))
    }

    fn reset_fields(&self) -> ResetFields {
        match self.has_status {
            true => ResetFields::These(&[&["status"]]),
            false => ResetFields::These(&[]),
        }
    }
}

impl Custom {
    fn after_validation(&self, new: &Value, old: Option<&Value>, errors: &mut Vec<Error>) -> Vec<String> {
        let schema = &self.shape().schema;
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
            match managers {
                Some(managers) => drop(metadata.insert("managedFields", managers)),
                None => drop(metadata.remove("managedFields")),
            }
        }
        if let Some(object) = new.as_object_mut() {
            match status {
                Some(status) => drop(object.insert("status", status)),
                None => drop(object.remove("status")),
            }
        }
    }

    fn examine_update(&self, context: &mut Context, new: &Value, old: &Value) -> Vec<Error> {
        let Status(custom) = self;
        let mut errors = custom.validate_kind(new);
        let mut took = None;
        if errors.is_empty() {
            errors.extend(object_meta::validate_update(new, old, &Path::new("metadata")));
            let found = custom.shape().validator().validate_status_update(new, old);
            took = Some(found.took);
            errors.extend(found.errors);
            if let Some(scale) = &custom.scale {
                errors.extend(scale.validate_status(new));
            }
        }
        errors.extend(lists::validate_update(&custom.shape().schema, new, old));
        context.warnings.extend(custom.check_rules(new, Some(old), &mut errors));
        took.into_iter().for_each(|took| custom.metrics.ratcheted(took));
        errors
    }

    fn reset_fields(&self) -> ResetFields {
        ResetFields::These(&[&["metadata"], &["spec"]])
    }
}

fn differ_beside_metadata(new: &Value, old: &Value) -> bool {
    let (Some(new), Some(old)) = (new.as_object(), old.as_object()) else { return true };
    let others = |object: &'_ pintle_meta::Object| -> Vec<(String, Value)> {
        let entries = object.iter().filter(|(name, _)| *name != "metadata");
        entries.map(|(name, value)| (name.to_owned(), value.clone())).collect()
    };
    new.len() != old.len() || others(new) != others(old)
}
