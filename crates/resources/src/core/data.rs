//! Rules that ConfigMaps and Secrets share: the keys and the size of their data, and `immutable`.

use pintle_meta::Value;
use pintle_meta::validation::config_map_key;

use crate::framework::validation::Cursor;

/// Bytes of all values of an object together.
pub(super) const MAX_SIZE: usize = 1024 * 1024;
const IMMUTABLE: &str = "field is immutable when `immutable` is set";

pub(super) fn check_key(key: &str, entry: &Cursor<'_, '_>) {
    config_map_key(key).into_iter().for_each(|why| entry.invalid(key, why));
}

pub(super) fn length(value: &Value) -> usize {
    value.as_str().map_or_else(|| value.as_bytes().map_or(0, <[u8]>::len), str::len)
}

/// Returns the bytes of all values of a map.
pub(super) fn size(map: &Cursor<'_, '_>) -> usize {
    map.map().map_or(0, |map| map.iter().map(|(_, value)| length(value)).sum())
}

/// Forbids changes of the fields of an object whose `immutable` is set, which cannot be taken back.
pub(super) fn immutable(object: &Cursor<'_, '_>, fields: &[&str]) {
    let immutable = object.field("immutable");
    if !immutable.before().flag() {
        return;
    }
    if !immutable.flag() {
        immutable.forbidden(IMMUTABLE);
    }
    for name in fields {
        let field = object.field(name);
        if field.changed() {
            field.forbidden(IMMUTABLE);
        }
    }
}
