//! The old value of a part of an object, and whether it is equal.
//!
//! Fields are known by their names and items of lists by their keys, where the schema names keys; other items were nothing
//! before. What has not changed may stay wrong.

use std::collections::HashMap;

use pintle_meta::value::Key;
use pintle_meta::{Node, Value};
use pintle_schema::ListType;
use pintle_schema::structural::{Json, Structural};

/// Items of a list by their keys.
pub(super) struct Items<'v> {
    keys: &'v [Key],
    by_key: HashMap<ItemKey<'v>, &'v Value>,
}

/// The key of a list item.
#[derive(PartialEq, Eq, Hash)]
enum ItemKey<'v> {
    Bool(bool),
    Int(i64),
    Float(u64),
    String(&'v str),
    Several(String),
}

impl<'v> Items<'v> {
    /// Returns the items of the old list; empty where they have no keys.
    pub(super) fn of(schema: &'v Structural, list: &'v [Value]) -> Items<'v> {
        let keyed = schema.kind == Some(Json::Array) && schema.list == Some(ListType::Map);
        let keys: &[Key] = if keyed { &schema.list_keys } else { &[] };
        let mut by_key = HashMap::new();
        if !keys.is_empty() {
            for item in list {
                if let Some(key) = item_key(keys, item) {
                    by_key.entry(key).or_insert(item);
                }
            }
        }
        Items { keys, by_key }
    }

    /// The item with the same keys.
    pub(super) fn find(&self, like: &'v Value) -> Option<&'v Value> {
        if self.by_key.is_empty() {
            return None;
        }
        self.by_key.get(&item_key(self.keys, like)?).copied()
    }
}

fn item_key<'v>(keys: &[Key], item: &'v Value) -> Option<ItemKey<'v>> {
    if let [key] = keys {
        return Some(match item.get(key)?.node() {
            Node::Bool(value) => ItemKey::Bool(value),
            Node::Int(value) => ItemKey::Int(value),
            Node::Float(value) => ItemKey::Float((value + 0.0).to_bits()),
            Node::String(text) => ItemKey::String(text),
            _ => return None,
        });
    }
    let mut several = String::new();
    for key in keys {
        several.push('\0');
        match item.get(key)?.node() {
            Node::Bool(value) => several.push_str(if value { "true" } else { "false" }),
            Node::Int(value) => several.push_str(&value.to_string()),
            // The reference looks at six places.
            Node::Float(value) => several.push_str(&format!("{value:.6}")),
            Node::String(text) => pintle_meta::push_quoted(&mut several, text),
            _ => return None,
        }
    }
    Some(ItemKey::Several(several))
}

/// A value and its old value, with the schema that correlates them.
#[derive(Clone, Copy)]
pub(super) struct Pair<'v> {
    new: &'v Value,
    old: &'v Value,
    schema: &'v Structural,
}

/// A place in an object that is updated. Nothing, if it is not.
#[derive(Clone, Copy, Default)]
pub(super) struct Ratchet<'v> {
    /// The old value.
    current: Option<Pair<'v>>,
    /// The nearest place above of which that is known.
    above: Option<Pair<'v>>,
}

impl<'v> Ratchet<'v> {
    pub(super) fn new(new: &'v Value, old: &'v Value, schema: &'v Structural) -> Ratchet<'v> {
        Ratchet { current: Some(Pair { new, old, schema }), above: None }
    }

    /// The same place, for what counts only if everything around it is the same.
    pub(super) fn as_part(self) -> Ratchet<'v> {
        Ratchet { current: None, above: self.above }
    }

    pub(super) fn field(self, name: &str) -> Ratchet<'v> {
        let Some(current) = self.current else { return self };
        if self.above.is_none() && matches!(name, "apiVersion" | "kind") {
            // Both are of the same version by now, whatever they were.
            return Ratchet::default();
        }
        Ratchet { current: current.field(name), above: Some(current) }
    }

    /// An item of a list, and the one that it was.
    pub(super) fn item(self, new: &'v Value, old: Option<&'v Value>) -> Ratchet<'v> {
        let Some(current) = self.current else { return self };
        let found = old.zip(current.schema.items.as_deref());
        let pair = found.map(|(old, schema)| Pair { new, old, schema });
        Ratchet { current: pair, above: Some(current) }
    }
}

impl<'v> Pair<'v> {
    fn field(self, name: &str) -> Option<Pair<'v>> {
        let (new, old) = (self.new.get(name)?, self.old.get(name)?);
        let schema = self.schema.property(name).or_else(|| self.schema.additional_schema())?;
        Some(Pair { new, old, schema })
    }
}

/// Pairs of values that were compared, by the addresses of both.
#[derive(Default)]
pub(super) struct Unchanged(HashMap<(usize, usize), bool>);

impl Unchanged {
    /// Whether what is at a place, or around it, is what it was.
    pub(super) fn holds(&mut self, ratchet: Ratchet<'_>) -> bool {
        ratchet.current.or(ratchet.above).is_some_and(|pair| self.same(pair))
    }

    fn same(&mut self, pair: Pair<'_>) -> bool {
        if !matches!(pair.new.node(), Node::List(_) | Node::Object(_)) {
            return pair.new == pair.old;
        }
        let place = (std::ptr::from_ref(pair.new).addr(), std::ptr::from_ref(pair.old).addr());
        if let Some(known) = self.0.get(&place) {
            return *known;
        }
        let same = match (pair.new.node(), pair.old.node()) {
            (Node::List(new), Node::List(old)) => new.len() == old.len() && self.same_items(pair, new, old),
            (Node::Object(new), Node::Object(old)) => {
                // Fields that the schema does not know are not the same, however they look.
                let same = |(name, _)| pair.field(name).is_some_and(|field| self.same(field));
                new.len() == old.len() && new.iter().all(same)
            }
            _ => false,
        };
        self.0.insert(place, same);
        same
    }

    fn same_items(&mut self, pair: Pair<'_>, new: &[Value], old: &[Value]) -> bool {
        if pair.schema.list != Some(ListType::Map) {
            return new == old;
        }
        let Some(schema) = pair.schema.items.as_deref() else { return new.is_empty() };
        let items = Items::of(pair.schema, old);
        new.iter().all(|new| items.find(new).is_some_and(|old| self.same(Pair { new, old, schema })))
    }
}
