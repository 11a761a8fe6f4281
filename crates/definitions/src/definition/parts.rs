//! Printer columns, subresources, selectable fields and deprecation warnings, of one version or of all.

use std::collections::HashSet;

use pintle_meta::field_path::{Error, Path};
use pintle_meta::{Value, is_printable};
use pintle_schema::structural::Json;
use pintle_schema::structural::Structural;

use super::errors::Errors;
use super::options::{MOST_SELECTABLE_FIELDS, Options};
use crate::rules::FieldPath;

/// Validates `additionalPrinterColumns`.
pub(super) fn columns(holder: &Value, path: &Path<'_>, errors: &mut Errors) {
    const TYPES: [&str; 5] = ["boolean", "date", "integer", "number", "string"];
    const FORMATS: [&str; 8] = ["byte", "date", "date-time", "double", "float", "int32", "int64", "password"];
    let path = path.child("additionalPrinterColumns");
    for (index, column) in holder.items_at(&["additionalPrinterColumns"]).iter().enumerate() {
        if errors.is_full() {
            return;
        }
        let path = path.index(index);
        let text = |field| column.text_at(&[field]);
        if text("name").is_empty() {
            errors.push(Error::required(&path.child("name"), ""));
        }
        let one_of = |known: &[&str]| format!("must be one of {}", known.join(","));
        match text("type") {
            "" => errors.push(Error::required(&path.child("type"), one_of(&TYPES))),
            kind if TYPES.contains(&kind) => {}
            kind => errors.push(Error::invalid(&path.child("type"), kind, one_of(&TYPES))),
        }
        let format = text("format");
        if !format.is_empty() && !FORMATS.contains(&format) {
            errors.push(Error::invalid(&path.child("format"), format, one_of(&FORMATS)));
        }
        match text("JSONPath") {
            "" => errors.push(Error::required(&path.child("JSONPath"), "")),
            text => errors.extend(simple_path(text, &path.child("JSONPath"))),
        }
    }
}

/// That is all that is asked of a path here.
fn simple_path(text: &str, path: &Path<'_>) -> Option<Error> {
    let why = "must be a simple json path starting with .";
    (!text.starts_with('.')).then(|| Error::invalid(path, text, why))
}

/// Validates `subresources`.
pub(super) fn subresources(holder: &Value, path: &Path<'_>, errors: &mut Errors) {
    let Some(scale) = holder.at(&["subresources", "scale"]).filter(|scale| !scale.is_null()) else { return };
    let path = path.child("subresources");
    let path = path.child("scale");
    for (field, within) in [("specReplicasPath", ".spec"), ("statusReplicasPath", ".status")] {
        let (text, path) = (scale.text_at(&[field]), path.child(field));
        if text.is_empty() {
            errors.push(Error::required(&path, ""));
        } else if let Some(wrong) = simple_path(text, &path) {
            errors.push(wrong);
        } else if !is_within(text, within) {
            errors.push(Error::invalid(&path, text, format!("should be a json path under {within}")));
        }
    }
    let (text, path) = (scale.text_at(&["labelSelectorPath"]), path.child("labelSelectorPath"));
    if text.is_empty() {
        return;
    }
    if let Some(wrong) = simple_path(text, &path) {
        errors.push(wrong);
    } else if !is_within(text, ".spec") && !is_within(text, ".status") {
        let why = "should be a json path under either .spec or .status";
        errors.push(Error::invalid(&path, text, why));
    }
}

fn is_within(text: &str, field: &str) -> bool {
    text.strip_prefix(field).is_some_and(|rest| rest.starts_with('.'))
}

/// Validates `selectableFields` of a version.
pub(super) fn selectable_fields(
    holder: &Value,
    schema: &Structural,
    options: &Options<'_>,
    version: &str,
    path: &Path<'_>,
    errors: &mut Errors,
) {
    let path = path.child("selectableFields");
    let mut known = HashSet::new();
    for (index, field) in holder.items_at(&["selectableFields"]).iter().enumerate() {
        if errors.is_full() {
            return;
        }
        let path = path.index(index);
        let path = path.child("jsonPath");
        let text = field.text_at(&["jsonPath"]);
        if text.is_empty() {
            errors.push(Error::required(&path, ""));
            continue;
        }
        let found = match FieldPath::resolve(text, schema, false) {
            Ok(found) => found,
            Err(why) => {
                errors.push(Error::invalid(&path, text, format!("is an invalid path: {why}")));
                continue;
            }
        };
        if found.root() == "metadata" {
            errors.push(Error::invalid(&path, text, "must not point to fields in metadata"));
        }
        let kind = found.schema.and_then(|schema| schema.kind);
        if !matches!(kind, Some(Json::String | Json::Boolean | Json::Integer)) {
            let why = "must point to a field of type string, boolean or integer. Enum string fields and strings with \
                       formats are allowed.";
            errors.push(Error::invalid(&path, text, why));
        }
        if !known.insert(found.to_string()) {
            errors.push(Error::duplicate(&path, text));
        }
    }
    if known.len() > MOST_SELECTABLE_FIELDS && !options.allow_too_many_selectable.contains(version) {
        errors.push(Error::too_many(&path, Some(known.len()), Some(MOST_SELECTABLE_FIELDS)));
    }
}

/// Validates the deprecation warning of a version.
pub(super) fn deprecation_warning(version: &Value, path: &Path<'_>, errors: &mut Errors) {
    let Some(text) = version.get("deprecationWarning").and_then(Value::as_str) else { return };
    let path = path.child("deprecationWarning");
    let mut wrong = |why: &str| errors.push(Error::invalid(&path, text, why));
    if version.get("deprecated").and_then(Value::as_bool) != Some(true) {
        return wrong("can only be set for deprecated versions");
    }
    if text.len() > 256 {
        wrong("must be <= 256 characters long");
    }
    if text.is_empty() {
        wrong("must not be an empty string");
    }
    if let Some((index, _)) = text.char_indices().find(|(_, c)| !is_printable(*c)) {
        wrong(&format!(
            "must only contain printable UTF-8 characters; non-printable character found at index {index}"
        ));
    }
}
