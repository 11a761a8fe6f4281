//! The type graph: what every built-in type is made of, which kinds there are, and what is served of them.
//!
//! `data/types.facts` holds the facts (see `cargo xtask schema`), one field to a line; the build script turns them into
//! tables of the program, so that a start costs nothing and a type is known by its address. `data/resources.facts` and
//! [`Resources::builtin`] are the same for what is served. [`normal`] is the normal form of a built-in object. [`structural`] has
//! what definitions of custom resources say about theirs.

pub mod go;
mod graph;
pub mod normal;
mod resources;
mod scheme;
pub mod structural;
mod tables;

pub use graph::{Field, Kind, ListType, Opaque, Patch, Scalar, Shape, Struct, Type, find, types};
pub use resources::{Error, GroupVersion, Resource, Resources, Storage};
pub use scheme::{find_kind, has_version};
