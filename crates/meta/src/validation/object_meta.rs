//! Validation of object metadata on create and update.

use std::collections::BTreeSet;

use super::{dns1123_label, labels, mask_trailing_dash, non_negative, qualified_name};
use crate::field_path::{self, Error, MOST_ERRORS, Path};
use crate::gvk::GroupVersionKind;
use crate::{Value, is_printable, quote};

/// Limit of the sum of all keys and values.
pub const ANNOTATIONS_MAX_SIZE: usize = 256 * 1024;
const FIELD_MANAGER_MAX_LENGTH: usize = 128;
const SUBRESOURCE_MAX_LENGTH: usize = 256;
const IMMUTABLE: &str = "field is immutable";

/// Finalizer of foreground deletion: dependents are deleted before the object itself.
pub const FOREGROUND_DELETION: &str = "foregroundDeletion";
/// Finalizer of orphaning: dependents lose their owner reference.
pub const ORPHAN_DEPENDENTS: &str = "orphan";

/// Validation of a name; `is_prefix` means that a suffix may follow, as with `generateName`.
pub type NameCheck<'a> = &'a dyn Fn(&str, bool) -> Vec<String>;

/// Validates the metadata of a new object, after its name was generated.
pub fn validate(object: &Value, namespaced: bool, name: NameCheck<'_>, path: &Path<'_>) -> Vec<Error> {
    let mut errors = Vec::new();
    let invalid = |field: &str, value: &str, wrong: String| Error::invalid(&path.child(field), value, wrong);
    let generate_name = object.generate_name();
    if !generate_name.is_empty() {
        let wrong = name(generate_name, true).into_iter();
        errors.extend(wrong.map(|wrong| invalid("generateName", generate_name, wrong)));
    }
    if object.name().is_empty() {
        errors.push(Error::required(&path.child("name"), "name or generateName is required"));
    } else {
        let wrong = name(object.name(), false).into_iter();
        errors.extend(wrong.map(|wrong| invalid("name", object.name(), wrong)));
    }
    let namespace = object.namespace();
    match (namespaced, namespace.is_empty()) {
        (true, true) => errors.push(Error::required(&path.child("namespace"), "")),
        (true, false) => {
            let wrong = dns1123_label(namespace).into_iter();
            errors.extend(wrong.map(|wrong| invalid("namespace", namespace, wrong)));
        }
        (false, true) => {}
        (false, false) => errors.push(Error::forbidden(&path.child("namespace"), "not allowed on this type")),
    }
    errors.extend(non_negative(&path.child("generation"), object.generation()));
    errors.extend(labels(&path.child("labels"), object.labels()));
    errors.extend(annotations(&path.child("annotations"), object.annotations()));
    errors.extend(owner_references(&path.child("ownerReferences"), object.owner_references()));
    errors.extend(finalizers(&path.child("finalizers"), object));
    errors.extend(managed_fields(&path.child("managedFields"), object));
    errors
}

/// Validates changed metadata.
pub fn validate_update(new: &Value, old: &Value, path: &Path<'_>) -> Vec<Error> {
    let mut errors = Vec::new();
    if old.deletion_timestamp().is_some() {
        errors.extend(no_new_finalizers(&path.child("finalizers"), new, old));
    }
    let resource_version = new.resource_version();
    if resource_version.is_empty() {
        let wrong = "must be specified for an update";
        errors.push(Error::invalid(&path.child("resourceVersion"), resource_version, wrong));
    }
    if new.generation() < old.generation() {
        errors.push(Error::invalid(&path.child("generation"), new.generation(), "must not be decremented"));
    }
    for field in ["name", "namespace"] {
        let (new, old) = (new.text_at(&["metadata", field]), old.text_at(&["metadata", field]));
        if new != old {
            errors.push(Error::invalid(&path.child(field), new, IMMUTABLE));
        }
    }
    // A UID is of a named string type and is printed as JSON, and so are the others.
    for field in ["uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds"] {
        let absent = if field == "uid" { Value::literal("") } else { Value::NULL };
        let value = |object: &Value| object.at(&["metadata", field]).unwrap_or(&absent).clone();
        let (new, old) = (value(new), value(old));
        if new != old {
            errors.push(Error::invalid(&path.child(field), field_path::Value::json(&new), IMMUTABLE));
        }
    }
    errors.extend(labels(&path.child("labels"), new.labels()));
    errors.extend(annotations(&path.child("annotations"), new.annotations()));
    errors.extend(owner_references(&path.child("ownerReferences"), new.owner_references()));
    errors.extend(managed_fields(&path.child("managedFields"), new));
    errors
}

/// Validates that keys are qualified names in any case, and the total size.
pub fn annotations<'l>(path: &Path<'_>, annotations: impl Iterator<Item = (&'l str, &'l str)>) -> Vec<Error> {
    let (mut errors, mut size) = (Vec::new(), 0);
    for (key, value) in annotations {
        let room = MOST_ERRORS.saturating_sub(errors.len());
        let wrong = qualified_name(&key.to_lowercase()).into_iter().take(room);
        errors.extend(wrong.map(|wrong| Error::invalid(path, key, wrong)));
        size += key.len() + value.len();
    }
    if size > ANNOTATIONS_MAX_SIZE {
        errors.push(Error::too_long(path, Some(ANNOTATIONS_MAX_SIZE)));
    }
    errors
}

/// Returns whether the total size of annotations is within the limit.
pub fn annotations_fit<'a>(annotations: impl Iterator<Item = (&'a str, &'a str)>) -> bool {
    annotations.map(|(key, value)| key.len() + value.len()).sum::<usize>() <= ANNOTATIONS_MAX_SIZE
}

/// Limit of the text of values repeated in several errors: together they could be a thousand times as long as the
/// request.
const MOST_REPEATED_BYTES: usize = 1 << 20;

/// Returns how often a value may be printed.
fn times(value: usize) -> usize {
    (MOST_REPEATED_BYTES / value.max(1)).max(1)
}

fn owner_references(path: &Path<'_>, references: &[Value]) -> Vec<Error> {
    let mut errors = Vec::new();
    let mut controller: Option<String> = None;
    let mut all: Option<(field_path::Value, usize)> = None;
    for reference in references {
        if errors.len() > MOST_ERRORS {
            break;
        }
        errors.extend(owner_reference(path, reference));
        if reference.get("controller").and_then(Value::as_bool) == Some(true) {
            let this = format!("{}/{}", reference.kind(), reference.text_at(&["name"]));
            match &controller {
                None => controller = Some(this),
                Some(first) => {
                    let (all, left) = all.get_or_insert_with(|| {
                        let all = field_path::Value::json(references);
                        let left = times(all.to_string().len());
                        (all, left)
                    });
                    if *left == 0 {
                        continue;
                    }
                    *left -= 1;
                    let wrong = format!(
                        "Only one reference can have Controller set to true. Found \"true\" in references for {first} and {this}"
                    );
                    errors.push(Error::invalid(path, all.clone(), wrong));
                }
            }
        }
    }
    errors
}

fn owner_reference(path: &Path<'_>, reference: &Value) -> Vec<Error> {
    let kind = GroupVersionKind::from_api_version(reference.api_version(), reference.kind());
    let mut errors = Vec::new();
    let mut refuse = |field: &str, value: field_path::Value, wrong: &str| {
        errors.push(Error::invalid(&path.child(field), value, wrong));
    };
    if kind.version.is_empty() {
        refuse("apiVersion", reference.api_version().into(), "version must not be empty");
    }
    for field in ["kind", "name", "uid"] {
        if reference.text_at(&[field]).is_empty() {
            refuse(field, "".into(), "must not be empty");
        }
    }
    if kind == GroupVersionKind::new("", "v1", "Event") {
        let wrong = format!("{kind} is disallowed from being an owner");
        errors.push(Error::invalid(path, field_path::Value::json(reference), wrong));
    }
    errors
}

fn finalizers(path: &Path<'_>, object: &Value) -> Vec<Error> {
    let wrong = object.finalizers().flat_map(|finalizer| {
        let wrong = qualified_name(finalizer).into_iter();
        wrong.map(move |wrong| Error::invalid(path, finalizer, wrong))
    });
    let mut errors: Vec<Error> = wrong.take(MOST_ERRORS).collect();
    let has = |wanted: &str| object.finalizers().any(|finalizer| finalizer == wanted);
    if has(FOREGROUND_DELETION) && has(ORPHAN_DEPENDENTS) {
        let wrong = format!("finalizer {ORPHAN_DEPENDENTS} and {FOREGROUND_DELETION} cannot be both set");
        let all: Vec<&str> = object.finalizers().collect();
        errors.push(Error::invalid(path, field_path::Value::json(&all), wrong));
    }
    errors
}

fn no_new_finalizers(path: &Path<'_>, new: &Value, old: &Value) -> Option<Error> {
    let old: BTreeSet<&str> = old.finalizers().collect();
    let extra: Vec<&str> = new
        .finalizers()
        .filter(|finalizer| !old.contains(finalizer))
        .collect::<BTreeSet<_>>()
        .into_iter()
        .collect();
    let found: Vec<String> = extra.iter().map(|finalizer| quote(finalizer)).collect();
    let found = format!("[]string{{{}}}", found.join(", "));
    let wrong = format!(
        "no new finalizers can be added if the object is being deleted, found new finalizers {found}"
    );
    (!extra.is_empty()).then(|| Error::forbidden(path, wrong))
}

fn managed_fields(path: &Path<'_>, object: &Value) -> Vec<Error> {
    let mut errors = Vec::new();
    for (index, entry) in object.items_at(&["metadata", "managedFields"]).iter().enumerate() {
        if errors.len() > MOST_ERRORS {
            break;
        }
        let path = path.index(index);
        let text = |field: &str| entry.text_at(&[field]);
        if !matches!(text("operation"), "Apply" | "Update") {
            let value = field_path::Value::json(text("operation"));
            errors.push(Error::invalid(&path.child("operation"), value, "must be `Apply` or `Update`"));
        }
        if !matches!(text("fieldsType"), "" | "FieldsV1") {
            errors.push(Error::invalid(&path.child("fieldsType"), text("fieldsType"), "must be `FieldsV1`"));
        }
        errors.extend(field_manager(&path.child("manager"), text("manager")));
        if text("subresource").len() > SUBRESOURCE_MAX_LENGTH {
            errors.push(Error::too_long(&path.child("subresource"), Some(SUBRESOURCE_MAX_LENGTH)));
        }
    }
    errors
}

/// Validates the name of a field manager, of an object or of a request's options.
pub fn field_manager(path: &Path<'_>, manager: &str) -> Vec<Error> {
    let mut errors = Vec::new();
    if manager.len() > FIELD_MANAGER_MAX_LENGTH {
        errors.push(Error::too_long(path, Some(FIELD_MANAGER_MAX_LENGTH)));
    }
    let unprintable = manager.char_indices().filter(|(_, c)| !is_printable(*c));
    for (position, c) in unprintable.take(times(manager.len())) {
        let wrong = format!("invalid character U+{:04X} (at position {position})", u32::from(c));
        errors.push(Error::invalid(path, manager, wrong));
    }
    errors
}

/// Validates names that are DNS subdomains, as of most kinds.
pub fn subdomain_name(name: &str, is_prefix: bool) -> Vec<String> {
    super::dns1123_subdomain(&unfinished(name, is_prefix))
}

/// Validates names that are DNS labels.
pub fn label_name(name: &str, is_prefix: bool) -> Vec<String> {
    dns1123_label(&unfinished(name, is_prefix))
}

/// Validates names that may be any path segment.
pub fn path_segment_name(name: &str, is_prefix: bool) -> Vec<String> {
    if is_prefix { super::path_segment_prefix(name) } else { super::path_segment_name(name) }
}

/// Masks the trailing dash of a prefix, which a suffix follows.
fn unfinished(name: &str, is_prefix: bool) -> String {
    if is_prefix { mask_trailing_dash(name) } else { name.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Object;

    fn tree(json: serde_json::Value) -> Value {
        match json {
            serde_json::Value::Null => Value::NULL,
            serde_json::Value::Bool(value) => value.into(),
            serde_json::Value::Number(value) => value.as_i64().unwrap().into(),
            serde_json::Value::String(value) => value.into(),
            serde_json::Value::Array(items) => items.into_iter().map(tree).collect::<Vec<_>>().into(),
            serde_json::Value::Object(map) => {
                map.into_iter().map(|(key, value)| (key, tree(value))).collect::<Object>().into()
            }
        }
    }

    fn object(metadata: serde_json::Value) -> Value {
        tree(serde_json::json!({ "metadata": metadata }))
    }

    fn check(metadata: serde_json::Value, expect: &[&str]) {
        let errors = validate(&object(metadata), true, &subdomain_name, &Path::new("metadata"));
        assert_eq!(errors.iter().map(ToString::to_string).collect::<Vec<_>>(), expect);
    }

    #[test]
    fn a_name_and_a_namespace_are_required() {
        check(serde_json::json!({"name": "a", "namespace": "b"}), &[]);
        check(
            serde_json::json!({}),
            &[
                "metadata.name: Required value: name or generateName is required",
                "metadata.namespace: Required value",
            ],
        );
        let errors = validate(
            &object(serde_json::json!({"name": "a", "namespace": "b"})),
            false,
            &subdomain_name,
            &Path::new("metadata"),
        );
        assert_eq!(errors[0].to_string(), "metadata.namespace: Forbidden: not allowed on this type");
    }

    #[test]
    fn a_prefix_may_end_with_a_dash_and_a_name_may_not() {
        check(serde_json::json!({"name": "a", "generateName": "a-", "namespace": "b"}), &[]);
        assert!(!subdomain_name("a-", false).is_empty());
    }

    #[test]
    fn owner_references_are_complete_and_one_is_the_controller() {
        let owner = |name: &str| serde_json::json!({"apiVersion": "v1", "kind": "Pod", "name": name, "uid": "u", "controller": true});
        check(serde_json::json!({"name": "a", "namespace": "b", "ownerReferences": [owner("x")]}), &[]);
        check(
            serde_json::json!({"name": "a", "namespace": "b", "ownerReferences": [owner("x"), owner("y")]}),
            &[
                "metadata.ownerReferences: Invalid value: [{\"apiVersion\":\"v1\",\"controller\":true,\"kind\":\"Pod\",\"name\":\"x\",\
             \"uid\":\"u\"},{\"apiVersion\":\"v1\",\"controller\":true,\"kind\":\"Pod\",\"name\":\"y\",\"uid\":\"u\"}]: Only one reference \
             can have Controller set to true. Found \"true\" in references for Pod/x and Pod/y",
            ],
        );
        check(
            serde_json::json!({"name": "a", "namespace": "b", "ownerReferences": [{"kind": "Event", "apiVersion": ""}]}),
            &[
                "metadata.ownerReferences.apiVersion: Invalid value: \"\": version must not be empty",
                "metadata.ownerReferences.name: Invalid value: \"\": must not be empty",
                "metadata.ownerReferences.uid: Invalid value: \"\": must not be empty",
            ],
        );
        let event = serde_json::json!({"kind": "Event", "apiVersion": "v1", "name": "e", "uid": "u"});
        check(
            serde_json::json!({"name": "a", "namespace": "b", "ownerReferences": [event]}),
            &[
                "metadata.ownerReferences: Invalid value: {\"apiVersion\":\"v1\",\"kind\":\"Event\",\"name\":\"e\",\"uid\":\"u\"}: \
             /v1, Kind=Event is disallowed from being an owner",
            ],
        );
    }

    #[test]
    fn annotations_are_bounded_and_finalizers_do_not_conflict() {
        check(
            serde_json::json!({"name": "a", "namespace": "b", "annotations": {"Example.com/A": "x".repeat(262_144)}}),
            &["metadata.annotations: Too long: may not be more than 262144 bytes"],
        );
        check(
            serde_json::json!({"name": "a", "namespace": "b", "finalizers": ["orphan", "foregroundDeletion"]}),
            &[
                "metadata.finalizers: Invalid value: [\"orphan\",\"foregroundDeletion\"]: finalizer orphan and foregroundDeletion \
             cannot be both set",
            ],
        );
    }

    #[test]
    fn managed_fields_have_a_known_fields_type() {
        check(
            serde_json::json!({"name": "a", "namespace": "b", "managedFields": [
                {"operation": "Update", "manager": "m"}, {"operation": "x", "fieldsType": "y", "manager": "a\u{7}"}]}),
            &[
                "metadata.managedFields[1].operation: Invalid value: \"x\": must be `Apply` or `Update`",
                "metadata.managedFields[1].fieldsType: Invalid value: \"y\": must be `FieldsV1`",
                "metadata.managedFields[1].manager: Invalid value: \"a\\a\": invalid character U+0007 (at position 1)",
            ],
        );
    }

    #[test]
    fn identity_of_an_object_is_immutable() {
        let old =
            object(serde_json::json!({"name": "a", "uid": "1", "resourceVersion": "5", "generation": 2,
            "deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": ["x/y"]}));
        let new = object(
            serde_json::json!({"name": "b", "uid": "2", "generation": 1, "finalizers": ["x/y", "b/c", "a/b"]}),
        );
        let errors = validate_update(&new, &old, &Path::new("metadata"));
        assert_eq!(
            errors.iter().map(ToString::to_string).collect::<Vec<_>>(),
            [
                "metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers \
             []string{\"a/b\", \"b/c\"}",
                "metadata.resourceVersion: Invalid value: \"\": must be specified for an update",
                "metadata.generation: Invalid value: 1: must not be decremented",
                "metadata.name: Invalid value: \"b\": field is immutable",
                "metadata.uid: Invalid value: \"2\": field is immutable",
                "metadata.deletionTimestamp: Invalid value: null: field is immutable",
            ]
        );
        assert!(validate_update(&old, &old, &Path::new("metadata")).is_empty());
    }

    #[test]
    fn errors_are_bounded_for_any_input() {
        let path = Path::new("metadata");
        let shown = |errors: &[Error]| errors.iter().map(|error| error.to_string().len()).sum::<usize>();
        let check = |metadata: serde_json::Value| {
            let errors = validate(&object(metadata), false, &|_, _| Vec::new(), &path);
            let (count, shown) = (errors.len(), shown(&errors));
            assert!(count > 0 && count <= MOST_ERRORS + 10 && shown < 8 << 20, "{count} {shown}");
        };
        let owner =
            serde_json::json!({"apiVersion": "v1", "kind": "K", "name": "n", "uid": "u", "controller": true});
        check(serde_json::json!({"name": "a", "ownerReferences": vec![owner; 5_000]}));
        check(serde_json::json!({"name": "a", "ownerReferences": vec![serde_json::json!({}); 50_000]}));
        check(serde_json::json!({"name": "a", "finalizers": vec!["/"; 50_000]}));
        check(serde_json::json!({"name": "a", "managedFields": vec![serde_json::json!({}); 50_000]}));
        let entry = serde_json::json!({"operation": "Apply", "manager": "\u{1}".repeat(100_000)});
        check(serde_json::json!({"name": "a", "managedFields": [entry]}));
        let odd: serde_json::Map<_, _> = (0..50_000).map(|n| (format!("/{n}"), "/".into())).collect();
        check(serde_json::json!({"name": "a", "labels": odd}));
        check(serde_json::json!({"name": "a", "annotations": odd}));
        assert!(shown(&field_manager(&path, &"\u{1}".repeat(300_000))) < 8 << 20);
    }
}
