//! Merges objects.

use std::collections::{BTreeMap, HashSet};

use pintle_codec::json;
use pintle_meta::value::{Key, Object};
use pintle_meta::{Node, Value};
use pintle_schema::Shape;

use super::go_types::{Type, not_comparable, unknown_directive, wrong_type};
use super::{Error, Work, list, lookup};
use crate::entries;

const DIRECTIVE: &str = "$patch";
const RETAIN_KEYS: &str = "$retainKeys";
const SET_ELEMENT_ORDER: &str = "$setElementOrder";
const DELETE_FROM_PRIMITIVE_LIST: &str = "$deleteFromPrimitiveList";

/// Merges a patch object into an object.
pub(super) fn merge(original: Value, patch: &mut Value, of: Shape, work: &mut Work) -> Result<Value, Error> {
    if let Some(directive) = patch.get(DIRECTIVE) {
        return match directive.as_str() {
            Some("replace") => {
                patch.as_object_mut().and_then(|patch| patch.remove(DIRECTIVE));
                Ok(patch.clone())
            }
            Some("delete") => Ok(Value::object(Object::new())),
            _ => Err(unknown_directive(directive, patch)),
        };
    }
    let mut merging = Merging { original, of, work, added: BTreeMap::new(), removed: HashSet::new() };
    let Some(patch) = patch.as_object_mut() else { return Ok(merging.original) };
    merging.work.spend(patch.len())?;
    merging.retain_keys(patch)?;
    merging.ordered_lists(patch)?;
    for (name, change) in patch.iter_mut() {
        merging.field(name, change)?;
    }
    merging.finish()
}

struct Merging<'a> {
    original: Value,
    of: Shape,
    work: &'a mut Work,
    /// Fields to add, and those to remove, applied at the end all at once: a patch may have a hundred thousand.
    added: BTreeMap<Key, Value>,
    removed: HashSet<Key>,
}

impl Merging<'_> {
    /// Returns a field of the object, or one added by the patch.
    fn get(&self, name: &str) -> Option<&Value> {
        let found = self.original.get(name).or_else(|| self.added.get(name));
        found.filter(|value| !matches!(value.node(), Node::Hollow))
    }

    fn get_mut(&mut self, name: &str) -> Option<&mut Value> {
        let found = self.original.get_mut(name).or_else(|| self.added.get_mut(name));
        found.filter(|value| !matches!(value.node(), Node::Hollow))
    }

    fn set(&mut self, name: &str, value: Value) {
        match self.original.get_mut(name) {
            Some(before) => *before = value,
            None => {
                self.added.insert(name.into(), value);
            }
        }
    }

    fn finish(mut self) -> Result<Value, Error> {
        if !self.added.is_empty() || !self.removed.is_empty() {
            self.work.spend(self.original.as_object().map_or(0, Object::len))?;
            self.added.retain(|name, _| !self.removed.contains(name));
            entries::update_fields(&mut self.original, self.added.into_iter().collect(), &self.removed);
        }
        Ok(self.original)
    }

    /// Drops fields not listed in `$retainKeys`. The patch itself may only contain listed ones.
    fn retain_keys(&mut self, patch: &mut Object) -> Result<(), Error> {
        let Some(keys) = patch.remove(RETAIN_KEYS) else { return Ok(()) };
        let keys = keys.as_list().ok_or(Error::RetainKeys)?;
        if let Some(key) = keys.iter().find(|key| matches!(Type::of(key), Type::List | Type::Map)) {
            return Err(not_comparable(key));
        }
        let keys: HashSet<&str> = keys.iter().filter_map(Value::as_str).collect();
        let is_bound = |name: &str, change: &Value| {
            !change.is_null()
                && !name.starts_with(DELETE_FROM_PRIMITIVE_LIST)
                && !name.starts_with(SET_ELEMENT_ORDER)
        };
        if patch.iter().any(|(name, change)| is_bound(name, change) && !keys.contains(name)) {
            return Err(Error::RetainKeys);
        }
        if let Some(original) = self.original.as_object_mut() {
            original.retain(|name, _| keys.contains(name));
        }
        Ok(())
    }

    /// Merges the lists with a `$setElementOrder`, and removes them from the patch.
    fn ordered_lists(&mut self, patch: &mut Object) -> Result<(), Error> {
        if !patch.keys().any(|name| name.starts_with(SET_ELEMENT_ORDER)) {
            return Ok(());
        }
        let mut orders: Vec<(String, Value)> = Vec::new();
        patch.retain(|name, change| {
            let is_order = name.starts_with(SET_ELEMENT_ORDER);
            if is_order {
                orders.push((name.to_owned(), std::mem::take(change)));
            }
            !is_order
        });
        let mut done: HashSet<String> = HashSet::new();
        for (directive, order) in orders {
            let order = order.as_list().ok_or_else(|| wrong_type(Type::List, &order))?;
            let name = target(&directive, SET_ELEMENT_ORDER).ok_or(Error::SetElementOrder)?;
            if let Some(ordered) = self.ordered_list(name, order, patch)? {
                self.set(name, Value::list(ordered));
                done.insert(name.to_owned());
            }
        }
        patch.retain(|name, _| !done.contains(name));
        Ok(())
    }

    fn ordered_list(
        &mut self,
        name: &str,
        order: &[Value],
        patch: &mut Object,
    ) -> Result<Option<Vec<Value>>, Error> {
        let items = |value: &Value| match value.as_list() {
            Some(items) => Ok(items.to_vec()),
            None => Err(wrong_type(Type::List, value)),
        };
        let original = self.get(name).map(items).transpose()?;
        let change = patch.get_mut(name);
        if let Some(change) = change.as_deref().filter(|change| change.as_list().is_none()) {
            return Err(wrong_type(Type::List, change));
        }
        let found = lookup::list(self.of, name)?;
        let changes = change.and_then(Value::as_list_mut);
        list::ordered(original, changes, order, &found, self.work)
    }

    /// Applies one field of the patch.
    fn field(&mut self, name: &str, change: &mut Value) -> Result<(), Error> {
        let is_deletion = name.starts_with(DELETE_FROM_PRIMITIVE_LIST);
        let name = if is_deletion {
            match target(name, DELETE_FROM_PRIMITIVE_LIST).ok_or(Error::PrimitiveList)? {
                "" => name,
                target => target,
            }
        } else {
            name
        };
        if change.is_null() {
            if self.get(name).is_some() {
                self.removed.insert(name.into());
            }
            return Ok(());
        }
        let of = self.of;
        let Some(before) = self.get_mut(name) else {
            if !is_deletion && let Some(new) = new_value(change) {
                self.set(name, new);
            }
            return Ok(());
        };
        read_raw(before);
        match (Type::of(before), Type::of(change)) {
            (Type::Map, Type::Map) => {
                let found = lookup::object(of, name)?;
                let new = match found.strategy {
                    "replace" => change.clone(),
                    _ => {
                        let before = std::mem::take(before);
                        merge(before, change, found.shape, self.work)?
                    }
                };
                self.set(name, new);
            }
            (Type::List, Type::List) => {
                let found = lookup::list(of, name)?;
                let before = std::mem::take(before);
                let new = list::merge(before, change, &found, is_deletion, self.work)?;
                self.set(name, new);
            }
            (before, change) if is_deletion && before != change => {}
            _ => match new_value(change) {
                Some(new) => self.set(name, new),
                None => {
                    self.removed.insert(name.into());
                }
            },
        }
        Ok(())
    }
}

/// Returns the field of a directive such as `$setElementOrder/ports`.
fn target<'a>(directive: &'a str, prefix: &str) -> Option<&'a str> {
    directive.split_once('/').filter(|(before, _)| *before == prefix).map(|(_, name)| name)
}

/// Decodes raw JSON, which is decoded only when it is patched.
fn read_raw(value: &mut Value) {
    if let Node::Raw(raw) = value.node() {
        // Invalid JSON counts as null.
        *value = json::decode_any(raw).map_or(Value::NULL, |decoded| decoded.value);
    }
}

/// Returns the value of a new field: without nulls in objects, and without items that have a directive; `None` if it
/// has one itself.
fn new_value(change: &mut Value) -> Option<Value> {
    if !is_plain(change) {
        drop_nulls(change);
        return without_directives(change);
    }
    Some(change.clone())
}

fn is_plain(value: &Value) -> bool {
    match value.node() {
        Node::Object(object) => {
            object.iter().all(|(name, value)| name != DIRECTIVE && !value.is_null() && is_plain(value))
        }
        Node::List(items) => items.iter().all(is_plain),
        _ => true,
    }
}

fn drop_nulls(value: &mut Value) {
    match value.node() {
        Node::Object(_) => {
            let Some(object) = value.as_object_mut() else { return };
            object.retain(|_, value| !value.is_null());
            object.iter_mut().for_each(|(_, value)| drop_nulls(value));
        }
        Node::List(_) => value.as_list_mut().into_iter().flatten().for_each(drop_nulls),
        _ => {}
    }
}

/// Removes directives. The patch is changed too where an object lost a field, but not where a list lost an item, as
/// messages show.
pub(super) fn without_directives(value: &mut Value) -> Option<Value> {
    match value.node() {
        Node::Object(object) => {
            if object.contains(DIRECTIVE) {
                return None;
            }
            value.as_object_mut()?.retain(|_, value| match without_directives(value) {
                Some(kept) => {
                    *value = kept;
                    true
                }
                None => false,
            });
            Some(value.clone())
        }
        Node::List(_) => {
            let items = value.as_list_mut()?;
            Some(Value::list(items.iter_mut().filter_map(without_directives).collect()))
        }
        _ => Some(value.clone()),
    }
}

/// Returns the `$patch` directive of a list item.
pub(super) fn directive_of(item: &Value) -> Option<&Value> {
    item.get(DIRECTIVE)
}
