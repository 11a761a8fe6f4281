//! Ancestor fields of a set's members.

use super::TypeRef;
use crate::fieldset::{Element, Entry, Set};

/// Adds every struct field with members below it as a member. Entries of maps and items of lists are members only if
/// they were.
///
/// ```text
/// spec.template.metadata.labels.app  becomes  spec, spec.template, spec.template.metadata, ...labels, ...labels.app
/// ```
pub fn with_named(of: TypeRef<'_>, set: &Set) -> Set {
    with_ancestors(Some(of), set)
}

fn with_ancestors(of: Option<TypeRef<'_>>, set: &Set) -> Set {
    let atom = of.map(TypeRef::atom).unwrap_or_default();
    let entry = |entry: &Entry| {
        let mut member = entry.member;
        let below = match (&entry.element, &atom.map, &atom.list) {
            (Element::Field(name), Some(map), _) => {
                member |= map.is_named(name);
                map.type_of(name)
            }
            (Element::Key(_), _, Some(list)) => Some(list.items),
            _ => None,
        };
        Entry { element: entry.element.clone(), member, children: with_ancestors(below, &entry.children) }
    };
    Set::from_unsorted(set.entries().iter().map(entry).collect())
}
