//! Merges lists.

use std::collections::BTreeSet;

use pintle_meta::Value;
use pintle_schema::go::display;

use super::go_types::{self, Type, no_merge_key, not_comparable, unknown_directive, wrong_type};
use super::lookup::{self, Found};
use super::map;
use super::order::{self, By};
use super::scalar::{Positions, Scalar};
use super::{Error, Work};

/// Merges a patch list, or a list of values to delete, into a list.
pub(super) fn merge(
    mut original: Value,
    patch: &mut Value,
    found: &Found,
    is_deletion: bool,
    work: &mut Work,
) -> Result<Value, Error> {
    if found.strategy != "merge" && !is_deletion {
        return Ok(patch.clone());
    }
    let (Some(items), Some(changes)) = (original.as_list_mut(), patch.as_list_mut()) else {
        return Ok(original);
    };
    let items = std::mem::take(items);
    Ok(Value::list(match merge_items(items, changes, found, is_deletion, work)? {
        Merged::Done(items) => items,
        Merged::Loose { items, patch, server, kind } => {
            let by = By::of(found, kind);
            let (of_patch, only_server) = order::partition(items, &patch, &by)?;
            order::arrange(of_patch, only_server, &patch, &server, &by)?
        }
    }))
}

/// Like [`merge`], with a given order. `None` if neither has the list.
pub(super) fn ordered(
    original: Option<Vec<Value>>,
    patch: Option<&mut Vec<Value>>,
    order: &[Value],
    found: &Found,
    work: &mut Work,
) -> Result<Option<Vec<Value>>, Error> {
    check_order(patch.as_deref().map_or(&[], Vec::as_slice), order, found.merge_key)?;
    work.spend(order.len())?;
    let before = original.clone().unwrap_or_default();
    let changes = patch.as_deref().cloned().unwrap_or_default();
    let (merged, server) = match (original, patch) {
        (None, None) => return Ok(None),
        (Some(items), None) => (items, before.clone()),
        (None, Some(changes)) => {
            (changes.iter_mut().filter_map(map::without_directives).collect(), before.clone())
        }
        (Some(_), Some(changes)) if found.strategy != "merge" => (changes.clone(), before.clone()),
        (Some(items), Some(changes)) => {
            let length = items.len();
            match merge_items(items, changes, found, false, work)? {
                Merged::Done(items) => (items, before.clone()),
                Merged::Loose { items, patch, server, kind } => {
                    let by = By::of(found, kind);
                    // New items are inserted where deleted ones were, as the reference does.
                    let visible = items.iter().take(length).cloned().collect();
                    let server = if server.len() < length { visible } else { server };
                    let (of_patch, only_server) = order::partition(items, &patch, &by)?;
                    (order::arrange(of_patch, only_server, &patch, &server, &by)?, server)
                }
            }
        }
    };
    // Primitive values need no merge key.
    let by = if found.merge_key.is_empty() { By::Value } else { By::Key(found.merge_key) };
    let (of_patch, only_server) = order::partition(merged, order, &by)?;
    let by = By::of(found, item_type(&before, &changes)?);
    order::arrange(of_patch, only_server, order, &server, &by).map(Some)
}

enum Merged {
    Done(Vec<Value>),
    /// To be ordered by the patch, without its directives, and by the server's order.
    Loose {
        items: Vec<Value>,
        patch: Vec<Value>,
        server: Vec<Value>,
        kind: Type,
    },
}

fn merge_items(
    items: Vec<Value>,
    changes: &mut [Value],
    found: &Found,
    is_deletion: bool,
    work: &mut Work,
) -> Result<Merged, Error> {
    work.spend(items.len() + changes.len())?;
    if items.is_empty() && changes.is_empty() {
        return Ok(Merged::Done(items));
    }
    match item_type(&items, changes)? {
        Type::Map if found.merge_key.is_empty() => {
            let kind = lookup::go_kind(found.shape);
            Err(Error::Failed(format!("cannot merge lists without merge key for {kind}")))
        }
        Type::Map => merge_objects(items, changes, found, work),
        _ if is_deletion => {
            let gone: BTreeSet<Scalar> = changes.iter().filter_map(Scalar::of).collect();
            let stays = |item: &Value| Scalar::of(item).is_none_or(|item| !gone.contains(&item));
            Ok(Merged::Done(items.into_iter().filter(stays).collect()))
        }
        kind => {
            let mut seen = BTreeSet::new();
            let both = items.iter().chain(changes.iter());
            let both = both.filter(|item| Scalar::of(item).is_none_or(|item| seen.insert(item)));
            Ok(Merged::Loose { items: both.cloned().collect(), patch: changes.to_vec(), server: items, kind })
        }
    }
}

/// Merges lists of objects by their merge key.
fn merge_objects(
    mut items: Vec<Value>,
    changes: &mut [Value],
    found: &Found,
    work: &mut Work,
) -> Result<Merged, Error> {
    let key = found.merge_key;
    let special = take_special(changes, key)?;
    if !special.gone.is_empty() {
        let is_gone = |value: &Value| Scalar::of(value).is_some_and(|value| special.gone.contains(&value));
        items.retain(|item| !item.get(key).is_some_and(is_gone));
    }
    if special.replace {
        let items = plain(changes);
        items.iter().try_for_each(|item| key_of(item, key).map(drop))?;
        return Ok(Merged::Done(items));
    }
    let mut positions = Positions::of(items.iter().map(|item| item.get(key)));
    let server = items.len();
    for change in changes.iter_mut().filter(|change| map::directive_of(change).is_none()) {
        let Some(value) = change.get(key) else { return Err(no_merge_key(change, key)) };
        match positions.find(value)? {
            Some(place) => {
                let before = std::mem::take(&mut items[place]);
                items[place] = map::merge(before, change, found.shape, work)?;
            }
            None => {
                positions.note(value, items.len());
                items.push(change.clone());
            }
        }
    }
    Ok(Merged::Loose { patch: plain(changes), server: items[..server].to_vec(), items, kind: Type::Map })
}

/// Returns the items without a directive.
fn plain(changes: &[Value]) -> Vec<Value> {
    changes.iter().filter(|change| map::directive_of(change).is_none()).cloned().collect()
}

#[derive(Default)]
struct Special {
    /// Keys of items to delete.
    gone: BTreeSet<Scalar>,
    /// Whether the patch's items replace all others.
    replace: bool,
}

fn take_special(changes: &[Value], key: &str) -> Result<Special, Error> {
    let mut special = Special::default();
    for change in changes {
        let Some(directive) = map::directive_of(change) else { continue };
        match directive.as_str() {
            Some("delete") => {
                let value = change.get(key).ok_or_else(|| no_merge_key(change, key))?;
                special.gone.extend(Scalar::of(value));
            }
            Some("replace") => special.replace = true,
            Some("merge") => {
                return Err(Error::Failed("merging lists cannot yet be specified in the patch".into()));
            }
            _ => return Err(unknown_directive(directive, change)),
        }
    }
    Ok(special)
}

/// Returns the common type of all items of both lists.
fn item_type(items: &[Value], changes: &[Value]) -> Result<Type, Error> {
    let mut all = items.iter().chain(changes).map(Type::of);
    let Some(first) = all.next() else {
        return Err(Error::Failed("no elements in any of the given slices".into()));
    };
    match first {
        Type::List => return Err(Error::ListOfLists),
        // The reference fails with its own message.
        Type::Nil => return Err(Error::Failed("list elements cannot be null".into())),
        _ => {}
    }
    if all.all(|other| other == first) {
        Ok(first)
    } else {
        Err(Error::Failed(format!(
            "list element types are not identical: {}",
            go_types::lists([items, changes])
        )))
    }
}

/// Checks that the items of a patch, directives aside, are in the given order, which must contain them all.
fn check_order(changes: &[Value], order: &[Value], merge_key: &str) -> Result<(), Error> {
    if changes.is_empty() || order.is_empty() {
        return Ok(());
    }
    if !merge_key.is_empty()
        && let Some(other) = changes.iter().find(|change| change.as_object().is_none())
    {
        return Err(wrong_type(Type::Map, other));
    }
    let is_deletion = |change: &&Value| {
        !merge_key.is_empty()
            && map::directive_of(change).is_some_and(|directive| directive.as_str() == Some("delete"))
    };
    let mut changed = changes.iter().filter(|change| !is_deletion(change)).peekable();
    let mut rest = order.iter().peekable();
    while let (Some(change), Some(next)) = (changed.peek(), rest.peek()) {
        if map::directive_of(change).is_some() {
            changed.next();
            continue;
        }
        if is_same(change, next, merge_key)? {
            changed.next();
        }
        rest.next();
    }
    match changed.peek() {
        None => Ok(()),
        Some(_) => {
            let [changes, order] = [changes, order].map(|items| display(&Value::list(items.to_vec())));
            Err(Error::Failed(format!(
                "The order in patch list:\n{changes}\n doesn't match $setElementOrder list:\n{order}\n"
            )))
        }
    }
}

fn is_same(left: &Value, right: &Value, merge_key: &str) -> Result<bool, Error> {
    let (left, right) = match merge_key {
        "" => (left, right),
        key => (key_of(left, key)?, key_of(right, key)?),
    };
    match (Scalar::of(left), Scalar::of(right)) {
        (None, None) if Type::of(left) == Type::of(right) => Err(not_comparable(left)),
        (left, right) => Ok(left.is_some() && left == right),
    }
}

/// Returns the key of an item, which must be an object that has it.
pub(super) fn key_of<'a>(item: &'a Value, key: &str) -> Result<&'a Value, Error> {
    match item.as_object() {
        Some(object) => object.get(key).ok_or_else(|| no_merge_key(item, key)),
        None => Err(wrong_type(Type::Map, item)),
    }
}
