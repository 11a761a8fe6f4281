//! A bounded list of errors.

use pintle_meta::field_path::{Error, MOST_ERRORS};

/// The most bytes of all errors together: a large value may have many errors and is shown in each, and so
/// is a long path to many small values.
const MOST_TEXT: usize = 8 << 20;

/// Errors up to a limit; further ones are dropped.
#[derive(Default)]
pub(super) struct BoundedErrors {
    pub(super) errors: Vec<Error>,
    pub(super) text: usize,
}

impl BoundedErrors {
    /// Whether further errors would be dropped.
    pub(super) fn is_full(&self) -> bool {
        self.errors.len() >= MOST_ERRORS || self.text >= MOST_TEXT
    }

    pub(super) fn push(&mut self, error: impl FnOnce() -> Error) {
        if !self.is_full() {
            let error = error();
            self.text += error.field.len() + error.detail.len() + error.value.to_string().len();
            self.errors.push(error);
        }
    }
}
