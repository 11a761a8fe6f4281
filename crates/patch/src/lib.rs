//! Which fields of an object were set by whom, and (later) what patches make of an object.
//!
//! - [`fieldset`]: sets of fields, and their `FieldsV1` form to the byte;
//! - [`typed`]: an object seen through its schema: the fields it has, and the fields by which two objects differ;
//! - [`managed`]: `metadata.managedFields`: what a write makes of them.
//!
//! All of it takes hostile input: `managedFields` are sent by clients. Depth is bounded by [`pintle_codec::MAX_DEPTH`], and
//! nothing costs more than the sorting of what was sent.

pub mod fieldset;
pub mod managed;
pub mod typed;
