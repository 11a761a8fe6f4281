//! The built-in plugins, one file each, and the table of them.

mod always;
mod certificates;
mod default_toleration_seconds;
mod namespace_lifecycle;
mod node_restriction;
mod priority;
mod runtime_class;
mod service_account;
mod storage_object_in_use_protection;
mod taint_nodes_by_condition;

use std::sync::Arc;

use pintle_features::Feature;

use crate::chain::Cluster;
use crate::plugin::Plugin;

/// An implemented plugin.
pub struct PluginEntry {
    pub name: &'static str,
    pub on_by_default: bool,
    /// Makes the plugin; `None` if its feature gate is off.
    make: fn(&Cluster) -> Option<Arc<dyn Plugin>>,
}

const fn on(name: &'static str, make: fn(&Cluster) -> Option<Arc<dyn Plugin>>) -> PluginEntry {
    PluginEntry { name, on_by_default: true, make }
}

const fn off(name: &'static str, make: fn(&Cluster) -> Option<Arc<dyn Plugin>>) -> PluginEntry {
    PluginEntry { name, on_by_default: false, make }
}

/// Every implemented plugin, in the reference's order. `pintle_flags::ADMISSION_PLUGINS` has these and the names of those that
/// are missing; a test compares the two.
pub const PLUGINS: &[PluginEntry] = &[
    off("AlwaysAdmit", |_| Some(Arc::new(always::Admit))),
    on("NamespaceLifecycle", |cluster| Some(Arc::new(namespace_lifecycle::NamespaceLifecycle::new(cluster)))),
    on("ServiceAccount", |cluster| Some(Arc::new(service_account::ServiceAccount::new(cluster)))),
    off("NodeRestriction", |cluster| Some(Arc::new(node_restriction::NodeRestriction::new(cluster)))),
    on("TaintNodesByCondition", |_| Some(Arc::new(taint_nodes_by_condition::TaintNodesByCondition))),
    on("Priority", |cluster| Some(Arc::new(priority::Priority::new(cluster)))),
    on("DefaultTolerationSeconds", |cluster| {
        Some(Arc::new(default_toleration_seconds::DefaultTolerationSeconds::new(cluster)))
    }),
    on("StorageObjectInUseProtection", |_| {
        Some(Arc::new(storage_object_in_use_protection::StorageObjectInUseProtection))
    }),
    on("RuntimeClass", |cluster| Some(Arc::new(runtime_class::RuntimeClass::new(cluster)))),
    on("CertificateApproval", |cluster| Some(Arc::new(certificates::Approval::new(cluster)))),
    on("CertificateSigning", |cluster| Some(Arc::new(certificates::Signing::new(cluster)))),
    on("ClusterTrustBundleAttest", |cluster| {
        let is_served = cluster.features.enabled(Feature::ClusterTrustBundle);
        is_served.then(|| Arc::new(certificates::BundleAttest::new(cluster)) as _)
    }),
    on("CertificateSubjectRestriction", |_| Some(Arc::new(certificates::SubjectRestriction))),
    off("AlwaysDeny", |_| Some(Arc::new(always::Deny))),
];

/// Makes the plugin of a name; `None` if it is not implemented or its feature gate is off.
pub(crate) fn make(name: &str, cluster: &Cluster) -> Option<Arc<dyn Plugin>> {
    PLUGINS.iter().find(|entry| entry.name == name).and_then(|entry| (entry.make)(cluster))
}
