//! The type graph of built-in types, their kinds, and the resources served of them.
//!
//! `data/types.facts` holds the facts (see `cargo xtask schema`), one field per line; the build script turns them
//! into static tables, so that they need no initialization and a type is identified by its address.
//! `data/resources.facts` and [`Resources::builtin`] are the same for resources. [`normal`] is the normal form of a
//! built-in object. [`structural`] has the structural schemas of custom resources.

pub mod go;
mod graph;
pub mod normal;
mod resources;
mod scheme;
pub mod structural;
mod tables;

pub use graph::{Field, ListType, Opaque, Patch, Scalar, Shape, Struct, Type, TypeKind, find, types};
pub use resources::{Error, GroupVersion, Resource, Resources, Storage};
pub use scheme::{find_kind, has_version};
