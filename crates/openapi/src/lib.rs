//! OpenAPI: types and operations, for `kubectl explain`, validation in clients and generators of clients.
//!
//! [`operations`] says what can be asked of each path, [`schema`] what a type is made of; [`v3`] makes one document per group
//! version of them, [`v2`] one of all; [`custom`] does both for custom resources, and [`remote`] merges documents of other servers. A
//! document is a function of the served group versions and of [`Options`]; it is made when it is first asked for, and the caller
//! keeps it until its group version changes.

pub mod custom;
mod json;
mod operations;
mod parameters;
mod protobuf;
pub mod remote;
mod schema;
pub mod v2;
pub mod v3;

use pintle_schema::Type;

pub use schema::name as definition_name;

/// Properties of the server that documents depend on.
#[derive(Clone, Copy)]
pub struct Options<'a> {
    /// Version of the server, major and minor: `1.36`.
    pub version: &'a str,
    /// Whether fields say which values they may have (feature gate `OpenAPIEnums`).
    pub enums: bool,
    /// Whether CBOR is spoken (feature gate `CBORServingAndStorage`).
    pub cbor: bool,
    pub documentation: &'a dyn Documentation,
}

/// The texts about types and fields.
pub trait Documentation: Sync {
    /// Returns the description of a type.
    fn of(&self, of: &Type) -> Option<&str>;

    /// Returns the description of a field of a type; `field` is its name in JSON.
    fn field(&self, of: &Type, field: &str) -> Option<&str>;
}

/// No texts at all.
#[derive(Clone, Copy, Debug)]
pub struct Undocumented;

impl Documentation for Undocumented {
    fn of(&self, _: &Type) -> Option<&str> {
        None
    }

    fn field(&self, _: &Type, _: &str) -> Option<&str> {
        None
    }
}
