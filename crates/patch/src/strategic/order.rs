//! The order of a merged list: items of the patch as the patch has them, the others as the server had them, and of two
//! neighbours the one first that the server had first.
//!
//! ```text
//! server  a b c d      patch  d x b      merged  a c d x b
//! ```

use pintle_meta::Value;

use super::Error;
use super::list::key_of;
use super::lookup::Found;
use super::scalar::Places;
use super::words::{Type, not_comparable};

/// By what items are known.
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

    fn places(&self, items: &[Value]) -> Places {
        Places::of(items.iter().map(|item| self.mark(item)))
    }
}

/// Those that a list has, and those that it has not.
pub(super) fn partition(
    items: Vec<Value>,
    list: &[Value],
    by: &By,
) -> Result<(Vec<Value>, Vec<Value>), Error> {
    let places = by.places(list);
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
        let place = match by {
            By::Value => {
                comparable(&item)?;
                places.find(&item)?
            }
            By::Key(key) => {
                let place = places.find(key_of(&item, key)?)?;
                match odd {
                    Some(odd) if place.is_none_or(|place| odd < place) => {
                        return Err(Error::Failed(format!("value for key {odd} is not a map")));
                    }
                    _ => place,
                }
            }
        };
        if place.is_some() { has.push(item) } else { has_not.push(item) }
    }
    Ok((has, has_not))
}

/// Both parts in one list.
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
    let server = by.places(server);
    let of_patch = sorted(of_patch, &by.places(patch), by)?;
    let only_server = sorted(only_server, &server, by)?;
    let rank = |item: &Value| by.mark(item).map_or(Ok(None), |mark| server.find(mark));
    let mut merged = Vec::with_capacity(of_patch.len() + only_server.len());
    let mut others = only_server.into_iter().peekable();
    for item in of_patch {
        let place = rank(&item)?;
        while let Some(other) = others.peek() {
            match (rank(other)?, place) {
                (Some(other), Some(place)) if other < place => merged.extend(others.next()),
                _ => break,
            }
        }
        merged.push(item);
    }
    merged.extend(others);
    Ok(merged)
}

/// Items in the order of a list. Those that it has not come first, the last one foremost: the reference's order, which is none,
/// moves each of them to the front (of up to twenty).
fn sorted(items: Vec<Value>, places: &Places, by: &By) -> Result<Vec<Value>, Error> {
    let mut ranked = Vec::with_capacity(items.len());
    for (at, item) in items.into_iter().enumerate() {
        let place = by.mark(&item).map_or(Ok(None), |mark| places.find(mark))?;
        ranked.push((place.map_or((0, usize::MAX - at), |place| (1, place)), item));
    }
    ranked.sort_by_key(|(rank, _)| *rank);
    Ok(ranked.into_iter().map(|(_, item)| item).collect())
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
}
