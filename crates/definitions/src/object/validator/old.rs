//! The old value of a value, and whether it is equal.
//!
//! Fields are in the same place if they have the same name. Items are only if their list is a map, by its keys.

use std::collections::HashMap;

use pintle_meta::{Node as Shape, Value};

use super::Node;
use crate::object::lists::Scalar;

/// Correlations found so far, by address.
#[derive(Default)]
pub(super) struct Before<'v> {
    equal: HashMap<(*const Value, *const Value), bool>,
    keyed: HashMap<*const Value, HashMap<Vec<Scalar<'v>>, &'v Value>>,
}

impl<'v> Before<'v> {
    /// Returns the old item with the same key.
    pub(super) fn item(&mut self, node: &Node, old: &'v Value, item: &'v Value) -> Option<&'v Value> {
        let keys = key_of(node, item)?;
        let list = self.keyed.entry(old).or_insert_with(|| {
            let mut list = HashMap::new();
            for item in old.as_list().unwrap_or_default() {
                if let Some(keys) = key_of(node, item) {
                    list.entry(keys).or_insert(item);
                }
            }
            list
        });
        list.get(&keys).copied()
    }

    /// Whether a value is what it was. One with fields that no schema knows never is.
    pub(super) fn is_equal(&mut self, node: &Node, new: &'v Value, old: &'v Value) -> bool {
        if !matches!(new.node(), Shape::List(_) | Shape::Object(_)) {
            return new == old;
        }
        if let Some(known) = self.equal.get(&(std::ptr::from_ref(new), std::ptr::from_ref(old))) {
            return *known;
        }
        let equal = match (new.node(), old.node()) {
            (Shape::List(items), Shape::List(before)) => {
                items.len() == before.len()
                    && if node.keyed {
                        items.iter().all(|item| {
                            let before = self.item(node, old, item);
                            let of = node.items.as_deref();
                            of.zip(before).is_some_and(|(of, before)| self.is_equal(of, item, before))
                        })
                    } else {
                        items == before
                    }
            }
            (Shape::Object(object), Shape::Object(before)) => {
                object.len() == before.len()
                    && object.iter().all(|(name, value)| {
                        let both = node.field(name).zip(before.get(name));
                        both.is_some_and(|(of, before)| self.is_equal(of, value, before))
                    })
            }
            _ => false,
        };
        self.equal.insert((new, old), equal);
        equal
    }
}

/// Returns the key of an item; `None` if a part of it is missing.
fn key_of<'v>(node: &Node, item: &'v Value) -> Option<Vec<Scalar<'v>>> {
    if node.keys.is_empty() {
        return None;
    }
    let object = item.as_object()?;
    node.keys
        .iter()
        .map(|key| object.get(key).and_then(Scalar::of).filter(|key| *key != Scalar::Null))
        .collect()
}
