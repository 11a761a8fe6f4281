//! The errors of one validation.

use std::cell::{Cell, RefCell};

use pintle_features::{Feature, Features};
use pintle_meta::field_path::{Error, MOST_ERRORS, Value as Printed};
use pintle_registry::Sent;

use super::empties::Empties;

/// Limit of the text of all errors: thousands of them may print the same long value.
const MOST_BYTES: usize = 16 << 20;

/// Errors in the order in which they were reported, at most [`MOST_ERRORS`] and about [`MOST_BYTES`]. Cursors share it, so
/// reporting needs no `&mut`.
#[derive(Debug, Default)]
pub(crate) struct Errors {
    list: RefCell<Vec<Error>>,
    bytes: Cell<usize>,
    /// See [`Errors::accepts_loose_addresses`].
    loose_addresses: bool,
    empties: Empties,
}

impl Errors {
    /// Returns no errors yet, of a validation with these gates.
    pub(crate) fn new(features: &Features) -> Errors {
        let loose_addresses = !features.enabled(Feature::StrictIPCIDRValidation);
        Errors { loose_addresses, ..Errors::default() }
    }

    /// Returns the same for an object that was sent so.
    pub(crate) fn of(self, sent: Option<Sent>) -> Errors {
        Errors { empties: Empties::new(sent), ..self }
    }

    pub(super) fn empties(&self) -> &Empties {
        &self.empties
    }

    /// Whether fields that once took other spellings of addresses, such as leading zeros, still do.
    pub(super) fn accepts_loose_addresses(&self) -> bool {
        self.loose_addresses
    }

    #[cfg_attr(test, track_caller)]
    pub(crate) fn push(&self, error: Error) {
        #[cfg(test)]
        super::origins::record(&error, std::panic::Location::caller());
        if !self.is_full() {
            self.bytes.set(self.bytes.get() + size(&error));
            self.list.borrow_mut().push(error);
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.list.borrow().len()
    }

    /// Whether further errors would be dropped.
    pub(crate) fn is_full(&self) -> bool {
        self.len() >= MOST_ERRORS || self.bytes.get() >= MOST_BYTES
    }

    pub(crate) fn into_vec(self) -> Vec<Error> {
        self.list.into_inner()
    }
}

fn size(error: &Error) -> usize {
    let value = match &error.value {
        Printed::Omitted => 0,
        Printed::Printed(text) => text.len(),
    };
    error.field.len() + value + error.detail.len()
}
