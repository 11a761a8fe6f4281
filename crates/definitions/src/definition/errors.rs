//! Errors of one definition, of which there may be as many as it has fields.

use pintle_meta::field_path::{self, Error, MOST_ERRORS};

/// The most bytes of all errors of a definition. One path can be as long as the definition, and there can be as many errors.
const MOST_BYTES: usize = 8 << 20;

/// A list of errors that ends somewhere.
#[derive(Debug, Default)]
pub(crate) struct Errors {
    all: Vec<Error>,
    bytes: usize,
}

impl Errors {
    pub(crate) fn push(&mut self, error: Error) {
        if self.is_full() {
            return;
        }
        let shown = match &error.value {
            field_path::Value::Printed(shown) => shown.len(),
            field_path::Value::Omitted => 0,
        };
        self.bytes += error.field.len() + error.detail.len() + shown;
        self.all.push(error);
    }

    pub(crate) fn extend(&mut self, errors: impl IntoIterator<Item = Error>) {
        for error in errors {
            self.push(error);
        }
    }

    /// Whether further errors would be dropped.
    pub(crate) fn is_full(&self) -> bool {
        self.all.len() >= MOST_ERRORS || self.bytes > MOST_BYTES
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.all.len()
    }

    /// By what they say.
    pub(crate) fn sort(&mut self) {
        self.all.sort_by_cached_key(Error::to_string);
    }

    pub(crate) fn into_vec(self) -> Vec<Error> {
        self.all
    }
}
