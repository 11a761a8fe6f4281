//! Ownership in custom resources, by the schema of their definition.
//!
//! The schema of kind, apiVersion and metadata is ignored: every object, also an embedded one, has them as built-in
//! kinds do. Preserved unknown fields are so down to the leaves, whatever the schema specifies below. A node without
//! a type allows any.

use std::sync::LazyLock;

use pintle_meta::Value;
use pintle_schema::structural::{Additional, Json, Structural};
use pintle_schema::{ListType, Scalar, Shape, Type, find};

use super::atom::{Atom, Fields, Leaf, List, Map, Relation, TypeRef};
use super::keys::Keys;

/// Node of a structural schema, with the properties inherited from its ancestors.
#[derive(Clone, Copy, Debug)]
pub struct Custom<'t> {
    node: &'t Structural,
    /// Whether it has kind, apiVersion and metadata.
    is_object: bool,
    /// Whether unknown fields are preserved, here or above.
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

    /// Returns the type of a field that the schema specifies, or that every object has.
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
