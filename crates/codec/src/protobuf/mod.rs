//! Protobuf as the reference speaks it: its own messages, read and written by the type graph alone.
//!
//! ```text
//! on the wire      k8s\0 + Unknown { typeMeta, raw, contentEncoding, contentType }      envelope.rs
//! raw              a message: fields of the Go struct by number                          decode.rs, encode.rs
//! stored, unread   a message to JSON, or recognised as normal, without a tree            transcode/, normal.rs
//! ```
//!
//! Messages are read as leniently as Go reads them (any order, repetitions merge, unknown fields are skipped) and written in the
//! one way Go writes them (ascending numbers, keys sorted, everything that is no pointer present), to the byte.
//!
//! Where a tree cannot say what a message says:
//! - text that is not UTF-8 becomes U+FFFD for every byte that is wrong, which is what JSON would show of it;
//! - a pointer to a time, `FieldsV1`, `RawExtension` or `JSON` without content is no pointer;
//! - a `RawExtension` or `JSON` of zero bytes has no content.

mod decode;
mod encode;
pub mod envelope;
mod form;
mod kept;
mod normal;
mod opaque;
mod place;
mod plan;
mod splice;
#[cfg(test)]
mod tests;
pub mod transcode;
pub(crate) mod wire;

pub use decode::decode;
pub(crate) use decode::text;
pub use encode::encode;
pub use kept::keeps;
pub use splice::{length_with_resource_version, with_resource_version};
