//! Paths into objects, as `kubectl` and printer columns spell them: `.spec.replicas`, `.status.conditions[?(@.type=="Ready")].status`.
//!
//! The language is that of the reference's `client-go/util/jsonpath`, with all that it lets pass: several actions and text
//! between them (`.a}, {.b`), ranges, unions, slices with steps, and numbers and strings where a field might stand. Most
//! paths are nothing but names, and those are followed without any of that.
//!
//! A missing field is not an error but finds nothing. Where the order of an object's fields matters (wildcards), it is
//! that of their names; the reference has none.

mod eval;
mod find;
mod parse;
#[cfg(test)]
mod tests;

use pintle_meta::Value;
use pintle_meta::value::Key;

pub use self::find::Found;

/// A path that can be followed.
#[derive(Clone, Debug)]
pub struct JsonPath {
    inner: Inner,
}

#[derive(Clone, Debug)]
enum Inner {
    /// `.a.b.c`
    Names(Box<[Key]>),
    Template(Box<[Node]>),
}

#[derive(Clone, Debug, PartialEq)]
enum Node {
    /// The content of braces, or a part of it.
    List(Vec<Node>),
    /// Text between braces, or in quotes.
    Text(String),
    Field(Key),
    Int(i64),
    Float(f64),
    Bool(bool),
    /// `range` and `end`, and others that are an error once they are looked at.
    Identifier(String),
    Wildcard,
    Recursive,
    Array(Slice),
    Union(Vec<Vec<Node>>),
    Filter(Box<Filter>),
}

/// `[start:end:step]`; `[n]` is the slice that ends right after it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Slice {
    start: Option<i64>,
    end: Option<i64>,
    /// The end is where it is because of the start.
    derived: bool,
    step: Option<i64>,
}

#[derive(Clone, Debug, PartialEq)]
struct Filter {
    left: Vec<Node>,
    right: Vec<Node>,
    operator: String,
}

impl JsonPath {
    /// Reads a path, which stands within the braces of a template. The error is what the reference says.
    pub fn parse(path: &str) -> Result<JsonPath, String> {
        let nodes = parse::template(&format!("{{{path}}}"))?;
        let inner = match names(&nodes) {
            Some(names) => Inner::Names(names),
            None => Inner::Template(nodes.into()),
        };
        Ok(JsonPath { inner })
    }

    /// Everything that the path leads to: one list for each action or text of the template. The error is why it cannot be
    /// followed in this object.
    pub fn find<'a>(&'a self, object: &'a Value) -> Result<Vec<Vec<Found<'a>>>, String> {
        match &self.inner {
            Inner::Names(names) => Ok(vec![followed(names, object).map(Found::Tree).into_iter().collect()]),
            Inner::Template(nodes) => eval::template(nodes, object),
        }
    }

    /// The first of what is found; `None` if that is nothing, or the path cannot be followed.
    pub fn first<'a>(&'a self, object: &'a Value) -> Option<Found<'a>> {
        match &self.inner {
            Inner::Names(names) => followed(names, object).map(Found::Tree),
            Inner::Template(nodes) => {
                eval::template(nodes, object).ok()?.into_iter().next()?.into_iter().next()
            }
        }
    }
}

fn followed<'a>(names: &[Key], object: &'a Value) -> Option<&'a Value> {
    names.iter().try_fold(object, |value, name| value.as_object()?.get(name))
}

/// The names of a path that is nothing else.
fn names(nodes: &[Node]) -> Option<Box<[Key]>> {
    let [Node::List(nodes)] = nodes else { return None };
    let name = |node: &Node| match node {
        Node::Field(name) => Some(name.clone()),
        _ => None,
    };
    nodes.iter().map(name).collect()
}
