//! Values that a path finds.

use std::borrow::Cow;

use pintle_codec::json;
use pintle_meta::{Node, Value};
use pintle_schema::go;

/// Something in the object, or something that the path itself says.
#[derive(Clone, Copy, Debug)]
pub enum Found<'a> {
    Tree(&'a Value),
    Text(&'a str),
    /// A number of the path, which is not of the type of an object's numbers.
    Int(i64),
    Float(f64),
    Bool(bool),
    /// A string has bytes for its parts.
    Byte(u8),
    /// The value of an empty range.
    Nothing,
}

/// As far as things can be compared.
#[derive(PartialEq, PartialOrd)]
pub(super) enum Basic<'a> {
    Bool(bool),
    Int(i64),
    Uint(u64),
    Float(f64),
    Text(&'a str),
}

impl<'a> Found<'a> {
    pub fn is_null(self) -> bool {
        matches!(self, Found::Tree(value) if value.is_null())
    }

    pub(super) fn list(self) -> Option<&'a [Value]> {
        match self {
            Found::Tree(value) => value.as_list(),
            _ => None,
        }
    }

    /// As a string, where it is one.
    pub fn text(self) -> Option<&'a str> {
        match self {
            Found::Tree(value) => value.as_str(),
            Found::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Iterates over the fields or items.
    pub(super) fn parts(self) -> Box<dyn Iterator<Item = Found<'a>> + 'a> {
        match self {
            Found::Tree(value) => match value.node() {
                Node::Object(object) => Box::new(object.iter().map(|(_, value)| Found::Tree(value))),
                Node::List(items) => Box::new(items.iter().map(Found::Tree)),
                Node::String(text) => Box::new(text.bytes().map(Found::Byte)),
                _ => Box::new(std::iter::empty()),
            },
            Found::Text(text) => Box::new(text.bytes().map(Found::Byte)),
            _ => Box::new(std::iter::empty()),
        }
    }

    pub(super) fn basic(self) -> Option<Basic<'a>> {
        Some(match self {
            Found::Tree(value) => match value.node() {
                Node::Bool(value) => Basic::Bool(value),
                Node::Int(value) => Basic::Int(value),
                Node::Float(value) => Basic::Float(value),
                Node::String(text) => Basic::Text(text),
                _ => return None,
            },
            Found::Text(text) => Basic::Text(text),
            Found::Int(value) => Basic::Int(value),
            Found::Float(value) => Basic::Float(value),
            Found::Bool(value) => Basic::Bool(value),
            Found::Byte(value) => Basic::Uint(value.into()),
            Found::Nothing => return None,
        })
    }

    /// As Go names its type.
    pub(super) fn type_name(self) -> &'static str {
        match self {
            Found::Tree(value) => go::type_name(value),
            Found::Text(_) => "string",
            Found::Int(_) => "int",
            Found::Float(_) => "float64",
            Found::Bool(_) => "bool",
            Found::Byte(_) => "uint8",
            Found::Nothing => "<nil>",
        }
    }

    /// As Go's `%v` shows it.
    pub fn display(self) -> Cow<'a, str> {
        match self {
            Found::Tree(value) => match value.as_str() {
                Some(text) => text.into(),
                None => go::display(value).into(),
            },
            Found::Text(text) => text.into(),
            Found::Int(value) => value.to_string().into(),
            Found::Float(value) => go::display(&value.into()).into(),
            Found::Bool(value) => value.to_string().into(),
            Found::Byte(value) => value.to_string().into(),
            Found::Nothing => "<nil>".into(),
        }
    }

    /// As it is printed: objects and lists as JSON.
    pub fn print(self) -> Cow<'a, str> {
        match self {
            Found::Nothing => "<no value>".into(),
            Found::Tree(value) => match value.node() {
                Node::Null => "<no value>".into(),
                Node::Object(_) | Node::List(_) => {
                    let mut text = Vec::new();
                    json::encode(value, &mut text);
                    String::from_utf8_lossy(&text).into_owned().into()
                }
                _ => self.display(),
            },
            _ => self.display(),
        }
    }
}
