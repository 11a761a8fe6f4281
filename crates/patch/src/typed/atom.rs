//! What type something is of, and what may be there by that.

use pintle_codec::json;
use pintle_meta::{Node, Value};
use pintle_schema::normal::zero;
use pintle_schema::structural::Structural;
use pintle_schema::{Field, Kind, ListType, Opaque, Scalar, Shape, Struct, Type};

use super::custom::Custom;
use super::keys::Keys;

/// The type of something in a tree.
#[derive(Clone, Copy, Debug)]
pub enum TypeRef<'t> {
    /// What a field of a built-in type holds. The field says how lists and maps are owned; items have none.
    Builtin { shape: Shape, field: Option<&'static Field> },
    /// What a definition says of its objects, or of something in them.
    Custom(Custom<'t>),
    /// Whatever is there: objects by their fields, everything else as a whole. So are custom resources without a schema.
    Deduced,
    /// Whatever is there, as a whole.
    Untyped,
}

/// What may be somewhere, and how it is owned.
#[derive(Clone, Copy, Debug, Default)]
pub struct Atom<'t> {
    pub scalar: Option<Leaf>,
    pub list: Option<List<'t>>,
    pub map: Option<Map<'t>>,
}

/// What a value without parts may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leaf {
    Number,
    String,
    Bool,
    /// Any of them.
    Any,
}

#[derive(Clone, Copy, Debug)]
pub struct List<'t> {
    pub relation: Relation<'t>,
    pub items: TypeRef<'t>,
}

/// How the items of a list are told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation<'t> {
    /// Not at all: the list is one value.
    Atomic,
    /// By what they are.
    Set,
    /// By some of their fields.
    Keys(Keys<'t>),
}

/// A struct or a map.
#[derive(Clone, Copy, Debug)]
pub struct Map<'t> {
    pub atomic: bool,
    /// The fields that have names of their own.
    pub fields: Fields<'t>,
    /// The type of all others; `None` where there may be no others.
    pub values: Option<TypeRef<'t>>,
}

/// The fields that a struct has.
#[derive(Clone, Copy, Debug)]
pub enum Fields<'t> {
    /// Only entries.
    None,
    Builtin(&'static Struct),
    Custom(Custom<'t>),
}

/// Which of its possible forms something has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
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
    /// The objects of a definition, by the schema of one of its versions.
    pub fn custom(root: &'t Structural) -> TypeRef<'t> {
        TypeRef::Custom(Custom::root(root))
    }

    pub(super) fn of_shape(shape: Shape) -> TypeRef<'t> {
        TypeRef::Builtin { shape, field: None }
    }

    pub(super) fn of_field(field: &'static Field) -> TypeRef<'t> {
        TypeRef::Builtin { shape: field.shape, field: Some(field) }
    }

    /// The built-in type, where it is one with a name.
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

    /// What stands for a field of an item that does not have it, when items are told apart by it.
    pub(super) fn default_of(self, name: &str) -> Option<Value> {
        let field = match self.atom().map?.fields {
            Fields::None => return None,
            Fields::Custom(of) => return of.default_of(name),
            Fields::Builtin(of) => of.field(name)?,
        };
        match field.default() {
            Some(text) => Some(json::decode_any(text.as_bytes()).ok()?.value),
            // What is always there in Go has its zero value for a default.
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
    // A field may also say that it is not, although its type is.
    let said = field.filter(|field| field.atomic || field.granular).map(|field| field.atomic);
    let mut atomic = false;
    loop {
        match shape {
            Shape::Pointer(of) => shape = *of,
            Shape::Named(Type { kind: Kind::Alias { of, atomic: whole, .. }, .. }) => {
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
        Shape::Named(Type { kind: Kind::Struct(of), .. }) => {
            let values = of.flat.is_empty().then_some(TypeRef::Deduced);
            let atomic = said.unwrap_or(atomic || of.atomic);
            let map = Map { atomic, fields: Fields::Builtin(of), values };
            Atom { map: Some(map), ..Atom::default() }
        }
        Shape::Named(Type { kind: Kind::Opaque(opaque), .. }) => of_opaque(*opaque),
        // Names and pointers were followed above.
        Shape::Named(_) | Shape::Pointer(_) => TypeRef::Deduced.atom(),
    }
}

fn of_opaque<'t>(opaque: Opaque) -> Atom<'t> {
    match opaque {
        Opaque::Duration | Opaque::GroupVersion => Atom::of_leaf(Leaf::String),
        // Strings of a format, of which nothing more is asked.
        Opaque::Time | Opaque::MicroTime | Opaque::Quantity => Atom::of_leaf(Leaf::Any),
        Opaque::RawExtension => TypeRef::Untyped.atom(),
        Opaque::FieldsV1 => Atom { map: TypeRef::Deduced.atom().map, ..Atom::default() },
        // Schemas that give no type, and so allow any.
        Opaque::IntOrString
        | Opaque::JSON
        | Opaque::JSONSchemaPropsOrArray
        | Opaque::JSONSchemaPropsOrBool
        | Opaque::JSONSchemaPropsOrStringArray => TypeRef::Deduced.atom(),
    }
}

/// What the field says of its list, or else what its patch strategy implies.
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

    /// The form of a value: what it is, if that may be there; else whatever may.
    pub(super) fn form(&self, value: &Value) -> Option<Form> {
        let is = match value.node() {
            Node::Null => None,
            Node::List(_) => Some(Form::List),
            Node::Object(_) => Some(Form::Map),
            Node::Raw(raw) => match raw.trim_ascii_start().first() {
                Some(b'[') => Some(Form::List),
                Some(b'{') => Some(Form::Map),
                Some(b'n') | None => None,
                Some(_) => Some(Form::Scalar),
            },
            _ => Some(Form::Scalar),
        };
        is.filter(|is| self.allows(*is)).or_else(|| self.widest())
    }

    /// What is tried where nothing tells.
    pub(super) fn widest(&self) -> Option<Form> {
        [Form::Map, Form::Scalar, Form::List].into_iter().find(|form| self.allows(*form))
    }

    fn allows(&self, form: Form) -> bool {
        match form {
            Form::Map => self.map.is_some(),
            Form::Scalar => self.scalar.is_some(),
            Form::List => self.list.is_some(),
        }
    }
}

impl<'t> Map<'t> {
    /// The type of a field or entry; `None` where there is no such field.
    pub fn type_of(&self, name: &str) -> Option<TypeRef<'t>> {
        let named = match self.fields {
            Fields::None => None,
            Fields::Builtin(of) => of.field(name).map(TypeRef::of_field),
            Fields::Custom(of) => of.type_of(name),
        };
        named.or(self.values)
    }

    /// Whether there is a field of that name, unlike an entry of a map.
    pub(super) fn is_named(&self, name: &str) -> bool {
        match self.fields {
            Fields::None => false,
            Fields::Builtin(of) => of.field(name).is_some(),
            Fields::Custom(of) => of.type_of(name).is_some(),
        }
    }
}
