//! The spec of a definition, in the order in which the reference looks at it.

use std::collections::HashSet;

use pintle_meta::Value;
use pintle_meta::field_path::{Error, Path};
use pintle_meta::validation::dns1123_subdomain;
use pintle_schema::structural::Structural;

use super::errors::Errors;
use super::node::schemas;
use super::options::{Options, has_schema, version_name};
use super::schema::Wanted;
use super::{conversion, names, parts, schema, show, text_of_choices};

pub(super) fn validate(spec: &Value, options: &Options<'_>, path: &Path<'_>, errors: &mut Errors) {
    group(spec.text_at(&["group"]), &path.child("group"), errors);
    text_of_choices(spec.text_at(&["scope"]), &["Cluster", "Namespaced"], &path.child("scope"), errors);
    let preserves = spec.get("preserveUnknownFields").and_then(Value::as_bool);
    let mut structural = options.structural || preserves != Some(true);
    missing_schemas(spec, options, path, errors);
    if schemas(spec).any(|schema| schema.any(&mut |schema| schema.has("default"))) {
        structural = true;
        if preserves != Some(false) {
            let why = "must be false in order to use defaults in the schema";
            errors.push(Error::invalid(&path.child("preserveUnknownFields"), true, why));
        }
    }
    structural |= schemas(spec).any(|schema| {
        schema.any(&mut |schema| {
            schema.flag("x-kubernetes-embedded-resource")
                || schema.flag("x-kubernetes-int-or-string")
                || schema.is_set("x-kubernetes-preserve-unknown-fields")
                || schema.is_set("x-kubernetes-list-type")
                || schema.is_set("x-kubernetes-list-map-keys")
                || schema.is_set("x-kubernetes-validations")
        })
    });
    versions(spec, options, structural, path, errors);
    once_or_each(spec, path, errors);
    version_list(spec, path, errors);

    let resource = spec.get("names").unwrap_or(&Value::NULL);
    names::required(resource, &path.child("names"), errors);
    names::validate(resource, &path.child("names"), errors);
    let has_status = has_status(spec) || spec.items_at(&["versions"]).iter().any(has_status);
    let unchanged = options.unchanged_schemas.contains(spec.text_at(&["version"]));
    let wanted = Wanted { structural, has_status, unchanged };
    schema::validate(spec.get("validation"), wanted, options, &path.child("validation"), errors);
    parts::subresources(spec, path, errors);
    parts::columns(spec, path, errors);
    common_selectable_fields(spec, options, path, errors);
    conversion::validate(spec, options, path, errors);
}

fn group(group: &str, path: &Path<'_>, errors: &mut Errors) {
    let wrong = dns1123_subdomain(group);
    if group.is_empty() {
        errors.push(Error::required(path, ""));
    } else if !wrong.is_empty() {
        errors.push(Error::invalid(path, group, wrong.join(",")));
    } else if !group.contains('.') {
        errors.push(Error::invalid(path, group, "should be a domain with at least one dot"));
    }
}

/// There is a schema for everything; or, in definitions from before that was so, for what is served and pruned.
fn missing_schemas(spec: &Value, options: &Options<'_>, path: &Path<'_>, errors: &mut Errors) {
    let prunes = spec.get("preserveUnknownFields").and_then(Value::as_bool) != Some(true);
    if has_schema(spec.get("validation")) || !(options.schema || prunes) {
        return;
    }
    let path = path.child("versions");
    for (index, version) in spec.items_at(&["versions"]).iter().enumerate() {
        if has_schema(version.get("schema")) || errors.is_full() {
            continue;
        }
        let path = path.index(index);
        let path = path.child("schema");
        let path = path.child("openAPIV3Schema");
        if options.schema {
            errors.push(Error::required(&path, ""));
        } else if version.get("served").and_then(Value::as_bool) == Some(true) {
            errors.push(Error::required(&path, "because otherwise all fields are pruned"));
        }
    }
}

fn subresources_of(holder: &Value) -> Option<&Value> {
    holder.get("subresources").filter(|subresources| !subresources.is_null())
}

fn has_status(holder: &Value) -> bool {
    subresources_of(holder).and_then(|of| of.get("status")).is_some_and(|status| !status.is_null())
}

fn versions(spec: &Value, options: &Options<'_>, structural: bool, path: &Path<'_>, errors: &mut Errors) {
    let path = path.child("versions");
    let versions = spec.items_at(&["versions"]);
    let each = versions.iter().any(|version| subresources_of(version).is_some());
    for (index, version) in versions.iter().enumerate() {
        if errors.is_full() {
            return;
        }
        let path = path.index(index);
        let name = version_name(version);
        names::label(name, &path.child("name"), errors);
        // Of several with a name, what the first has.
        let holder = if each {
            versions.iter().find(|version| version_name(version) == name).unwrap_or(version)
        } else {
            spec
        };
        parts::deprecation_warning(version, &path, errors);
        let wanted = Wanted {
            structural,
            has_status: has_status(holder),
            unchanged: options.unchanged_schemas.contains(name),
        };
        schema::validate(version.get("schema"), wanted, options, &path.child("schema"), errors);
        parts::subresources(version, &path, errors);
        parts::columns(version, &path, errors);
        if version.items_at(&["selectableFields"]).is_empty() {
            continue;
        }
        if !has_schema(version.get("schema")) {
            let why = "may only be set when `version.schema.openAPIV3Schema` is not included";
            errors.push(Error::invalid(&path.child("selectableFields"), "", why));
        } else if let Some(schema) = compiled(version.get("schema"), &path, errors) {
            parts::selectable_fields(version, &schema, options, name, &path, errors);
        }
    }
}

fn common_selectable_fields(spec: &Value, options: &Options<'_>, path: &Path<'_>, errors: &mut Errors) {
    if spec.items_at(&["selectableFields"]).is_empty() {
        return;
    }
    let holder = spec.get("validation").filter(|holder| !holder.is_null());
    if holder.is_none() {
        let why = "may only be set when validations.schema is included";
        errors.push(Error::invalid(&path.child("selectableFields"), "", why));
    } else if let Some(schema) = compiled(holder, path, errors) {
        parts::selectable_fields(spec, &schema, options, "", path, errors);
    }
}

fn compiled(holder: Option<&Value>, path: &Path<'_>, errors: &mut Errors) -> Option<Structural> {
    let schema = holder.and_then(|holder| holder.get("openAPIV3Schema")).unwrap_or(&Value::NULL);
    match crate::compile(schema) {
        Ok(schema) => Some(schema),
        Err(why) => {
            errors.push(Error::invalid(&path.child("schema.openAPIV3Schema"), "", why));
            None
        }
    }
}

/// Checks that each part is given once for all versions or per version, not both.
fn once_or_each(spec: &Value, path: &Path<'_>, errors: &mut Errors) {
    const PARTS: [(&str, &str, &str); 3] = [
        ("validation", "schema", "schemas"),
        ("subresources", "subresources", "subresources"),
        ("additionalPrinterColumns", "additionalPrinterColumns", "additionalPrinterColumns"),
    ];
    let versions = spec.items_at(&["versions"]);
    let given = |holder: &'_ Value, field: &str| {
        holder.get(field).is_some_and(|given| !given.is_null() && given.as_list() != Some(&[]))
    };
    for (once, each, shown) in PARTS {
        if given(spec, once) && versions.iter().any(|version| given(version, each)) {
            let why = format!("top-level and per-version {shown} are mutually exclusive");
            errors.push(Error::forbidden(&path.child(once), why));
        }
    }
    for (once, each, shown) in PARTS {
        let Some(first) = versions.first() else { break };
        if versions.iter().all(|version| given(version, each) && version.get(each) == first.get(each)) {
            let why = format!(
                "per-version {shown} may not all be set to identical values (top-level {once} should be used instead)"
            );
            errors.push(Error::invalid(&path.child("versions"), shown_versions(spec), why));
        }
    }
}

fn shown_versions(spec: &Value) -> pintle_meta::field_path::Value {
    show("[]apiextensions.CustomResourceDefinitionVersion", spec.get("versions").unwrap_or(&Value::NULL))
}

fn version_list(spec: &Value, path: &Path<'_>, errors: &mut Errors) {
    let versions = spec.items_at(&["versions"]);
    let mut seen = HashSet::new();
    if !versions.iter().all(|version| seen.insert(version_name(version))) {
        let why = "must contain unique version names";
        errors.push(Error::invalid(&path.child("versions"), shown_versions(spec), why));
    }
    let is_stored = |version: &&Value| version.get("storage").and_then(Value::as_bool) == Some(true);
    if versions.iter().filter(is_stored).count() != 1 {
        let why = "must have exactly one version marked as storage version";
        errors.push(Error::invalid(&path.child("versions"), shown_versions(spec), why));
    }
    let name = spec.text_at(&["version"]);
    if name.is_empty() {
        return;
    }
    names::label(name, &path.child("version"), errors);
    if versions.first().is_some_and(|first| version_name(first) != name) {
        let why = "must match the first version in spec.versions";
        errors.push(Error::invalid(&path.child("version"), name, why));
    }
}
