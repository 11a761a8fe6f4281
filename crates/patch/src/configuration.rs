//! Merge of an apply configuration without managers: mutations of admission policies.
//!
//! Atomic lists, maps and structs cannot be part of such a configuration, since everything that it does not mention would be
//! removed from them.

use pintle_codec::unstructured;
use pintle_meta::Value;

use crate::fieldset::Element;
use crate::typed::{self, Invalid, Leaf, Relation, TypeRef};

/// Limit of the text of the paths in a message.
const MAX_BYTES: usize = 64 << 10;

/// Reason why a configuration cannot be merged, in the reference's words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    #[error("{0}")]
    Refused(String),
    /// The merged object is not one of its type.
    #[error("{0}")]
    Unconvertible(String),
}

/// A value of a configuration that is of none of JSON's types, as Go describes it.
#[derive(Clone, Copy, Debug)]
pub struct Foreign<'a> {
    pub path: &'a [Element],
    /// `%T`
    pub go_type: &'a str,
    /// `%#v`
    pub source: &'a str,
    /// `%v`
    pub display: &'a str,
}

/// Merges a configuration into an object of the same version. The result is in normal form, without defaults for new fields.
pub fn merge(of: TypeRef<'_>, live: &Value, config: &Value) -> Result<Value, Error> {
    let refused = |why: &str, found: &[Invalid]| Error::Refused(format!("{why}: {}", typed::describe(found)));
    typed::validate(of, config, false).map_err(|found| refused(NOT_TYPED, &found))?;
    let mut atomics = Atomics { path: String::new(), found: Vec::new(), room: MAX_BYTES };
    atomics.visit(of, config);
    if !atomics.found.is_empty() {
        let found = atomics.found.join(", ");
        return Err(Error::Refused(format!(
            "invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: {found}"
        )));
    }
    typed::validate(of, live, true)
        .map_err(|found| refused("failed to convert original object to typed object", &found))?;
    let merged = typed::merge(of, live, config).map_err(|found| refused("failed to merge patch", &found))?;
    if merged.is_same(live) {
        return Ok(merged);
    }
    let Some(named) = of.named() else { return Ok(merged) };
    let read = unstructured::to_typed_since(named, &merged, live);
    read.map(|decoded| decoded.value).map_err(|error| {
        let kind = live.group_version_kind();
        Error::Unconvertible(format!("unable to convert unstructured object to {kind}: {error}"))
    })
}

const NOT_TYPED: &str = "failed to convert patch object to typed object";

/// Returns the error of a configuration with a foreign value.
pub fn refuse(of: TypeRef<'_>, foreign: &Foreign<'_>) -> Error {
    Error::Refused(format!("{NOT_TYPED}: {}", mismatch(of, foreign)))
}

fn mismatch(of: TypeRef<'_>, foreign: &Foreign<'_>) -> Invalid {
    let Foreign { path, go_type, source, display } = *foreign;
    let (mut of, mut at) = (of, String::new());
    let invalid = |path: String, message: String| Invalid { path, message };
    for (index, element) in path.iter().enumerate() {
        let atom = of.atom();
        of = match (element, atom.map, atom.list) {
            (Element::Field(name), Some(map), _) => match map.type_of(name) {
                Some(of) => of,
                None => return invalid(at + &element.to_string(), "field not declared in schema".to_owned()),
            },
            (Element::Index(place), _, Some(list)) => {
                if index + 1 == path.len() && matches!(list.relation, Relation::Keys(_)) {
                    let message = "associative list with keys may not have non-map elements";
                    return invalid(at, format!("element {place}: {message}"));
                }
                list.items
            }
            _ => return invalid(at, "schema error: invalid atom".to_owned()),
        };
        at.push_str(&element.to_string());
    }
    let atom = of.atom();
    let message = match (atom.map, atom.scalar) {
        (Some(_), _) => format!("expected map, got &{{{display}}}"),
        (_, Some(Leaf::Number)) => format!("expected numeric (int or float), got {go_type}"),
        (_, Some(Leaf::String)) => format!("expected string, got &value.valueUnstructured{{Value:{source}}}"),
        (_, Some(Leaf::Bool)) => format!("expected boolean, got &{{{display}}}"),
        (_, Some(Leaf::Any)) => format!("expected any scalar, got &{{{display}}}"),
        (None, None) => format!("expected list, got &{{{display}}}"),
    };
    invalid(at, message)
}

/// Paths of atomic values so far.
struct Atomics {
    path: String,
    found: Vec<String>,
    room: usize,
}

impl Atomics {
    fn visit(&mut self, of: TypeRef<'_>, value: &Value) {
        let atom = of.atom();
        if let (Some(fields), Some(map)) = (value.as_object(), atom.map) {
            if map.atomic {
                self.report();
            }
            for (name, value) in fields.iter() {
                // Entries of a map are not looked into.
                if let Some(of) = map.declared(name) {
                    self.below(&Element::field(name), of, value);
                }
            }
        }
        if let (Some(items), Some(list)) = (value.as_list(), atom.list) {
            if list.relation == Relation::Atomic {
                self.report();
            }
            for (index, item) in items.iter().enumerate() {
                self.below(&Element::Index(index as i64), list.items, item);
            }
        }
    }

    fn below(&mut self, element: &Element, of: TypeRef<'_>, value: &Value) {
        if self.room == 0 || value.as_object().is_none() && value.as_list().is_none() {
            return;
        }
        let length = self.path.len();
        self.path.push_str(&element.to_string());
        self.visit(of, value);
        self.path.truncate(length);
    }

    fn report(&mut self) {
        self.room = self.room.saturating_sub(self.path.len() + 2);
        self.found.push(self.path.clone());
    }
}

#[cfg(test)]
#[path = "configuration_tests.rs"]
mod tests;
