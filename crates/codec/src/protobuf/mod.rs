//! The reference's protobuf encoding, directed by the type graph alone.
//!
//! ```text
//! on the wire      k8s\0 + Unknown { typeMeta, raw, contentEncoding, contentType }      envelope.rs
//! raw              a message: fields of the Go struct by number                          decode.rs, encode.rs
//! stored, unread   a message to JSON, or recognized as canonical, without a tree         transcode/, normal.rs
//! ```
//!
//! Messages are decoded as leniently as Go does (any order, repetitions merge, unknown fields are skipped) and
//! encoded byte for byte as Go does (ascending numbers, sorted keys, all non-pointer fields present).
//!
//! Messages that a tree cannot represent exactly:
//! - text that is not UTF-8: every invalid byte becomes U+FFFD, as in JSON;
//! - a pointer to a time, `FieldsV1`, `RawExtension` or `JSON` without content: it is nil;
//! - a `RawExtension` or `JSON` of zero bytes: it has no content.

mod decode;
mod encode;
pub mod envelope;
mod normal;
mod opaque;
mod plan;
mod round_trip;
mod slot;
mod splice;
#[cfg(test)]
mod tests;
pub mod transcode;
pub(crate) mod wire;
mod wire_shape;

pub use decode::decode;
pub(crate) use decode::text;
pub use encode::encode;
pub use round_trip::round_trips;
pub use splice::{length_with_resource_version, with_resource_version};
