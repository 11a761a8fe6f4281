//! The group's kinds.

pub(crate) mod columns;
