//! Rules that a definition must satisfy. An update need not satisfy rules that the old definition violates: rules became
//! stricter over time, and stored definitions must stay changeable.

use std::collections::HashSet;

use pintle_meta::Value;
use pintle_meta::field_path::Path;

use super::node::{Schema, schemas};
use super::{conversion, defaults, errors::Errors, lists, names, structural, webhook};

/// Number of fields that selectors may name, in each version.
pub(super) const MOST_SELECTABLE_FIELDS: usize = 8;

/// The values of a schema's `type`.
pub(super) const TYPES: [&str; 6] = ["array", "boolean", "integer", "number", "object", "string"];

#[derive(Clone, Debug)]
pub(super) struct Options<'a> {
    pub(super) recognized_review_version: bool,
    pub(super) immutable_names: bool,
    pub(super) schema: bool,
    pub(super) valid_types: bool,
    pub(super) structural: bool,
    pub(super) pruned_defaults: bool,
    pub(super) atomic_sets: bool,
    pub(super) sound_lists: bool,
    pub(super) allow_invalid_ca_bundle: bool,
    /// Versions with more selectable fields than allowed, as before; the nameless one is the common list.
    pub(super) allow_too_many_selectable: HashSet<&'a str>,
    /// Versions whose rules may cost what they cost.
    pub(super) unchanged_schemas: HashSet<&'a str>,
}

impl<'a> Options<'a> {
    /// Returns the options of a new definition. It is not served yet, so its certificates may follow.
    pub(super) fn of_new() -> Options<'a> {
        Options {
            recognized_review_version: true,
            immutable_names: false,
            schema: true,
            valid_types: true,
            structural: true,
            pruned_defaults: true,
            atomic_sets: true,
            sound_lists: true,
            allow_invalid_ca_bundle: true,
            allow_too_many_selectable: HashSet::new(),
            unchanged_schemas: HashSet::new(),
        }
    }

    pub(super) fn of_update(new: &'a Value, old: &'a Value) -> Options<'a> {
        let (spec, old_spec) = (spec_of(new), spec_of(old));
        let established = names::is_established(old);
        let has = |is_such: &mut dyn FnMut(Schema<'a>) -> bool| schemas(old_spec).any(|of| of.any(is_such));
        let invalid_type =
            |schema: Schema<'_>| !matches!(schema.kind(), "") && !TYPES.contains(&schema.kind());
        let unsound = |schema: Schema<'_>| {
            let mut errors = Errors::default();
            lists::items(schema, &Path::new(""), &mut errors);
            !errors.is_empty()
        };
        Options {
            recognized_review_version: conversion::recognizes_review_version(old_spec),
            immutable_names: established,
            schema: all_have_schemas(old_spec),
            valid_types: !has(&mut { invalid_type }),
            structural: !schemas(old_spec).any(is_not_structural),
            pruned_defaults: !schemas(old_spec).any(has_unpruned_defaults),
            atomic_sets: !has(&mut |schema| lists::non_atomic_item(schema).is_some()),
            sound_lists: !has(&mut { unsound }),
            allow_invalid_ca_bundle: !established || webhook::has_invalid_ca_bundle(old_spec),
            allow_too_many_selectable: too_many_selectable(spec, old_spec),
            unchanged_schemas: unchanged_schemas(spec, old_spec),
        }
    }
}

/// The spec, or nothing that has fields.
pub(super) fn spec_of(definition: &Value) -> &Value {
    definition.get("spec").unwrap_or(&Value::NULL)
}

pub(super) fn version_name(version: &Value) -> &str {
    version.text_at(&["name"])
}

/// Whether a schema is there.
pub(super) fn has_schema(holder: Option<&Value>) -> bool {
    holder.and_then(|holder| holder.get("openAPIV3Schema")).is_some_and(|schema| !schema.is_null())
}

fn all_have_schemas(spec: &Value) -> bool {
    has_schema(spec.get("validation"))
        || spec.items_at(&["versions"]).iter().all(|version| has_schema(version.get("schema")))
}

fn is_not_structural(schema: Schema<'_>) -> bool {
    crate::compile(schema.0).is_err() || !structural::validate(schema, &Path::NOWHERE).is_empty()
}

fn has_unpruned_defaults(schema: Schema<'_>) -> bool {
    schema.any(&mut |schema| schema.has("default"))
        && structural::validate(schema, &Path::NOWHERE).is_empty()
        && crate::compile(schema.0).is_ok_and(|compiled| defaults::has_unpruned(&compiled))
}

/// The schema of a version, or of all versions; `None` where that cannot be said.
fn schema_of<'a>(spec: &'a Value, name: &str) -> Option<Option<&'a Value>> {
    let schema = |holder: &'a Value, field: &str| holder.get(field).filter(|schema| !schema.is_null());
    let versions = spec.items_at(&["versions"]);
    if !versions.iter().any(|version| schema(version, "schema").is_some()) {
        return Some(schema(spec, "validation"));
    }
    if schema(spec, "validation").is_some() {
        return None;
    }
    let version = versions.iter().find(|version| version_name(version) == name)?;
    Some(schema(version, "schema"))
}

fn unchanged_schemas<'a>(spec: &'a Value, old: &'a Value) -> HashSet<&'a str> {
    let names = spec.items_at(&["versions"]).iter().map(version_name);
    let is_same = |name: &&str| schema_of(spec, name).is_some_and(|new| schema_of(old, name) == Some(new));
    names.filter(is_same).collect()
}

fn too_many_selectable<'a>(spec: &'a Value, old: &'a Value) -> HashSet<&'a str> {
    let fields = |holder: &'a Value| holder.items_at(&["selectableFields"]);
    let as_before = |new: &'a Value, old: &'a Value| {
        fields(old).len() > MOST_SELECTABLE_FIELDS && fields(new) == fields(old)
    };
    let mut found = HashSet::new();
    if as_before(spec, old) {
        found.insert("");
    }
    let versions = old.items_at(&["versions"]);
    for version in spec.items_at(&["versions"]) {
        // Of several with a name the last counts.
        let before = versions.iter().rfind(|old| version_name(old) == version_name(version));
        if before.is_some_and(|old| as_before(version, old)) {
            found.insert(version_name(version));
        }
    }
    found
}
