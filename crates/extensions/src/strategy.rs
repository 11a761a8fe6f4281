//! The rules about custom resources of one version, and about their statuses.

use std::sync::Arc;

use crate::shim::{embedded, lists};
use pintle_definitions::rules;
use pintle_meta::field_path::{Error, Path};
use pintle_meta::validation::object_meta;
use pintle_meta::{Node, Value, quote};
use pintle_registry::{Context, ResetFields, Strategy};

use crate::definition::ScalePaths;
use crate::shape::{Shape, Shapes};

/// The rules of a version.
#[derive(Clone)]
pub(crate) struct Custom {
    pub(crate) shapes: Arc<Shapes>,
    pub(crate) place: usize,
    pub(crate) namespaced: bool,
    /// The status is written through a path of its own.
    pub(crate) has_status: bool,
    pub(crate) scale: Option<ScalePaths>,
}

impl Custom {
    fn shape(&self) -> &Shape {
        &self.shapes.versions[self.place]
    }

    /// An object is what its address says.
    fn validate_type(&self, object: &Value) -> Vec<Error> {
        let mut errors = Vec::new();
        if object.kind() != self.shapes.kind {
            let wrong = format!("must be {}", self.shapes.kind);
            errors.push(Error::invalid(&Path::new("kind"), object.kind(), wrong));
        }
        let expected = &self.shape().api_version;
        if object.api_version() != expected {
            let wrong = format!("must be {expected}");
            errors.push(Error::invalid(&Path::new("apiVersion"), object.api_version(), wrong));
        }
        errors
    }

    fn validate_scale_spec(&self, object: &Value, errors: &mut Vec<Error>) {
        if let Some(scale) = &self.scale {
            replicas(object, &scale.spec_replicas, errors);
        }
    }

    fn validate_scale_status(&self, object: &Value, errors: &mut Vec<Error>) {
        let Some(scale) = &self.scale else { return };
        replicas(object, &scale.status_replicas, errors);
        if let Some(path) = &scale.selector
            && let Err(wrong) = nested_text(object, path)
        {
            errors.push(Error::invalid(&Path::new(path), "", wrong));
        }
    }

    /// Rules are asked only about what has the form that they were written for.
    fn check_rules(&self, object: &Value, old: Option<&Value>, errors: &mut Vec<Error>) {
        if let Some(blocked) = rules::blocked(errors) {
            errors.push(blocked);
            return;
        }
        let shape = self.shape();
        errors.extend(shape.rules().check(&shape.schema, object, old).errors);
    }

    /// Lists that had duplicates before may keep them.
    fn check_lists(&self, new: &Value, old: &Value, errors: &mut Vec<Error>) {
        let schema = &self.shape().schema;
        let found = lists::validate(schema, new);
        if !found.is_empty() && lists::validate(schema, old).is_empty() {
            errors.extend(found);
        }
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
        let mut errors = self.validate_type(object);
        if !errors.is_empty() {
            self.after_validation(object, None, &mut errors);
            return errors;
        }
        let path = Path::new("metadata");
        errors.extend(object_meta::validate(object, self.namespaced, &object_meta::subdomain_name, &path));
        errors.extend(self.shape().validator().validate(object));
        self.validate_scale_spec(object, &mut errors);
        self.validate_scale_status(object, &mut errors);
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

    fn validate_update(&self, _: &Context, new: &Value, old: &Value) -> Vec<Error> {
        let mut errors = self.validate_type(new);
        if errors.is_empty() {
            errors.extend(object_meta::validate_update(new, old, &Path::new("metadata")));
            errors.extend(self.shape().validator().validate_update(new, old));
            self.validate_scale_spec(new, &mut errors);
            self.validate_scale_status(new, &mut errors);
        }
        self.after_validation(new, Some(old), &mut errors);
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
    fn after_validation(&self, new: &Value, old: Option<&Value>, errors: &mut Vec<Error>) {
        let schema = &self.shape().schema;
        errors.extend(embedded::validate(schema, new));
        match old {
            None => errors.extend(lists::validate(schema, new)),
            Some(old) => self.check_lists(new, old, errors),
        }
        self.check_rules(new, old, errors);
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

    fn validate_update(&self, _: &Context, new: &Value, old: &Value) -> Vec<Error> {
        let Status(custom) = self;
        let mut errors = custom.validate_type(new);
        if errors.is_empty() {
            errors.extend(object_meta::validate_update(new, old, &Path::new("metadata")));
            if let (Some(status), Some(validator)) = (new.get("status"), custom.shape().status_validator()) {
                let before = old.get("status");
                errors.extend(validator.validate_update_at(&Path::new("status"), status, before));
            }
            custom.validate_scale_status(new, &mut errors);
        }
        custom.check_lists(new, old, &mut errors);
        custom.check_rules(new, Some(old), &mut errors);
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

/// The parts of a path such as `.spec.replicas`.
pub(crate) fn parts(path: &str) -> impl Iterator<Item = &str> {
    path.strip_prefix('.').unwrap_or(path).split('.')
}

/// The value at a path; an error where something on the way is no object.
fn nested<'v>(object: &'v Value, path: &str) -> Result<Option<&'v Value>, String> {
    let mut found = object;
    let names: Vec<&str> = parts(path).collect();
    for (place, name) in names.iter().enumerate() {
        let Some(fields) = found.as_object() else {
            let at = names[..place].join(".");
            return Err(format!(
                "{} accessor error: {} is of the type {}, expected map[string]interface {{}}",
                format_args!(".{at}"),
                shown(found),
                go_type(found)
            ));
        };
        match fields.get(name) {
            Some(next) => found = next,
            None => return Ok(None),
        }
    }
    Ok(Some(found))
}

/// A number at a path; an error where it is something else.
pub(crate) fn nested_int(object: &Value, path: &str) -> Result<Option<i64>, String> {
    match nested(object, path)? {
        None => Ok(None),
        Some(found) => match found.node() {
            Node::Int(number) => Ok(Some(number)),
            _ => Err(mistyped(path, found, "int64")),
        },
    }
}

/// A text at a path; an error where it is something else.
pub(crate) fn nested_text<'v>(object: &'v Value, path: &str) -> Result<Option<&'v str>, String> {
    match nested(object, path)? {
        None => Ok(None),
        Some(found) => match found.node() {
            Node::String(text) => Ok(Some(text)),
            _ => Err(mistyped(path, found, "string")),
        },
    }
}

fn mistyped(path: &str, found: &Value, expected: &str) -> String {
    let path: Vec<&str> = parts(path).collect();
    format!(
        ".{} accessor error: {} is of the type {}, expected {expected}",
        path.join("."),
        shown(found),
        go_type(found)
    )
}

fn go_type(value: &Value) -> &'static str {
    match value.node() {
        Node::Null => "<nil>",
        Node::Bool(_) => "bool",
        Node::Int(_) => "int64",
        Node::Float(_) => "float64",
        Node::List(_) => "[]interface {}",
        Node::Object(_) => "map[string]interface {}",
        _ => "string",
    }
}

/// As Go prints it.
fn shown(value: &Value) -> String {
    match value.node() {
        Node::Null => "<nil>".into(),
        Node::Bool(value) => value.to_string(),
        Node::Int(number) => number.to_string(),
        Node::String(text) => text.to_owned(),
        Node::List(items) => format!("[{}]", items.iter().map(shown).collect::<Vec<_>>().join(" ")),
        Node::Object(fields) => {
            let fields = fields.iter().map(|(name, value)| format!("{name}:{}", shown(value)));
            format!("map[{}]", fields.collect::<Vec<_>>().join(" "))
        }
        _ => {
            let mut out = Vec::new();
            pintle_codec::json::encode(value, &mut out);
            String::from_utf8_lossy(&out).into_owned()
        }
    }
}

fn replicas(object: &Value, path: &str, errors: &mut Vec<Error>) {
    let place = Path::new(path);
    match nested_int(object, path) {
        Err(wrong) => errors.push(Error::invalid(&place, 0i64, wrong)),
        Ok(Some(number)) if number < 0 => {
            errors.push(Error::invalid(&place, number, "should be a non-negative integer"));
        }
        Ok(Some(number)) if number > i64::from(i32::MAX) => {
            let wrong = format!("should be less than or equal to {}", i32::MAX);
            errors.push(Error::invalid(&place, number, wrong));
        }
        Ok(_) => {}
    }
}

/// Finalizers that are new and whose names may be somebody else's too.
fn finalizer_warnings(new: &Value, old: Option<&Value>) -> Vec<String> {
    const STANDARD: [&str; 3] =
        [object_meta::ORPHAN_DEPENDENTS, object_meta::FOREGROUND_DELETION, "kubernetes"];
    let is_known = |name: &str| old.is_some_and(|old| old.finalizers().any(|known| known == name));
    let mut names: Vec<&str> = new.finalizers().filter(|name| !is_known(name)).collect();
    names.sort_unstable();
    names.dedup();
    let mut warnings = Vec::new();
    for name in names {
        let warn = |what: &str| format!("metadata.finalizers: {}: {what}", quote(name));
        warnings.extend(pintle_meta::validation::qualified_name(name).iter().map(|wrong| warn(wrong)));
        if name.contains('/') || STANDARD.contains(&name) {
            continue;
        }
        warnings.push(warn(match name.contains('.') {
            true => {
                "prefer a domain-qualified finalizer name including a path (/) to avoid accidental conflicts with other \
                 finalizer writers"
            }
            false => {
                "prefer a domain-qualified finalizer name to avoid accidental conflicts with other finalizer writers"
            }
        }));
    }
    warnings
}
