//! The documents that clients read before anything else: which groups, versions and resources there are.
//!
//! Everything is a function of what is served: built-in [`GroupVersion`]s, in the order in which they are to be shown (the
//! versions of a group behind one another, the preferred one first), and [`Custom`] resources. [`legacy`] has one document per
//! path; [`aggregated`] has all of them in one, with an ETag. Who serves them keeps them until something changes.

pub mod aggregated;
mod custom;
pub mod legacy;
mod served;
mod tree;

use pintle_meta::Value;
use pintle_schema::Type;

pub use custom::{Custom, CustomVersion, Schemas, version_order};
pub use served::{GroupVersion, Kind, Resource, Subresource, builtin, groups, storage_version_hash};

/// An object to be encoded as the client wants it.
#[derive(Clone, Debug)]
pub struct Document {
    pub of: &'static Type,
    pub value: Value,
}
