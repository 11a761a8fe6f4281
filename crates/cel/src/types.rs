//! Types of expressions, as the checker knows them and messages name them.

use std::fmt;
use std::sync::Arc;

use smol_str::SmolStr;

/// Type of a variable, a field or a whole expression. Clones share.
#[derive(Clone, Debug)]
pub enum Type {
    /// Known only at runtime.
    Dyn,
    /// A message of any type, `google.protobuf.Any`: as `Dyn`, but not to be iterated over.
    Any,
    Null,
    Bool,
    Int,
    Uint,
    Double,
    String,
    Bytes,
    Duration,
    Timestamp,
    List(Arc<ListType>),
    Map(Arc<(Type, Type)>),
    Optional(Arc<Type>),
    /// Type used as a value, with the type itself if it is known.
    Type(Option<Arc<Type>>),
    /// Object with declared fields.
    Object(Arc<dyn ObjectType>),
    /// One of Kubernetes' own, such as `kubernetes.Quantity`, usable by functions only.
    Named(&'static str),
    /// Like `Named`, but not displayed as an object type: `net.IP`.
    Opaque(&'static str),
    #[doc(hidden)]
    Parameter(Parameter),
    /// Type of an erroneous expression, which causes no further issues.
    #[doc(hidden)]
    Error,
}

/// Type parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parameter {
    /// A type parameter of a signature.
    Named(char),
    /// A type variable of an expression that is being checked.
    Free(u32),
}

/// Item type of a list, and its list semantics.
#[derive(Clone, Debug)]
pub struct ListType {
    pub item: Type,
    pub kind: ListKind,
}

/// List semantics of a schema, by which lists are compared and added.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ListKind {
    /// Compared in order.
    #[default]
    Atomic,
    /// Compared in any order.
    Set,
    /// Compared in any order; items are identified by these keys.
    Map(Vec<SmolStr>),
}

/// Object type: a structural schema or a built-in kind. Fields are looked up by name when an expression selects them,
/// so that a large schema is not converted as a whole.
pub trait ObjectType: fmt::Debug + Send + Sync {
    /// Name in messages. Types of the same name are identical.
    fn name(&self) -> &str;

    /// Returns a field by its name in expressions: the property's name, escaped ([`escape`](crate::escape)) if it is
    /// no identifier. A property whose name cannot be escaped is looked up by its own name, for the comparison of
    /// objects.
    fn field(&self, name: &str) -> Option<Field>;

    /// Returns whether a property is part of the type but not selectable. Comparisons of objects include it.
    fn hides(&self, _property: &str) -> bool {
        false
    }

    /// Returns the place of a field, for types whose values are read by place and not by name.
    fn place(&self, _name: &str) -> Option<usize> {
        None
    }
}

/// Field of an object type.
#[derive(Clone, Debug)]
pub struct Field {
    /// The property's name in the object, if its name in expressions is escaped.
    pub property: SmolStr,
    pub of: Type,
}

/// Object type with a list of few fields.
#[derive(Clone, Debug)]
pub struct Record {
    name: String,
    fields: Vec<(SmolStr, Type)>,
}

impl Record {
    pub fn new(name: impl Into<String>) -> Record {
        Record { name: name.into(), fields: Vec::new() }
    }

    pub fn field(mut self, name: impl Into<SmolStr>, of: Type) -> Record {
        self.fields.push((name.into(), of));
        self
    }
}

impl ObjectType for Record {
    fn name(&self) -> &str {
        &self.name
    }

    fn field(&self, name: &str) -> Option<Field> {
        let (property, of) = self.fields.iter().find(|(known, _)| known == name)?;
        Some(Field { property: property.clone(), of: of.clone() })
    }
}

impl Type {
    pub fn list(item: Type) -> Type {
        Type::List(Arc::new(ListType { item, kind: ListKind::Atomic }))
    }

    pub fn list_of_kind(item: Type, kind: ListKind) -> Type {
        Type::List(Arc::new(ListType { item, kind }))
    }

    pub fn map(key: Type, value: Type) -> Type {
        Type::Map(Arc::new((key, value)))
    }

    pub fn optional(of: Type) -> Type {
        Type::Optional(Arc::new(of))
    }

    pub fn object(of: impl ObjectType + 'static) -> Type {
        Type::Object(Arc::new(of))
    }

    pub(crate) fn of_type(of: Type) -> Type {
        Type::Type(Some(Arc::new(of)))
    }

    pub(crate) fn is_dyn(&self) -> bool {
        matches!(self, Type::Dyn | Type::Any)
    }

    pub(crate) fn is_dyn_or_error(&self) -> bool {
        matches!(self, Type::Dyn | Type::Any | Type::Error)
    }

    /// Returns the name of the type at runtime, without parameters.
    pub fn runtime_name(&self) -> &str {
        match self {
            Type::Dyn => "dyn",
            Type::Any => "google.protobuf.Any",
            Type::Null => "null_type",
            Type::Bool => "bool",
            Type::Int => "int",
            Type::Uint => "uint",
            Type::Double => "double",
            Type::String => "string",
            Type::Bytes => "bytes",
            Type::Duration => "google.protobuf.Duration",
            Type::Timestamp => "google.protobuf.Timestamp",
            Type::List(_) => "list",
            Type::Map(_) => "map",
            Type::Optional(_) => "optional_type",
            Type::Type(_) => "type",
            Type::Object(of) => of.name(),
            Type::Named(name) | Type::Opaque(name) => name,
            Type::Parameter(_) => "param",
            Type::Error => "error",
        }
    }

    /// Returns the name with parameters, as cel-go's `Type.String` has it; messages of the checker have [`Display`](fmt::Display)'s.
    pub fn declared_name(&self) -> String {
        let mut name = self.runtime_name().to_owned();
        let parameters: Vec<String> = self.parameters().map(Type::declared_name).collect();
        if !parameters.is_empty() {
            name.push('(');
            name.push_str(&parameters.join(", "));
            name.push(')');
        }
        name
    }

    /// Returns whether both are of the same kind, ignoring parameters.
    fn same_kind(&self, other: &Type) -> bool {
        use Type::{Named, Object};
        match (self, other) {
            (Object(_) | Named(_), Object(_) | Named(_)) => self.runtime_name() == other.runtime_name(),
            (Type::Opaque(a), Type::Opaque(b)) => a == b,
            _ => std::mem::discriminant(self) == std::mem::discriminant(other),
        }
    }

    pub(crate) fn parameters(&self) -> impl Iterator<Item = &Type> {
        let (first, second) = match self {
            Type::List(list) => (Some(&list.item), None),
            Type::Map(map) => (Some(&map.0), Some(&map.1)),
            Type::Optional(of) | Type::Type(Some(of)) => (Some(&**of), None),
            _ => (None, None),
        };
        first.into_iter().chain(second)
    }

    /// Compares types; names of parameters count only if `exact`.
    pub(crate) fn is_equivalent(&self, other: &Type, exact: bool) -> bool {
        if let (Type::Parameter(a), Type::Parameter(b)) = (self, other) {
            return !exact || a == b;
        }
        self.same_kind(other)
            && self.parameters().count() == other.parameters().count()
            && self.parameters().zip(other.parameters()).all(|(mine, other)| mine.is_equivalent(other, exact))
    }
}

impl PartialEq for Type {
    fn eq(&self, other: &Type) -> bool {
        self.is_equivalent(other, true)
    }
}

/// Formats the type as messages do.
impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Type::Any => f.write_str("any"),
            Type::Null => f.write_str("null"),
            Type::Duration => f.write_str("duration"),
            Type::Timestamp => f.write_str("timestamp"),
            Type::Error => f.write_str("!error!"),
            Type::Parameter(Parameter::Named(name)) => write!(f, "{name}"),
            Type::Parameter(Parameter::Free(number)) => write!(f, "_var{number}"),
            _ => {
                f.write_str(self.runtime_name())?;
                for (index, parameter) in self.parameters().enumerate() {
                    write!(f, "{}{parameter}", if index == 0 { "(" } else { ", " })?;
                }
                if self.parameters().next().is_none() { Ok(()) } else { f.write_str(")") }
            }
        }
    }
}
