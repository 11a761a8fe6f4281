//! Field set of an object.

use std::cmp::Ordering;

use pintle_meta::{Node, Value};

use super::atom::{Alternative, Map};
use super::items::{json_fields, opened, sorted};
use super::{Invalid, List, Relation, TypeRef};
use crate::fieldset::{Element, Entry, Set};

/// Returns every leaf, and every item of a list or map. Items with the same element are one.
pub fn to_field_set(of: TypeRef<'_>, value: &Value) -> Result<Set, Invalid> {
    value_fields(of, value).map(|(_, set)| set)
}

/// Returns whether a value is a leaf, else its children.
fn value_fields(of: TypeRef<'_>, value: &Value) -> Result<(bool, Set), Invalid> {
    let atom = of.atom();
    let list = atom.list.filter(|list| list.relation != Relation::Atomic);
    let map = atom.map.filter(|map| !map.atomic);
    match (atom.alternative(value), list, map) {
        (Some(Alternative::List), Some(list), _) => Ok((false, items(&list, value)?)),
        (Some(Alternative::Map), _, Some(map)) => Ok((false, fields(&map, value)?)),
        (Some(_), ..) => Ok((true, Set::new())),
        (None, ..) => Err(Invalid::new("schema error: invalid atom")),
    }
}

fn items(list: &List<'_>, value: &Value) -> Result<Set, Invalid> {
    let Node::List(items) = value.node() else { return Ok(Set::new()) };
    let sorted = sorted(list, items)?;
    let mut entries = Vec::with_capacity(sorted.len());
    for alike in sorted.chunk_by(|(a, _), (b, _)| a.cmp(b) == Ordering::Equal) {
        let (element, item) = &alike[0];
        let children = match alike.len() {
            1 => value_fields(list.items, item).map_err(|invalid| invalid.below(element))?.1,
            _ => Set::new(),
        };
        entries.push(Entry { element: element.clone(), member: true, children });
    }
    Ok(Set::from_unsorted(entries))
}

fn fields(map: &Map<'_>, value: &Value) -> Result<Set, Invalid> {
    let opened = opened(value);
    let Node::Object(object) = opened.node() else { return Ok(Set::new()) };
    let mut entries = Vec::with_capacity(object.len());
    for (name, value) in json_fields(object) {
        let element = Element::Field(name.clone());
        let Some(of) = map.type_of(name) else {
            return Err(Invalid::new("field not declared in schema").below(&element));
        };
        let (leaf, children) = value_fields(of, value).map_err(|invalid| invalid.below(&element))?;
        let is_empty = match value.node() {
            Node::Null => true,
            Node::Object(object) => json_fields(object).next().is_none(),
            _ => false,
        };
        let member = leaf || is_empty || !map.is_named(name);
        entries.push(Entry { element, member, children });
    }
    Ok(Set::from_unsorted(entries))
}
