//! Sets that were written when the schema was another.

use super::Relation;
use super::TypeRef;
use super::atom::{Fields, Form, Map};
use crate::fieldset::{Element, Entry, Set};

/// The set as it is by the schema of now: who owned parts of what is owned as a whole today owns the whole.
pub fn reconcile(of: TypeRef<'_>, set: Set) -> Set {
    let atom = of.atom();
    match (atom.widest(), &atom.list, &atom.map) {
        (Some(Form::List), Some(list), _) if list.relation != Relation::Atomic => {
            each(set, |_| Some(list.items))
        }
        (Some(Form::Map), _, Some(map)) if !map.atomic && !is_deduced(map) => {
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

/// Whether anything at or below a place is owned by parts that cannot be.
fn needs(of: TypeRef<'_>, entry: &Entry) -> bool {
    if entry.children.is_empty() {
        return false;
    }
    if is_whole(of, entry) {
        return true;
    }
    let atom = of.atom();
    let below = |element: &Element| match (atom.widest(), &atom.list, &atom.map) {
        (Some(Form::List), Some(list), _) => Some(list.items),
        (Some(Form::Map), _, Some(map)) if !is_deduced(map) => match element {
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
            (Some(Form::List), Some(list), _) => list.relation == Relation::Atomic,
            (Some(Form::Map), _, Some(map)) => map.atomic && !is_deduced(map),
            _ => false,
        }
}

/// Nothing is known of what is in there, so nothing can have changed.
fn is_deduced(map: &Map<'_>) -> bool {
    matches!((map.fields, map.values), (Fields::None, Some(TypeRef::Deduced)))
}
