//! Whether an object fits its schema.

use std::cmp::Ordering;

use pintle_meta::{Node, Value};

use super::atom::{Form, Map};
use super::items::{element_of, opened, seen, sorted};
use super::{Invalid, List, Relation, TypeRef};
use crate::fieldset::Element;

/// Everything that is wrong with a tree, or only looks so when items of a list must be different.
pub fn validate(of: TypeRef, value: &Value, allow_duplicates: bool) -> Result<(), Vec<Invalid>> {
    let mut found = Vec::new();
    place(of, value, allow_duplicates, &mut found);
    if found.is_empty() { Ok(()) } else { Err(found) }
}

fn place(of: TypeRef, value: &Value, allow_duplicates: bool, found: &mut Vec<Invalid>) {
    let atom = of.atom();
    match (atom.form(value), atom.list, atom.map) {
        (Some(Form::List), Some(list), _) => items(&list, value, allow_duplicates, found),
        (Some(Form::Map), _, Some(map)) => fields(&map, value, allow_duplicates, found),
        (Some(_), ..) => match value.node() {
            Node::List(_) | Node::Object(_) => found.push(Invalid::new("expected a scalar")),
            _ => {}
        },
        (None, ..) => found.push(Invalid::new("schema error: invalid atom")),
    }
}

fn items(list: &List, value: &Value, allow_duplicates: bool, found: &mut Vec<Invalid>) {
    let opened = opened(value);
    let items = match opened.node() {
        Node::List(items) => items,
        Node::Null => return,
        _ => return found.push(Invalid::new("expected list")),
    };
    if list.relation != Relation::Atomic && !allow_duplicates {
        match sorted(list, items) {
            Err(invalid) => return found.push(invalid),
            Ok(sorted) => {
                for alike in sorted.chunk_by(|(a, _), (b, _)| a.cmp(b) == Ordering::Equal) {
                    let message = || Invalid::new(format!("duplicate entries for key {}", alike[0].0));
                    found.extend(alike.iter().skip(1).map(|_| message()));
                }
            }
        }
    }
    for (place_of, item) in items.iter().enumerate() {
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
        below(list.items, &element, item, allow_duplicates, found);
    }
}

fn fields(map: &Map, value: &Value, allow_duplicates: bool, found: &mut Vec<Invalid>) {
    let opened = opened(value);
    let object = match opened.node() {
        Node::Object(object) => object,
        Node::Null => return,
        _ => return found.push(Invalid::new("expected map")),
    };
    for (name, value) in seen(object) {
        let element = Element::Field(name.clone());
        match map.type_of(name) {
            Some(of) => below(of, &element, value, allow_duplicates, found),
            None => return found.push(Invalid::new("field not declared in schema").below(&element)),
        }
    }
}

fn below(of: TypeRef, element: &Element, value: &Value, allow_duplicates: bool, found: &mut Vec<Invalid>) {
    let before = found.len();
    place(of, value, allow_duplicates, found);
    for invalid in &mut found[before..] {
        invalid.path.insert_str(0, &element.to_string());
    }
}
