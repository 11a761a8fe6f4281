//! Declared rules: validation that the reference generates from markers on its types.
//!
//! A few kinds have no other validation (Workload, PodGroup, ResourcePoolStatusRequest). Their rules differ from those of other
//! kinds in three ways:
//!
//! - A field that an update left as it was is not validated again. That holds for a field of an item only if the item
//!   has an old one beside it, so an item that was added is validated as on a create ([`field`], [`each_by`]).
//! - The first rules of a field (`immutable`, `maxItems`, `required`) are all applied; if one of them fails, the rules of the
//!   contents are not ([`all`]).
//! - Errors print the served version's JSON, not the internal type's.
//!
//! ```text
//! declarative::field(spec, "podGroupTemplates", |templates| {
//!     if all([declarative::immutable(templates), declarative::max_items(templates, 8), declarative::required_items(templates)]) {
//!         declarative::unique_by(templates, name);
//!         declarative::each_by(templates, name, template);
//!     }
//! });
//! ```
//!
//! Each rule reports at its cursor and returns whether it was kept. An optional field needs none: `priority.is_set()`. Formats
//! are those of `pintle_meta::validation::declared`, by [`Cursor::text_format`].

use std::collections::HashSet;
use std::hash::Hash;

use pintle_meta::Value;
use pintle_meta::field_path::Value as Printed;

use super::Cursor;

/// Applies rules to a field, unless an update left it as it was.
pub(crate) fn field<'v>(parent: &Cursor<'_, 'v>, name: &str, rules: impl FnOnce(&Cursor<'_, 'v>)) {
    let field = parent.field(name);
    if parent.has_old() && !field.changed() {
        return;
    }
    rules(&field);
}

/// Applies rules to each item of a list without keys; none has an old item beside it.
pub(crate) fn each<'v>(list: &Cursor<'_, 'v>, mut rules: impl FnMut(&Cursor<'_, 'v>)) {
    list.items().for_each(|item| rules(&item.without_old()));
}

/// Applies rules to each item of a list with keys, unless the old item with its key is the same.
pub(crate) fn each_by<'v, K: Hash + Eq + 'v>(
    list: &Cursor<'_, 'v>,
    key: impl Fn(&'v Value) -> K,
    mut rules: impl FnMut(&Cursor<'_, 'v>),
) {
    for item in list.items_by(key) {
        if !item.has_old() || item.changed() {
            rules(&item);
        }
    }
}

/// Whether all rules were kept. The rules of an array are applied before any is looked at.
pub(crate) fn all<const N: usize>(kept: [bool; N]) -> bool {
    kept.into_iter().all(|kept| kept)
}

/// Reports a change. Every call on an update is one, since [`field`] passes over what did not change.
#[track_caller]
pub(crate) fn immutable(at: &Cursor<'_, '_>) -> bool {
    if at.is_update() {
        at.invalid(Printed::null(), "field is immutable");
    }
    !at.is_update()
}

/// Checks a pointer that must be set.
#[track_caller]
pub(crate) fn required(at: &Cursor<'_, '_>) -> bool {
    if !at.is_set() {
        at.required("");
    }
    at.is_set()
}

/// Checks a plain value that must not be zero.
#[track_caller]
pub(crate) fn required_value(at: &Cursor<'_, '_>) -> bool {
    let is_zero = is_zero(at.value());
    if is_zero {
        at.required("");
    }
    !is_zero
}

/// Checks a list or map that must not be empty.
#[track_caller]
pub(crate) fn required_items(at: &Cursor<'_, '_>) -> bool {
    if at.len() == 0 {
        at.required("");
    }
    at.len() > 0
}

/// Reports a pointer that must not be set, such as one whose feature is off.
#[track_caller]
pub(crate) fn forbidden(at: &Cursor<'_, '_>) -> bool {
    if at.is_set() {
        at.forbidden("");
    }
    !at.is_set()
}

/// Reports a plain value that must be zero.
#[track_caller]
pub(crate) fn forbidden_value(at: &Cursor<'_, '_>) -> bool {
    let is_zero = is_zero(at.value());
    if !is_zero {
        at.forbidden("");
    }
    is_zero
}

#[track_caller]
pub(crate) fn max_items(at: &Cursor<'_, '_>, max: usize) -> bool {
    let is_within = at.len() <= max;
    if !is_within {
        at.too_many(max);
    }
    is_within
}

#[track_caller]
pub(crate) fn max_bytes(at: &Cursor<'_, '_>, max: usize) -> bool {
    let is_within = at.text().len() <= max;
    if !is_within {
        at.too_long(max);
    }
    is_within
}

#[track_caller]
pub(crate) fn minimum(at: &Cursor<'_, '_>, min: i64) -> bool {
    let is_within = at.integer() >= min;
    if !is_within {
        at.invalid(at.integer(), format!("must be greater than or equal to {min}"));
    }
    is_within
}

#[track_caller]
pub(crate) fn maximum(at: &Cursor<'_, '_>, max: i64) -> bool {
    let is_within = at.integer() <= max;
    if !is_within {
        at.invalid(at.integer(), format!("must be less than or equal to {max}"));
    }
    is_within
}

/// Checks that exactly one of these fields is set. An update that set and cleared none of them is not looked at.
#[track_caller]
pub(crate) fn union(at: &Cursor<'_, '_>, members: &[&str]) {
    let before = at.before();
    let is_same = |name: &&str| at.field(name).is_set() == before.field(name).is_set();
    if at.has_old() && members.iter().all(is_same) {
        return;
    }
    let set: Vec<&str> = members.iter().copied().filter(|name| at.field(name).is_set()).collect();
    let shown = || members.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    match set.len() {
        0 => at.invalid("", format!("must specify one of: {}", shown())),
        1 => {}
        _ => {
            let why = format!("must specify exactly one of: {}", shown());
            at.invalid(format!("{{{}}}", set.join(", ")), why);
        }
    }
}

/// Reports each item whose key an earlier one has.
#[track_caller]
pub(crate) fn unique_by<'v, K: Hash + Eq + 'v>(list: &Cursor<'_, 'v>, key: impl Fn(&'v Value) -> K) {
    let mut seen = HashSet::new();
    for item in list.items() {
        if !seen.insert(key(item.value())) {
            item.duplicate(Printed::json(item.value()));
        }
    }
}

fn is_zero(value: &Value) -> bool {
    value.is_null()
        || value.as_str() == Some("")
        || value.as_i64() == Some(0)
        || value.as_bool() == Some(false)
}
