//! Parts that the classes of this group share.

use pintle_meta::Object;
use pintle_meta::validation::qualified_name;

use crate::framework::validation::Cursor;

/// The most parameters of a class.
const MAX_COUNT: usize = 512;
/// Bytes of keys and values together.
const MAX_SIZE: usize = 256 * 1024;

/// Checks the name of a provisioner or driver, in any case.
pub(super) fn provisioner(name: &Cursor<'_, '_>) {
    if name.is_empty() {
        return name.required("");
    }
    let lower = name.text().to_lowercase();
    qualified_name(&lower).into_iter().for_each(|why| name.invalid(lower.as_str(), why));
}

/// Checks the parameters of a class.
pub(super) fn parameters(parameters: &Cursor<'_, '_>, allow_empty: bool) {
    if parameters.len() > MAX_COUNT {
        return parameters.too_long(MAX_COUNT);
    }
    if parameters.key("").is_set() {
        parameters.invalid("", "field can not be empty.");
    }
    if size(parameters) > MAX_SIZE {
        parameters.too_long(MAX_SIZE);
    }
    if !allow_empty && parameters.is_empty() {
        parameters.required("must contain at least one key/value pair");
    }
}

/// Returns the bytes of all keys and values of a map.
pub(super) fn size(map: &Cursor<'_, '_>) -> usize {
    let entries = map.map().into_iter().flat_map(Object::iter);
    entries.map(|(key, value)| key.len() + value.as_str().map_or(0, str::len)).sum()
}
