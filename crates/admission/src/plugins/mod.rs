//! One file per plugin.

mod always;
mod certificates;
mod default_toleration_seconds;
mod namespace_lifecycle;
mod node_restriction;
mod priority;
mod service_account;
mod storage_object_in_use_protection;
mod taint_nodes_by_condition;

use std::sync::Arc;

use pintle_features::Feature;

use crate::chain::Cluster;
use crate::plugin::Plugin;

/// The plugin of a name; `None` if it is not written yet. Which names there are, in which order and which of them are on,
/// the command line knows.
pub(crate) fn make(name: &str, cluster: &Cluster) -> Option<Arc<dyn Plugin>> {
    Some(match name {
        "AlwaysAdmit" => Arc::new(always::Admit),
        "AlwaysDeny" => Arc::new(always::Deny),
        "CertificateApproval" => Arc::new(certificates::Approval::new(cluster)),
        "CertificateSigning" => Arc::new(certificates::Signing::new(cluster)),
        "CertificateSubjectRestriction" => Arc::new(certificates::SubjectRestriction),
        "ClusterTrustBundleAttest" if cluster.features.enabled(Feature::ClusterTrustBundle) => {
            Arc::new(certificates::BundleAttest::new(cluster))
        }
        "DefaultTolerationSeconds" => {
            Arc::new(default_toleration_seconds::DefaultTolerationSeconds::new(cluster))
        }
        "NamespaceLifecycle" => {
            Arc::new(namespace_lifecycle::NamespaceLifecycle::new(cluster.namespaces.clone()))
        }
        "NodeRestriction" => Arc::new(node_restriction::NodeRestriction::new(cluster)),
        "Priority" => Arc::new(priority::Priority::new(cluster)),
        "ServiceAccount" => Arc::new(service_account::ServiceAccount::new(cluster)),
        "StorageObjectInUseProtection" => {
            Arc::new(storage_object_in_use_protection::StorageObjectInUseProtection)
        }
        "TaintNodesByCondition" => Arc::new(taint_nodes_by_condition::TaintNodesByCondition),
        _ => return None,
    })
}
