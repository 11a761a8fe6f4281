//! The documents that clients read before anything else: which groups, versions and resources there are.
//!
//! Everything is a function of the list of what is served ([`GroupVersion`]), in the order in which it is to be shown: the
//! versions of a group behind one another, the preferred one first. [`legacy`] has one document per path; [`aggregated`] has
//! all of them in one, with an ETag. Who serves them keeps them until the list changes.

pub mod aggregated;
pub mod legacy;
mod served;
mod tree;

use pintle_meta::Value;
use pintle_schema::Type;

pub use served::{GroupVersion, Kind, Resource, Subresource, builtin, storage_version_hash};

/// An object to be encoded as the client wants it.
#[derive(Clone, Debug)]
pub struct Document {
    pub of: &'static Type,
    pub value: Value,
}
