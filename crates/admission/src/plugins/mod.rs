//! The built-in plugins, one file each, and the table of them.

mod always;
mod certificates;
mod default_toleration_seconds;
mod mutating_admission_policy;
mod namespace_lifecycle;
mod node_restriction;
mod priority;
mod runtime_class;
mod service_account;
mod storage_object_in_use_protection;
mod taint_nodes_by_condition;
mod validating_admission_policy;
mod webhook;

use std::sync::Arc;

use pintle_features::Feature;

use crate::chain::Cluster;
use crate::plugin::Plugin;

/// An implemented plugin.
pub struct PluginEntry {
    pub name: &'static str,
    pub on_by_default: bool,
    make: Make,
}

/// Makes a plugin; `None` if its feature gate is off. Errors if its configuration is wrong.
type Make = fn(&Cluster) -> Result<Option<Arc<dyn Plugin>>, String>;

const fn on(name: &'static str, make: Make) -> PluginEntry {
    PluginEntry { name, on_by_default: true, make }
}

const fn off(name: &'static str, make: Make) -> PluginEntry {
    PluginEntry { name, on_by_default: false, make }
}

fn made(plugin: impl Plugin) -> Result<Option<Arc<dyn Plugin>>, String> {
    Ok(Some(Arc::new(plugin)))
}

/// Every implemented plugin, in the reference's order. `pintle_flags::ADMISSION_PLUGINS` has these and the names of those that
/// are missing; a test compares the two.
pub const PLUGINS: &[PluginEntry] = &[
    off("AlwaysAdmit", |_| made(always::Admit)),
    on("NamespaceLifecycle", |cluster| made(namespace_lifecycle::NamespaceLifecycle::new(cluster))),
    on("ServiceAccount", |cluster| made(service_account::ServiceAccount::new(cluster))),
    off("NodeRestriction", |cluster| made(node_restriction::NodeRestriction::new(cluster))),
    on("TaintNodesByCondition", |_| made(taint_nodes_by_condition::TaintNodesByCondition)),
    on("Priority", |cluster| made(priority::Priority::new(cluster))),
    on("DefaultTolerationSeconds", |cluster| {
        made(default_toleration_seconds::DefaultTolerationSeconds::new(cluster))
    }),
    on("StorageObjectInUseProtection", |_| {
        made(storage_object_in_use_protection::StorageObjectInUseProtection)
    }),
    on("RuntimeClass", |cluster| made(runtime_class::RuntimeClass::new(cluster))),
    on("CertificateApproval", |cluster| made(certificates::Approval::new(cluster))),
    on("CertificateSigning", |cluster| made(certificates::Signing::new(cluster))),
    on("ClusterTrustBundleAttest", |cluster| {
        let is_served = cluster.features.enabled(Feature::ClusterTrustBundle);
        if is_served { made(certificates::BundleAttest::new(cluster)) } else { Ok(None) }
    }),
    on("CertificateSubjectRestriction", |_| made(certificates::SubjectRestriction)),
    on("MutatingAdmissionPolicy", |cluster| {
        let is_served = cluster.features.enabled(Feature::MutatingAdmissionPolicy);
        if is_served {
            made(mutating_admission_policy::MutatingAdmissionPolicy::new(cluster)?)
        } else {
            Ok(None)
        }
    }),
    on("MutatingAdmissionWebhook", |cluster| made(webhook::MutatingWebhooks::new(cluster)?)),
    on("ValidatingAdmissionPolicy", |cluster| {
        made(validating_admission_policy::ValidatingAdmissionPolicy::new(cluster)?)
    }),
    on("ValidatingAdmissionWebhook", |cluster| made(webhook::ValidatingWebhooks::new(cluster)?)),
    off("AlwaysDeny", |_| made(always::Deny)),
];

/// Makes the plugin of a name; `None` if it is not implemented or its feature gate is off.
pub(crate) fn make(name: &str, cluster: &Cluster) -> Result<Option<Arc<dyn Plugin>>, String> {
    PLUGINS.iter().find(|entry| entry.name == name).map_or(Ok(None), |entry| (entry.make)(cluster))
}
