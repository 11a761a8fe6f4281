//! Files with fields of the pod.

use super::super::field_selectors::{field_ref, resource_field_ref};
use crate::core::volume_sources::{file_mode, paths};
use crate::framework::validation::Cursor;

const FIELDS: &[&str] =
    &["metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid"];

pub(super) fn volume(source: &Cursor<'_, '_>) {
    file_mode(&source.field("defaultMode"));
    for file in source.field("items").items() {
        check_file(&file.shown_at(source));
    }
}

/// Checks a file; errors name the source and not the item.
pub(super) fn check_file(file: &Cursor<'_, '_>) {
    let (path, field, resource) =
        (file.field("path"), file.field("fieldRef"), file.field("resourceFieldRef"));
    if path.is_empty() {
        path.required("");
    }
    paths::local_non_reserved(&path);
    if field.is_set() {
        field_ref(&field, FIELDS);
        if resource.is_set() {
            file.invalid("resource", "fieldRef and resourceFieldRef can not be specified simultaneously");
        }
    } else if resource.is_set() {
        resource_field_ref(&resource, true);
    } else {
        file.required("one of fieldRef and resourceFieldRef is required");
    }
    file_mode(&file.field("mode"));
}
