//! The schema of a custom resource as documents show it: that of its definition, with what every object has, and without what
//! the dialect or clients of it cannot understand.

use pintle_codec::json::decode_any;
use pintle_discovery::CustomVersion;
use pintle_meta::value::{Key, Object};
use pintle_meta::{Node, Value};
use pintle_schema::{Type, find};

use crate::Options;
use crate::json::{map, object, optional, set};
use crate::schema::{Dialect, group_version_kind, with};

use super::names::Names;

const PRESERVES: &str = "x-kubernetes-preserve-unknown-fields";
const EMBEDDED: &str = "x-kubernetes-embedded-resource";
const INT_OR_STRING: &str = "x-kubernetes-int-or-string";

/// Where texts of ours are meant to say the same as the reference's: a resource within another one.
const EMBEDDED_VERSION: &str = "apiVersion defines the versioned schema of this representation of an object. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#resources";
const EMBEDDED_KIND: &str = "kind is a string value representing the type of this object. In CamelCase. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds";

/// Explains resources in a dialect.
pub(crate) struct Writer<'a> {
    pub(crate) dialect: Dialect,
    pub(crate) options: &'a Options<'a>,
}

/// Where a schema stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SchemaPosition {
    /// It says what there is.
    Structural,
    /// Below `allOf` and the like, where it only says what is asked of it.
    Nested,
}

impl Writer<'_> {
    /// The resource. `schema` is a `JSONSchemaProps`; `preserves` is whether its definition lets unknown fields be.
    pub(crate) fn resource(
        &self,
        names: &Names,
        kind: &str,
        version: &CustomVersion,
        schema: Option<&Value>,
        preserves: bool,
    ) -> Value {
        let anything = || object([("type", Value::literal("object"))]);
        let v2 = self.dialect == Dialect::V2;
        let mut shown = match schema {
            None => anything(),
            // Clients that find fields named take all others for mistakes.
            Some(schema) if v2 && (preserves || flag(schema, PRESERVES)) => anything(),
            Some(schema) => {
                let mut shown = self.node(schema, SchemaPosition::Structural);
                let metadata = find("meta/v1.PartialObjectMetadata");
                self.add_properties(
                    &mut shown,
                    [
                        ("apiVersion", text(self.doc(metadata, "apiVersion"))),
                        ("kind", text(self.doc(metadata, "kind"))),
                        ("metadata", self.meta("meta/v1.ObjectMeta", self.doc(metadata, "metadata"))),
                    ],
                );
                shown
            }
        };
        self.finish(&mut shown, names, kind, version);
        shown
    }

    /// A list of the resource.
    pub(crate) fn list(&self, names: &Names, kind: &str, list_kind: &str, version: &CustomVersion) -> Value {
        let metadata = find("meta/v1.PartialObjectMetadataList");
        let about = format!(
            "List of {}. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md",
            names.plural()
        );
        let items = object([
            ("type", Value::literal("array")),
            ("items", self.dialect.named(names.definition())),
            ("description", about.into()),
        ]);
        let mut shown = object([
            ("type", Value::literal("object")),
            ("description", format!("{list_kind} is a list of {kind}").into()),
            ("required", Value::list(vec![Value::literal("items")])),
        ]);
        self.add_properties(
            &mut shown,
            [
                ("apiVersion", text(self.doc(metadata, "apiVersion"))),
                ("kind", text(self.doc(metadata, "kind"))),
                ("metadata", self.meta("meta/v1.ListMeta", self.doc(metadata, "metadata"))),
                ("items", items),
            ],
        );
        self.finish(&mut shown, names, list_kind, version);
        shown
    }

    fn finish(&self, shown: &mut Value, names: &Names, kind: &str, version: &CustomVersion) {
        let kinds = vec![group_version_kind(names.group(), names.version(), kind)];
        set(shown, "x-kubernetes-group-version-kind", Value::list(kinds));
        if !version.selectable.is_empty() {
            let field =
                |path: &Key| object([("fieldPath", path.strip_prefix('.').unwrap_or(path.as_str()).into())]);
            let fields = version.selectable.iter().map(field).collect();
            set(shown, "x-kubernetes-selectable-fields", Value::list(fields));
        }
    }

    fn doc(&self, of: Option<&'static Type>, field: &str) -> Option<&str> {
        self.options.documentation.field(of?, field)
    }

    /// A reference to a built-in type, and what it is about.
    fn meta(&self, of: &str, about: Option<&str>) -> Value {
        let reference = find(of).map_or(Value::NULL, |of| self.dialect.reference(of));
        let about = about.map(|about| ("description", Value::from(about)));
        with(reference, about.into_iter().collect(), self.dialect)
    }

    fn add_properties<const N: usize>(&self, shown: &mut Value, added: [(&'static str, Value); N]) {
        let Some(shown) = shown.as_object_mut() else { return };
        let properties = shown.get_or_insert_with("properties", || Value::object(Object::new()));
        for (name, value) in added {
            set(properties, name, value);
        }
    }

    fn node(&self, schema: &Value, place: SchemaPosition) -> Value {
        let Some(given) = schema.as_object() else { return object([]) };
        let v2 = self.dialect == Dialect::V2;
        let preserves = flag(schema, PRESERVES);
        // Keywords that version 2 lacks are left out, and so is everything that they would be taken for.
        let untyped = v2 && flag(schema, "nullable");
        let opaque = v2 && (untyped || preserves);
        let mut shown: Vec<(Key, Value)> = Vec::with_capacity(given.len());
        for (key, value) in given.entries() {
            let value = match key.as_str() {
                "type" if untyped || (opaque && matches!(value.as_str(), Some("array" | "object"))) => {
                    continue;
                }
                // A list that does not say of what.
                "type" if v2 && value.as_str() == Some("array") && !is_there(schema, "items") => continue,
                "type" | "description" | "title" | "format" | "pattern" => match value.as_str() {
                    Some(text) if !text.is_empty() => value.clone(),
                    _ => continue,
                },
                "nullable" if v2 => continue,
                "nullable" | "exclusiveMaximum" | "exclusiveMinimum" | "uniqueItems" | PRESERVES
                | EMBEDDED | INT_OR_STRING => match value.as_bool() {
                    Some(true) => value.clone(),
                    _ => continue,
                },
                "maximum"
                | "minimum"
                | "multipleOf"
                | "maxLength"
                | "minLength"
                | "maxItems"
                | "minItems"
                | "maxProperties"
                | "minProperties"
                | "x-kubernetes-list-type"
                | "x-kubernetes-map-type" => value.clone(),
                "default" if v2 => continue,
                "default" | "example" => opened(value),
                "enum" => Value::list(value.as_list().unwrap_or_default().iter().map(opened).collect()),
                "required" => self.required(schema, value, opaque),
                "externalDocs" | "x-kubernetes-list-map-keys" | "x-kubernetes-validations" => value.clone(),
                "items" | "properties" if opaque => continue,
                "items" => self.node(value, place),
                "properties" => {
                    let named = value.as_object().map(Object::entries).unwrap_or_default();
                    map(named
                        .iter()
                        .map(|(name, schema)| (name.to_string(), self.node(schema, place)))
                        .collect())
                }
                "additionalProperties" if place == SchemaPosition::Nested => continue,
                "additionalProperties" if value.as_bool().is_some() => value.clone(),
                "additionalProperties" if !value.is_null() => self.node(value, place),
                "allOf" | "anyOf" | "oneOf" if !v2 => {
                    let nodes = value.as_list().unwrap_or_default().iter();
                    Value::list(nodes.map(|node| self.node(node, SchemaPosition::Nested)).collect())
                }
                "not" if !v2 && !value.is_null() => self.node(value, SchemaPosition::Nested),
                _ => continue,
            };
            let says_nothing = match value.node() {
                Node::Null => true,
                // An empty list is a default like any other.
                Node::List(items) => items.is_empty() && !matches!(key.as_str(), "default" | "example"),
                // A schema may be empty; what there is several of may not.
                Node::Object(object) => object.is_empty() && key == "properties",
                _ => false,
            };
            if !says_nothing {
                shown.push((key.clone(), value));
            }
        }
        let mut shown = Value::object(Object::from_unsorted(shown));
        if place == SchemaPosition::Structural {
            if !v2 && flag(schema, INT_OR_STRING) {
                unfold(schema, &mut shown);
            }
            if flag(schema, EMBEDDED) && !(v2 && preserves) {
                self.embed(&mut shown);
            }
        }
        shown
    }

    /// Returns the required fields; a nullable one cannot be required.
    fn required(&self, schema: &Value, required: &Value, opaque: bool) -> Value {
        if self.dialect == Dialect::V3 {
            return required.clone();
        }
        if schema.get("additionalProperties").is_some_and(|given| flag(given, "nullable")) {
            return Value::NULL;
        }
        let may_be_null = |name: &str| {
            let properties = schema.get("properties").filter(|_| !opaque);
            properties.and_then(|named| named.get(name)).is_some_and(|given| flag(given, "nullable"))
        };
        let names = required.as_list().unwrap_or_default().iter();
        Value::list(names.filter(|name| !name.as_str().is_some_and(may_be_null)).cloned().collect())
    }

    /// Returns the properties of an embedded object.
    fn embed(&self, shown: &mut Value) {
        let metadata = self.doc(find("meta/v1.PartialObjectMetadata"), "metadata");
        self.add_properties(
            shown,
            [
                ("apiVersion", text(Some(EMBEDDED_VERSION))),
                ("kind", text(Some(EMBEDDED_KIND))),
                ("metadata", self.meta("meta/v1.ObjectMeta", metadata)),
            ],
        );
        let mut required = shown.items_at(&["required"]).to_vec();
        for name in ["kind", "apiVersion"] {
            if !required.iter().any(|known| known.as_str() == Some(name)) {
                required.push(Value::literal(name));
            }
        }
        set(shown, "required", Value::list(required));
    }
}

/// Says of an integer or a string which two types it may have, where that was not said.
fn unfold(schema: &Value, shown: &mut Value) {
    let either = || {
        let of = |name| object([("type", Value::literal(name))]);
        Value::list(vec![of("integer"), of("string")])
    };
    let is_either = |any_of: &[Value]| {
        let is = |schema: &Value, name: &str| {
            let said = schema.as_object().map(Object::entries).unwrap_or_default();
            let mut said = said.iter().filter(|(_, value)| !value.is_null());
            said.next().is_some_and(|(key, value)| key == "type" && value.as_str() == Some(name))
                && said.next().is_none()
        };
        matches!(any_of, [integer, string] if is(integer, "integer") && is(string, "string"))
    };
    let all_of = schema.items_at(&["allOf"]);
    let any_of = schema.items_at(&["anyOf"]);
    if is_either(any_of) || all_of.first().is_some_and(|first| is_either(first.items_at(&["anyOf"]))) {
        return;
    }
    if any_of.is_empty() {
        set(shown, "anyOf", either());
    } else {
        let mut all = vec![object([("anyOf", either())])];
        all.extend_from_slice(shown.items_at(&["allOf"]));
        set(shown, "allOf", Value::list(all));
    }
}

fn flag(schema: &Value, name: &str) -> bool {
    schema.get(name).and_then(Value::as_bool) == Some(true)
}

fn is_there(schema: &Value, name: &str) -> bool {
    schema.get(name).is_some_and(|value| !value.is_null())
}

fn text(about: Option<&str>) -> Value {
    object([("type", Value::literal("string")), ("description", optional(about))])
}

/// Any JSON, which definitions keep as the text that it came as.
fn opened(value: &Value) -> Value {
    match value.as_raw() {
        Some(text) => decode_any(text).map_or(Value::NULL, |decoded| decoded.value),
        None => value.clone(),
    }
}
