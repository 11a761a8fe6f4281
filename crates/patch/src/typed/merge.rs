//! Merge of a configuration into a live object.
//!
//! Nothing is removed. Items of a list keep the live order as far as the configuration's order allows:
//!
//! ```text
//! live a b c d, applied c a e  ->  b c d a e     (b, d stay before what follows them; c, a, e in the applied order)
//! ```

use std::cmp::Ordering;

use pintle_meta::value::Key;
use pintle_meta::{Object, Value};

use super::atom::{Alternative, Map};
use super::items::{element_of, json_fields, opened, sorted_as};
use super::{Invalid, List, Relation, TypeRef};
use crate::fieldset::{Element, equal, is_in_json};

/// Merges a configuration into the live object. Unchanged parts are shared; changed ones are not in normal form:
/// ancestors of a change have sorted keys, and the configuration's values are as given.
pub fn merge(of: TypeRef<'_>, live: &Value, config: &Value) -> Result<Value, Vec<Invalid>> {
    let merged = merge_values(of, live, config).map_err(|invalid| vec![invalid])?;
    Ok(merged.unwrap_or_else(|| live.clone()))
}

/// Merges a value that both have; `None` if it is unchanged.
fn merge_values(of: TypeRef<'_>, live: &Value, config: &Value) -> Result<Option<Value>, Invalid> {
    if live.is_same(config) {
        return Ok(None);
    }
    let atom = of.atom();
    match (atom.alternative(config), atom.list, atom.map) {
        (Some(Alternative::List), Some(list), _) => items(&list, live, config),
        (Some(Alternative::Map), _, Some(map)) => fields(&map, live, config),
        (Some(_), ..) => Ok(leaf(live, config)),
        (None, ..) => Err(Invalid::new("schema error: invalid atom")),
    }
}

fn leaf(live: &Value, config: &Value) -> Option<Value> {
    (!equal(live, config)).then(|| config.clone())
}

fn fields(map: &Map<'_>, live: &Value, config: &Value) -> Result<Option<Value>, Invalid> {
    if map.atomic {
        return Ok(leaf(live, config));
    }
    let (before, wanted) = (opened(live), opened(config));
    let some = |object: Option<&'_ Object>| object.is_some_and(|object| json_fields(object).next().is_some());
    if !some(before.as_object()) && !some(wanted.as_object()) {
        return Ok(leaf(live, config));
    }
    // A null leaves the live value.
    let Some(wanted) = wanted.as_object() else { return Ok(None) };
    let Some(before) = before.as_object() else { return Ok(Some(config.clone())) };
    let mut changed: Vec<(Key, Value)> = Vec::new();
    for (name, value) in json_fields(wanted) {
        let Some(known) = before.get(name).filter(|value| is_in_json(value)) else {
            changed.push((name.clone(), value.clone()));
            continue;
        };
        let declared = || Invalid::new("field not declared in schema");
        let below = map.type_of(name).ok_or_else(declared).and_then(|of| merge_values(of, known, value));
        if let Some(merged) = below.map_err(|invalid| invalid.below(&Element::Field(name.clone())))? {
            changed.push((name.clone(), merged));
        }
    }
    if changed.is_empty() {
        return Ok(None);
    }
    let kept = before.entries().iter().filter(|(name, _)| !changed.iter().any(|(known, _)| known == name));
    let mut entries: Vec<(Key, Value)> = Vec::with_capacity(before.len() + changed.len());
    entries.extend(kept.cloned());
    entries.append(&mut changed);
    Ok(Some(Value::object(Object::from_unsorted(entries))))
}

fn items(list: &List<'_>, live: &Value, config: &Value) -> Result<Option<Value>, Invalid> {
    let (before, wanted) = (opened(live), opened(config));
    let (before, wanted) = (before.as_list().unwrap_or_default(), wanted.as_list().unwrap_or_default());
    if list.relation == Relation::Atomic || before.is_empty() && wanted.is_empty() {
        return Ok(leaf(live, config));
    }
    if wanted.is_empty() {
        return Ok(None);
    }
    let pairs = Pairs::new(list, before, wanted)?;
    let mut out =
        Out { list, before, wanted, items: Vec::with_capacity(before.len().max(wanted.len())), same: true };
    // Shared items that were not emitted yet, in the order of the configuration.
    let mut shared = (0..wanted.len()).filter(|index| pairs.live_of[*index].is_some()).peekable();
    let mut merged = vec![false; wanted.len()];
    let (mut left, mut right) = (0, 0);
    while left < before.len() || right < wanted.len() {
        if let Some(pair) = pairs.wanted_of.get(left) {
            match *pair {
                None => {
                    out.keep(left);
                    left += 1;
                    continue;
                }
                Some(pair) if pair == right => left += 1,
                Some(pair) if right < wanted.len() && shared.peek().is_some_and(|next| *next != pair) => {
                    left += 1;
                    continue;
                }
                Some(pair) if merged[pair] => left += 1,
                Some(_) => {}
            }
        }
        if right < wanted.len() {
            merged[right] = true;
            out.merge(pairs.live_of[right], right)?;
            shared.next_if(|next| *next == right);
            right += 1;
        }
    }
    Ok(out.into_value())
}

/// Pairs of equal items of two lists.
struct Pairs {
    /// For each live item, the index in the configuration.
    wanted_of: Vec<Option<usize>>,
    /// For each item of the configuration, the live one; the first of several duplicates, which are not merged with.
    live_of: Vec<Option<Pair>>,
}

#[derive(Clone, Copy)]
struct Pair {
    index: usize,
    alone: bool,
}

impl Pairs {
    fn new(list: &List<'_>, live: &[Value], wanted: &[Value]) -> Result<Pairs, Invalid> {
        let (before, after) = (sorted(list, live)?, sorted(list, wanted)?);
        if let Some(alike) = after.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            return Err(Invalid::new(format!("duplicate entries for key {}", alike[0].0)));
        }
        let mut pairs = Pairs { wanted_of: vec![None; live.len()], live_of: vec![None; wanted.len()] };
        let mut after = after.iter().peekable();
        for alike in before.chunk_by(|(a, _), (b, _)| a == b) {
            let Some((element, first)) = alike.first() else { continue };
            while after.next_if(|(other, _)| other.cmp(element) == Ordering::Less).is_some() {}
            let Some((_, index)) = after.next_if(|(other, _)| other == element) else { continue };
            pairs.live_of[*index] = Some(Pair { index: *first, alone: alike.len() == 1 });
            alike.iter().for_each(|(_, of)| pairs.wanted_of[*of] = Some(*index));
        }
        Ok(pairs)
    }
}

/// Returns the elements of the items with their indexes.
fn sorted(list: &List<'_>, items: &[Value]) -> Result<Vec<(Element, usize)>, Invalid> {
    sorted_as(list, items, |index, _| index)
}

/// The resulting list.
struct Out<'a> {
    list: &'a List<'a>,
    before: &'a [Value],
    wanted: &'a [Value],
    items: Vec<Value>,
    /// Whether it equals the live list so far.
    same: bool,
}

impl Out<'_> {
    fn keep(&mut self, index: usize) {
        self.same &= self.items.len() == index;
        self.items.push(self.before[index].clone());
    }

    fn merge(&mut self, live: Option<Pair>, place_of: usize) -> Result<(), Invalid> {
        let wanted = &self.wanted[place_of];
        let Some(Pair { index: known, alone: true }) = live else {
            self.same = false;
            self.items.push(wanted.clone());
            return Ok(());
        };
        let merged =
            merge_values(self.list.items, &self.before[known], wanted).map_err(
                |invalid| match element_of(self.list, wanted) {
                    Ok(element) => invalid.below(&element),
                    Err(invalid) => invalid,
                },
            )?;
        match merged {
            None => self.keep(known),
            Some(merged) => {
                self.same = false;
                self.items.push(merged);
            }
        }
        Ok(())
    }

    fn into_value(self) -> Option<Value> {
        let same = self.same && self.items.len() == self.before.len();
        (!same).then(|| Value::list(self.items))
    }
}
