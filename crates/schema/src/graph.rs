//! Types and how they refer to each other.

use std::sync::OnceLock;

use pintle_meta::Value;
use pintle_meta::value::Layout;

use crate::tables::TYPES;

/// A built-in type. There is one of each, so that a type is known by its address.
#[derive(Debug)]
pub struct Type {
    /// Such as `core/v1.Pod`.
    pub name: &'static str,
    /// Among all types, sorted by name; an index for tables by type.
    pub place: usize,
    pub kind: Kind,
}

#[derive(Debug)]
pub enum Kind {
    Struct(Struct),
    /// Another name for a shape, perhaps with the only values it may have.
    Alias {
        of: Shape,
        values: &'static [&'static str],
        atomic: bool,
    },
    /// Writes its own JSON, in a form that only code knows.
    Opaque(Opaque),
}

/// The types that write their own JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opaque {
    Time,
    MicroTime,
    Duration,
    Quantity,
    IntOrString,
    /// An object that says which fields are owned; kept as the JSON it came as.
    FieldsV1,
    /// Any object; kept as the JSON it came as.
    RawExtension,
    /// Any JSON; kept as it came.
    JSON,
    JSONSchemaPropsOrArray,
    JSONSchemaPropsOrBool,
    JSONSchemaPropsOrStringArray,
    /// A string `group/version`. Not part of anything served.
    GroupVersion,
}

#[derive(Debug)]
pub struct Struct {
    /// In the order of the declaration. Protobuf sees these.
    pub fields: &'static [Field],
    /// In the order of JSON, which does not see inline fields but their fields in their place.
    pub flat: &'static [&'static Field],
    /// The names of `flat`.
    pub layout: Layout,
    /// Indices into `flat`, sorted by name.
    pub by_name: &'static [u16],
    /// Indices into `fields` of those that protobuf has, sorted by number.
    pub by_number: &'static [u16],
    /// Owned and replaced as a whole by server-side apply.
    pub atomic: bool,
    /// At most one of its optional fields is set; one field may say which.
    pub union: bool,
    /// What it is when nothing was set, once somebody asked; all who need it share it.
    pub(crate) zero: OnceLock<Value>,
}

#[derive(Debug)]
pub struct Field {
    /// In JSON; empty for an inline field, whose own fields stand in its place.
    pub name: &'static str,
    /// In protobuf; `None` where it is not sent there.
    pub number: Option<u32>,
    pub shape: Shape,
    pub omit_empty: bool,
    pub omit_zero: bool,
    pub optional: bool,
    /// As OpenAPI tells clients: it was said, or nothing says that it may be absent.
    pub required: bool,
    /// Says which of the fields of a union is set.
    pub discriminator: bool,
    pub list: Option<ListType>,
    /// A map or struct that server-side apply owns as a whole.
    pub atomic: bool,
    /// A map or struct whose parts have owners of their own, also where its type is atomic.
    pub granular: bool,
    /// What only few have.
    pub(crate) more: Option<&'static More>,
    /// Where it stands in the `flat` of its own struct; for an inline field, where its fields begin there.
    pub place: u16,
}

/// What few fields have, kept apart since there are thousands of fields.
#[derive(Debug)]
pub(crate) struct More {
    pub(crate) keys: &'static [&'static str],
    pub(crate) patch: Option<Patch>,
    pub(crate) default: Option<&'static str>,
}

/// What a field holds, as Go declares it.
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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patch {
    pub strategies: &'static [&'static str],
    pub merge_key: Option<&'static str>,
}

/// Every built-in type, sorted by name.
pub fn types() -> &'static [&'static Type] {
    &TYPES
}

/// The type of a name such as `core/v1.Pod`.
pub fn find(name: &str) -> Option<&'static Type> {
    TYPES.binary_search_by_key(&name, |found| found.name).ok().map(|place| TYPES[place])
}

impl PartialEq for Type {
    fn eq(&self, other: &Type) -> bool {
        self.place == other.place
    }
}

impl Eq for Type {}

impl Type {
    pub fn structure(&'static self) -> Option<&'static Struct> {
        Shape::Named(self).structure()
    }

    /// As Go's messages call it: `v1.Pod`, `resource.Quantity`.
    pub fn go_name(&self) -> &'static str {
        self.name.rsplit('/').next().unwrap_or(self.name)
    }
}

impl Shape {
    /// What a shape is in the end, through names for names: a struct or an opaque type by name, or no name at all.
    pub fn underlying(self) -> Shape {
        let mut shape = self;
        while let Shape::Named(Type { kind: Kind::Alias { of, .. }, .. }) = shape {
            shape = *of;
        }
        shape
    }

    /// The struct that a shape is in the end.
    pub fn structure(self) -> Option<&'static Struct> {
        match self.underlying() {
            Shape::Named(Type { kind: Kind::Struct(found), .. }) => Some(found),
            _ => None,
        }
    }

    /// The opaque type that a shape is in the end.
    pub fn opaque(self) -> Option<Opaque> {
        match self.underlying() {
            Shape::Named(Type { kind: Kind::Opaque(found), .. }) => Some(*found),
            _ => None,
        }
    }

    /// As Go's messages call it: `*v1.Pod`, `[]string`, `map[string]resource.Quantity`.
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
    /// The fields that tell the items of a [`ListType::Map`] apart.
    pub fn keys(&self) -> &'static [&'static str] {
        self.more.map_or(&[], |more| more.keys)
    }

    /// How a strategic merge patch treats it.
    pub fn patch(&self) -> Option<&'static Patch> {
        self.more.and_then(|more| more.patch.as_ref())
    }

    /// A JSON value.
    pub fn default(&self) -> Option<&'static str> {
        self.more.and_then(|more| more.default)
    }

    pub fn is_inline(&self) -> bool {
        self.name.is_empty()
    }
}

impl Struct {
    /// The place in `flat` of the field with a JSON name.
    pub fn position(&self, name: &str) -> Option<usize> {
        let found =
            self.by_name.binary_search_by_key(&name, |place| self.flat[usize::from(*place)].name).ok()?;
        Some(usize::from(self.by_name[found]))
    }

    /// The field of a JSON name, also where it stands in an inline field.
    pub fn field(&self, name: &str) -> Option<&'static Field> {
        self.position(name).map(|place| self.flat[place])
    }

    /// The field of a protobuf number.
    pub fn numbered(&self, number: u32) -> Option<&'static Field> {
        let of = |place: &u16| self.fields[usize::from(*place)].number;
        let found = self.by_number.binary_search_by_key(&Some(number), of).ok()?;
        Some(&self.fields[usize::from(self.by_number[found])])
    }
}
