//! Objects within an object, which are to have what every object has.

use pintle_meta::field_path::{Error, Path};
use pintle_meta::validation::{dns1035_label, object_meta};
use pintle_meta::value::Object;
use pintle_meta::{Node, Value};
use pintle_schema::structural::Structural;

use super::bounded_errors::BoundedErrors;
use super::coerce::error_value;
use super::metadata;

/// Returns the errors of embedded objects, and of the root if it counts as one.
pub fn validate(schema: &Structural, object: &Value, root: bool) -> Vec<Error> {
    let mut errors = BoundedErrors::default();
    walk(schema, object, root, &Path::NOWHERE, &mut errors);
    errors.errors
}

fn walk(schema: &Structural, value: &Value, root: bool, at: &Path<'_>, errors: &mut BoundedErrors) {
    if !(root || schema.marks.embedded) || errors.is_full() {
        return;
    }
    match value.node() {
        Node::Object(object) => {
            if root || schema.embedded {
                resource(object, at, errors);
            }
            for (name, field) in object.iter() {
                match (schema.property(name), schema.additional_schema()) {
                    (Some(of), _) => walk(of, field, false, &at.child(name), errors),
                    (None, Some(of)) => walk(of, field, false, &at.key(name), errors),
                    (None, None) => {}
                }
            }
        }
        Node::List(items) => {
            if let Some(of) = schema.items.as_deref() {
                let items = items.iter().enumerate();
                items.for_each(|(place, item)| walk(of, item, false, &at.index(place), errors));
            }
        }
        _ => {}
    }
}

fn resource(object: &Object, at: &Path<'_>, errors: &mut BoundedErrors) {
    for name in ["apiVersion", "kind"] {
        if !object.contains(name) {
            errors.push(|| Error::required(&at.child(name), ""));
        }
    }
    for name in ["apiVersion", "kind"] {
        let Some(given) = object.get(name) else { continue };
        let wrong = match given.as_str() {
            None => Some("must be a string".to_owned()),
            Some("") => Some("must not be empty".to_owned()),
            Some(text) if name == "apiVersion" => {
                (text.matches('/').count() > 1).then(|| format!("unexpected GroupVersion string: {text}"))
            }
            Some(text) => {
                let wrong = dns1035_label(&text.to_lowercase());
                let words =
                    || format!("may have mixed case, but should otherwise match: {}", wrong.join(","));
                (!wrong.is_empty()).then(words)
            }
        };
        if let Some(wrong) = wrong {
            errors.push(|| Error::invalid(&at.child(name), error_value(given), wrong));
        }
    }
    let Some(given) = object.get("metadata") else { return };
    let at = at.child("metadata");
    match metadata::read(given, false) {
        Err(wrong) => errors.push(|| Error::invalid(&at, error_value(given), wrong)),
        Ok(read) => {
            let mut metadata = read.changed.unwrap_or_else(|| given.clone());
            if metadata.text_at(&["name"]).is_empty()
                && let Some(metadata) = metadata.as_object_mut()
            {
                // It need not have one, but is validated as if it did.
                metadata.insert("name", Value::literal("fakename"));
            }
            let object = Value::object(Object::from_iter([("metadata", metadata)]));
            let namespaced = !object.namespace().is_empty();
            let wrong = object_meta::validate(&object, namespaced, &object_meta::path_segment_name, &at);
            wrong.into_iter().for_each(|wrong| errors.push(|| wrong));
        }
    }
}
