//! Custom resources, which are owned as the schema of their definition says.
//!
//! What the schema says of kind, version and metadata does not count: every object has them as built-in ones do, and so
//! does every object that is embedded in one. Unknown fields that are preserved are so down to the leaves, whatever the
//! schema names on the way. A node that says no type may be anything.

use std::sync::LazyLock;

use pintle_meta::Value;
use pintle_schema::structural::{Additional, Json, Structural};
use pintle_schema::{ListType, Scalar, Shape, Type, find};

use super::atom::{Atom, Fields, Leaf, List, Map, Relation, TypeRef};
use super::keys::Keys;

/// A node of a structural schema, and what counts of the nodes above it.
#[derive(Clone, Copy, Debug)]
pub struct Custom<'t> {
    node: &'t Structural,
    /// It has kind, version and metadata.
    is_object: bool,
    /// Here or above, unknown fields are preserved.
    preserves: bool,
}

static METADATA: LazyLock<Option<&'static Type>> = LazyLock::new(|| find("meta/v1.ObjectMeta"));

impl<'t> Custom<'t> {
    pub(super) fn root(node: &'t Structural) -> Custom<'t> {
        Custom { node, is_object: true, preserves: node.preserves_unknown }
    }

    fn below(self, node: &'t Structural) -> TypeRef<'t> {
        let preserves = self.preserves || node.preserves_unknown;
        TypeRef::Custom(Custom { node, is_object: node.embedded, preserves })
    }

    pub(super) fn atom(self) -> Atom<'t> {
        let format = || self.node.validation.as_ref().and_then(|asked| asked.format.as_deref());
        match self.node.kind {
            None => Atom { scalar: Some(Leaf::Any), list: Some(self.list()), map: Some(self.map()) },
            Some(Json::Object) => Atom { map: Some(self.map()), ..Atom::default() },
            Some(Json::Array) => Atom { list: Some(self.list()), ..Atom::default() },
            Some(Json::Integer | Json::Number) => Atom::of_leaf(Leaf::Number),
            Some(Json::Boolean) => Atom::of_leaf(Leaf::Bool),
            Some(Json::String) => Atom::of_leaf(match format() {
                None | Some("byte") => Leaf::String,
                Some(_) => Leaf::Any,
            }),
        }
    }

    fn list(self) -> List<'t> {
        let relation = match self.node.list {
            None | Some(ListType::Atomic) => Relation::Atomic,
            Some(ListType::Set) => Relation::Set,
            Some(ListType::Map) => Relation::Keys(Keys::Custom(&self.node.list_keys)),
        };
        let items = self.node.items.as_deref().map_or(TypeRef::Untyped, |items| self.below(items));
        List { relation, items }
    }

    fn map(self) -> Map<'t> {
        let is_named = self.is_object || !self.node.properties.is_empty();
        let values = match &self.node.additional {
            None => (self.preserves || !is_named).then_some(TypeRef::Deduced),
            Some(Additional::Bool(allowed)) => allowed.then_some(TypeRef::Deduced),
            Some(Additional::Schema(schema)) => Some(self.below(schema)),
        };
        let fields = if is_named { Fields::Custom(self) } else { Fields::None };
        Map { atomic: self.node.atomic_map, fields, values }
    }

    /// The type of a field that the schema names, or that every object has.
    pub(super) fn type_of(self, name: &str) -> Option<TypeRef<'t>> {
        if self.is_object {
            match name {
                "apiVersion" | "kind" => return Some(TypeRef::of_shape(Shape::Scalar(Scalar::String))),
                "metadata" => return Some(METADATA.map_or(TypeRef::Deduced, TypeRef::from)),
                _ => {}
            }
        }
        self.node.property(name).map(|node| self.below(node))
    }

    pub(super) fn default_of(self, name: &str) -> Option<Value> {
        if self.is_object && matches!(name, "apiVersion" | "kind" | "metadata") {
            return None;
        }
        self.node.property(name)?.default.clone().filter(|default| !default.is_null())
    }
}
