//! The schemas of types, in the two dialects of the documents.

use std::collections::BTreeMap;

use pintle_codec::json::decode_any;
use pintle_meta::{Value, quote};
use pintle_schema::{Field, ListType, Opaque, Scalar, Shape, Type, TypeKind, find_kind, has_version, types};

use crate::Options;
use crate::json::{empty, map, object, optional, set, texts, title};
use crate::operations::Reference;

/// How a document writes types down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    V2,
    V3,
}

impl Dialect {
    pub(crate) fn reference(self, of: &Type) -> Value {
        self.named(&name(of))
    }

    pub(crate) fn refer(self, of: &Reference) -> Value {
        match of {
            Reference::Type(of) => self.reference(of),
            Reference::Custom(name) => self.named(name),
        }
    }

    pub(crate) fn named(self, name: &str) -> Value {
        let place = match self {
            Dialect::V2 => "#/definitions/",
            Dialect::V3 => "#/components/schemas/",
        };
        object([("$ref", format!("{place}{name}").into())])
    }
}

/// As documents call a type: `io.k8s.api.apps.v1.Deployment`.
pub fn name(of: &Type) -> String {
    let (folder, rest) = of.name.split_once('/').unwrap_or(("", of.name));
    let place = match (folder, rest.split('.').next().unwrap_or_default()) {
        ("meta", _) => "io.k8s.apimachinery.pkg.apis.meta",
        ("apiextensions", _) => "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions",
        ("apiregistration", _) => "io.k8s.kube-aggregator.pkg.apis.apiregistration",
        ("", "resource") => "io.k8s.apimachinery.pkg.api",
        ("", "intstr") => "io.k8s.apimachinery.pkg.util",
        ("", _) => "io.k8s.apimachinery.pkg",
        _ => return format!("io.k8s.api.{folder}.{rest}"),
    };
    format!("{place}.{rest}")
}

/// The types that must be explained for these to be: all that they refer to, by name.
pub(crate) fn reachable(roots: impl IntoIterator<Item = &'static Type>) -> BTreeMap<String, &'static Type> {
    let mut found = BTreeMap::new();
    let mut waiting: Vec<&'static Type> = roots.into_iter().collect();
    while let Some(next) = waiting.pop() {
        if found.insert(name(next), next).is_some() {
            continue;
        }
        if let Some(structure) = next.structure() {
            waiting.extend(structure.flat.iter().filter_map(|field| referred(field.shape)));
        }
    }
    found
}

/// A struct under another name is explained under that name.
fn renamed(shape: Shape) -> Option<&'static Type> {
    match shape {
        Shape::Named(of @ Type { kind: TypeKind::Alias { of: Shape::Named(_), .. }, .. }) => {
            of.structure().is_some().then_some(of)
        }
        _ => None,
    }
}

fn referred(shape: Shape) -> Option<&'static Type> {
    if let Some(of) = renamed(shape) {
        return Some(of);
    }
    match shape.underlying() {
        Shape::Pointer(of) | Shape::List(of) | Shape::Map(_, of) => referred(*of),
        Shape::Named(of) => Some(of),
        Shape::Scalar(_) | Shape::Bytes => None,
    }
}

/// The group versions that `x-kubernetes-group-version-kind` lists for types that every group version has
/// (`DeleteOptions`, `WatchEvent`).
#[derive(Clone, Copy)]
pub(crate) enum Registered<'a> {
    /// The core group version and that of the document.
    Own(&'a str, &'a str),
    /// All that the server knows.
    Server,
    /// All that client-go knows; the reference describes custom resources with its scheme.
    Client,
}

/// Explains a type.
pub(crate) fn definition(
    of: &'static Type,
    dialect: Dialect,
    options: &Options<'_>,
    registered: Registered<'_>,
) -> Value {
    let mut schema = match &of.kind {
        TypeKind::Opaque(opaque) => opaque_schema(*opaque, dialect),
        _ => structure(of, dialect, options),
    };
    if let Some(text) = options.documentation.of(of) {
        set(&mut schema, "description", text);
    }
    let kinds = kinds(of, registered);
    if !kinds.is_empty() {
        set(&mut schema, "x-kubernetes-group-version-kind", Value::list(kinds));
    }
    schema
}

fn structure(of: &'static Type, dialect: Dialect, options: &Options<'_>) -> Value {
    let mut schema = object([("type", Value::literal("object"))]);
    let Some(structure) = of.structure() else { return schema };
    let mut properties = Vec::with_capacity(structure.flat.len());
    let mut required = Vec::new();
    for field in structure.flat {
        properties.push((field.name.to_owned(), property(of, field, dialect, options)));
        if field.required {
            required.push(Value::literal(field.name));
        }
    }
    if !properties.is_empty() {
        set(&mut schema, "properties", map(properties));
    }
    if !required.is_empty() {
        set(&mut schema, "required", Value::list(required));
    }
    if structure.atomic {
        set(&mut schema, "x-kubernetes-map-type", Value::literal("atomic"));
    }
    if structure.union {
        set(&mut schema, "x-kubernetes-unions", Value::list(vec![union(structure.flat)]));
    }
    schema
}

/// Which choice each optional field stands for, and the field that names the choice if there is one.
fn union(fields: &[&'static Field]) -> Value {
    let discriminator = fields.iter().find(|field| field.discriminator).map(|field| field.name);
    let choices = fields.iter().filter(|field| field.optional && !field.discriminator);
    let choices = choices.map(|field| (field.name.to_owned(), title(field.name).into()));
    object([("discriminator", optional(discriminator)), ("fields-to-discriminateBy", map(choices.collect()))])
}

fn property(of: &'static Type, field: &Field, dialect: Dialect, options: &Options<'_>) -> Value {
    let mut extras: Vec<(&'static str, Value)> = Vec::new();
    let about = options.documentation.field(of, field.name).unwrap_or_default();
    let about = match enum_values(field.shape).filter(|_| options.enums) {
        Some(values) => with_values(about, values),
        None => about.to_owned(),
    };
    if !about.is_empty() {
        extras.push(("description", about.into()));
    }
    if dialect == Dialect::V3 {
        let default = match field.default() {
            Some(text) => decode_any(text.as_bytes()).map_or(Value::NULL, |decoded| decoded.value),
            None => default(field.shape, field.omit_empty),
        };
        if !default.is_null() {
            extras.push(("default", default));
        }
    }
    if let Some(list) = field.list {
        let list = match list {
            ListType::Atomic => "atomic",
            ListType::Set => "set",
            ListType::Map => "map",
        };
        extras.push(("x-kubernetes-list-type", Value::literal(list)));
    }
    if !field.keys().is_empty() {
        extras.push(("x-kubernetes-list-map-keys", texts(field.keys())));
    }
    if field.atomic || field.granular {
        let map = if field.atomic { "atomic" } else { "granular" };
        extras.push(("x-kubernetes-map-type", Value::literal(map)));
    }
    if let Some(patch) = field.patch() {
        if !patch.strategies.is_empty() {
            extras.push(("x-kubernetes-patch-strategy", patch.strategies.join(",").into()));
        }
        if let Some(key) = patch.merge_key {
            extras.push(("x-kubernetes-patch-merge-key", Value::literal(key)));
        }
    }
    with(shape(field.shape, dialect, options), extras, dialect)
}

/// Returns the values of an enum, also behind a pointer.
fn enum_values(of: Shape) -> Option<&'static [&'static str]> {
    match of {
        Shape::Pointer(of) => enum_values(*of),
        Shape::Named(Type { kind: TypeKind::Alias { values, .. }, .. }) if !values.is_empty() => Some(values),
        _ => None,
    }
}

/// Appends the paragraph in which the reference lists the values of an enum, which `kubectl explain` shows.
fn with_values(about: &str, values: &[&str]) -> String {
    let mut text = about.to_owned();
    text.push_str(if about.is_empty() { "Possible enum values:" } else { "\n\nPossible enum values:" });
    for value in values {
        text.push_str("\n - `");
        text.push_str(&quote(value));
        text.push('`');
    }
    text
}

/// A schema with more beside it. In version 3 nothing may stand beside a reference, so that it is wrapped.
pub(crate) fn with(mut schema: Value, extras: Vec<(&'static str, Value)>, dialect: Dialect) -> Value {
    if dialect == Dialect::V3 && !extras.is_empty() && schema.get("$ref").is_some() {
        schema = object([("allOf", Value::list(vec![schema]))]);
    }
    for (key, value) in extras {
        set(&mut schema, key, value);
    }
    schema
}

fn shape(of: Shape, dialect: Dialect, options: &Options<'_>) -> Value {
    if let Some(of) = renamed(of) {
        return dialect.reference(of);
    }
    let mut schema = match of.underlying() {
        Shape::Pointer(of) => shape(*of, dialect, options),
        Shape::Named(of) => dialect.reference(of),
        Shape::List(of) => {
            object([("type", Value::literal("array")), ("items", element(*of, dialect, options))])
        }
        Shape::Map(_, of) => object([
            ("type", Value::literal("object")),
            ("additionalProperties", element(*of, dialect, options)),
        ]),
        Shape::Bytes => object([("type", Value::literal("string")), ("format", Value::literal("byte"))]),
        Shape::Scalar(scalar) => {
            let (name, format) = scalar_type(scalar);
            object([("type", optional(name)), ("format", optional(format))])
        }
    };
    if let Shape::Named(Type { kind: TypeKind::Alias { values, .. }, .. }) = of
        && options.enums
        && !values.is_empty()
    {
        set(&mut schema, "enum", texts(values));
    }
    schema
}

fn element(of: Shape, dialect: Dialect, options: &Options<'_>) -> Value {
    let schema = shape(of, dialect, options);
    let default = match dialect {
        Dialect::V2 => Value::NULL,
        Dialect::V3 => default(of, false),
    };
    let extras = if default.is_null() { Vec::new() } else { vec![("default", default)] };
    with(schema, extras, dialect)
}

pub(crate) fn scalar_type(scalar: Scalar) -> (Option<&'static str>, Option<&'static str>) {
    match scalar {
        Scalar::String => (Some("string"), None),
        Scalar::Bool => (Some("boolean"), None),
        Scalar::Int32 => (Some("integer"), Some("int32")),
        Scalar::Int64 => (Some("integer"), Some("int64")),
        Scalar::Float64 => (Some("number"), Some("double")),
        Scalar::Any => (None, None),
    }
}

/// Returns Go's zero value of a field, if it is not null.
fn default(of: Shape, omit_empty: bool) -> Value {
    match of.underlying() {
        Shape::Scalar(_) if omit_empty => Value::NULL,
        Shape::Scalar(scalar) => match scalar {
            Scalar::String => Value::literal(""),
            Scalar::Bool => false.into(),
            Scalar::Int32 | Scalar::Int64 | Scalar::Float64 => 0i64.into(),
            Scalar::Any => Value::NULL,
        },
        named @ Shape::Named(_) if named.structure().is_some() => empty(),
        _ => Value::NULL,
    }
}

fn opaque_schema(opaque: Opaque, dialect: Dialect) -> Value {
    let of = |name| object([("type", Value::literal(name))]);
    let either = |first, second| object([("oneOf", Value::list(vec![of(first), of(second)]))]);
    let formatted = |mut schema: Value, format| {
        set(&mut schema, "format", Value::literal(format));
        schema
    };
    match (opaque, dialect) {
        (Opaque::Time | Opaque::MicroTime, _) => formatted(of("string"), "date-time"),
        (Opaque::Duration | Opaque::GroupVersion, _) | (Opaque::Quantity, Dialect::V2) => of("string"),
        (Opaque::Quantity, Dialect::V3) => either("string", "number"),
        (Opaque::IntOrString, Dialect::V2) => formatted(of("string"), "int-or-string"),
        (Opaque::IntOrString, Dialect::V3) => formatted(either("integer", "string"), "int-or-string"),
        (Opaque::FieldsV1 | Opaque::RawExtension, _) => of("object"),
        (
            Opaque::JSON
            | Opaque::JSONSchemaPropsOrArray
            | Opaque::JSONSchemaPropsOrBool
            | Opaque::JSONSchemaPropsOrStringArray,
            _,
        ) => empty(),
    }
}

/// Groups whose types client-go's scheme lacks.
const NOT_IN_CLIENTS: [&str; 4] =
    ["admission.k8s.io", "apiextensions.k8s.io", "apiregistration.k8s.io", "imagepolicy.k8s.io"];

/// The kinds that a type is.
fn kinds(of: &'static Type, registered: Registered<'_>) -> Vec<Value> {
    let kind = |group: &str, version: &str| {
        let found = find_kind(group, version, of.kind_name()) == Some(of);
        found.then(|| group_version_kind(group, version, of.kind_name()))
    };
    if !of.name.starts_with("meta/") {
        return kind(&of.group(), of.version()).into_iter().collect();
    }
    if let Registered::Own(group, version) = registered {
        let core = ("", "v1");
        let versions = if (group, version) == core { vec![core] } else { vec![core, (group, version)] };
        return versions.into_iter().filter_map(|(group, version)| kind(group, version)).collect();
    }
    // The discovery documents have a scheme of their own, without options.
    let other = |name: &str| name.starts_with("meta/") || name.starts_with("apidiscovery/");
    let mut versions: Vec<(String, &'static str)> = types()
        .iter()
        .filter(|of| of.name.contains('/') && !other(of.name))
        .map(|of| (of.group().into_owned(), of.version()))
        .collect();
    versions.sort();
    versions.dedup();
    let is_listed =
        |group: &str| matches!(registered, Registered::Server) || !NOT_IN_CLIENTS.contains(&group);
    versions
        .iter()
        .filter(|(group, version)| is_listed(group) && has_version(group, version))
        .filter_map(|(group, version)| kind(group, version))
        .collect()
}

pub(crate) fn group_version_kind(group: &str, version: &str, kind: &str) -> Value {
    object([("group", group.into()), ("version", version.into()), ("kind", kind.into())])
}
