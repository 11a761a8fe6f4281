//! The controllers that run in the process of the API server, and the [`runtime`] that they are written for.
//!
//! They read and write through the registry's internal client, with the same strategies as requests and as the field managers of the
//! reference's own writes, without admission. [`CONTROLLERS`] lists them all.
//!
//! The controllers of [`manager`] are those that kube-controller-manager runs for every cluster. They act as its service accounts
//! do, through [`Api`]: their writes are authorized and admitted.

mod api;
mod bootstrap_roles;
mod bootstrap_tokens;
mod catalog;
mod certificates;
mod cluster_authentication_trust;
mod cluster_role_aggregation;
mod default_service_accounts;
mod default_service_range;
mod endpoint_slices;
mod events;
mod flow_control;
mod followed;
mod garbage_collector;
mod identity;
mod kubernetes_service;
mod legacy_token_cleaner;
mod legacy_token_tracking;
pub mod manager;
mod namespace;
mod priority_classes;
mod protection;
mod repairs;
mod resource_quota;
mod root_ca;
mod runtime;
mod service_account_tokens;
mod service_cidrs;
mod service_repair;
mod storage_version_collection;
mod storage_version_migration;
mod storage_versions;
mod sync_metrics;
mod system_namespaces;
mod table;
mod ttl_after_finished;
mod validating_policy_status;

pub use api::{Api, ApiClient, ApiRequest, Location, Operation, PatchKind, SYSTEM_NAMESPACE, found};
pub use bootstrap_roles::{AccessObjects, BootstrapRoles};
pub use bootstrap_tokens::{BootstrapSigner, BootstrapTokenCleaner};
pub use catalog::{Catalog, CatalogResource, CatalogSnapshot, CatalogVerbs, ObjectKeys};
pub use certificates::{
    AuthoritySource, CERTIFICATE_ACCOUNT, CertificateApprover, CertificateController,
    CertificateRequestCleaner, CertificateSigner, CertificateSigners, CertificateStep,
    PodCertificateRequestCleaner, SIGNERS, TrustBundlePublisher,
};
pub use cluster_authentication_trust::{ClusterAuthenticationTrust, FrontProxies, Trust};
pub use cluster_role_aggregation::ClusterRoleAggregation;
pub use default_service_accounts::DefaultServiceAccounts;
pub use default_service_range::DefaultServiceRange;
pub use endpoint_slices::{EndpointSliceStores, EndpointSlices};
pub use flow_control::FlowControl;
pub use followed::Followed;
pub use garbage_collector::{
    FollowedStore, GarbageCollector, GarbageCollectorConfig, GarbageCollectorMetrics,
};
pub use identity::{Identity, IdentityConfig};
pub use kubernetes_service::{KubernetesService, Peers, ServiceConfig};
pub use legacy_token_cleaner::LegacyTokenCleaner;
pub use legacy_token_tracking::LegacyTokenTracking;
pub use namespace::NamespaceDeletion;
pub use priority_classes::PriorityClasses;
pub use protection::{AttributesClassProtection, ClaimProtection, PodGroupProtection, VolumeProtection};
pub use resource_quota::{QuotaConfig, ResourceQuotas, UncountedQuotas};
pub use root_ca::RootCaPublisher;
pub use runtime::{Controller, Key, Metrics, RateLimits, Requeue, Runtime, Source, WorkQueue, start};
pub use service_account_tokens::{ServiceAccountTokens, TokenResources};
pub use service_cidrs::ServiceCidrs;
pub use service_repair::ServiceRepair;
pub use storage_version_collection::{StorageVersionEntries, StorageVersionLeases};
pub use storage_version_migration::{MigrationRunner, MigrationVersions, Migrations, Migrator};
pub use storage_versions::{Pending, StorageVersionObjects, StorageVersions, StoredResource};
pub use sync_metrics::SyncMetrics;
pub use system_namespaces::{SYSTEM_NAMESPACES, SystemNamespaces};
pub use table::{CONTROLLERS, MANAGED_HOOK, Registration};
pub use ttl_after_finished::TtlAfterFinished;
pub use validating_policy_status::{PolicyTypeChecker, PolicyWarning, ValidatingPolicyStatus};
