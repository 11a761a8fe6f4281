//! The group's kinds.

pub(crate) mod conversion;
