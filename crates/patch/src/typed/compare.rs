//! Comparison of two objects by field.

use std::cmp::Ordering;

use pintle_meta::value::Key;
use pintle_meta::{Object, Value};
use pintle_schema::Struct;

use super::atom::{Alternative, Fields, Map};
use super::items::{json_fields, opened, sorted};
use super::{Invalid, List, Relation, TypeRef};
use crate::fieldset::{Element, Entry, Filter, Set, equal, is_in_json};

/// Changes from one object to another. The sets are disjoint.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Comparison {
    pub added: Set,
    pub modified: Set,
    pub removed: Set,
}

impl Comparison {
    pub fn is_same(&self) -> bool {
        self.added.is_empty() && self.modified.is_empty() && self.removed.is_empty()
    }

    /// Applies a filter to all sets.
    pub fn filtered(self, filter: Option<&Filter>) -> Comparison {
        match filter {
            None => self,
            Some(filter) => Comparison {
                added: filter.apply(self.added),
                modified: filter.apply(self.modified),
                removed: filter.apply(self.removed),
            },
        }
    }
}

/// Compares two objects of a type. Parts shared in memory are skipped.
pub fn compare(of: TypeRef<'_>, old: &Value, new: &Value) -> Result<Comparison, Invalid> {
    let found = compare_values(of, Some(old), Some(new))?;
    Ok(Comparison {
        added: found.added.children.into_set(),
        modified: found.modified.children.into_set(),
        removed: found.removed.children.into_set(),
    })
}

/// Contribution of a value and its children to each of the sets.
#[derive(Default)]
struct Change {
    added: Part,
    modified: Part,
    removed: Part,
}

#[derive(Default)]
struct Part {
    member: bool,
    children: Children,
}

#[derive(Default)]
struct Children(Vec<Entry>);

impl Children {
    fn into_set(self) -> Set {
        Set::from_unsorted(self.0)
    }

    fn push(&mut self, element: &Element, part: Part) {
        if part.member || !part.children.0.is_empty() {
            let children = part.children.into_set();
            self.0.push(Entry { element: element.clone(), member: part.member, children });
        }
    }
}

impl Change {
    fn push(&mut self, element: &Element, below: Change) {
        self.added.children.push(element, below.added);
        self.modified.children.push(element, below.modified);
        self.removed.children.push(element, below.removed);
    }

    /// Joins both views of a value whose alternative changed.
    fn or(self, other: Change) -> Change {
        let part = |a: Part, b: Part| Part {
            member: a.member || b.member,
            children: match (a.children.0.is_empty(), b.children.0.is_empty()) {
                (_, true) => a.children,
                (true, false) => b.children,
                (false, false) => {
                    let both = a.children.into_set().union(b.children.into_set());
                    Children(both.entries().to_vec())
                }
            },
        };
        Change {
            added: part(self.added, other.added),
            modified: part(self.modified, other.modified),
            removed: part(self.removed, other.removed),
        }
    }
}

fn compare_values(of: TypeRef<'_>, old: Option<&Value>, new: Option<&Value>) -> Result<Change, Invalid> {
    pintle_work::check();
    if let (Some(old), Some(new)) = (old, new)
        && old.is_same(new)
    {
        return Ok(Change::default());
    }
    let atom = of.atom();
    let alternatives =
        (old.and_then(|value| atom.alternative(value)), new.and_then(|value| atom.alternative(value)));
    let look = |alternative: Alternative| match (alternative, &atom.list, &atom.map) {
        (Alternative::List, Some(list), _) => items(list, old, new),
        (Alternative::Map, _, Some(map)) => fields(map, old, new),
        _ => Ok(leaf(old, new)),
    };
    let mut change = match alternatives {
        (None, Some(alternative)) | (Some(alternative), None) => look(alternative)?,
        (Some(before), Some(after)) if before == after => look(before)?,
        (Some(before), Some(after)) => look(before)?.or(look(after)?),
        (None, None) => return Err(Invalid::new("schema error: invalid atom")),
    };
    change.added.member |= old.is_none();
    change.removed.member |= new.is_none();
    Ok(change)
}

fn leaf(old: Option<&Value>, new: Option<&Value>) -> Change {
    let mut change = Change::default();
    match (old, new) {
        (None, _) => change.added.member = true,
        (_, None) => change.removed.member = true,
        (Some(old), Some(new)) => change.modified.member = !equal(old, new),
    }
    change
}

fn items(list: &List<'_>, old: Option<&Value>, new: Option<&Value>) -> Result<Change, Invalid> {
    let before = old.and_then(Value::as_list).unwrap_or_default();
    let after = new.and_then(Value::as_list).unwrap_or_default();
    // A list that is empty on both sides is a leaf, so that null and empty differ.
    if list.relation == Relation::Atomic || before.is_empty() && after.is_empty() {
        return Ok(leaf(old, new));
    }
    let (before, after) = (sorted(list, before)?, sorted(list, after)?);
    let mut change = Change::default();
    let (mut before, mut after) = (&before[..], &after[..]);
    loop {
        let order = match (before.first(), after.first()) {
            (Some((a, _)), Some((b, _))) => a.cmp(b),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (None, None) => return Ok(change),
        };
        let alike = |items: &mut &[(Element, &Value)], skip: Ordering| {
            let all = *items;
            let count = match all.first() {
                Some((first, _)) if order != skip => all.iter().take_while(|(next, _)| next == first).count(),
                _ => 0,
            };
            *items = &all[count..];
            count
        };
        let (old_items, new_items) = (before, after);
        let old_items = &old_items[..alike(&mut before, Ordering::Greater)];
        let new_items = &new_items[..alike(&mut after, Ordering::Less)];
        group(list, old_items, new_items, &mut change)?;
    }
}

/// Compares the items of both lists with the same element, normally at most one each.
fn group(
    list: &List<'_>,
    old: &[(Element, &Value)],
    new: &[(Element, &Value)],
    change: &mut Change,
) -> Result<(), Invalid> {
    let Some((element, _)) = old.first().or(new.first()) else { return Ok(()) };
    let mut item = |old: Option<&Value>, new: Option<&Value>| -> Result<(), Invalid> {
        let below = compare_values(list.items, old, new).map_err(|invalid| invalid.below(element))?;
        change.push(element, below);
        Ok(())
    };
    let first = |items: &[(Element, &'_ Value)]| items.first().map(|(_, value)| (*value).clone());
    let marker = || Part { member: true, children: Children::default() };
    match (old.len(), new.len()) {
        (0 | 1, 0 | 1) => item(old.first().map(|(_, value)| *value), new.first().map(|(_, value)| *value))?,
        // Duplicates on both sides are compared as one value.
        (2.., 2..) => {
            let same = old.len() == new.len() && old.iter().zip(new).all(|((_, a), (_, b))| equal(a, b));
            if !same {
                change.modified.children.push(element, marker());
            }
        }
        (2.., _) => {
            if let Some(left) = first(new) {
                item(None, Some(&left))?;
            }
            change.removed.children.push(element, marker());
        }
        (_, 2..) => {
            if let Some(left) = first(old) {
                item(Some(&left), None)?;
            }
            change.added.children.push(element, marker());
        }
    }
    Ok(())
}

fn fields(map: &Map<'_>, old: Option<&Value>, new: Option<&Value>) -> Result<Change, Invalid> {
    if map.atomic {
        return Ok(leaf(old, new));
    }
    let (opened_old, opened_new) = (old.map(opened), new.map(opened));
    let before = opened_old.as_ref().and_then(|value| value.as_object());
    let after = opened_new.as_ref().and_then(|value| value.as_object());
    let is_empty = |object: Option<&Object>| object.is_none_or(|object| json_fields(object).next().is_none());
    if is_empty(before) && is_empty(after) {
        return Ok(leaf(old, new));
    }
    let mut change = Change::default();
    if let Fields::Builtin(of) = map.fields
        && is_in_order(of, before)
        && is_in_order(of, after)
    {
        declared(of, before, after, &mut change)?;
    } else {
        by_name(map, before, after, &mut change)?;
    }
    Ok(change)
}

/// Returns whether an object's fields are all declared and in declaration order.
fn is_in_order(of: &'static Struct, object: Option<&Object>) -> bool {
    let mut fields = of.flat.iter();
    object.is_none_or(|object| {
        object.layout().is_some() && object.keys().all(|name| fields.any(|field| field.name == name))
    })
}

/// Compares fields of a struct, both sides in declaration order.
fn declared(
    of: &'static Struct,
    old: Option<&Object>,
    new: Option<&Object>,
    change: &mut Change,
) -> Result<(), Invalid> {
    let mut old = old.map(Object::entries).unwrap_or_default().iter().peekable();
    let mut new = new.map(Object::entries).unwrap_or_default().iter().peekable();
    for field in of.flat {
        let is_it = |(name, _): &&(Key, Value)| name == field.name;
        let before = old.next_if(is_it).map(|(_, value)| value).filter(|value| is_in_json(value));
        let after = new.next_if(is_it).map(|(_, value)| value).filter(|value| is_in_json(value));
        if before.is_some() || after.is_some() {
            one(TypeRef::of_field(field), &Key::new_static(field.name), before, after, change)?;
        }
    }
    Ok(())
}

/// Compares entries of a map, or fields in any order.
fn by_name(
    map: &Map<'_>,
    old: Option<&Object>,
    new: Option<&Object>,
    change: &mut Change,
) -> Result<(), Invalid> {
    let of = |name: &Key| {
        let invalid = || Invalid::new("field not declared in schema").below(&Element::Field(name.clone()));
        map.type_of(name).ok_or_else(invalid)
    };
    for (name, before) in old.into_iter().flat_map(json_fields) {
        one(of(name)?, name, Some(before), found(new, name), change)?;
    }
    for (name, after) in new.into_iter().flat_map(json_fields) {
        if found(old, name).is_none() {
            one(of(name)?, name, None, Some(after), change)?;
        }
    }
    Ok(())
}

fn found<'a>(object: Option<&'a Object>, name: &str) -> Option<&'a Value> {
    object?.get(name).filter(|value| is_in_json(value))
}

fn one(
    of: TypeRef<'_>,
    name: &Key,
    old: Option<&Value>,
    new: Option<&Value>,
    change: &mut Change,
) -> Result<(), Invalid> {
    if let (Some(old), Some(new)) = (old, new)
        && old.is_same(new)
    {
        return Ok(());
    }
    let element = Element::Field(name.clone());
    let below = compare_values(of, old, new).map_err(|invalid| invalid.below(&element))?;
    change.push(&element, below);
    Ok(())
}
