//! Removal of fields from an object.

use pintle_meta::value::Key;
use pintle_meta::{Node, Object, Value};

use super::TypeRef;
use super::atom::{Alternative, Map};
use super::items::{element_of, json_fields, opened};
use super::{List, Relation};
use crate::fieldset::{Element, Set};

/// Returns the object without the members of a set. A value that loses all its children is null. As after
/// [`super::merge`], ancestors of a change have sorted keys.
pub fn remove(of: TypeRef<'_>, value: &Value, members: &Set) -> Value {
    if members.is_empty() {
        return value.clone();
    }
    let atom = of.atom();
    match (atom.alternative(value), atom.list, atom.map) {
        (Some(Alternative::List), Some(list), _) => items(&list, value, members),
        (Some(Alternative::Map), _, Some(map)) => fields(&map, value, members),
        _ => value.clone(),
    }
}

fn items(list: &List<'_>, value: &Value, members: &Set) -> Value {
    let opened = opened(value);
    let Node::List(items) = opened.node() else { return Value::NULL };
    // An atomic list is removed as a whole.
    if list.relation == Relation::Atomic {
        return Value::NULL;
    }
    let mut kept = Vec::with_capacity(items.len());
    for item in items {
        let found = element_of(list, item).ok();
        match found.as_ref().and_then(|element| members.get(element)) {
            Some(entry) if entry.member => {}
            Some(entry) => kept.push(remove(list.items, item, &entry.children)),
            None => kept.push(item.clone()),
        }
    }
    let same = kept.len() == items.len() && kept.iter().zip(items).all(|(new, old)| new.is_same(old));
    if kept.is_empty() {
        Value::NULL
    } else if same {
        value.clone()
    } else {
        Value::list(kept)
    }
}

fn fields(map: &Map<'_>, value: &Value, members: &Set) -> Value {
    let opened = opened(value);
    let Node::Object(object) = opened.node() else { return Value::NULL };
    if map.atomic {
        return Value::NULL;
    }
    let mut kept: Vec<(Key, Value)> = Vec::with_capacity(object.len());
    let mut same = true;
    for (name, value) in json_fields(object) {
        match members.get(&Element::Field(name.clone())) {
            Some(entry) if entry.member => same = false,
            Some(entry) => {
                let of = map.type_of(name).unwrap_or(TypeRef::Untyped);
                let left = remove(of, value, &entry.children);
                same &= left.is_same(value);
                kept.push((name.clone(), left));
            }
            None => kept.push((name.clone(), value.clone())),
        }
    }
    if kept.is_empty() {
        Value::NULL
    } else if same {
        value.clone()
    } else {
        Value::object(Object::from_unsorted(kept))
    }
}
