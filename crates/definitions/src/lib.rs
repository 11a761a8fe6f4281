//! CustomResourceDefinitions: their validation ([`definition`]), pruning, defaulting and validation of custom resources ([`object`]),
//! rules in the Common Expression Language ([`rules`]), printer columns ([`columns`]), and paths into objects
//! ([`json_path`], [`paths`]).
//!
//! Everything here is a pure function of a definition and an object; `extensions` serves them.

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
