//! Lists, sets and maps with a largest size. One that is too large is not looked into.

use std::borrow::Cow;
use std::hash::Hash;

use pintle_meta::Value;
use pintle_meta::field_path::Value as Printed;

use crate::framework::semantic::is_same_as;
use crate::framework::validation::{Cursor, Seen};

/// Checks each item of a list.
pub(super) fn list<'v>(list: &Cursor<'_, 'v>, max: usize, item: impl FnMut(&Cursor<'_, 'v>)) {
    if list.len() > max {
        return list.too_many(max);
    }
    list.each(item);
}

/// Checks each item of a list, and then that keys differ; the error prints a key.
pub(super) fn set<'v, K: Copy + Eq + Hash>(
    list: &Cursor<'_, 'v>,
    max: Option<usize>,
    item: impl FnMut(&Cursor<'_, 'v>),
    key: impl Fn(&'v Value) -> K,
    printed: impl Fn(K) -> Printed,
) {
    if let Some(max) = max.filter(|max| list.len() > *max) {
        return list.too_many(max);
    }
    list.each(item);
    let mut seen = Seen::new();
    for item in list.items() {
        let key = key(item.value());
        if !seen.insert(key) {
            item.duplicate(printed(key));
        }
    }
}

/// Checks each item of a list of strings, and then that they differ.
pub(super) fn set_of_texts<'v>(list: &Cursor<'_, 'v>, max: usize, item: impl FnMut(&Cursor<'_, 'v>)) {
    set(list, Some(max), item, |value| value.as_str().unwrap_or_default(), Printed::from);
}

/// Checks the items of a list, which have different names.
pub(super) fn set_by_name<'v>(list: &Cursor<'_, 'v>, max: usize, item: impl FnMut(&Cursor<'_, 'v>)) {
    set(list, Some(max), item, |value| value.text_at(&["name"]), Printed::from);
}

/// Checks each key of a map, reported at the map, and its value. Paths have keys of up to `longest` bytes in full.
pub(super) fn map<'v>(
    map: &Cursor<'_, 'v>,
    longest: usize,
    check_key: impl Fn(&Cursor<'_, 'v>, &str),
    mut check_value: impl FnMut(&Cursor<'_, 'v>),
) {
    for (key, value) in map.entries() {
        check_key(map, key);
        if key.len() > longest {
            check_value(&value.shown_at(&map.key(&shortened(key, longest))));
        } else {
            check_value(&value);
        }
    }
}

/// Returns a key without its middle.
fn shortened(key: &str, longest: usize) -> Cow<'_, str> {
    const ELLIPSIS: &str = "...";
    let kept = longest - ELLIPSIS.len();
    let start = String::from_utf8_lossy(&key.as_bytes()[..kept.div_ceil(2)]);
    let end = String::from_utf8_lossy(&key.as_bytes()[key.len() - kept / 2..]);
    Cow::Owned(format!("{start}{ELLIPSIS}{end}"))
}

/// Reports a change; amounts that are the same number in another notation are none. `go` is the type that an error prints, `of` the
/// stored one.
pub(super) fn immutable(field: &Cursor<'_, '_>, go: &str, of: &str) {
    if field.changed() && !is_same_as(of, Some(field.value()), Some(field.before().value())) {
        field.immutable(go);
    }
}

#[cfg(test)]
mod tests {
    use super::shortened;

    #[test]
    fn long_keys_lose_their_middle() {
        assert_eq!(shortened("abcdefghijklmnopqrstuvwxyz", 16), "abcdefg...uvwxyz");
        assert_eq!(shortened("abcdefghijklmnopqrstuvwxyz", 17), "abcdefg...tuvwxyz");
        assert_eq!(shortened("ääääääääääääääääää", 16), "äää\u{fffd}...äää");
    }
}
