//! The built-in plugins, one file or folder each, and the table of them.

mod always;
mod always_pull_images;
mod certificates;
mod default_ingress_class;
mod default_storage_class;
mod default_toleration_seconds;
mod deny_service_external_ips;
mod event_rate_limit;
mod extended_resource_toleration;
mod image_policy_webhook;
mod job_validation;
mod limit_pod_hard_anti_affinity_topology;
mod limit_ranger;
mod mutating_admission_policy;
mod namespace_auto_provision;
mod namespace_exists;
mod namespace_lifecycle;
mod node_declared_feature_validator;
mod node_restriction;
mod owner_references_permission_enforcement;
mod persistent_volume_claim_resize;
mod pod_group_protection;
mod pod_group_workload_exists;
mod pod_node_selector;
mod pod_resize_validator;
mod pod_security;
mod pod_toleration_restriction;
mod pod_topology_labels;
mod pods;
mod priority;
mod resource_quota;
mod runtime_class;
mod service_account;
mod storage_object_in_use_protection;
mod taint_nodes_by_condition;
mod validating_admission_policy;
mod webhook;

use std::sync::Arc;

use pintle_features::Feature;

use crate::chain::Cluster;
use crate::plugin::{InitError, Plugin};

/// An implemented plugin.
pub struct PluginEntry {
    pub name: &'static str,
    pub on_by_default: bool,
    make: Make,
}

/// Makes a plugin; `None` if its feature gate is off. Errors if its configuration is wrong.
type Make = fn(&Cluster) -> Result<Option<Arc<dyn Plugin>>, InitError>;

const fn on(name: &'static str, make: Make) -> PluginEntry {
    PluginEntry { name, on_by_default: true, make }
}

const fn off(name: &'static str, make: Make) -> PluginEntry {
    PluginEntry { name, on_by_default: false, make }
}

fn made(plugin: impl Plugin) -> Result<Option<Arc<dyn Plugin>>, InitError> {
    Ok(Some(Arc::new(plugin)))
}

/// Makes a plugin that a feature gate switches.
fn with<P: Plugin>(
    cluster: &Cluster,
    gate: Feature,
    make: fn(&Cluster) -> P,
) -> Result<Option<Arc<dyn Plugin>>, InitError> {
    if cluster.features.enabled(gate) { made(make(cluster)) } else { Ok(None) }
}

/// Every implemented plugin, in the reference's order. `pintle_flags::ADMISSION_PLUGINS` has these and the names of those that
/// are missing; a test compares the two.
pub const PLUGINS: &[PluginEntry] = &[
    off("AlwaysAdmit", |_| made(always::Admit)),
    off("NamespaceAutoProvision", |cluster| {
        made(namespace_auto_provision::NamespaceAutoProvision::new(cluster))
    }),
    on("NamespaceLifecycle", |cluster| made(namespace_lifecycle::NamespaceLifecycle::new(cluster))),
    off("NamespaceExists", |cluster| made(namespace_exists::NamespaceExists::new(cluster))),
    off("LimitPodHardAntiAffinityTopology", |_| {
        made(limit_pod_hard_anti_affinity_topology::LimitPodHardAntiAffinityTopology)
    }),
    on("LimitRanger", |cluster| made(limit_ranger::LimitRanger::new(cluster))),
    on("ServiceAccount", |cluster| made(service_account::ServiceAccount::new(cluster))),
    off("NodeRestriction", |cluster| made(node_restriction::NodeRestriction::new(cluster))),
    on("TaintNodesByCondition", |_| made(taint_nodes_by_condition::TaintNodesByCondition)),
    off("AlwaysPullImages", |_| made(always_pull_images::AlwaysPullImages)),
    off("ImagePolicyWebhook", |cluster| made(image_policy_webhook::ImagePolicyWebhook::new(cluster)?)),
    on("PodSecurity", |cluster| made(pod_security::PodSecurity::new(cluster)?)),
    off("PodNodeSelector", |cluster| made(pod_node_selector::PodNodeSelector::new(cluster)?)),
    on("Priority", |cluster| made(priority::Priority::new(cluster))),
    on("DefaultTolerationSeconds", |cluster| {
        made(default_toleration_seconds::DefaultTolerationSeconds::new(cluster))
    }),
    off("PodTolerationRestriction", |cluster| {
        made(pod_toleration_restriction::PodTolerationRestriction::new(cluster)?)
    }),
    off("EventRateLimit", |cluster| made(event_rate_limit::EventRateLimit::new(cluster)?)),
    off("ExtendedResourceToleration", |_| made(extended_resource_toleration::ExtendedResourceToleration)),
    on("DefaultStorageClass", |cluster| made(default_storage_class::DefaultStorageClass::new(cluster))),
    on("StorageObjectInUseProtection", |_| {
        made(storage_object_in_use_protection::StorageObjectInUseProtection)
    }),
    on("PodGroupProtection", |cluster| {
        with(cluster, Feature::GenericWorkload, |_| pod_group_protection::PodGroupProtection)
    }),
    off("OwnerReferencesPermissionEnforcement", |cluster| {
        made(owner_references_permission_enforcement::OwnerReferencesPermissionEnforcement::new(cluster))
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
    off("DenyServiceExternalIPs", |_| made(deny_service_external_ips::DenyServiceExternalIPs)),
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
    on("ResourceQuota", |cluster| made(resource_quota::ResourceQuota::new(cluster)?)),
    off("AlwaysDeny", |_| made(always::Deny)),
];

/// Makes the plugin of a name; `None` if it is not implemented or its feature gate is off.
pub(crate) fn make(name: &str, cluster: &Cluster) -> Result<Option<Arc<dyn Plugin>>, InitError> {
    PLUGINS.iter().find(|entry| entry.name == name).map_or(Ok(None), |entry| (entry.make)(cluster))
}
