//! Errors, as many as anybody wants to read.

use pintle_meta::field_path::{Error, MOST_ERRORS};

/// How much text there is in all errors together: a large value may be wrong in many ways and is shown each time, and so
/// is a long path to many small ones.
const MOST_TEXT: usize = 8 << 20;

/// Errors up to a limit. What is past it is wrong too, but not told.
#[derive(Default)]
pub(super) struct Told {
    pub(super) errors: Vec<Error>,
    pub(super) text: usize,
}

impl Told {
    /// Whether to stop looking, or at least telling.
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
