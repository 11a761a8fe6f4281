//! Discovery: the documents that list groups, versions and resources.
//!
//! Every document is a function of the group versions that are served: built-in [`GroupVersion`]s, in the order of discovery
//! (the versions of a group next to each other, the preferred one first), [`Custom`] resources, and group versions of other
//! servers. They come from [`GroupSource`]s. [`legacy`] makes one document per path, [`aggregated`] one of all groups, with an
//! ETag. The server keeps documents until their part of a source changes.

pub mod aggregated;
mod custom;
pub mod legacy;
mod priorities;
mod served;
mod source;
mod tree;

use pintle_meta::Value;
use pintle_schema::Type;

pub use custom::{Custom, CustomVersion, Schemas, version_order};
pub use priorities::Priority;
pub use served::{GroupVersion, Kind, Resource, Subresource, builtin, groups, storage_version_hash};
pub use source::{Contribution, GroupSource, Publisher, RemoteDocument, RemoteVersion};

/// An object to be encoded as the client wants it.
#[derive(Clone, Debug)]
pub struct Document {
    pub of: &'static Type,
    pub value: Value,
}
