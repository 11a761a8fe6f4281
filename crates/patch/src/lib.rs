//! What patches make of an object, and which of its fields were set by whom.
//!
//! - [`json_patch`], [`merge_patch`]: patches that know nothing of types;
//! - [`strategic`]: merge patches that know the types of what they change;
//! - [`fieldset`]: sets of fields, and their `FieldsV1` form to the byte;
//! - [`typed`]: objects seen through their schema: the fields they have, those by which two differ, one on top of another;
//! - [`managed`]: `metadata.managedFields`: what a write makes of them, and server-side apply.
//!
//! All of it takes hostile input: `managedFields` are sent by clients. Depth is bounded by [`pintle_codec::MAX_DEPTH`], and
//! nothing costs more than the sorting of what was sent.

mod entries;
pub mod fieldset;
pub mod json_patch;
mod lazy;
pub mod managed;
pub mod merge_patch;
pub mod strategic;
pub mod typed;

use pintle_meta::Node;

/// What Go calls a kind of JSON value in its errors.
fn json_type(node: Node<'_>) -> &'static str {
    match node {
        Node::Null | Node::Hollow => "null",
        Node::Bool(_) => "bool",
        Node::Int(_) | Node::Float(_) => "number",
        Node::String(_) | Node::Bytes(_) => "string",
        Node::List(_) => "array",
        Node::Object(_) => "object",
        Node::Raw(raw) => match raw.trim_ascii_start().first() {
            Some(b'{') => "object",
            Some(b'[') => "array",
            Some(b'"') => "string",
            Some(b't' | b'f') => "bool",
            Some(b'n') | None => "null",
            Some(_) => "number",
        },
    }
}
