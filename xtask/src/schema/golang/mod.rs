//! The declarations of a Go source file: types with their fields, tags and markers, and typed constants.
//!
//! This is no Go compiler. It knows the part of the language that API types are written in, and says so when it meets
//! another.

mod lexer;
mod parser;

use std::collections::BTreeMap;

pub(super) use parser::parse;

/// The declarations of a file.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct File {
    /// Import path by the name it is used under.
    pub(super) imports: BTreeMap<String, String>,
    pub(super) types: Vec<Type>,
    pub(super) constants: Vec<Constant>,
}

/// A constant that names its type.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Constant {
    pub(super) name: String,
    pub(super) of_type: String,
    pub(super) value: Literal,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Literal {
    Text(String),
    /// Another constant: `Name` or `package.Name`.
    Same(String),
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Type {
    pub(super) name: String,
    pub(super) markers: Markers,
    /// `type A = B`: another name for the same type.
    pub(super) alias: bool,
    pub(super) shape: Shape,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// `Name` or `package.Name`.
    Named(String),
    Pointer(Box<Shape>),
    Slice(Box<Shape>),
    Map(Box<Shape>, Box<Shape>),
    Struct(Vec<Field>),
    /// Something that is no data: an interface, a function.
    Other,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Field {
    /// `None` for an embedded one.
    pub(super) name: Option<String>,
    pub(super) shape: Shape,
    pub(super) tags: BTreeMap<String, String>,
    pub(super) markers: Markers,
}

/// The `+key=value` lines of a comment, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Markers(pub(super) Vec<String>);

impl Markers {
    /// The values of a marker.
    pub(super) fn values<'a>(&'a self, key: &'a str) -> impl Iterator<Item = &'a str> {
        self.0.iter().filter_map(move |marker| marker.strip_prefix(key)?.strip_prefix('='))
    }

    pub(super) fn value<'a>(&'a self, key: &'a str) -> Option<&'a str> {
        self.values(key).next()
    }

    pub(super) fn has(&self, key: &str) -> bool {
        self.0.iter().any(|marker| marker == key || marker.starts_with(&format!("{key}=")))
    }
}
