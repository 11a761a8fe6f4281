//! Validation of an object against its schema.

use std::collections::BTreeSet;

use pintle_meta::{Node, Value};
use pintle_schema::go;

use super::atom::{Alternative, Leaf, Map};
use super::items::{element_of, json_fields, opened};
use super::{Invalid, List, Relation, TypeRef};
use crate::fieldset::Element;

/// Limit of the text of all mismatches: a tree may have a million with a long path.
const MAX_BYTES: usize = 4 << 20;

/// Returns all mismatches of a tree; with `allow_duplicates`, list items may be equal.
pub fn validate(of: TypeRef<'_>, value: &Value, allow_duplicates: bool) -> Result<(), Vec<Invalid>> {
    let mut found = Found { invalid: Vec::new(), room: MAX_BYTES };
    validate_value(of, value, allow_duplicates, &mut found);
    if found.invalid.is_empty() { Ok(()) } else { Err(found.invalid) }
}

/// Mismatches so far. When there is no room left, the walk stops.
struct Found {
    invalid: Vec<Invalid>,
    room: usize,
}

impl Found {
    fn push(&mut self, invalid: Invalid) {
        // At least one is reported.
        if self.room > 0 || self.invalid.is_empty() {
            self.room = self.room.saturating_sub(invalid.path.len() + invalid.message.len() + 1);
            self.invalid.push(invalid);
        }
    }

    /// Prepends an element to the paths of the mismatches from an index on.
    fn prefix(&mut self, since: usize, element: &Element) {
        if self.invalid.len() == since {
            return;
        }
        let text = element.to_string();
        for (count, invalid) in self.invalid[since..].iter_mut().enumerate() {
            if self.room < text.len() && since + count > 0 {
                self.room = 0;
                self.invalid.truncate(since + count);
                return;
            }
            self.room = self.room.saturating_sub(text.len());
            invalid.path.insert_str(0, &text);
        }
    }

    fn is_full(&self) -> bool {
        self.room == 0
    }
}

fn validate_value(of: TypeRef<'_>, value: &Value, allow_duplicates: bool, found: &mut Found) {
    let atom = of.atom();
    match (atom.alternative(value), atom.list, atom.map, atom.scalar) {
        (Some(Alternative::List), Some(list), ..) => items(&list, value, allow_duplicates, found),
        (Some(Alternative::Map), _, Some(map), _) => fields(&map, value, allow_duplicates, found),
        (Some(Alternative::Scalar), .., Some(wanted)) => {
            if let Some(invalid) = leaf(wanted, value) {
                found.push(invalid);
            }
        }
        _ => found.push(Invalid::new("schema error: invalid atom")),
    }
}

/// Checks a scalar. Messages name the reference's representation of the value.
fn leaf(wanted: Leaf, value: &Value) -> Option<Invalid> {
    let node = value.node();
    let is_string = matches!(node, Node::String(_) | Node::Bytes(_) | Node::Hollow);
    let is_number = matches!(node, Node::Int(_) | Node::Float(_));
    let is_bool = matches!(node, Node::Bool(_));
    let fits = match wanted {
        Leaf::Number => is_number,
        Leaf::String => is_string,
        Leaf::Bool => is_bool,
        // Raw JSON is inspected as a scalar only if it is one.
        Leaf::Any => is_string || is_number || is_bool || matches!(node, Node::Raw(_)),
    };
    if fits || value.is_null() {
        return None;
    }
    Some(Invalid::new(match wanted {
        Leaf::Number => format!("expected numeric (int or float), got {}", go::type_name(value)),
        Leaf::String => {
            format!("expected string, got &value.valueUnstructured{{Value:{}}}", go::source(value))
        }
        Leaf::Bool => format!("expected boolean, got &{{{}}}", go::display(value)),
        Leaf::Any => format!("expected any scalar, got &{{{}}}", go::display(value)),
    }))
}

fn items(list: &List<'_>, value: &Value, allow_duplicates: bool, found: &mut Found) {
    let opened = opened(value);
    let items = match opened.node() {
        Node::List(items) => items,
        Node::Null => return,
        _ => return found.push(Invalid::new(format!("expected list, got &{{{}}}", go::display(value)))),
    };
    let mut known = Known::default();
    for (place_of, item) in items.iter().enumerate() {
        if found.is_full() {
            return;
        }
        let element = match list.relation {
            Relation::Atomic => Element::Index(place_of as i64),
            _ => match element_of(list, item) {
                Ok(element) => element,
                Err(invalid) => {
                    return found.push(Invalid {
                        message: format!("element {place_of}: {}", invalid.message),
                        ..invalid
                    });
                }
            },
        };
        if list.relation != Relation::Atomic && !allow_duplicates && !known.add(&element) {
            found.push(Invalid::new(format!("duplicate entries for key {element}")));
        }
        below(list.items, &element, item, allow_duplicates, found);
    }
}

/// Elements of a list so far. Most lists are short.
#[derive(Default)]
struct Known {
    few: Vec<Element>,
    many: BTreeSet<Element>,
}

impl Known {
    const FEW: usize = 8;

    /// Adds an element; returns whether it is new.
    fn add(&mut self, element: &Element) -> bool {
        if self.many.is_empty() {
            if self.few.contains(element) {
                return false;
            }
            if self.few.len() < Self::FEW {
                self.few.push(element.clone());
                return true;
            }
            self.many.extend(self.few.drain(..));
        }
        self.many.insert(element.clone())
    }
}

fn fields(map: &Map<'_>, value: &Value, allow_duplicates: bool, found: &mut Found) {
    let opened = opened(value);
    let object = match opened.node() {
        Node::Object(object) => object,
        Node::Null => return,
        _ => return found.push(Invalid::new(format!("expected map, got &{{{}}}", go::display(value)))),
    };
    for (name, value) in json_fields(object) {
        if found.is_full() {
            return;
        }
        match map.type_of(name) {
            Some(of) => {
                let before = found.invalid.len();
                validate_value(of, value, allow_duplicates, found);
                if found.invalid.len() > before {
                    found.prefix(before, &Element::Field(name.clone()));
                }
            }
            None => {
                let element = Element::Field(name.clone());
                return found.push(Invalid::new("field not declared in schema").below(&element));
            }
        }
    }
}

fn below(of: TypeRef<'_>, element: &Element, value: &Value, allow_duplicates: bool, found: &mut Found) {
    let before = found.invalid.len();
    validate_value(of, value, allow_duplicates, found);
    found.prefix(before, element);
}
