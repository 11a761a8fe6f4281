//! Patches, and the ownership of fields.
//!
//! - [`json_patch`], [`merge_patch`]: patches without types;
//! - [`strategic`]: strategic merge patches, directed by the types;
//! - [`fieldset`]: sets of fields, and their `FieldsV1` encoding to the byte;
//! - [`typed`]: objects by their schema: field sets, comparison, merge;
//! - [`configuration`]: apply configurations merged without managers;
//! - [`managed`]: `metadata.managedFields` of updates, and server-side apply.
//!
//! All input may be hostile: clients send `managedFields` too. Depth is bounded by [`pintle_codec::MAX_DEPTH`], and
//! no operation costs more than sorting its input.

pub mod configuration;
mod entries;
pub mod fieldset;
pub mod json_patch;
mod lazy;
pub mod managed;
pub mod merge_patch;
pub mod strategic;
pub mod typed;

use pintle_meta::Node;

/// Returns Go's name of a JSON type in errors.
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
