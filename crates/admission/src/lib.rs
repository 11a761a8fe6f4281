//! Who may still say no, or change an object, after a request was authorized and before anything is stored.
//!
//! ```text
//! create   Gate::on_create: plugins may change the object -> Store::create -> plugins may refuse what will be stored
//! update   on every attempt: Gate::on_update on what the caller made of the old object -> plugins may refuse
//! delete   on every attempt: both halves, with the object that is to go
//! ```
//!
//! A [`Plugin`] is one rule; the [`Chain`] has those that are on, in the reference's order; a [`Gate`] is the chain for
//! one request, which is what the registry asks. Plugins read the cluster through the small traits defined here.

mod attributes;
mod chain;
mod gate;
mod namespaces;
mod objects;
mod plugin;
mod plugins;
mod priority_classes;

pub use attributes::{Attributes, Operation, Request, Target};
pub use chain::{Chain, Cluster, TolerationSeconds};
pub use gate::Gate;
pub use namespaces::{NamespaceLister, Phase, StoredNamespaces};
pub use objects::{ObjectLister, Resource, StoredObjects};
pub use plugin::Plugin;
pub use priority_classes::{PriorityClass, PriorityClassLister, StoredPriorityClasses};

use pintle_meta::Status;

/// A failure, in the form in which the client gets it.
pub type Result<T> = std::result::Result<T, Box<Status>>;
