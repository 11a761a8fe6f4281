//! The group's kinds.
