//! What a CustomResourceDefinition says: whether it may be said ([`definition`]), what it makes of objects ([`object`]), its
//! rules in the Common Expression Language ([`rules`]), what tables show of them ([`columns`]), and paths into objects
//! ([`json_path`], [`paths`]).
//!
//! Everything here is a function of a definition and an object. Who serves them is somebody else.

pub mod columns;
pub mod definition;
pub mod json_path;
pub mod object;
pub mod paths;
pub mod rules;

use pintle_codec::json;
use pintle_meta::Value;
use pintle_schema::structural::Structural;

/// Compiles a schema of a definition. What cannot be structural is an error.
pub fn compile(schema: &Value) -> Result<Structural, String> {
    Structural::compile(schema, |text| Some(json::decode_any(text).ok()?.value))
}
