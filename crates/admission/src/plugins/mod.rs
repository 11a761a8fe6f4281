//! The built-in plugins, one file or folder each, and the table of them.

mod always;
mod certificates;
mod default_ingress_class;
mod default_storage_class;
mod default_toleration_seconds;
mod job_validation;
mod namespace_lifecycle;
mod node_declared_feature_validator;
mod node_restriction;
mod persistent_volume_claim_resize;
mod pod_group_protection;
mod pod_group_workload_exists;
mod pod_resize_validator;
mod pod_security;
mod pod_topology_labels;
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

/// Makes a plugin that a feature gate switches.
fn with<P: Plugin>(
    cluster: &Cluster,
    gate: Feature,
    make: fn(&Cluster) -> P,
) -> Result<Option<Arc<dyn Plugin>>, String> {
    if cluster.features.enabled(gate) { made(make(cluster)) } else { Ok(None) }
}

/// Every implemented plugin, in the reference's order. `pintle_flags::ADMISSION_PLUGINS` has these and the names of those that
/// are missing; a test compares the two.
pub const PLUGINS: &[PluginEntry] = &[
    off("AlwaysAdmit", |_| made(always::Admit)),
    on("NamespaceLifecycle", |cluster| made(namespace_lifecycle::NamespaceLifecycle::new(cluster))),
    on("ServiceAccount", |cluster| made(service_account::ServiceAccount::new(cluster))),
    off("NodeRestriction", |cluster| made(node_restriction::NodeRestriction::new(cluster))),
    on("TaintNodesByCondition", |_| made(taint_nodes_by_condition::TaintNodesByCondition)),
    on("PodSecurity", |cluster| made(pod_security::PodSecurity::new(cluster)?)),
    on("Priority", |cluster| made(priority::Priority::new(cluster))),
    on("DefaultTolerationSeconds", |cluster| {
        made(default_toleration_seconds::DefaultTolerationSeconds::new(cluster))
    }),
    on("DefaultStorageClass", |cluster| made(default_storage_class::DefaultStorageClass::new(cluster))),
    on("StorageObjectInUseProtection", |_| {
        made(storage_object_in_use_protection::StorageObjectInUseProtection)
    }),
    on("PodGroupProtection", |cluster| {
        with(cluster, Feature::GenericWorkload, |_| pod_group_protection::PodGroupProtection)
    }),
    on("PersistentVolumeClaimResize", |cluster| {
        made(persistent_volume_claim_resize::PersistentVolumeClaimResize::new(cluster))
    }),
    on("RuntimeClass", |cluster| made(runtime_class::RuntimeClass::new(cluster))),
    on("CertificateApproval", |cluster| made(certificates::Approval::new(cluster))),
    on("CertificateSigning", |cluster| made(certificates::Signing::new(cluster))),
    on("ClusterTrustBundleAttest", |cluster| {
        with(cluster, Feature::ClusterTrustBundle, certificates::BundleAttest::new)
    }),
    on("CertificateSubjectRestriction", |_| made(certificates::SubjectRestriction)),
    on("DefaultIngressClass", |cluster| made(default_ingress_class::DefaultIngressClass::new(cluster))),
    on("PodTopologyLabels", |cluster| {
        with(cluster, Feature::PodTopologyLabelsAdmission, pod_topology_labels::PodTopologyLabels::new)
    }),
    on("PodGroupWorkloadExists", |cluster| {
        with(cluster, Feature::GenericWorkload, pod_group_workload_exists::PodGroupWorkloadExists::new)
    }),
    on("NodeDeclaredFeatureValidator", |cluster| {
        with(
            cluster,
            Feature::NodeDeclaredFeatures,
            node_declared_feature_validator::NodeDeclaredFeatureValidator::new,
        )
    }),
    on("JobValidation", |cluster| {
        // WorkloadWithJob needs GenericWorkload, without which there are no pod groups.
        let is_on =
            [Feature::GenericWorkload, Feature::WorkloadWithJob].map(|gate| cluster.features.enabled(gate));
        if is_on.contains(&true) { made(job_validation::JobValidation::new(cluster)) } else { Ok(None) }
    }),
    on("PodResizeValidator", |cluster| {
        with(cluster, Feature::InPlacePodVerticalScaling, pod_resize_validator::PodResizeValidator::new)
    }),
    off("AlwaysDeny", |_| made(always::Deny)),
];

/// Makes the plugin of a name; `None` if it is not implemented or its feature gate is off.
pub(crate) fn make(name: &str, cluster: &Cluster) -> Result<Option<Arc<dyn Plugin>>, String> {
    PLUGINS.iter().find(|entry| entry.name == name).map_or(Ok(None), |entry| (entry.make)(cluster))
}
