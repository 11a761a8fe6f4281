//! Whether a schema is structural: everything that has a type says so outside of `allOf`, `anyOf`, `oneOf` and `not`, which
//! only ask more of values that are described already.

use pintle_cel::regex::Regex;
use pintle_meta::field_path::{Error, Path};

use super::errors::Errors;
use super::node::{Additional, Schema};

/// The part of an object that a schema describes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Level {
    Root,
    Item,
    Field,
}

/// Returns the violations of the rules for structural schemas.
pub(crate) fn validate(schema: Schema<'_>, path: &Path<'_>) -> Errors {
    let mut errors = Errors::default();
    invariants(schema, Level::Root, path, &mut errors);
    nested_completeness(schema, Some(schema), path, path, &mut errors);
    errors.sort();
    errors
}

fn invariants(schema: Schema<'_>, level: Level, path: &Path<'_>, errors: &mut Errors) {
    if errors.is_full() {
        return;
    }
    let kind = schema.kind();
    match schema.item() {
        Some(item) => invariants(item, Level::Item, &path.child("items"), errors),
        None if kind == "array" => errors.push(Error::required(&path.child("items"), "must be specified")),
        None => {}
    }
    let properties = path.child("properties");
    for (name, property) in schema.named("properties") {
        invariants(property, Level::Field, &properties.key(name), errors);
    }
    let additional = schema.additional();
    if additional.is_some() && level == Level::Root {
        errors.push(Error::forbidden(&path.child("additionalProperties"), "must not be used at the root"));
    }
    if let Some(Additional::Schema(of)) = additional {
        invariants(of, Level::Field, &path.child("additionalProperties"), errors);
    }
    let embedded = schema.flag("x-kubernetes-embedded-resource");
    let preserves = schema.has("x-kubernetes-preserve-unknown-fields");
    let int_or_string = schema.flag("x-kubernetes-int-or-string");
    if int_or_string {
        for (set, field) in [
            (preserves, "x-kubernetes-preserve-unknown-fields"),
            (embedded, "x-kubernetes-embedded-resource"),
        ] {
            if set {
                let why = "must be false if x-kubernetes-int-or-string is true";
                errors.push(Error::invalid(&path.child(field), true, why));
            }
        }
    }
    let first_all_of = schema.each("allOf").next();
    let skips = Skips {
        any_of: is_int_or_string(schema),
        any_of_first_all_of: first_all_of.is_some_and(is_int_or_string),
    };
    validation(schema, skips, path, errors);

    if embedded && kind != "object" {
        let why = "must be object if x-kubernetes-embedded-resource is true";
        let path = path.child("type");
        errors.push(match kind {
            "" => Error::required(&path, why),
            kind => Error::invalid(&path, kind, why),
        });
    } else if kind.is_empty() && !int_or_string && !preserves {
        let why = match level {
            Level::Root => "must not be empty at the root",
            Level::Item => "must not be empty for specified array items",
            Level::Field => "must not be empty for specified object fields",
        };
        errors.push(Error::required(&path.child("type"), why));
    }
    if embedded && additional.is_some() {
        let why = "must not be used if x-kubernetes-embedded-resource is set";
        errors.push(Error::forbidden(&path.child("additionalProperties"), why));
    }
    if level == Level::Root && !matches!(kind, "" | "object") {
        errors.push(Error::invalid(&path.child("type"), kind, "must be object at the root"));
    }
    metadata(schema, level, embedded, path, errors);
    if embedded && !preserves && !schema.has_properties() {
        let why = "must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields";
        errors.push(Error::required(&properties, why));
    }
}

/// Checks that a schema restricts no metadata except names.
fn metadata(schema: Schema<'_>, level: Level, embedded: bool, path: &Path<'_>, errors: &mut Errors) {
    let is_object = level == Level::Root || embedded;
    let properties = path.child("properties");
    for name in ["kind", "apiVersion"] {
        if let Some(found) = schema.property(name)
            && is_object
            && found.kind() != "string"
        {
            errors.push(Error::invalid(&properties.key(name).child("type"), found.kind(), "must be string"));
        }
    }
    let Some(found) = schema.property("metadata") else { return };
    let path = properties.key("metadata");
    if is_object && found.kind() != "object" {
        errors.push(Error::invalid(&path.child("type"), found.kind(), "must be object"));
    }
    if level == Level::Root {
        let mut names = found.named("properties").map(|(name, _)| name);
        let names_only = names.all(|name| matches!(name, "name" | "generateName"));
        let ignored: &[&str] =
            if names_only { &["type", "default", "properties"] } else { &["type", "default"] };
        // The default is looked at elsewhere.
        if !found.has_only(ignored) {
            let why = "must not specify anything other than name and generateName, but metadata is implicitly specified";
            errors.push(Error::forbidden(&path, why));
        }
    }
}

/// `anyOf` that says int-or-string once more may name types.
#[derive(Clone, Copy, Default)]
struct Skips {
    any_of: bool,
    any_of_first_all_of: bool,
}

fn is_int_or_string(schema: Schema<'_>) -> bool {
    let mut choices = schema.each("anyOf");
    let mut next_is = |kind| choices.next().is_some_and(|of| of.kind() == kind && of.has_only(&["type"]));
    next_is("integer") && next_is("string") && choices.next().is_none()
}

fn validation(schema: Schema<'_>, skips: Skips, path: &Path<'_>, errors: &mut Errors) {
    if errors.is_full() {
        return;
    }
    for field in ["anyOf", "allOf", "oneOf"] {
        if field == "anyOf" && skips.any_of {
            continue;
        }
        let path = path.child(field);
        for (index, of) in schema.each(field).enumerate() {
            let any_of = field == "allOf" && index == 0 && skips.any_of_first_all_of;
            nested(of, Skips { any_of, ..Skips::default() }, &path.index(index), errors);
        }
    }
    if let Some(not) = schema.one("not") {
        nested(not, Skips::default(), &path.child("not"), errors);
    }
    let pattern = schema.text("pattern");
    if !pattern.is_empty()
        && let Err(why) = Regex::new(pattern)
    {
        let why = format!("must be a valid regular expression, but isn't: {why}");
        errors.push(Error::invalid(&path.child("pattern"), pattern, why));
    }
}

/// A schema that only asks more.
fn nested(schema: Schema<'_>, skips: Skips, path: &Path<'_>, errors: &mut Errors) {
    const EMPTY: &str = "must be empty to be structural";
    const FALSE: &str = "must be false to be structural";
    const UNDEFINED: &str = "must be undefined to be structural";
    const FORBIDDEN: [(&str, &str); 12] = [
        ("type", EMPTY),
        ("default", UNDEFINED),
        ("title", EMPTY),
        ("description", EMPTY),
        ("nullable", FALSE),
        ("x-kubernetes-preserve-unknown-fields", FALSE),
        ("x-kubernetes-embedded-resource", FALSE),
        ("x-kubernetes-int-or-string", FALSE),
        ("x-kubernetes-list-map-keys", EMPTY),
        ("x-kubernetes-list-type", UNDEFINED),
        ("x-kubernetes-map-type", UNDEFINED),
        ("x-kubernetes-validations", EMPTY),
    ];
    if errors.is_full() {
        return;
    }
    validation(schema, skips, path, errors);
    if let Some(item) = schema.item() {
        nested(item, Skips::default(), &path.child("items"), errors);
    }
    let properties = path.child("properties");
    for (name, property) in schema.named("properties") {
        nested(property, Skips::default(), &properties.key(name), errors);
    }
    if !matches!(schema.additional(), None | Some(Additional::Bool(false))) {
        errors.push(Error::forbidden(&path.child("additionalProperties"), UNDEFINED));
    }
    for (field, why) in FORBIDDEN {
        if schema.is_set(field) {
            errors.push(Error::forbidden(&path.child(field), why));
        }
    }
    // It could restrict what Kubernetes writes there.
    if schema.property("metadata").is_some() {
        let why = "must not be specified in a nested context";
        errors.push(Error::forbidden(&properties.key("metadata"), why));
    }
}

/// Everything that `allOf` and the like of the root are about is described outside of them.
fn completeness(
    asked: Schema<'_>,
    described: Option<Schema<'_>>,
    place: &Path<'_>,
    from: &Path<'_>,
    errors: &mut Errors,
) {
    if errors.is_full() {
        return;
    }
    let Some(schema) = described else {
        return errors.push(Error::required(place, format!("because it is defined in {from}")));
    };
    nested_completeness(asked, described, place, from, errors);
    if let Some(item) = asked.item() {
        completeness(item, schema.item(), &place.child("items"), &from.child("items"), errors);
    }
    let (place, from) = (place.child("properties"), from.child("properties"));
    for (name, property) in asked.named("properties") {
        completeness(property, schema.property(name), &place.key(name), &from.key(name), errors);
    }
}

fn nested_completeness(
    asked: Schema<'_>,
    described: Option<Schema<'_>>,
    place: &Path<'_>,
    from: &Path<'_>,
    errors: &mut Errors,
) {
    if let Some(not) = asked.one("not") {
        completeness(not, described, place, &from.child("not"), errors);
    }
    for field in ["allOf", "anyOf", "oneOf"] {
        let from = from.child(field);
        for (index, of) in asked.each(field).enumerate() {
            completeness(of, described, place, &from.index(index), errors);
        }
    }
}
