//! The graph of built-in types.

use std::sync::OnceLock;

use pintle_meta::Value;
use pintle_meta::value::Layout;

use crate::tables::TYPES;

/// A built-in type. There is one instance of each, so that types are compared by address.
#[derive(Debug)]
pub struct Type {
    /// Such as `core/v1.Pod`.
    pub name: &'static str,
    /// Index among all types, sorted by name; for tables by type.
    pub index: usize,
    pub kind: TypeKind,
}

#[derive(Debug)]
pub enum TypeKind {
    Struct(Struct),
    /// Named shape, possibly an enum.
    Alias {
        of: Shape,
        values: &'static [&'static str],
        atomic: bool,
    },
    /// Type with its own JSON encoding, implemented in code.
    Opaque(Opaque),
}

/// Types with their own JSON encoding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opaque {
    Time,
    MicroTime,
    Duration,
    Quantity,
    IntOrString,
    /// Object with owned fields, stored as raw JSON.
    FieldsV1,
    /// Any object, stored as raw JSON.
    RawExtension,
    /// Any JSON, stored raw.
    JSON,
    JSONSchemaPropsOrArray,
    JSONSchemaPropsOrBool,
    JSONSchemaPropsOrStringArray,
    /// String `group/version`, not part of any served type.
    GroupVersion,
}

#[derive(Debug)]
pub struct Struct {
    /// Fields in declaration order, as in protobuf.
    pub fields: &'static [Field],
    /// Fields in JSON's order; an inline field is replaced by its own fields.
    pub flat: &'static [&'static Field],
    /// Names of `flat`.
    pub layout: Layout,
    /// Indexes into `flat`, sorted by name.
    pub by_name: &'static [u16],
    /// Indexes into `fields` of those with a protobuf number, sorted by number.
    pub by_number: &'static [u16],
    /// Owned and replaced as a whole by server-side apply.
    pub atomic: bool,
    /// Union: at most one of its optional fields is set; a discriminator may name it.
    pub union: bool,
    /// The zero value, computed on first use and shared.
    pub(crate) zero: OnceLock<Value>,
}

#[derive(Debug)]
pub struct Field {
    /// JSON name; empty for an inline field.
    pub name: &'static str,
    /// Protobuf number; `None` if it is not encoded.
    pub number: Option<u32>,
    pub shape: Shape,
    pub omit_empty: bool,
    pub omit_zero: bool,
    pub optional: bool,
    /// Required in OpenAPI: marked as such, or not marked as optional.
    pub required: bool,
    /// Discriminator of a union.
    pub discriminator: bool,
    pub list: Option<ListType>,
    /// Map or struct that server-side apply owns as a whole.
    pub atomic: bool,
    /// Map or struct whose fields are owned separately, even if its type is atomic.
    pub granular: bool,
    /// Properties that few fields have.
    pub(crate) more: Option<&'static More>,
    /// Index in the `flat` of its own struct; for an inline field, that of its first field.
    pub flat_index: u16,
}

/// Properties that few of the thousands of fields have, kept apart to save memory.
#[derive(Debug)]
pub(crate) struct More {
    pub(crate) keys: &'static [&'static str],
    pub(crate) patch: Option<Patch>,
    pub(crate) default: Option<&'static str>,
}

/// Go shape of a field's value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Shape {
    Scalar(Scalar),
    /// Base64 in JSON.
    Bytes,
    Named(&'static Type),
    Pointer(&'static Shape),
    List(&'static Shape),
    Map(&'static Shape, &'static Shape),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scalar {
    String,
    Bool,
    Int32,
    Int64,
    Float64,
    /// Any JSON value.
    Any,
}

/// List semantics of server-side apply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListType {
    Atomic,
    Set,
    Map,
}

/// Strategic merge patch directives of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patch {
    pub strategies: &'static [&'static str],
    pub merge_key: Option<&'static str>,
}

/// Returns every built-in type, sorted by name.
pub fn types() -> &'static [&'static Type] {
    &TYPES
}

/// Returns the type of a name such as `core/v1.Pod`.
pub fn find(name: &str) -> Option<&'static Type> {
    TYPES.binary_search_by_key(&name, |found| found.name).ok().map(|index| TYPES[index])
}

impl PartialEq for Type {
    fn eq(&self, other: &Type) -> bool {
        self.index == other.index
    }
}

impl Eq for Type {}

impl Type {
    pub fn structure(&'static self) -> Option<&'static Struct> {
        Shape::Named(self).structure()
    }

    /// Returns Go's name of the type: `v1.Pod`, `resource.Quantity`.
    pub fn go_name(&self) -> &'static str {
        self.name.rsplit('/').next().unwrap_or(self.name)
    }
}

impl Shape {
    /// Resolves aliases: returns a struct or an opaque type by name, or an unnamed shape.
    pub fn underlying(self) -> Shape {
        let mut shape = self;
        while let Shape::Named(Type { kind: TypeKind::Alias { of, .. }, .. }) = shape {
            shape = *of;
        }
        shape
    }

    /// Returns the struct that a shape resolves to.
    pub fn structure(self) -> Option<&'static Struct> {
        match self.underlying() {
            Shape::Named(Type { kind: TypeKind::Struct(found), .. }) => Some(found),
            _ => None,
        }
    }

    /// Returns the opaque type that a shape resolves to.
    pub fn opaque(self) -> Option<Opaque> {
        match self.underlying() {
            Shape::Named(Type { kind: TypeKind::Opaque(found), .. }) => Some(*found),
            _ => None,
        }
    }

    /// Returns Go's name of the shape: `*v1.Pod`, `[]string`, `map[string]resource.Quantity`.
    pub fn go_name(self) -> String {
        match self {
            Shape::Scalar(scalar) => scalar.go_name().into(),
            Shape::Bytes => "[]uint8".into(),
            Shape::Named(named) => named.go_name().into(),
            Shape::Pointer(of) => format!("*{}", of.go_name()),
            Shape::List(of) => format!("[]{}", of.go_name()),
            Shape::Map(key, value) => format!("map[{}]{}", key.go_name(), value.go_name()),
        }
    }
}

impl Scalar {
    pub fn go_name(self) -> &'static str {
        match self {
            Scalar::String => "string",
            Scalar::Bool => "bool",
            Scalar::Int32 => "int32",
            Scalar::Int64 => "int64",
            Scalar::Float64 => "float64",
            Scalar::Any => "interface {}",
        }
    }
}

impl Field {
    /// Returns the keys of a [`ListType::Map`].
    pub fn keys(&self) -> &'static [&'static str] {
        self.more.map_or(&[], |more| more.keys)
    }

    /// Returns the strategic merge patch directives.
    pub fn patch(&self) -> Option<&'static Patch> {
        self.more.and_then(|more| more.patch.as_ref())
    }

    /// Returns the default, a JSON value.
    pub fn default(&self) -> Option<&'static str> {
        self.more.and_then(|more| more.default)
    }

    pub fn is_inline(&self) -> bool {
        self.name.is_empty()
    }
}

impl Struct {
    /// Returns the index in `flat` of a JSON name.
    pub fn position(&self, name: &str) -> Option<usize> {
        let found =
            self.by_name.binary_search_by_key(&name, |index| self.flat[usize::from(*index)].name).ok()?;
        Some(usize::from(self.by_name[found]))
    }

    /// Returns the field of a JSON name, also of an inline field.
    pub fn field(&self, name: &str) -> Option<&'static Field> {
        self.position(name).map(|index| self.flat[index])
    }

    /// Returns the field of a protobuf number.
    pub fn numbered(&self, number: u32) -> Option<&'static Field> {
        let of = |index: &u16| self.fields[usize::from(*index)].number;
        let found = self.by_number.binary_search_by_key(&Some(number), of).ok()?;
        Some(&self.fields[usize::from(self.by_number[found])])
    }
}
