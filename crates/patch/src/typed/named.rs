//! Fields of structs on the way to members of a set.

use super::TypeRef;
use crate::fieldset::{Element, Entry, Set};

/// The set with every field of a struct that has members below it as a member too. Entries of maps and items of lists are
/// members only if they were.
///
/// ```text
/// spec.template.metadata.labels.app  becomes  spec, spec.template, spec.template.metadata, ...labels, ...labels.app
/// ```
pub fn with_named(of: TypeRef<'_>, set: &Set) -> Set {
    place(Some(of), set)
}

fn place(of: Option<TypeRef<'_>>, set: &Set) -> Set {
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
        Entry { element: entry.element.clone(), member, children: place(below, &entry.children) }
    };
    Set::from_unsorted(set.entries().iter().map(entry).collect())
}
