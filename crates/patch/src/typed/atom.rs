//! Types of values in a tree, and the ownership that follows from them.

use pintle_codec::json;
use pintle_meta::{Node, Value};
use pintle_schema::normal::zero;
use pintle_schema::structural::Structural;
use pintle_schema::{Field, ListType, Opaque, Scalar, Shape, Struct, Type, TypeKind};

use super::custom::Custom;
use super::keys::Keys;

/// Type of a value in a tree.
#[derive(Clone, Copy, Debug)]
pub enum TypeRef<'t> {
    /// Value of a built-in type. Its field determines the ownership of lists and maps; items have none.
    Builtin { shape: Shape, field: Option<&'static Field> },
    /// Custom resource, or a part of it, by the schema of its definition.
    Custom(Custom<'t>),
    /// Type deduced from the value: objects by field, everything else as a whole; for custom resources without a
    /// schema.
    Deduced,
    /// Any value, owned as a whole.
    Untyped,
}

/// Allowed values of a type, and their ownership.
#[derive(Clone, Copy, Debug, Default)]
pub struct Atom<'t> {
    pub scalar: Option<Leaf>,
    pub list: Option<List<'t>>,
    pub map: Option<Map<'t>>,
}

/// Allowed type of a scalar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leaf {
    Number,
    String,
    Bool,
    /// Any scalar.
    Any,
}

#[derive(Clone, Copy, Debug)]
pub struct List<'t> {
    pub relation: Relation<'t>,
    pub items: TypeRef<'t>,
}

/// Identity of list items.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation<'t> {
    /// None: the list is one value.
    Atomic,
    /// The item's value.
    Set,
    /// Some of the item's fields.
    Keys(Keys<'t>),
}

/// Struct or map.
#[derive(Clone, Copy, Debug)]
pub struct Map<'t> {
    pub atomic: bool,
    /// Declared fields.
    pub fields: Fields<'t>,
    /// Type of all other entries; `None` if there are no others.
    pub values: Option<TypeRef<'t>>,
}

/// Declared fields of a struct.
#[derive(Clone, Copy, Debug)]
pub enum Fields<'t> {
    /// Entries only.
    None,
    Builtin(&'static Struct),
    Custom(Custom<'t>),
}

/// Which of an atom's alternatives a value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Alternative {
    Map,
    Scalar,
    List,
}

impl From<&'static Type> for TypeRef<'_> {
    fn from(of: &'static Type) -> Self {
        TypeRef::of_shape(Shape::Named(of))
    }
}

impl<'t> TypeRef<'t> {
    /// Returns the type of a definition's objects, by the schema of one of its versions.
    pub fn custom(root: &'t Structural) -> TypeRef<'t> {
        TypeRef::Custom(Custom::root(root))
    }

    pub(super) fn of_shape(shape: Shape) -> TypeRef<'t> {
        TypeRef::Builtin { shape, field: None }
    }

    pub(super) fn of_field(field: &'static Field) -> TypeRef<'t> {
        TypeRef::Builtin { shape: field.shape, field: Some(field) }
    }

    /// Returns the built-in type, if it is a named one.
    pub fn named(self) -> Option<&'static Type> {
        match self {
            TypeRef::Builtin { shape: Shape::Named(of), .. } => Some(of),
            _ => None,
        }
    }

    pub fn atom(self) -> Atom<'t> {
        match self {
            TypeRef::Deduced => Atom {
                scalar: Some(Leaf::Any),
                list: Some(List { relation: Relation::Atomic, items: TypeRef::Untyped }),
                map: Some(Map { atomic: false, fields: Fields::None, values: Some(TypeRef::Deduced) }),
            },
            TypeRef::Untyped => Atom {
                scalar: Some(Leaf::Any),
                list: Some(List { relation: Relation::Atomic, items: TypeRef::Untyped }),
                map: Some(Map { atomic: true, fields: Fields::None, values: Some(TypeRef::Untyped) }),
            },
            TypeRef::Builtin { shape, field } => builtin(shape, field),
            TypeRef::Custom(of) => of.atom(),
        }
    }

    /// Returns the default of a key field that an item does not have.
    pub(super) fn default_of(self, name: &str) -> Option<Value> {
        let field = match self.atom().map?.fields {
            Fields::None => return None,
            Fields::Custom(of) => return of.default_of(name),
            Fields::Builtin(of) => of.field(name)?,
        };
        match field.default() {
            Some(text) => Some(json::decode_any(text.as_bytes()).ok()?.value),
            // A field that Go always writes has its zero value as default.
            None => match field.shape.underlying() {
                Shape::Scalar(scalar) if !field.omit_empty && scalar != Scalar::Any => {
                    Some(zero(field.shape))
                }
                _ => None,
            },
        }
    }
}

fn builtin<'t>(shape: Shape, field: Option<&'static Field>) -> Atom<'t> {
    let mut shape = shape;
    // A field may be granular although its type is atomic.
    let said = field.filter(|field| field.atomic || field.granular).map(|field| field.atomic);
    let mut atomic = false;
    loop {
        match shape {
            Shape::Pointer(of) => shape = *of,
            Shape::Named(Type { kind: TypeKind::Alias { of, atomic: whole, .. }, .. }) => {
                atomic |= *whole;
                shape = *of;
            }
            _ => break,
        }
    }
    match shape {
        Shape::Scalar(Scalar::Any) => TypeRef::Deduced.atom(),
        Shape::Scalar(Scalar::String) | Shape::Bytes => Atom::of_leaf(Leaf::String),
        Shape::Scalar(Scalar::Bool) => Atom::of_leaf(Leaf::Bool),
        Shape::Scalar(Scalar::Int32 | Scalar::Int64 | Scalar::Float64) => Atom::of_leaf(Leaf::Number),
        Shape::List(items) => {
            let list = List { relation: relation(field), items: TypeRef::of_shape(*items) };
            Atom { list: Some(list), ..Atom::default() }
        }
        Shape::Map(_, values) => {
            let atomic = said.unwrap_or(atomic);
            let map = Map { atomic, fields: Fields::None, values: Some(TypeRef::of_shape(*values)) };
            Atom { map: Some(map), ..Atom::default() }
        }
        Shape::Named(Type { kind: TypeKind::Struct(of), .. }) => {
            let values = of.flat.is_empty().then_some(TypeRef::Deduced);
            let atomic = said.unwrap_or(atomic || of.atomic);
            let map = Map { atomic, fields: Fields::Builtin(of), values };
            Atom { map: Some(map), ..Atom::default() }
        }
        Shape::Named(Type { kind: TypeKind::Opaque(opaque), .. }) => of_opaque(*opaque),
        // Aliases and pointers were resolved above.
        Shape::Named(_) | Shape::Pointer(_) => TypeRef::Deduced.atom(),
    }
}

fn of_opaque<'t>(opaque: Opaque) -> Atom<'t> {
    match opaque {
        Opaque::Duration | Opaque::GroupVersion => Atom::of_leaf(Leaf::String),
        // Strings with a format, which is not checked here.
        Opaque::Time | Opaque::MicroTime | Opaque::Quantity => Atom::of_leaf(Leaf::Any),
        Opaque::RawExtension => TypeRef::Untyped.atom(),
        Opaque::FieldsV1 => Atom { map: TypeRef::Deduced.atom().map, ..Atom::default() },
        // Schemas without a type, which allow any.
        Opaque::IntOrString
        | Opaque::JSON
        | Opaque::JSONSchemaPropsOrArray
        | Opaque::JSONSchemaPropsOrBool
        | Opaque::JSONSchemaPropsOrStringArray => TypeRef::Deduced.atom(),
    }
}

/// Returns the field's list type, or else the one that its patch strategy implies.
fn relation<'t>(field: Option<&'static Field>) -> Relation<'t> {
    let Some(field) = field else { return Relation::Atomic };
    match field.list {
        Some(ListType::Atomic) => Relation::Atomic,
        Some(ListType::Set) => Relation::Set,
        Some(ListType::Map) => Relation::Keys(Keys::Builtin(field.keys())),
        None => match field.patch() {
            Some(patch) if patch.strategies.contains(&"merge") => match &patch.merge_key {
                Some(key) => Relation::Keys(Keys::Builtin(std::slice::from_ref(key))),
                None => Relation::Set,
            },
            _ => Relation::Atomic,
        },
    }
}

impl<'t> Atom<'t> {
    pub(super) fn of_leaf(leaf: Leaf) -> Atom<'t> {
        Atom { scalar: Some(leaf), ..Atom::default() }
    }

    /// Returns the alternative of a value: its own type if allowed, else any allowed one.
    pub(super) fn alternative(&self, value: &Value) -> Option<Alternative> {
        let is = match value.node() {
            Node::Null => None,
            Node::List(_) => Some(Alternative::List),
            Node::Object(_) => Some(Alternative::Map),
            Node::Raw(raw) => match raw.trim_ascii_start().first() {
                Some(b'[') => Some(Alternative::List),
                Some(b'{') => Some(Alternative::Map),
                Some(b'n') | None => None,
                Some(_) => Some(Alternative::Scalar),
            },
            _ => Some(Alternative::Scalar),
        };
        is.filter(|is| self.allows(*is)).or_else(|| self.widest())
    }

    /// Returns the alternative to try if the value does not determine one.
    pub(super) fn widest(&self) -> Option<Alternative> {
        [Alternative::Map, Alternative::Scalar, Alternative::List]
            .into_iter()
            .find(|alternative| self.allows(*alternative))
    }

    fn allows(&self, alternative: Alternative) -> bool {
        match alternative {
            Alternative::Map => self.map.is_some(),
            Alternative::Scalar => self.scalar.is_some(),
            Alternative::List => self.list.is_some(),
        }
    }
}

impl<'t> Map<'t> {
    /// Returns the type of a field or entry; `None` if there is no such field.
    pub fn type_of(&self, name: &str) -> Option<TypeRef<'t>> {
        self.declared(name).or(self.values)
    }

    /// Returns the type of a declared field; `None` for a map's entry.
    pub(crate) fn declared(&self, name: &str) -> Option<TypeRef<'t>> {
        match self.fields {
            Fields::None => None,
            Fields::Builtin(of) => of.field(name).map(TypeRef::of_field),
            Fields::Custom(of) => of.type_of(name),
        }
    }

    /// Returns whether the name is a declared field, as opposed to a map's entry.
    pub(super) fn is_named(&self, name: &str) -> bool {
        match self.fields {
            Fields::None => false,
            Fields::Builtin(of) => of.field(name).is_some(),
            Fields::Custom(of) => of.type_of(name).is_some(),
        }
    }
}
