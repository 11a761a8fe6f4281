//! Field sets recorded with an earlier schema.

use super::Relation;
use super::TypeRef;
use super::atom::{Alternative, Fields, Map};
use crate::fieldset::{Element, Entry, Set};

/// Adapts a set to the current schema: an owner of parts of a value that is atomic now owns the whole.
pub fn reconcile(of: TypeRef<'_>, set: Set) -> Set {
    let atom = of.atom();
    match (atom.widest(), &atom.list, &atom.map) {
        (Some(Alternative::List), Some(list), _) if list.relation != Relation::Atomic => {
            each(set, |_| Some(list.items))
        }
        (Some(Alternative::Map), _, Some(map)) if !map.atomic && !is_deduced(map) => {
            each(set, |element| match element {
                Element::Field(name) => map.type_of(name),
                _ => map.values,
            })
        }
        _ => set,
    }
}

fn each<'t>(set: Set, of: impl Fn(&Element) -> Option<TypeRef<'t>>) -> Set {
    if !set.entries().iter().any(|entry| of(&entry.element).is_some_and(|of| needs(of, entry))) {
        return set;
    }
    let entries = set.entries().iter().map(|entry| match of(&entry.element) {
        Some(of) if is_whole(of, entry) => {
            Entry { element: entry.element.clone(), member: true, children: Set::new() }
        }
        Some(of) => Entry { children: reconcile(of, entry.children.clone()), ..entry.clone() },
        None => entry.clone(),
    });
    Set::from_unsorted(entries.collect())
}

/// Returns whether a node at or below this one has members inside of an atomic value.
fn needs(of: TypeRef<'_>, entry: &Entry) -> bool {
    if entry.children.is_empty() {
        return false;
    }
    if is_whole(of, entry) {
        return true;
    }
    let atom = of.atom();
    let below = |element: &Element| match (atom.widest(), &atom.list, &atom.map) {
        (Some(Alternative::List), Some(list), _) => Some(list.items),
        (Some(Alternative::Map), _, Some(map)) if !is_deduced(map) => match element {
            Element::Field(name) => map.type_of(name),
            _ => map.values,
        },
        _ => None,
    };
    entry.children.entries().iter().any(|child| below(&child.element).is_some_and(|of| needs(of, child)))
}

fn is_whole(of: TypeRef<'_>, entry: &Entry) -> bool {
    let atom = of.atom();
    !entry.children.is_empty()
        && match (atom.widest(), &atom.list, &atom.map) {
            (Some(Alternative::List), Some(list), _) => list.relation == Relation::Atomic,
            (Some(Alternative::Map), _, Some(map)) => map.atomic && !is_deduced(map),
            _ => false,
        }
}

/// Its type is deduced, so it cannot have changed.
fn is_deduced(map: &Map<'_>) -> bool {
    matches!((map.fields, map.values), (Fields::None, Some(TypeRef::Deduced)))
}
