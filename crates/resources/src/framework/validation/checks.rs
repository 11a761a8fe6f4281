//! Checks that many kinds share. Each reports at the cursor it is called on.

use pintle_meta::Object;
use pintle_meta::field_path::{Error, Path, Value as Shown};
use pintle_meta::selector::{LabelSelector, ValidationOptions};
use pintle_meta::validation::{self, cidr_for_legacy_field, ip_for_legacy_field};

use super::Cursor;

impl Cursor<'_, '_> {
    /// Checks the text by a format of `pintle_meta::validation`, also if it is empty.
    pub(crate) fn text_format(&self, format: impl Fn(&str) -> Vec<String>) {
        format(self.text()).into_iter().for_each(|why| self.invalid(self.text(), why));
    }

    /// Checks the integer, 0 where none is set.
    pub(crate) fn integer_format(&self, format: impl Fn(i64) -> Vec<String>) {
        format(self.integer()).into_iter().for_each(|why| self.invalid(self.integer(), why));
    }

    /// Checks the text by a function that returns errors of its own.
    pub(crate) fn text_check<E: IntoIterator<Item = Error>>(&self, check: impl Fn(&Path<'_>, &str) -> E) {
        self.report(check(self.path(), self.text()));
    }

    pub(crate) fn non_negative(&self) {
        self.report(validation::non_negative(self.path(), self.integer()));
    }

    /// Checks an enumeration, sorted as the reference's callers sort it; an empty value is not supported either.
    pub(crate) fn one_of(&self, supported: &[&str]) {
        if !supported.contains(&self.text()) {
            self.not_supported(Shown::json(self.text()), supported);
        }
    }

    /// As [`Cursor::one_of`], where the reference asks for a value first.
    pub(crate) fn required_one_of(&self, supported: &[&str]) {
        if self.text().is_empty() {
            self.required("");
        } else {
            self.one_of(supported);
        }
    }

    /// Checks the keys and values of a map of labels.
    pub(crate) fn labels(&self) {
        let entries = self.map().into_iter().flat_map(Object::iter);
        let pairs = entries.map(|(key, value)| (key, value.as_str().unwrap_or_default()));
        self.report(validation::labels(self.path(), pairs));
    }

    /// Checks a LabelSelector.
    pub(crate) fn label_selector(&self, options: ValidationOptions) {
        let selector = self.value().view::<LabelSelector>().unwrap_or_default();
        self.report(selector.validate(options, self.path()));
    }

    /// Checks an IP address of a field that once took other spellings; those of `old` may stay.
    pub(crate) fn legacy_ip(&self, old: &[&str]) {
        self.report(ip_for_legacy_field(self.path(), self.text(), true, old));
    }

    /// As [`Cursor::legacy_ip`], for a range of addresses whose text is given, since callers trim it.
    pub(crate) fn legacy_cidr(&self, text: &str, old: &[&str]) {
        self.report(cidr_for_legacy_field(self.path(), text, true, old));
    }
}
