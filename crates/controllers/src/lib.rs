//! Loops in the server's own process that keep some objects as they should be.
//!
//! They work on the registry's stores, with the same rules as requests, as the manager that the reference's own writes
//! have. Admission is not asked: what the server needs to work is not up for discussion.

mod bootstrap_roles;
mod cluster_authentication_trust;
mod cluster_role_aggregation;
mod default_service_accounts;
mod default_service_range;
mod flow_control;
mod follow;
mod identity;
mod keep;
mod kubernetes_service;
mod legacy_token_tracking;
mod objects;
mod priority_classes;
mod runtime;
mod service_repair;
mod storage_versions;
mod system_namespaces;

pub use bootstrap_roles::{AccessObjects, BootstrapRoles};
pub use cluster_authentication_trust::{ClusterAuthenticationTrust, FrontProxies, Trust};
pub use cluster_role_aggregation::ClusterRoleAggregation;
pub use default_service_accounts::DefaultServiceAccounts;
pub use default_service_range::DefaultServiceRange;
pub use flow_control::FlowControl;
pub use identity::{Identity, IdentityConfig};
pub use kubernetes_service::{KubernetesService, Peers, ServiceConfig};
pub use legacy_token_tracking::LegacyTokenTracking;
pub use objects::{ObjectIdentity, Objects};
pub use priority_classes::PriorityClasses;
pub use runtime::{Controller, Key, Metrics, RateLimits, Requeue, Runtime, Source, WorkQueue, start};
pub use service_repair::ServiceRepair;
pub use storage_versions::{Pending, StorageVersionObjects, StorageVersions, StoredResource};
pub use system_namespaces::{SYSTEM_NAMESPACES, SystemNamespaces};
