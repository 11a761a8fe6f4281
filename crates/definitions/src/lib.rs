//! What a CustomResourceDefinition says: whether it may be said ([`definition`]), what it makes of objects ([`object`]), its
//! rules in the Common Expression Language ([`rules`]), and paths into objects ([`json_path`]).
//!
//! Everything here is a function of a definition and an object. Who serves them is somebody else.

pub mod definition;
pub mod json_path;
pub mod object;
pub mod rules;
