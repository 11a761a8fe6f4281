//! Names: of the resource, of its versions, and those that were accepted.

use pintle_meta::Value;
use pintle_meta::field_path::{Error, Path};
use pintle_meta::validation::dns1035_label;
use pintle_schema::go;

use super::errors::Errors;
use super::options::version_name;

pub(super) fn is_established(definition: &Value) -> bool {
    let conditions = definition.items_at(&["status", "conditions"]);
    let found = conditions.iter().find(|condition| condition.text_at(&["type"]) == "Established");
    found.is_some_and(|condition| condition.text_at(&["status"]) == "True")
}

/// One error for everything wrong with a label.
pub(super) fn label(text: &str, path: &Path<'_>, errors: &mut Errors) {
    let wrong = dns1035_label(text);
    if !wrong.is_empty() {
        errors.push(Error::invalid(path, text, wrong.join(",")));
    }
}

pub(super) fn validate(names: &Value, path: &Path<'_>, errors: &mut Errors) {
    let text = |field| names.text_at(&[field]);
    for field in ["plural", "singular"] {
        if !text(field).is_empty() {
            label(text(field), &path.child(field), errors);
        }
    }
    for field in ["kind", "listKind"] {
        let lower: String = text(field).chars().filter_map(|c| c.to_lowercase().next()).collect();
        let wrong = dns1035_label(&lower);
        if !lower.is_empty() && !wrong.is_empty() {
            let why = format!("may have mixed case, but should otherwise match: {}", wrong.join(","));
            errors.push(Error::invalid(&path.child(field), text(field), why));
        }
    }
    labels(names, "shortNames", path, errors);
    // A list and an item could not be distinguished.
    if !text("kind").is_empty() && text("kind") == text("listKind") {
        let why = "kind and listKind may not be the same";
        errors.push(Error::invalid(&path.child("listKind"), text("listKind"), why));
    }
    labels(names, "categories", path, errors);
}

fn labels(names: &Value, field: &str, path: &Path<'_>, errors: &mut Errors) {
    let path = path.child(field);
    for (index, name) in names.items_at(&[field]).iter().enumerate() {
        if errors.is_full() {
            return;
        }
        label(name.as_str().unwrap_or_default(), &path.index(index), errors);
    }
}

/// Names that a spec has to have, and an empty status has not.
pub(super) fn required(names: &Value, path: &Path<'_>, errors: &mut Errors) {
    for field in ["plural", "singular", "kind", "listKind"] {
        if names.text_at(&[field]).is_empty() {
            errors.push(Error::required(&path.child(field), ""));
        }
    }
}

/// Checks that `storedVersions` names only existing versions: objects may be stored in each of them.
pub(super) fn stored_versions(definition: &Value, errors: &mut Errors) {
    let path = Path::new("status");
    let path = path.child("storedVersions");
    let stored = definition.items_at(&["status", "storedVersions"]);
    let shown =
        || go::printed("[]string", definition.at(&["status", "storedVersions"]).unwrap_or(&Value::NULL));
    if stored.is_empty() {
        return errors.push(Error::invalid(&path, shown(), "must have at least one stored version"));
    }
    let versions = definition.items_at(&["spec", "versions"]);
    // Where a name is mentioned twice, the first of the versions takes it and the second has none left.
    let mut left: std::collections::HashMap<&str, usize> =
        stored.iter().enumerate().map(|(index, name)| (name.as_str().unwrap_or_default(), index)).collect();
    for version in versions {
        let name = version_name(version);
        let known = left.remove(name).is_some();
        if version.get("storage").and_then(Value::as_bool) == Some(true) && !known {
            errors.push(Error::invalid(&path, shown(), format!("must have the storage version {name}")));
        }
    }
    let mut left: Vec<(usize, &str)> = left.into_iter().map(|(name, index)| (index, name)).collect();
    left.sort_unstable();
    for (index, name) in left {
        let why = format!(
            "missing from spec.versions; {name} was previously a storage version, and must remain in spec.versions until \
             a storage migration ensures no data remains persisted in {name} and removes {name} from status.storedVersions"
        );
        errors.push(Error::invalid(&path.index(index), name, why));
    }
}
