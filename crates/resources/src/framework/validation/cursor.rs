//! The cursor: one field of an object, with its path and its old value.

use std::collections::HashMap;
use std::fmt::Display;
use std::hash::Hash;

use pintle_meta::field_path::{Error, Path, Value as Printed};
use pintle_meta::quantity::Quantity;
use pintle_meta::{Object, Value};
use pintle_schema::go;

use super::Errors;
use super::empties::Empties;

const IMMUTABLE: &str = "field is immutable";

/// One field of an object under validation. `'p` is the life of the path, `'v` that of the values.
#[derive(Clone, Copy)]
pub(crate) struct Cursor<'p, 'v> {
    path: Path<'p>,
    new: Option<&'v Value>,
    old: Option<&'v Value>,
    is_update: bool,
    /// The empty values of the object that the client sent; `None` for an older object.
    empties: Option<&'v Empties>,
    errors: &'v Errors,
}

/// Going down.
impl<'p, 'v> Cursor<'p, 'v> {
    /// Returns the cursor of a whole object; `old` is the stored one on an update.
    pub(crate) fn root(new: &'v Value, old: Option<&'v Value>, errors: &'v Errors) -> Cursor<'static, 'v> {
        Cursor {
            path: Path::NOWHERE,
            new: Some(new),
            old,
            is_update: old.is_some(),
            empties: Some(errors.empties()),
            errors,
        }
    }

    fn below<'q>(&self, path: Path<'q>, step: impl Fn(&'v Value) -> Option<&'v Value>) -> Cursor<'q, 'v> {
        Cursor { path, new: self.new.and_then(&step), old: self.old.and_then(&step), ..*self }
    }

    /// Returns a field of this struct.
    pub(crate) fn field<'q>(&'q self, name: &'q str) -> Cursor<'q, 'v> {
        self.below(self.path.child(name), |value| value.get(name).filter(|value| !value.is_null()))
    }

    /// Returns a field of a field, and so on.
    pub(crate) fn at<'q>(&'q self, names: &'q [&'q str]) -> Cursor<'q, 'v> {
        self.below(self.path.descendant(names), |value| value.at(names).filter(|value| !value.is_null()))
    }

    /// As [`Cursor::at`], with the name that the reference's errors have in place of the JSON names.
    pub(crate) fn at_as<'q>(&'q self, names: &[&str], shown: &'q str) -> Cursor<'q, 'v> {
        self.below(self.path.child(shown), |value| value.at(names).filter(|value| !value.is_null()))
    }

    /// Returns the entry of this map with a key; set if the key is there, also with an empty value.
    pub(crate) fn key<'q>(&'q self, key: &'q str) -> Cursor<'q, 'v> {
        self.below(self.path.key(key), |value| value.get(key))
    }

    /// Returns the item of this list at an index, beside the old item at the same index.
    pub(crate) fn index<'q>(&'q self, index: usize) -> Cursor<'q, 'v> {
        self.below(self.path.index(index), |value| value.as_list()?.get(index))
    }

    /// Returns the items of this list, each beside the old item at the same index.
    pub(crate) fn items<'q>(&'q self) -> impl Iterator<Item = Cursor<'q, 'v>> {
        (0..self.len()).map_while(|index| (!self.errors.is_full()).then(|| self.index(index)))
    }

    /// Returns the items of this list, each beside the first old item with the same key.
    pub(crate) fn items_by<'q, K: Hash + Eq + 'v>(
        &'q self,
        key: impl Fn(&'v Value) -> K + 'q,
    ) -> impl Iterator<Item = Cursor<'q, 'v>> {
        let mut known = HashMap::new();
        for old in self.before().values() {
            known.entry(key(old)).or_insert(old);
        }
        self.items().map(move |item| Cursor { old: known.get(&key(item.value())).copied(), ..item })
    }

    /// Returns the entries of this map with their keys, each beside the old entry with the same key.
    pub(crate) fn entries<'q>(&'q self) -> impl Iterator<Item = (&'v str, Cursor<'q, 'v>)> {
        let keys = self.map().into_iter().flat_map(Object::keys);
        keys.map_while(|key| (!self.errors.is_full()).then(|| (key, self.key(key))))
    }

    /// Applies a rule to each item of this list.
    pub(crate) fn each(&self, mut rule: impl FnMut(&Cursor<'_, 'v>)) {
        self.items().for_each(|item| rule(&item));
    }

    /// Returns the same field without an old value, on an update too: that of an item that was added.
    pub(crate) fn without_old(&self) -> Cursor<'p, 'v> {
        Cursor { old: None, ..*self }
    }

    /// Returns this field with other errors to report to: for rules whose errors may not count.
    pub(crate) fn reporting_to<'w>(&self, errors: &'w Errors) -> Cursor<'p, 'w>
    where
        'v: 'w,
    {
        Cursor { errors, ..*self }
    }

    /// Returns a cursor at the same path over a value that is no part of the object, such as the content of an annotation.
    pub(crate) fn with_value<'s>(&self, value: &'s Value) -> Cursor<'p, 's>
    where
        'v: 's,
    {
        Cursor { new: Some(value), old: None, is_update: false, ..*self }
    }

    /// Returns this field under the path of another, where the reference's errors name a list in place of its item.
    pub(crate) fn shown_at<'q>(&self, other: &Cursor<'q, '_>) -> Cursor<'q, 'v> {
        Cursor { path: other.path, ..*self }
    }

    /// Returns the same field of the old object, as if that were validated by itself.
    pub(crate) fn before(&self) -> Cursor<'p, 'v> {
        Cursor { new: self.old, old: None, is_update: false, empties: None, ..*self }
    }
}

/// Reading.
impl<'v> Cursor<'_, 'v> {
    pub(crate) fn path(&self) -> &Path<'_> {
        &self.path
    }

    /// Returns the new value; null where nothing is set.
    pub(crate) fn value(&self) -> &'v Value {
        self.new.unwrap_or(&Value::NULL)
    }

    pub(crate) fn is_set(&self) -> bool {
        self.new.is_some()
    }

    /// Whether this field of a struct is set or was sent as an empty list or map, which the normal form does not tell from an
    /// absent one. For rules about rare fields, where the reference looks for nil: the body is searched, and decoded again if it
    /// has the name.
    pub(crate) fn is_given(&self) -> bool {
        let may_have =
            |empties: &Empties| self.path.segments().last().is_some_and(|name| empties.may_have(name));
        self.is_set() || (self.empties.is_some_and(may_have) && self.restored(self.value()).is_some())
    }

    pub(crate) fn is_update(&self) -> bool {
        self.is_update
    }

    /// Whether the old object has this field, or an item beside this one.
    pub(crate) fn has_old(&self) -> bool {
        self.old.is_some()
    }

    /// Whether the value differs from the old one; always on a create.
    pub(crate) fn changed(&self) -> bool {
        let is_same = match (self.new, self.old) {
            (Some(new), Some(old)) => new.is_same(old) || new == old,
            (None, None) => true,
            _ => false,
        };
        !self.is_update || !is_same
    }

    /// Returns the text; empty where none is set.
    pub(crate) fn text(&self) -> &'v str {
        self.optional_text().unwrap_or_default()
    }

    pub(crate) fn optional_text(&self) -> Option<&'v str> {
        self.new?.as_str()
    }

    /// Returns the integer; 0 where none is set.
    pub(crate) fn integer(&self) -> i64 {
        self.optional_integer().unwrap_or_default()
    }

    pub(crate) fn optional_integer(&self) -> Option<i64> {
        self.new?.as_i64()
    }

    /// Returns the flag; false where none is set.
    pub(crate) fn flag(&self) -> bool {
        self.new.and_then(Value::as_bool).unwrap_or_default()
    }

    /// Returns the quantity; nothing where none is set.
    pub(crate) fn quantity(&self) -> Option<Quantity> {
        Quantity::parse(self.new?.as_str()?).ok()
    }

    /// Returns the items of this list; none where it is not set.
    pub(crate) fn values(&self) -> &'v [Value] {
        self.new.and_then(Value::as_list).unwrap_or_default()
    }

    /// Returns the items of a list of strings.
    pub(crate) fn texts(&self) -> Vec<&'v str> {
        self.values().iter().map(|item| item.as_str().unwrap_or_default()).collect()
    }

    pub(crate) fn map(&self) -> Option<&'v Object> {
        self.new?.as_object()
    }

    /// Returns the number of items of this list, or of entries of this map.
    pub(crate) fn len(&self) -> usize {
        self.map().map_or_else(|| self.values().len(), Object::len)
    }

    /// Whether there is no text, item or entry.
    pub(crate) fn is_empty(&self) -> bool {
        self.text().is_empty() && self.len() == 0
    }

    /// Returns the value as an error shows it, when the reference's internal field has this Go type.
    pub(crate) fn printed_as(&self, of: &str) -> Printed {
        go::printed(of, self.restored(self.value()).as_ref().unwrap_or(self.value()))
    }

    /// Returns the difference of an old value of this field to a new one, as errors show it.
    pub(crate) fn diff(&self, of: &str, old: &Value, new: &Value) -> String {
        go::diff(of, old, self.restored(new).as_ref().unwrap_or(new))
    }

    fn restored(&self, value: &Value) -> Option<Value> {
        self.empties?.restored(&self.path, value)
    }
}

/// Reporting. Values are not printed any more once there are enough errors.
impl Cursor<'_, '_> {
    /// Reports an error of another path, or of a function that returns its errors.
    #[track_caller]
    pub(crate) fn report(&self, errors: impl IntoIterator<Item = Error>) {
        for error in errors {
            self.errors.push(error);
        }
    }

    #[track_caller]
    pub(crate) fn invalid(&self, printed: impl Into<Printed>, why: impl Into<String>) {
        if !self.errors.is_full() {
            self.errors.push(Error::invalid(&self.path, printed, why));
        }
    }

    /// The detail may be empty.
    #[track_caller]
    pub(crate) fn required(&self, why: impl Into<String>) {
        self.errors.push(Error::required(&self.path, why));
    }

    #[track_caller]
    pub(crate) fn forbidden(&self, why: impl Into<String>) {
        self.errors.push(Error::forbidden(&self.path, why));
    }

    #[track_caller]
    pub(crate) fn duplicate(&self, printed: impl Into<Printed>) {
        if !self.errors.is_full() {
            self.errors.push(Error::duplicate(&self.path, printed));
        }
    }

    #[track_caller]
    pub(crate) fn not_found(&self, printed: impl Into<Printed>) {
        if !self.errors.is_full() {
            self.errors.push(Error::not_found(&self.path, printed));
        }
    }

    /// The supported values show in the order given.
    #[track_caller]
    pub(crate) fn not_supported(&self, printed: impl Into<Printed>, supported: &[&str]) {
        if !self.errors.is_full() {
            self.errors.push(Error::not_supported(&self.path, printed, supported));
        }
    }

    #[track_caller]
    pub(crate) fn too_long(&self, max: usize) {
        self.errors.push(Error::too_long(&self.path, Some(max)));
    }

    #[track_caller]
    pub(crate) fn too_many(&self, max: usize) {
        self.errors.push(Error::too_many(&self.path, Some(self.len()), Some(max)));
    }

    #[track_caller]
    pub(crate) fn internal(&self, error: impl Display) {
        self.errors.push(Error::internal(&self.path, error));
    }

    /// Reports a change of a field that may not change; `of` is the Go type of the reference's internal field.
    #[track_caller]
    pub(crate) fn immutable(&self, of: &str) {
        if self.is_update && self.changed() {
            self.invalid(self.printed_as(of), IMMUTABLE);
        }
    }

    /// Whether addresses must be in their canonical spelling (feature gate `StrictIPCIDRValidation`).
    pub(crate) fn strict_addresses(&self) -> bool {
        !self.errors.accepts_loose_addresses()
    }

    /// Returns the number of errors so far, for rules that the reference skips after others failed:
    ///
    /// ```text
    /// let errors = spec.error_count();
    /// template(&spec.field("template"), options);
    /// if spec.error_count() == errors { ... }
    /// ```
    pub(crate) fn error_count(&self) -> usize {
        self.errors.len()
    }
}
