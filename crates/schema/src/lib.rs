//! The type graph: what every built-in type is made of.
//!
//! `data/types.facts` holds the facts (see `cargo xtask schema`), one field to a line; [`Graph::builtin`] reads them. The
//! graph is a value that whoever needs it shares by reference. Names and texts point into the program itself, so it costs
//! little more than its lists of fields. `data/resources.facts` and [`Resources::builtin`] are the same for what is served.

mod facts;
mod graph;
mod resources;

pub use facts::Error;
pub use graph::{Field, Graph, ListType, Patch, Scalar, Shape, Struct, Type, TypeId};
pub use resources::{GroupVersion, Resource, Resources, Storage};
