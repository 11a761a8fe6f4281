//! JSON view of an internal Go value, built from an object of the storage version, field by field of the internal
//! type.

use pintle_meta::{Node, Value};

use super::facts::{self, Field, Internal, JsonType, Shape, Source};
use crate::graph::{self, Scalar};
use crate::normal;

/// Go value in JSON's view. Owned if the object has no counterpart.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Go {
    Null,
    List(Vec<Go>),
    Struct(Vec<(&'static str, Go)>),
    /// Sorted by key.
    Map(Vec<(String, Go)>),
    /// Value that is the same in both versions: scalars, and types without an internal counterpart.
    Tree(Value),
    /// JSON that Go decodes and encodes again: keys sorted, numbers reformatted.
    Decoded(Value),
}

/// Builds the value of a shape. `outer` is the object that contains the value.
pub(super) fn build(shape: &Shape, value: Option<&Value>, outer: Option<&Value>) -> Go {
    let value = value.filter(|value| !value.is_null());
    let value = value.filter(|value| value.node() != Node::Hollow || is_hollow_shape(shape));
    match shape {
        Shape::Pointer(of) => match value {
            Some(value) => build(of, Some(value), outer),
            None => Go::Null,
        },
        Shape::List(of) => match value.map(Value::node) {
            Some(Node::List(items)) => {
                Go::List(items.iter().map(|item| build(of, Some(item), None)).collect())
            }
            Some(Node::Hollow) => Go::List(Vec::new()),
            _ => Go::Null,
        },
        Shape::Map(_, of) => match value.map(Value::node) {
            Some(Node::Object(map)) => Go::Map(
                map.iter().map(|(key, value)| (key.to_owned(), build(of, Some(value), None))).collect(),
            ),
            Some(Node::Hollow) => Go::Map(Vec::new()),
            _ => Go::Null,
        },
        Shape::Bytes => value.map_or(Go::Null, |value| Go::Tree(value.clone())),
        Shape::Scalar(Scalar::Any) => value.map_or(Go::Null, |value| Go::Decoded(value.clone())),
        Shape::Scalar(scalar) => tree(value, graph::Shape::Scalar(*scalar)),
        Shape::Versioned(named) => tree(value, graph::Shape::Named(named)),
        Shape::Internal(name) => match facts::find(name) {
            Some(Internal::Alias(of)) => build(of, value, outer),
            Some(Internal::Struct(fields)) => {
                let mut found = Vec::with_capacity(fields.len());
                push_fields(fields, value, outer, &mut found);
                Go::Struct(found)
            }
            None => Go::Null,
        },
    }
}

/// Whether a value of the shape may be hollow. A struct is not: where one is absent although the client sent an empty one, it was
/// dropped since, as the field of a feature that is off.
fn is_hollow_shape(shape: &Shape) -> bool {
    match shape {
        Shape::Pointer(of) => is_hollow_shape(of),
        Shape::Internal(name) => {
            matches!(facts::find(name), Some(Internal::Alias(of)) if is_hollow_shape(of))
        }
        Shape::Versioned(named) => named.structure().is_none(),
        Shape::List(_) | Shape::Map(..) | Shape::Bytes | Shape::Scalar(_) => true,
    }
}

fn tree(value: Option<&Value>, shape: graph::Shape) -> Go {
    Go::Tree(value.cloned().unwrap_or_else(|| normal::zero(shape)))
}

fn push_fields(
    fields: &'static [Field],
    object: Option<&Value>,
    outer: Option<&Value>,
    out: &mut Vec<(&'static str, Go)>,
) {
    for field in fields {
        let value = match field.source {
            Source::Name(name) => object.and_then(|object| object.get(name)),
            Source::Outer(name) => outer.and_then(|outer| outer.get(name)),
            Source::Same => object,
            Source::Itself(of) => object.filter(|object| has_type(object, of)),
            Source::Nowhere => None,
        };
        if field.embedded {
            embed(field, value, outer, out);
            continue;
        }
        let built = match (&field.shape, field.source, value) {
            // A schema in place of a bool allows additional values.
            (_, Source::Itself(JsonType::Bool), Some(value)) => {
                Go::Tree(value.as_bool().unwrap_or(true).into())
            }
            (Shape::Pointer(of), _, None) if field.set => build(of, None, object),
            (shape, _, value) => build(shape, value, object),
        };
        out.push((field.name, built));
    }
}

fn embed(
    field: &'static Field,
    value: Option<&Value>,
    outer: Option<&Value>,
    out: &mut Vec<(&'static str, Go)>,
) {
    match &field.shape {
        Shape::Internal(name) => {
            if let Some(Internal::Struct(fields)) = facts::find(name) {
                push_fields(fields, value, outer, out);
            }
        }
        // Its fields have tags, so the tree is its JSON view.
        Shape::Versioned(named) => {
            let fields = named.structure().map(|found| found.layout.names).unwrap_or_default();
            let value = value.cloned().unwrap_or_else(|| normal::zero(graph::Shape::Named(named)));
            let present = fields.iter().filter_map(|name| Some((*name, value.get(name)?)));
            // With `omitempty`.
            let present = present.filter(|(_, value)| value.node() != Node::Hollow);
            let present = present.map(|(name, value)| (name, Go::Tree(value.clone())));
            out.extend(present.filter(|_| field.source != Source::Nowhere));
        }
        _ => {}
    }
}

fn has_type(value: &Value, of: JsonType) -> bool {
    match of {
        JsonType::Object => value.as_object().is_some(),
        JsonType::List => value.as_list().is_some(),
        JsonType::Bool => true,
    }
}
