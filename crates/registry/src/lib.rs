//! The generic registry: the way of every object between a request and the store.
//!
//! ```text
//! create   Guard -> name, uid, time -> Reserve -> Strategy::prepare_for_create, validate -> metadata -> admission -> write if absent
//! update   old -> the caller's function -> Guard -> Reserve -> Strategy::prepare_for_update, validate -> admission -> compare and swap
//! delete   preconditions -> grace, finalizers: an update; or neither: gone; a collection: each of what was chosen
//! ```
//!
//! An update's function may be called several times: whenever another write came first, with the object as it is then. The
//! rules of a resource are its [`Strategy`]; the bytes of its objects in the store are its [`Stored`]; addresses and ports
//! are taken and given back by its [`Reserve`]. [`Write`] is the pipeline before the store, [`Client`] the server as a client
//! of its own resources.

mod admission;
mod client;
mod computed;
mod delete;
mod field_manager;
pub mod key;
mod metadata;
mod mirror;
mod outage;
mod record;
mod reserve;
mod served;
mod store;
mod stored_objects;
mod strategy;
mod subresource;
#[cfg(feature = "testing")]
pub mod testing;
mod write;

pub use admission::{Admission, AdmissionFactory, AdmitAll, MutatingAdmission};
pub use client::{Client, ObjectIdentity};
pub use computed::Computed;
pub use delete::{DeleteOptions, Deleted, Propagation, dry_run};
pub use field_manager::{Applied, FieldManager};
pub use mirror::{Mirror, Reflect, Replaced};
pub use record::Record;
pub use reserve::{Allocation, Reservation, Reserve};
pub use served::{Received, Served, Submitted, Table};
pub use store::{
    Created, Guard, Listed, Preconditions, Selection, Store, StoreConfig, StoreOptions, StorePolicy,
    Transform, WriteOptions, cache_error,
};
pub use stored_objects::{Metrics, StoredCount};
pub use strategy::{Context, GarbageCollection, ResetFields, Sent, StagedDeletion, Strategy};
pub use subresource::Subresource;
pub use write::{Change, IfMissing, Replace, Target, Write};

use bytes::Bytes;
use pintle_meta::{Status, Value};

/// The field manager of the server's own writes.
pub const MANAGER: &str = "kube-apiserver";

/// A failure, in the form in which the client gets it.
pub type Result<T> = std::result::Result<T, Box<Status>>;

/// How the objects of a resource are stored.
pub trait Stored: Send + Sync + 'static {
    /// The object in the storage version, in normal form and with its defaults, without a resourceVersion.
    fn decode(&self, stored: &[u8]) -> std::result::Result<Value, String>;

    /// The bytes of an object in the storage version.
    fn encode(&self, object: &Value) -> std::result::Result<Bytes, String>;

    /// Returns what [`Stored::decode`] makes of the bytes that [`Stored::encode`] made of an object: an encoding may not keep
    /// everything, such as an empty list apart from none.
    fn decode_again(&self, _object: Value, stored: &[u8]) -> std::result::Result<Value, String> {
        self.decode(stored)
    }
}
