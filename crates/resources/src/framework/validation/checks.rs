//! Checks that many kinds share. Each reports at the cursor it is called on.

use pintle_meta::Object;
use pintle_meta::field_path::{Error, Path, Value as Printed};
use pintle_meta::selector::{LabelSelector, ValidationOptions};
use pintle_meta::validation::{self, cidr_for_legacy_field, ip_for_legacy_field, object_meta};

use super::Cursor;

impl Cursor<'_, '_> {
    /// Checks the text by a format of `pintle_meta::validation`, also if it is empty.
    #[track_caller]
    pub(crate) fn text_format(&self, format: impl Fn(&str) -> Vec<String>) {
        for why in format(self.text()) {
            self.invalid(self.text(), why);
        }
    }

    /// Checks the integer, 0 where none is set.
    #[track_caller]
    pub(crate) fn integer_format(&self, format: impl Fn(i64) -> Vec<String>) {
        for why in format(self.integer()) {
            self.invalid(self.integer(), why);
        }
    }

    /// Checks the text by a function that returns errors of its own.
    #[track_caller]
    pub(crate) fn text_check<E: IntoIterator<Item = Error>>(&self, check: impl Fn(&Path<'_>, &str) -> E) {
        self.report(check(self.path(), self.text()));
    }

    #[track_caller]
    pub(crate) fn non_negative(&self) {
        self.report(validation::non_negative(self.path(), self.integer()));
    }

    /// Checks an integer that must be above 0.
    #[track_caller]
    pub(crate) fn positive(&self) {
        if self.integer() <= 0 {
            self.invalid(self.integer(), "must be greater than zero");
        }
    }

    /// Checks a quantity that may not be below 0; the error prints it in canonical form.
    #[track_caller]
    pub(crate) fn non_negative_quantity(&self) {
        if let Some(quantity) = self.quantity().filter(|quantity| quantity.signum() < 0) {
            self.invalid(quantity.to_string(), "must be greater than or equal to 0");
        }
    }

    /// Checks a quantity that must be above 0.
    #[track_caller]
    pub(crate) fn positive_quantity(&self) {
        if let Some(quantity) = self.quantity().filter(|quantity| quantity.signum() <= 0) {
            self.invalid(quantity.to_string(), "must be greater than zero");
        }
    }

    /// Checks an enumeration, sorted as the reference's callers sort it; an empty value is not supported either.
    #[track_caller]
    pub(crate) fn one_of(&self, supported: &[&str]) {
        if !supported.contains(&self.text()) {
            self.not_supported(Printed::json(self.text()), supported);
        }
    }

    /// As [`Cursor::one_of`], where the reference asks for a value first.
    #[track_caller]
    pub(crate) fn required_one_of(&self, supported: &[&str]) {
        if self.text().is_empty() {
            self.required("");
        } else {
            self.one_of(supported);
        }
    }

    /// Checks the keys and values of a map of labels.
    #[track_caller]
    pub(crate) fn labels(&self) {
        let entries = self.map().into_iter().flat_map(Object::iter);
        let pairs = entries.map(|(key, value)| (key, value.as_str().unwrap_or_default()));
        self.report(validation::labels(self.path(), pairs));
    }

    /// Checks the keys and the total size of a map of annotations.
    #[track_caller]
    pub(crate) fn annotations(&self) {
        let entries = self.map().into_iter().flat_map(Object::iter);
        let pairs = entries.map(|(key, value)| (key, value.as_str().unwrap_or_default()));
        self.report(object_meta::annotations(self.path(), pairs));
    }

    /// Checks a LabelSelector.
    #[track_caller]
    pub(crate) fn label_selector(&self, options: ValidationOptions) {
        let selector = self.value().view::<LabelSelector>().unwrap_or_default();
        self.report(selector.validate(options, self.path()));
    }

    /// Checks that the object, given as the cursor of the whole, has a resourceVersion; the error does not name the metadata.
    #[track_caller]
    pub(crate) fn requires_resource_version(&self) {
        let version = self.at_as(&["metadata", "resourceVersion"], "resourceVersion");
        if version.is_empty() {
            version.required("");
        }
    }

    /// Whether a LabelSelector has no errors.
    pub(crate) fn label_selector_is_valid(&self, options: ValidationOptions) -> bool {
        let selector = self.value().view::<LabelSelector>().unwrap_or_default();
        selector.validate(options, self.path()).is_empty()
    }

    /// Checks the metadata of a template, which may have labels and annotations only.
    #[track_caller]
    pub(crate) fn template_metadata(&self) {
        // As the reference derives them from Go's names.
        const FORBIDDEN: &[(&str, &str)] = &[
            ("name", "name"),
            ("generateName", "generateName"),
            ("namespace", "namespace"),
            ("selfLink", "selfLink"),
            ("uid", "uID"),
            ("resourceVersion", "resourceVersion"),
            ("generation", "generation"),
            ("creationTimestamp", "creationTimestamp"),
            ("deletionTimestamp", "deletionTimestamp"),
            ("deletionGracePeriodSeconds", "deletionGracePeriodSeconds"),
            ("ownerReferences", "ownerReferences"),
            ("finalizers", "finalizers"),
            ("managedFields", "managedFields"),
        ];
        self.field("annotations").annotations();
        self.field("labels").labels();
        for (name, shown) in FORBIDDEN {
            let field = self.at_as(std::slice::from_ref(name), shown);
            if field.is_given() {
                field.forbidden("cannot be set");
            }
        }
    }

    /// Checks an IP address of a field that once took other spellings; those of `old` may stay.
    #[track_caller]
    pub(crate) fn legacy_ip(&self, old: &[&str]) {
        self.report(ip_for_legacy_field(self.path(), self.text(), self.strict_addresses(), old));
    }

    /// As [`Cursor::legacy_ip`], for a range of addresses whose text is given, since callers trim it.
    #[track_caller]
    pub(crate) fn legacy_cidr(&self, text: &str, old: &[&str]) {
        self.report(cidr_for_legacy_field(self.path(), text, self.strict_addresses(), old));
    }
}
