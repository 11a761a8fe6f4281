//! Types and how they refer to each other.

use std::collections::HashMap;

/// All types, each known by a number.
#[derive(Debug, Default)]
pub struct Graph {
    pub(crate) types: Vec<(&'static str, Type)>,
    pub(crate) names: HashMap<&'static str, TypeId>,
}

/// A type's place in its graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TypeId(pub(crate) u32);

#[derive(Debug, PartialEq, Eq)]
pub enum Type {
    Struct(Struct),
    /// Another name for a shape, perhaps with the only values it may have.
    Alias {
        of: Shape,
        values: Vec<&'static str>,
        atomic: bool,
    },
    /// Writes its own JSON, in a form that only code knows: times, quantities, numbers or strings.
    Opaque,
}

#[derive(Debug, PartialEq, Eq)]
pub struct Struct {
    /// In the order of the declaration, which is the order of the JSON.
    pub fields: Vec<Field>,
    /// Owned and replaced as a whole by server-side apply.
    pub atomic: bool,
}

#[derive(Debug, PartialEq, Eq)]
pub struct Field {
    /// In JSON; empty for an inline field, whose own fields stand in its place.
    pub name: &'static str,
    /// In protobuf; `None` where it is not sent there.
    pub number: Option<u32>,
    pub shape: Shape,
    pub omit_empty: bool,
    pub omit_zero: bool,
    pub optional: bool,
    pub list: Option<ListType>,
    /// The fields that tell the items of a [`ListType::Map`] apart.
    pub keys: Vec<&'static str>,
    /// A map or struct that server-side apply owns as a whole.
    pub atomic: bool,
    pub patch: Option<Patch>,
    /// A JSON value.
    pub default: Option<&'static str>,
}

impl Field {
    pub fn is_inline(&self) -> bool {
        self.name.is_empty()
    }
}

/// What a field holds, as Go declares it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shape {
    Scalar(Scalar),
    /// Base64 in JSON.
    Bytes,
    Named(TypeId),
    Pointer(Box<Shape>),
    List(Box<Shape>),
    Map(Box<Shape>, Box<Shape>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scalar {
    String,
    Bool,
    Int32,
    /// Also Go's `int`.
    Int64,
    Uint32,
    Uint64,
    Float32,
    Float64,
    /// Anything that JSON has.
    Any,
}

/// How server-side apply merges a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListType {
    Atomic,
    Set,
    Map,
}

/// How a strategic merge patch treats a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Patch {
    pub strategies: Vec<&'static str>,
    pub merge_key: Option<&'static str>,
}

impl Graph {
    /// The type of a name such as `core/v1.Pod`.
    pub fn find(&self, name: &str) -> Option<TypeId> {
        self.names.get(name).copied()
    }

    /// The type at a place that this graph gave out.
    pub fn get(&self, id: TypeId) -> Option<&Type> {
        self.types.get(id.0 as usize).map(|(_, found)| found)
    }

    /// What a shape is in the end, through names for names: a struct or an opaque type by name, or no name at all.
    pub fn underlying<'a>(&'a self, shape: &'a Shape) -> &'a Shape {
        let mut shape = shape;
        // No chain of names is longer than there are names, unless it goes in a circle.
        for _ in 0..=self.types.len() {
            match shape {
                Shape::Named(id) => match self.get(*id) {
                    Some(Type::Alias { of, .. }) => shape = of,
                    _ => return shape,
                },
                _ => return shape,
            }
        }
        shape
    }

    /// The struct that a shape is in the end.
    pub fn structure<'a>(&'a self, shape: &'a Shape) -> Option<&'a Struct> {
        match self.underlying(shape) {
            Shape::Named(id) => match self.get(*id)? {
                Type::Struct(found) => Some(found),
                _ => None,
            },
            _ => None,
        }
    }

    /// The field of a JSON name, also where it stands in an inline field.
    pub fn field<'a>(&'a self, of: &'a Struct, name: &str) -> Option<&'a Field> {
        of.fields.iter().find_map(|field| match field.is_inline() {
            true => self.field(self.structure(&field.shape)?, name),
            false => (field.name == name).then_some(field),
        })
    }

    pub fn name(&self, id: TypeId) -> &'static str {
        self.types.get(id.0 as usize).map_or("", |(name, _)| name)
    }

    pub fn len(&self) -> usize {
        self.types.len()
    }

    pub fn is_empty(&self) -> bool {
        self.types.is_empty()
    }

    pub fn iter(&self) -> impl Iterator<Item = (&'static str, &Type)> {
        self.types.iter().map(|(name, found)| (*name, found))
    }
}
