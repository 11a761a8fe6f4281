//! Whether an object fits its schema.

use std::collections::BTreeSet;

use pintle_meta::{Node, Value};
use pintle_schema::go;

use super::atom::{Form, Leaf, Map};
use super::items::{element_of, opened, seen};
use super::{Invalid, List, Relation, TypeRef};
use crate::fieldset::Element;

/// No more text than this is put together: a tree may have a million errors at the end of a long path.
const MAX_BYTES: usize = 4 << 20;

/// Everything that is wrong with a tree, or only looks so when items of a list must be different.
pub fn validate(of: TypeRef<'_>, value: &Value, allow_duplicates: bool) -> Result<(), Vec<Invalid>> {
    let mut found = Found { invalid: Vec::new(), room: MAX_BYTES };
    place(of, value, allow_duplicates, &mut found);
    if found.invalid.is_empty() { Ok(()) } else { Err(found.invalid) }
}

/// What was found so far. When there is no room left, nobody looks for more.
struct Found {
    invalid: Vec<Invalid>,
    room: usize,
}

impl Found {
    fn push(&mut self, invalid: Invalid) {
        // At least one is told in any case.
        if self.room > 0 || self.invalid.is_empty() {
            self.room = self.room.saturating_sub(invalid.path.len() + invalid.message.len() + 1);
            self.invalid.push(invalid);
        }
    }

    /// Those since a place are below an element.
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

fn place(of: TypeRef<'_>, value: &Value, allow_duplicates: bool, found: &mut Found) {
    let atom = of.atom();
    match (atom.form(value), atom.list, atom.map, atom.scalar) {
        (Some(Form::List), Some(list), ..) => items(&list, value, allow_duplicates, found),
        (Some(Form::Map), _, Some(map), _) => fields(&map, value, allow_duplicates, found),
        (Some(Form::Scalar), .., Some(wanted)) => {
            if let Some(invalid) = leaf(wanted, value) {
                found.push(invalid);
            }
        }
        _ => found.push(Invalid::new("schema error: invalid atom")),
    }
}

/// Values are shown in the reference's words, which say how it keeps them.
fn leaf(wanted: Leaf, value: &Value) -> Option<Invalid> {
    let node = value.node();
    let is_string = matches!(node, Node::String(_) | Node::Bytes(_) | Node::Hollow);
    let is_number = matches!(node, Node::Int(_) | Node::Float(_));
    let is_bool = matches!(node, Node::Bool(_));
    let fits = match wanted {
        Leaf::Number => is_number,
        Leaf::String => is_string,
        Leaf::Bool => is_bool,
        // Raw JSON is only looked at as a scalar where it is one.
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

/// The elements of a list so far. Most lists are short.
#[derive(Default)]
struct Known {
    few: Vec<Element>,
    many: BTreeSet<Element>,
}

impl Known {
    const FEW: usize = 8;

    /// Whether it is a new one.
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
    for (name, value) in seen(object) {
        if found.is_full() {
            return;
        }
        match map.type_of(name) {
            Some(of) => {
                let before = found.invalid.len();
                place(of, value, allow_duplicates, found);
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
    place(of, value, allow_duplicates, found);
    found.prefix(before, element);
}
