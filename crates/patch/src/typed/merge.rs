//! One object on top of another: what an apply makes of what is there.
//!
//! Nothing goes by it. Items of a list keep the live order as far as the configuration does not want another:
//!
//! ```text
//! live a b c d, applied c a e  ->  b c d a e     (b, d stay before what follows them; c, a, e in the applied order)
//! ```

use std::cmp::Ordering;

use pintle_meta::value::Key;
use pintle_meta::{Object, Value};

use super::atom::{Form, Map};
use super::items::{element_of, opened, seen, sorted_as};
use super::{Invalid, List, Relation, TypeRef};
use crate::fieldset::{Element, equal, is_seen};

/// The live object with a configuration on top. What did not change is the same in memory; what did is not in normal form:
/// objects on the way to a change have sorted keys and the configuration's values are as they were given.
pub fn merge(of: TypeRef<'_>, live: &Value, config: &Value) -> Result<Value, Vec<Invalid>> {
    let merged = place(of, live, config).map_err(|invalid| vec![invalid])?;
    Ok(merged.unwrap_or_else(|| live.clone()))
}

/// What becomes of a place that both have; `None` if it stays as it is.
fn place(of: TypeRef<'_>, live: &Value, config: &Value) -> Result<Option<Value>, Invalid> {
    if live.is_same(config) {
        return Ok(None);
    }
    let atom = of.atom();
    match (atom.form(config), atom.list, atom.map) {
        (Some(Form::List), Some(list), _) => items(&list, live, config),
        (Some(Form::Map), _, Some(map)) => fields(&map, live, config),
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
    let some = |object: Option<&'_ Object>| object.is_some_and(|object| seen(object).next().is_some());
    if !some(before.as_object()) && !some(wanted.as_object()) {
        return Ok(leaf(live, config));
    }
    // A null leaves what is there.
    let Some(wanted) = wanted.as_object() else { return Ok(None) };
    let Some(before) = before.as_object() else { return Ok(Some(config.clone())) };
    let mut changed: Vec<(Key, Value)> = Vec::new();
    for (name, value) in seen(wanted) {
        let Some(known) = before.get(name).filter(|value| is_seen(value)) else {
            changed.push((name.clone(), value.clone()));
            continue;
        };
        let declared = || Invalid::new("field not declared in schema");
        let below = map.type_of(name).ok_or_else(declared).and_then(|of| place(of, known, value));
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
    // What both have and has not been its turn yet, in the order of the configuration.
    let mut shared = (0..wanted.len()).filter(|place| pairs.live_of[*place].is_some()).peekable();
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

/// Which items of two lists are the same.
struct Pairs {
    /// For each live item, the one of the configuration.
    wanted_of: Vec<Option<usize>>,
    /// For each item of the configuration, the live one; the first of several that are alike, which are not merged with.
    live_of: Vec<Option<Pair>>,
}

#[derive(Clone, Copy)]
struct Pair {
    place: usize,
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
            let Some((_, place)) = after.next_if(|(other, _)| other == element) else { continue };
            pairs.live_of[*place] = Some(Pair { place: *first, alone: alike.len() == 1 });
            alike.iter().for_each(|(_, of)| pairs.wanted_of[*of] = Some(*place));
        }
        Ok(pairs)
    }
}

/// What tells the items apart, with their places.
fn sorted(list: &List<'_>, items: &[Value]) -> Result<Vec<(Element, usize)>, Invalid> {
    sorted_as(list, items, |place, _| place)
}

/// The list that comes out.
struct Out<'a> {
    list: &'a List<'a>,
    before: &'a [Value],
    wanted: &'a [Value],
    items: Vec<Value>,
    /// So far it is the live one.
    same: bool,
}

impl Out<'_> {
    fn keep(&mut self, place: usize) {
        self.same &= self.items.len() == place;
        self.items.push(self.before[place].clone());
    }

    fn merge(&mut self, live: Option<Pair>, place_of: usize) -> Result<(), Invalid> {
        let wanted = &self.wanted[place_of];
        let Some(Pair { place: known, alone: true }) = live else {
            self.same = false;
            self.items.push(wanted.clone());
            return Ok(());
        };
        let merged =
            place(self.list.items, &self.before[known], wanted).map_err(|invalid| {
                match element_of(self.list, wanted) {
                    Ok(element) => invalid.below(&element),
                    Err(invalid) => invalid,
                }
            })?;
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
