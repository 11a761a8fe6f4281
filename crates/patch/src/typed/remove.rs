//! An object without some of its fields.

use pintle_meta::value::Key;
use pintle_meta::{Node, Object, Value};

use super::TypeRef;
use super::atom::{Form, Map};
use super::items::{element_of, opened, seen};
use super::{List, Relation};
use crate::fieldset::{Element, Set};

/// The object without the members of a set. What loses all that it had is null. As after [`super::merge`], objects on the
/// way to a change have sorted keys.
pub fn remove(of: TypeRef<'_>, value: &Value, members: &Set) -> Value {
    if members.is_empty() {
        return value.clone();
    }
    let atom = of.atom();
    match (atom.form(value), atom.list, atom.map) {
        (Some(Form::List), Some(list), _) => items(&list, value, members),
        (Some(Form::Map), _, Some(map)) => fields(&map, value, members),
        _ => value.clone(),
    }
}

fn items(list: &List<'_>, value: &Value, members: &Set) -> Value {
    let opened = opened(value);
    let Node::List(items) = opened.node() else { return Value::NULL };
    // Of what is one value, nothing is left.
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
    match kept.is_empty() {
        true => Value::NULL,
        false if same => value.clone(),
        false => Value::list(kept),
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
    for (name, value) in seen(object) {
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
    match kept.is_empty() {
        true => Value::NULL,
        false if same => value.clone(),
        false => Value::object(Object::from_unsorted(kept)),
    }
}
