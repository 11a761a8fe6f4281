//! Whether a definition may be as it is.
//!
//! Definitions are trees of the stored version, `apiextensions/v1beta1.CustomResourceDefinition`, which say once what all their
//! versions have in common; that is where errors about it are. Errors have the reference's messages and order, except
//! that the reference looks at properties in any order, and here they are sorted.

mod approval;
mod conversion;
mod defaults;
mod errors;
mod lists;
mod names;
mod node;
mod options;
mod parts;
mod schema;
mod spec;
mod structural;
pub mod webhook;

#[cfg(test)]
mod tests;

use pintle_meta::Value;
use pintle_meta::field_path::{self as errors_of, Error, Path};
use pintle_schema::go;

pub use self::approval::{Approval, approval};
use self::errors::Errors;
use self::node::Schema;
use self::options::{Options, spec_of};

/// Returns the errors of a new definition, except those of its metadata.
pub fn validate(definition: &Value) -> Vec<Error> {
    let mut errors = Errors::default();
    spec::validate(spec_of(definition), &Options::of_new(), &Path::new("spec"), &mut errors);
    status(definition, &mut errors);
    names::stored_versions(definition, &mut errors);
    errors.extend(approval::validate(definition, None));
    preserves_unknown_fields(definition, None, &mut errors);
    errors.into_vec()
}

/// Returns the errors of an updated definition, except those of its metadata.
pub fn validate_update(new: &Value, old: &Value) -> Vec<Error> {
    let mut errors = Errors::default();
    let options = Options::of_update(new, old);
    let path = Path::new("spec");
    spec::validate(spec_of(new), &options, &path, &mut errors);
    if options.immutable_names {
        // They are part of where objects are stored.
        if new.text_at(&["spec", "scope"]) != old.text_at(&["spec", "scope"]) {
            let shown = errors_of::Value::json(new.text_at(&["spec", "scope"]));
            errors.push(Error::invalid(&path.child("scope"), shown, IMMUTABLE));
        }
        immutable(new, old, &["names", "kind"], &mut errors);
    }
    immutable(new, old, &["group"], &mut errors);
    immutable(new, old, &["names", "plural"], &mut errors);
    status(new, &mut errors);
    names::stored_versions(new, &mut errors);
    errors.extend(approval::validate(new, Some(old)));
    preserves_unknown_fields(new, Some(old), &mut errors);
    errors.into_vec()
}

/// Returns the errors of an updated status, except those of the metadata.
pub fn validate_status_update(new: &Value, _: &Value) -> Vec<Error> {
    let mut errors = Errors::default();
    status(new, &mut errors);
    errors.into_vec()
}

/// Why schemas of a definition are not structural.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NonStructural {
    /// A version's schema could not be compiled.
    Unknown(String),
    /// The schemas are not structural.
    Violations(Vec<Error>),
}

/// Whether the schemas of a definition are structural, which old ones need not be. Paths are those of version `v1`, where each
/// version has a schema.
pub fn structural_errors(definition: &Value) -> Option<NonStructural> {
    let spec = spec_of(definition);
    let mut errors = Errors::default();
    let path = Path::new("spec");
    if spec.get("preserveUnknownFields").and_then(Value::as_bool) == Some(true) {
        errors.push(Error::invalid(&path.child("preserveUnknownFields"), true, "must be false"));
    }
    let path = path.child("versions");
    for (index, version) in spec.items_at(&["versions"]).iter().enumerate() {
        let own = version.get("schema").filter(|schema| !schema.is_null());
        let holder = own.or_else(|| spec.get("validation"));
        let schema = holder.and_then(|holder| holder.get("openAPIV3Schema"));
        let Some(schema) = schema.filter(|schema| !schema.is_null()) else { continue };
        if let Err(why) = crate::compile(schema) {
            let name = version.text_at(&["name"]);
            let why = format!("failed to check validation schema for version {name}: {why}");
            return Some(NonStructural::Unknown(why));
        }
        let path = path.index(index);
        let path = path.child("schema");
        let found = structural::validate(Schema(schema), &path.child("openAPIV3Schema"));
        errors.extend(found.into_vec());
    }
    (!errors.is_empty()).then(|| NonStructural::Violations(errors.into_vec()))
}

/// Whether the certificates of a definition's webhook are none.
pub fn has_invalid_ca_bundle(definition: &Value) -> bool {
    webhook::has_invalid_ca_bundle(spec_of(definition))
}

const IMMUTABLE: &str = "field is immutable";

/// A text of the spec stays as it is.
fn immutable(new: &Value, old: &Value, field: &[&str], errors: &mut Errors) {
    let (new, old) = (spec_of(new).text_at(field), spec_of(old).text_at(field));
    if new != old {
        let path = Path::new("spec");
        errors.push(Error::invalid(&path.child(&field.join(".")), new, IMMUTABLE));
    }
}

fn status(definition: &Value, errors: &mut Errors) {
    let accepted = definition.at(&["status", "acceptedNames"]).unwrap_or(&Value::NULL);
    let path = Path::new("status");
    names::validate(accepted, &path.child("acceptedNames"), errors);
}

/// Checks that `spec.preserveUnknownFields` is not newly set: schemas say it instead.
fn preserves_unknown_fields(new: &Value, old: Option<&Value>, errors: &mut Errors) {
    let preserves = |definition: &Value| {
        spec_of(definition).get("preserveUnknownFields").and_then(Value::as_bool) == Some(true)
    };
    if preserves(new) && !old.is_some_and(preserves) {
        let why = "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead";
        let path = Path::new("spec");
        errors.push(Error::invalid(&path.child("preserveUnknownFields"), true, why));
    }
}

/// A text that is one of a few.
fn text_of_choices(text: &str, choices: &[&str], path: &Path<'_>, errors: &mut Errors) {
    if text.is_empty() {
        errors.push(Error::required(path, ""));
    } else if !choices.contains(&text) {
        errors.push(Error::not_supported(path, text, choices));
    }
}

/// How many schemas a value may have that shows in an error. Each is most of a kilobyte there, however small it is here.
const MOST_SHOWN: usize = 5_000;

/// A Go value with schemas in it, as far as it fits.
fn show(of: &str, value: &Value) -> errors_of::Value {
    fn count(value: &Value, left: &mut usize) {
        let parts: &mut dyn Iterator<Item = &Value> = match (value.as_list(), value.as_object()) {
            (Some(items), _) => &mut items.iter(),
            (_, Some(fields)) => &mut fields.iter().map(|(_, value)| value),
            _ => return,
        };
        for part in parts {
            *left = left.saturating_sub(usize::from(part.as_object().is_some()));
            if *left > 0 {
                count(part, left);
            }
        }
    }
    let mut left = MOST_SHOWN;
    count(value, &mut left);
    if left == 0 { errors_of::Value::Omitted } else { go::printed(of, value) }
}
