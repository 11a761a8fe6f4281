//! Values during evaluation. Those of a tree are borrowed and converted when an expression reads them; those that an
//! expression builds are shared.

mod built;
mod compare;
mod convert;
mod list;
mod map;
mod native;
mod other;
mod text;
mod timestamp;
mod tree;

use std::fmt;
use std::sync::Arc;

use pintle_meta::Value;

pub(crate) use self::built::{Read, check as check_built, field as built_field};
pub(crate) use self::compare::{compare, contains, equal, find_by_keys};
pub(crate) use self::convert::{seconds, shortest};
pub use self::list::List;
pub(crate) use self::map::Key;
pub use self::map::Map;
pub use self::native::{Foreign, Step, Unconvertible};
pub(crate) use self::other::opaque;
pub use self::other::{Opaque, Other};
pub use self::text::{Blob, Text};
pub use self::timestamp::Timestamp;
pub(crate) use self::tree::from_tree;
use crate::types::Type;

/// Runtime value.
#[derive(Clone, Debug)]
pub enum Val<'v> {
    Null,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Double(f64),
    String(Text<'v>),
    Bytes(Blob<'v>),
    Timestamp(Timestamp),
    /// Nanoseconds.
    Duration(i64),
    List(List<'v>),
    Map(Map<'v>),
    Type(Type),
    Optional(Option<Arc<Val<'v>>>),
    Other(Other),
}

/// Evaluation error with cel-go's message. `&&`, `||` and loops may absorb it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error(pub(crate) Arc<str>);

impl Error {
    pub fn new(message: impl AsRef<str>) -> Error {
        Error(message.as_ref().into())
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Error {}

impl<'v> Val<'v> {
    pub fn string(text: impl Into<Text<'v>>) -> Val<'v> {
        Val::String(text.into())
    }

    pub(crate) fn list(items: Vec<Val<'v>>) -> Val<'v> {
        Val::List(List::Items(Arc::new(items)))
    }

    /// Converts a tree by a declared type.
    pub fn of_tree(tree: &'v Value, of: &Type) -> Result<Val<'v>, Error> {
        from_tree(tree, of)
    }

    /// Returns an optional with a value.
    pub fn some(value: Val<'v>) -> Val<'v> {
        Val::Optional(Some(Arc::new(value)))
    }

    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Val::Bool(value) => Some(*value),
            _ => None,
        }
    }

    pub fn as_str(&self) -> Option<&str> {
        match self {
            Val::String(text) => Some(text),
            _ => None,
        }
    }

    /// Returns the strings of a list that contains only strings.
    pub fn as_strings(&self) -> Option<Vec<String>> {
        let Val::List(list) = self else { return None };
        (0..list.len()).map(|index| Some(list.get(index).ok()?.as_str()?.to_owned())).collect()
    }

    /// Returns the runtime type; elements of lists and maps are `dyn`.
    pub fn type_of(&self) -> Type {
        match self {
            Val::Null => Type::Null,
            Val::Bool(_) => Type::Bool,
            Val::Int(_) => Type::Int,
            Val::Uint(_) => Type::Uint,
            Val::Double(_) => Type::Double,
            Val::String(_) => Type::String,
            Val::Bytes(_) => Type::Bytes,
            Val::Timestamp(_) => Type::Timestamp,
            Val::Duration(_) => Type::Duration,
            Val::List(_) => Type::list(Type::Dyn),
            // An object of a tree is a map at runtime, whatever its declared type.
            Val::Map(Map::Fields { of, .. }) => Type::Object(Arc::clone(of)),
            Val::Map(_) => Type::map(Type::Dyn, Type::Dyn),
            Val::Type(_) => Type::Type(None),
            Val::Optional(_) => Type::optional(Type::Dyn),
            Val::Other(other) => other.type_of(),
        }
    }

    /// Returns the number of characters, bytes, items or entries; `None` for values without a size.
    pub(crate) fn size(&self) -> Option<usize> {
        match self {
            Val::String(text) => Some(text.chars().count()),
            Val::Bytes(bytes) => Some(bytes.len()),
            Val::List(list) => Some(list.len()),
            Val::Map(Map::Fields { .. }) => None,
            Val::Map(map) => Some(map.len()),
            Val::Other(other) => other.size(),
            _ => None,
        }
    }

    /// Returns whether `optional.ofNonZeroValue` treats the value as absent.
    pub(crate) fn is_zero(&self) -> bool {
        match self {
            Val::Null => true,
            Val::Bool(value) => !value,
            Val::Int(value) => *value == 0,
            Val::Uint(value) => *value == 0,
            Val::Double(value) => *value == 0.0,
            Val::String(text) => text.is_empty(),
            Val::Bytes(bytes) => bytes.is_empty(),
            Val::Duration(nanos) => *nanos == 0,
            Val::Timestamp(at) => at.is_year_one(),
            Val::List(list) => list.is_empty(),
            Val::Map(map) => map.is_empty(),
            Val::Optional(of) => of.is_none(),
            Val::Type(_) | Val::Other(_) => false,
        }
    }
}

/// Formats the value as messages do (`%v` in Go).
impl fmt::Display for Val<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Val::Null => f.write_str("null"),
            Val::Bool(value) => value.fmt(f),
            Val::Int(value) => value.fmt(f),
            Val::Uint(value) => value.fmt(f),
            Val::Double(value) => f.write_str(&shortest(*value)),
            Val::String(text) => f.write_str(text),
            Val::Bytes(bytes) => {
                f.write_str("[")?;
                for (index, byte) in bytes.iter().enumerate() {
                    write!(f, "{}{byte}", if index == 0 { "" } else { " " })?;
                }
                f.write_str("]")
            }
            Val::Timestamp(at) => at.fmt(f),
            Val::Duration(nanos) => f.write_str(&pintle_meta::format_duration(*nanos)),
            Val::Type(of) => f.write_str(of.runtime_name()),
            // Containers are displayed by their type, which bounds the message.
            Val::List(_) | Val::Map(_) | Val::Optional(_) => f.write_str(self.type_of().runtime_name()),
            Val::Other(other) => other.fmt(f),
        }
    }
}
