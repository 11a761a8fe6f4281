//! Admission: the plugins that may change or reject an object between authorization and storage.
//!
//! ```text
//! create   RequestAdmission::on_create: mutating plugins -> Store::create -> validating plugins, on the object to be stored
//! update   on every attempt: RequestAdmission::on_update on the new object -> validating plugins
//! delete   on every attempt: mutating and validating plugins, with the object to be deleted
//! connect  before the connection: mutating and validating plugins, with its options
//! ```
//!
//! A [`Plugin`] is one rule; the [`Chain`] has the plugins that are on, in the reference's order; a [`RequestAdmission`] is the
//! chain for one request, called by the registry. Plugins decide by [`Attributes`] and read the cluster through the small
//! traits defined here. `docs/admission.md` lists the plugins and shows how to add one.

mod attributes;
mod by_namespace;
mod chain;
mod configuration;
mod conversion;
mod default_class;
mod expressions;
mod lru;
mod manifests;
mod matching;
mod metrics;
mod namespaces;
mod notes;
mod objects;
mod observer;
mod plugin;
mod plugins;
mod policies;
mod priority_classes;
mod reinvocation;
mod request_admission;
mod rest_mapper;
#[cfg(test)]
mod testing;
mod tolerations;
mod webhook_metrics;

pub use attributes::{Attributes, Operation, Request, Target, Versioned};
pub use chain::{Chain, Clients, Cluster, LateChain, TolerationSeconds};
pub use configuration::{ConfigurationSource, Configurations, configuration_sources};
pub use conversion::{Equivalent, ObjectConversion, ServedVersions};
pub use manifests::{
    Manifest, ManifestDecoder, ManifestEnvironment, ManifestFile, ManifestFolders, ManifestMetrics,
    is_manifest,
};
pub use metrics::Metrics;
pub use namespaces::{NamespaceLister, Phase, StoredNamespaces};
pub use notes::{AnnotationError, AuditLevel, Notes, WebhookTimes};
pub use objects::{AdmissionStores, Labels, ObjectLister, Resource, StoredObjects};
pub use observer::{AdmissionType, Observation, Observer};
pub use plugin::Plugin;
pub use plugins::{PLUGINS, PluginEntry};
pub use policies::params::{NoParams, ParamKinds, ParamResource};
pub use priority_classes::{PriorityClass, PriorityClassLister, StoredPriorityClasses};
pub use reinvocation::Reinvocation;
pub use request_admission::RequestAdmission;
pub use rest_mapper::{NoKinds, RestMapper, RestMapping, maps_to};
pub use webhook_metrics::WebhookMetrics;

use pintle_meta::Status;

/// A failure, in the form in which the client gets it.
pub type Result<T, E = Box<Status>> = std::result::Result<T, E>;
