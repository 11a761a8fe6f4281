//! Order of a merged list: items of the patch in the patch's order, the others in the server's order, and of two
//! adjacent ones the one that the server had first.
//!
//! ```text
//! server  a b c d      patch  d x b      merged  a c d x b
//! ```

use std::collections::BTreeMap;

use pintle_meta::Value;

use super::Error;
use super::go_types::{Type, not_comparable};
use super::list::key_of;
use super::lookup::Found;
use super::scalar::Positions;

/// Identity of items.
#[derive(Clone, Copy, Debug)]
pub(super) enum By {
    Value,
    Key(&'static str),
}

impl By {
    pub(super) fn of(found: &Found, kind: Type) -> By {
        if kind == Type::Map { By::Key(found.merge_key) } else { By::Value }
    }

    fn mark<'a>(&self, item: &'a Value) -> Option<&'a Value> {
        match self {
            By::Value => Some(item),
            By::Key(key) => item.get(key),
        }
    }

    fn positions(&self, items: &[Value]) -> Positions {
        Positions::of(items.iter().map(|item| self.mark(item)))
    }
}

/// Splits items into those that a list contains and the others.
pub(super) fn partition(
    items: Vec<Value>,
    list: &[Value],
    by: &By,
) -> Result<(Vec<Value>, Vec<Value>), Error> {
    let positions = by.positions(list);
    let odd = list.iter().position(|item| item.as_object().is_none());
    let comparable = |value: &Value| match Type::of(value) {
        Type::List | Type::Map => Err(not_comparable(value)),
        _ => Ok(()),
    };
    if matches!(by, By::Value) {
        list.iter().try_for_each(comparable)?;
    }
    let (mut has, mut has_not) = (Vec::with_capacity(items.len()), Vec::new());
    for item in items {
        let position = match by {
            By::Value => {
                comparable(&item)?;
                positions.find(&item)?
            }
            By::Key(key) => {
                let position = positions.find(key_of(&item, key)?)?;
                match odd {
                    Some(odd) if position.is_none_or(|position| odd < position) => {
                        return Err(Error::Failed(format!("value for key {odd} is not a map")));
                    }
                    _ => position,
                }
            }
        };
        if position.is_some() { has.push(item) } else { has_not.push(item) }
    }
    Ok((has, has_not))
}

/// Merges both parts into one list.
pub(super) fn arrange(
    of_patch: Vec<Value>,
    only_server: Vec<Value>,
    patch: &[Value],
    server: &[Value],
    by: &By,
) -> Result<Vec<Value>, Error> {
    if let By::Key(key) = by {
        for item in of_patch.iter().chain(patch).chain(&only_server).chain(server) {
            key_of(item, key)?;
        }
    }
    let server = by.positions(server);
    let of_patch = sorted(of_patch, &by.positions(patch), by)?;
    let only_server = sorted(only_server, &server, by)?;
    let rank = |item: &Value| by.mark(item).map_or(Ok(None), |mark| server.find(mark));
    let mut merged = Vec::with_capacity(of_patch.len() + only_server.len());
    let mut others = only_server.into_iter().peekable();
    for item in of_patch {
        let position = rank(&item)?;
        while let Some(other) = others.peek() {
            match (rank(other)?, position) {
                (Some(other), Some(position)) if other < position => merged.extend(others.next()),
                _ => break,
            }
        }
        merged.push(item);
    }
    merged.extend(others);
    Ok(merged)
}

/// Sorts items by their position in a list. Items that it does not contain ("strangers") end up where the reference's
/// insertion sort leaves them, whose comparison is true for every stranger. So each item in turn moves left: a
/// stranger to the front of all; another past strangers too, up to the last item that does not come after it.
///
/// ```text
/// list  a b c      e a b  becomes  a b e      a b e  becomes  e a b      b e c a  becomes  a e b c
/// ```
///
/// The reference sorts more than twenty items in blocks, which it merges. Strangers at the start or the end of the
/// list come out the same; others may not, which no client can rely on, so any length is sorted like a short one.
/// Strangers move only as a group, behind a known item, so each item takes one lookup of its predecessor.
fn sorted(items: Vec<Value>, positions: &Positions, by: &By) -> Result<Vec<Value>, Error> {
    let total = items.len();
    // By position, equal ones in input order; each with the strangers right after it. The foremost stranger is the
    // last.
    let mut known: BTreeMap<(usize, usize), (Value, Vec<Value>)> = BTreeMap::new();
    let mut in_front = Vec::new();
    for (at, item) in items.into_iter().enumerate() {
        let Some(position) = by.mark(&item).map_or(Ok(None), |mark| positions.find(mark))? else {
            in_front.push(item);
            continue;
        };
        let strangers = match known.range_mut(..(position, at)).next_back() {
            Some((_, (_, behind))) => behind,
            None => &mut in_front,
        };
        let behind = std::mem::take(strangers);
        known.insert((position, at), (item, behind));
    }
    let mut sorted = Vec::with_capacity(total);
    sorted.extend(in_front.into_iter().rev());
    for (item, behind) in known.into_values() {
        sorted.push(item);
        sorted.extend(behind.into_iter().rev());
    }
    Ok(sorted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(server: &str, patch: &str, expected: &str) {
        let list = |text: &str| text.split_whitespace().map(Value::string).collect::<Vec<_>>();
        let (server, patch) = (list(server), list(patch));
        let all: Vec<Value> =
            server.iter().chain(patch.iter().filter(|item| !server.contains(item))).cloned().collect();
        let (has, has_not) = partition(all, &patch, &By::Value).unwrap();
        let merged = arrange(has, has_not, &patch, &server, &By::Value).unwrap();
        let merged: Vec<&str> = merged.iter().filter_map(Value::as_str).collect();
        assert_eq!(merged.join(" "), expected);
    }

    #[test]
    fn the_patch_orders_its_own_items_and_the_server_the_others() {
        check("a b c d", "d x b", "a c d x b");
        check("a b c", "c a", "b c a");
        check("a b c", "x", "x a b c");
        check("a b c", "b", "a b c");
        check("a b c", "a x", "a x b c");
        check("", "b a", "b a");
        check("a b", "", "a b");
    }

    fn sorted_words(items: &[&str], order: &[&str]) -> Vec<String> {
        let list = |go_types: &[&str]| go_types.iter().copied().map(Value::string).collect::<Vec<_>>();
        let sorted = sorted(list(items), &By::Value.positions(&list(order)), &By::Value).unwrap();
        sorted.iter().filter_map(Value::as_str).map(str::to_owned).collect()
    }

    #[test]
    fn strangers_are_ordered_by_the_references_comparison() {
        let order = ["a", "b", "c"];
        assert_eq!(sorted_words(&["e", "a", "b"], &order), ["a", "b", "e"]);
        assert_eq!(sorted_words(&["a", "b", "e"], &order), ["e", "a", "b"]);
        assert_eq!(sorted_words(&["b", "e", "c", "a"], &order), ["a", "e", "b", "c"]);
        assert_eq!(sorted_words(&["e", "f", "g"], &order), ["g", "f", "e"]);
        assert_eq!(sorted_words(&["c", "b", "a", "b"], &order), ["a", "b", "b", "c"]);
    }

    /// All lists of up to six items, sorted step by step.
    #[test]
    fn the_order_is_that_of_an_insertion_sort() {
        const WORDS: [&str; 5] = ["a", "b", "c", "x", "y"];
        let order = &WORDS[..3];
        let position = |word: &str| order.iter().position(|known| *known == word);
        let is_less = |word, other| match (position(word), position(other)) {
            (Some(word), Some(other)) => word < other,
            _ => true,
        };
        for length in 0..=6 {
            for number in 0..WORDS.len().pow(length) {
                let items: Vec<&str> =
                    (0..length).map(|digit| WORDS[number / WORDS.len().pow(digit) % WORDS.len()]).collect();
                let mut moved = items.clone();
                for end in 1..moved.len() {
                    let mut at = end;
                    while at > 0 && is_less(moved[at], moved[at - 1]) {
                        moved.swap(at, at - 1);
                        at -= 1;
                    }
                }
                assert_eq!(sorted_words(&items, order), moved, "{items:?}");
            }
        }
    }
}
