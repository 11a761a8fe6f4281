//! The schema of a version: structural, and with nothing in it that the reference does not know what to do with.

use pintle_meta::Value;
use pintle_meta::field_path::{Error, Path};
use pintle_schema::structural::Structural;

use super::errors::Errors;
use super::node::{Additional, Items, Schema};
use super::options::{Options, TYPES};
use super::{defaults, lists, show, structural};
use crate::rules::definition::{Scope, Total, syntax};

/// How a version's schema is to be looked at.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wanted {
    pub(super) structural: bool,
    pub(super) has_status: bool,
    /// Rules of a schema that stays may cost what they did.
    pub(super) unchanged: bool,
}

/// A `CustomResourceValidation`: the schema within `holder`, which is at `path`.
pub(super) fn validate(
    holder: Option<&Value>,
    wanted: Wanted,
    options: &Options<'_>,
    path: &Path<'_>,
    errors: &mut Errors,
) {
    let schema = holder.and_then(|holder| holder.get("openAPIV3Schema"));
    let Some(schema) = schema.filter(|schema| !schema.is_null()).map(Schema) else { return };
    let before = errors.len();
    let path = path.child("openAPIV3Schema");
    if wanted.has_status {
        root_with_status(schema, &path, errors);
    }
    if schema.flag("nullable") {
        errors.push(Error::forbidden(&path.child("nullable"), "nullable cannot be true at the root"));
    }
    let mut refused = None;
    let mut compiled = None;
    let mut is_sound = false;
    if wanted.structural {
        match crate::compile(schema.0) {
            Err(why) => refused = Some(why),
            Ok(node) => {
                let wrong = structural::validate(schema, &path);
                let wrong = if wrong.is_empty() {
                    defaults::validate(&node, options.pruned_defaults, &path)
                } else {
                    wrong
                };
                is_sound = wrong.is_empty();
                errors.extend(wrong.into_vec());
                compiled = Some(node);
            }
        }
    }
    let mut walk = Walk {
        options,
        unchanged: wanted.unchanged,
        errors,
        of_rules: Errors::default(),
        total: Total::default(),
    };
    let scope = compiled.as_ref().filter(|_| is_sound).map(Scope::root);
    walk.check(schema, compiled.as_ref(), scope.as_ref(), State::default(), &path);
    let Walk { of_rules, total, .. } = walk;
    errors.extend(of_rules.into_vec());
    // A schema that cannot be compiled mostly has errors at its fields, which were reported already.
    if let Some(why) = refused.filter(|_| errors.len() == before) {
        errors.push(Error::invalid(&path, "", why));
    }
    errors.extend(total.errors(&path));
}

/// The status is validated alone, by its own part of the schema, so nothing that counts may be said at the root.
fn root_with_status(schema: Schema<'_>, path: &Path<'_>, errors: &mut Errors) {
    // In the order of Go's fields.
    const ALLOWED: [(&str, &str); 22] = [
        ("description", "Description"),
        ("type", "Type"),
        ("format", "Format"),
        ("title", "Title"),
        ("maximum", "Maximum"),
        ("exclusiveMaximum", "ExclusiveMaximum"),
        ("minimum", "Minimum"),
        ("exclusiveMinimum", "ExclusiveMinimum"),
        ("maxLength", "MaxLength"),
        ("minLength", "MinLength"),
        ("pattern", "Pattern"),
        ("maxItems", "MaxItems"),
        ("minItems", "MinItems"),
        ("uniqueItems", "UniqueItems"),
        ("multipleOf", "MultipleOf"),
        ("required", "Required"),
        ("items", "Items"),
        ("properties", "Properties"),
        ("externalDocs", "ExternalDocs"),
        ("example", "Example"),
        ("x-kubernetes-preserve-unknown-fields", "XPreserveUnknownFields"),
        ("x-kubernetes-validations", "XValidations"),
    ];
    let refuse = |errors: &mut Errors| {
        let names: Vec<&str> = ALLOWED.iter().map(|(_, name)| *name).collect();
        let why = format!(
            "only [{}] fields are allowed at the root of the schema if the status subresource is enabled",
            names.join(" ")
        );
        errors.push(Error::invalid(path, show("apiextensions.JSONSchemaProps", schema.0), why));
    };
    // The type comes fourth, and what is wrong with it ends the search.
    if ["id", "$schema", "$ref"].into_iter().any(|field| schema.is_set(field)) {
        return refuse(errors);
    }
    if !matches!(schema.kind(), "" | "object") {
        let why = r#"only "object" is allowed as the type at the root of the schema if the status subresource is enabled"#;
        return errors.push(Error::invalid(&path.child("type"), schema.kind(), why));
    }
    let allowed: Vec<&str> = ALLOWED.iter().map(|(field, _)| *field).collect();
    if !schema.has_only(&allowed) {
        refuse(errors);
    }
}

/// Properties that a node inherits from its ancestors.
#[derive(Clone, Copy, Debug, Default)]
struct State {
    is_within: bool,
    /// Why there may be no default here.
    no_defaults: Option<&'static str>,
    in_metadata: bool,
}

struct Walk<'a, 'o> {
    options: &'a Options<'o>,
    unchanged: bool,
    errors: &'a mut Errors,
    /// Errors of expressions, reported after the others.
    of_rules: Errors,
    total: Total,
}

impl Walk<'_, '_> {
    /// A node and all below. `compiled` is the same node, where the whole compiles; `scope` too, where it is sound and its rules
    /// can be looked at.
    fn check(
        &mut self,
        schema: Schema<'_>,
        compiled: Option<&Structural>,
        scope: Option<&Scope<'_>>,
        state: State,
        path: &Path<'_>,
    ) {
        if self.errors.is_full() || self.of_rules.is_full() {
            return;
        }
        let before = self.errors.len();
        self.fields(schema, state, path);
        self.parts(schema, compiled, scope, state, path);
        if schema.get("x-kubernetes-preserve-unknown-fields").and_then(Value::as_bool) == Some(false) {
            let path = path.child("x-kubernetes-preserve-unknown-fields");
            self.errors.push(Error::invalid(&path, false, "must be true or undefined"));
        }
        lists::validate(schema, self.options.atomic_sets, path, self.errors);
        if self.options.sound_lists {
            lists::items(schema, path, self.errors);
        }
        if !schema.has("x-kubernetes-validations") {
            return;
        }
        self.errors.extend(syntax(schema.0, compiled, path));
        // Expressions of an invalid schema would be refused for misleading reasons.
        if let Some(scope) = scope.filter(|_| self.errors.len() == before) {
            self.of_rules.extend(scope.validate(path, self.unchanged, &mut self.total));
        }
    }

    fn forbid(&mut self, path: &Path<'_>, field: &str, why: &str) {
        self.errors.push(Error::forbidden(&path.child(field), why));
    }

    /// Checks fields that are forbidden in structural schemas.
    fn fields(&mut self, schema: Schema<'_>, state: State, path: &Path<'_>) {
        let kind = schema.kind();
        if self.options.valid_types && !kind.is_empty() && !TYPES.contains(&kind) {
            self.errors.push(Error::not_supported(&path.child("type"), kind, &TYPES));
        }
        if schema.has("default")
            && let Some(why) = state.no_defaults
        {
            self.forbid(path, "default", &format!("must not be set {why}"));
        }
        for field in ["id", "additionalItems", "patternProperties", "definitions", "dependencies", "$ref"] {
            if schema.is_set(field) {
                self.forbid(path, field, &format!("{field} is not supported"));
            }
        }
        if kind == "null" {
            self.forbid(path, "type", "type cannot be set to null, use nullable as an alternative");
        }
        if matches!(schema.items(), Some(Items::Many([_, ..]))) {
            self.forbid(path, "items", "items must be a schema object and not an array");
        }
        if state.in_metadata && schema.flag("x-kubernetes-embedded-resource") {
            self.forbid(path, "x-kubernetes-embedded-resource", "must not be used inside of resource meta");
        }
        if schema.flag("uniqueItems") {
            let why = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic";
            self.forbid(path, "uniqueItems", why);
        }
    }

    /// The schemas within.
    fn parts(
        &mut self,
        schema: Schema<'_>,
        compiled: Option<&Structural>,
        scope: Option<&Scope<'_>>,
        state: State,
        path: &Path<'_>,
    ) {
        let is_root = !state.is_within;
        let state = State { is_within: true, ..state };
        if let Some(additional) = schema.additional() {
            // `additionalProperties: false` with properties is tolerated only where unknown fields are ignored.
            if schema.has_properties() && !matches!(additional, Additional::Bool(true)) {
                let why = "additionalProperties and properties are mutual exclusive";
                self.forbid(path, "additionalProperties", why);
            }
            if let Additional::Schema(of) = additional {
                let mut state = state;
                if state.in_metadata {
                    state.no_defaults = Some("inside additionalProperties applying to object metadata");
                }
                let compiled = compiled.and_then(Structural::additional_schema);
                let scope = scope.and_then(Scope::additional);
                self.check(of, compiled, scope.as_ref(), state, &path.child("additionalProperties"));
            }
        }
        let is_object = is_root || schema.flag("x-kubernetes-embedded-resource");
        let is_followed =
            schema.optional("x-kubernetes-map-type").is_none_or(|of| matches!(of, "granular" | "atomic"));
        let properties = path.child("properties");
        for (name, property) in schema.named("properties") {
            let mut state = state;
            let top_level = match name {
                "metadata" => Some("in top-level metadata"),
                "kind" => Some("in top-level kind"),
                "apiVersion" => Some("in top-level apiVersion"),
                _ => None,
            };
            if is_object && top_level.is_some() {
                state.in_metadata = true;
                if is_root {
                    state.no_defaults = top_level;
                }
            }
            let compiled = compiled.and_then(|compiled| compiled.property(name));
            let scope = scope.and_then(|scope| scope.property(name));
            let scope = scope.map(|scope| if is_followed { scope } else { scope.uncorrelatable(path) });
            self.check(property, compiled, scope.as_ref(), state, &properties.key(name));
        }
        self.junctors(schema, compiled, state, path);
        let items = path.child("items");
        match schema.items() {
            Some(Items::One(item)) => {
                let compiled = compiled.and_then(|compiled| compiled.items.as_deref());
                let scope = scope.and_then(|scope| scope.items(path));
                self.check(item, compiled, scope.as_ref(), state, &items);
            }
            Some(Items::Many(many)) => {
                for (index, item) in many.iter().enumerate() {
                    self.check(Schema(item), None, None, state, &items.index(index));
                }
            }
            None => {}
        }
        let dependencies = path.child("dependencies");
        for (name, of) in schema.named("dependencies") {
            self.check(of, None, None, state, &dependencies.key(name));
        }
    }

    /// Schemas that only ask more, and those that are somewhere else.
    fn junctors(&mut self, schema: Schema<'_>, compiled: Option<&Structural>, state: State, path: &Path<'_>) {
        let validation = compiled.and_then(|compiled| compiled.validation.as_deref());
        if let Some(not) = schema.one("not") {
            let compiled = validation.and_then(|validation| validation.not.as_deref());
            self.check(not, compiled, None, state, &path.child("not"));
        }
        for field in ["allOf", "oneOf", "anyOf"] {
            let compiled = validation.map(|validation| match field {
                "allOf" => &validation.all_of,
                "oneOf" => &validation.one_of,
                _ => &validation.any_of,
            });
            let path = path.child(field);
            for (index, of) in schema.each(field).enumerate() {
                let compiled = compiled.and_then(|all| all.get(index));
                self.check(of, compiled, None, state, &path.index(index));
            }
        }
        let definitions = path.child("definitions");
        for (name, of) in schema.named("definitions") {
            self.check(of, None, None, state, &definitions.key(name));
        }
    }
}
