//! The errors of one validation.

use std::cell::RefCell;

use pintle_meta::field_path::{Error, MOST_ERRORS};

/// Errors in the order in which they were reported, at most [`MOST_ERRORS`]. Cursors share it, so reporting needs no `&mut`.
#[derive(Debug, Default)]
pub(crate) struct Errors(RefCell<Vec<Error>>);

impl Errors {
    #[cfg_attr(test, track_caller)]
    pub(crate) fn push(&self, error: Error) {
        #[cfg(test)]
        super::origins::record(&error, std::panic::Location::caller());
        let mut errors = self.0.borrow_mut();
        if errors.len() < MOST_ERRORS {
            errors.push(error);
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.0.borrow().len()
    }

    /// Whether further errors would be dropped.
    pub(crate) fn is_full(&self) -> bool {
        self.len() >= MOST_ERRORS
    }

    pub(crate) fn into_vec(self) -> Vec<Error> {
        self.0.into_inner()
    }
}
