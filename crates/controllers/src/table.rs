//! The table of all controllers of this crate.

use crate::{
    BootstrapRoles, ClusterAuthenticationTrust, DefaultServiceRange, FlowControl, Identity,
    KubernetesService, LegacyTokenTracking, PriorityClasses, ServiceRepair, StorageVersions,
    SystemNamespaces,
};

/// A controller and the post-start hook that starts it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Registration {
    /// [`crate::Controller::name`], the label of its `workqueue_*` metrics.
    pub controller: &'static str,
    pub hook: &'static str,
}

const fn registration(controller: &'static str, hook: &'static str) -> Registration {
    Registration { controller, hook }
}

/// The hook of the controllers of [`crate::manager`].
pub const MANAGED_HOOK: &str = "start-in-process-controllers";

/// All controllers, by the order of their names. Some hooks start two.
pub const CONTROLLERS: &[Registration] = &[
    registration("ClusterRoleAggregator", BootstrapRoles::HOOK),
    registration("apiserver_identity_lease", Identity::HOOK),
    registration("apiserver_identity_lease_garbage_collector", Identity::COLLECTION_HOOK),
    registration("bootstrap_signer_queue", MANAGED_HOOK),
    registration("ca_cert_publisher_cluster_trust_bundles", MANAGED_HOOK),
    registration("certificate", MANAGED_HOOK),
    registration("cluster_authentication_trust_controller", ClusterAuthenticationTrust::HOOK),
    registration("csrcleaner", MANAGED_HOOK),
    registration("endpoint_slice", MANAGED_HOOK),
    registration("garbage_collector_attempt_to_delete", MANAGED_HOOK),
    registration("garbage_collector_attempt_to_orphan", MANAGED_HOOK),
    registration("garbage_collector_graph_changes", MANAGED_HOOK),
    registration("ipaddresses", MANAGED_HOOK),
    registration("kubernetes_service", KubernetesService::HOOK),
    registration("kubernetes_service_cidr", DefaultServiceRange::HOOK),
    registration("legacy_service_account_token_cleaner", MANAGED_HOOK),
    registration("legacy_token_tracking_controller", LegacyTokenTracking::HOOK),
    registration("migration-runner-controller", MANAGED_HOOK),
    registration("namespace", MANAGED_HOOK),
    registration("podcertificaterequestcleaner", MANAGED_HOOK),
    registration("podgroupprotection", MANAGED_HOOK),
    registration("priority_and_fairness_config_producer", FlowControl::HOOK),
    registration("priority_and_fairness_config_queue", FlowControl::CONSUMER_HOOK),
    registration("pvcprotection", MANAGED_HOOK),
    registration("pvprotection", MANAGED_HOOK),
    registration("resource-version-controller", MANAGED_HOOK),
    registration("resourcequota_primary", MANAGED_HOOK),
    registration("resourcequota_priority", MANAGED_HOOK),
    registration("root_ca_cert_publisher", MANAGED_HOOK),
    registration("service_ip_repair", ServiceRepair::HOOK),
    registration("serviceaccount", SystemNamespaces::HOOK),
    registration("serviceaccount_tokens_service", MANAGED_HOOK),
    registration("storage-version-migrator-controller", MANAGED_HOOK),
    registration("storage_version_garbage_collector_leases", MANAGED_HOOK),
    registration("storage_version_garbage_collector_storageversions", MANAGED_HOOK),
    registration("storage_version_updater", StorageVersions::HOOK),
    registration("system_namespaces", SystemNamespaces::HOOK),
    registration("system_priority_classes", PriorityClasses::HOOK),
    registration("token_cleaner", MANAGED_HOOK),
    registration("ttl_jobs_to_delete", MANAGED_HOOK),
    registration("vacprotection", MANAGED_HOOK),
    registration("validatingadmissionpolicy-status", SystemNamespaces::HOOK),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_in_order_and_each_is_there_once() {
        assert!(CONTROLLERS.is_sorted_by(|a, b| a.controller < b.controller));
    }

    /// Every name of a controller in this crate's code, found by its text.
    #[test]
    fn the_table_has_every_controller() {
        let mut names = Vec::new();
        let mut folders = vec![std::path::PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/src"))];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.extend((!path.ends_with("runtime")).then_some(path));
                    continue;
                }
                let text = std::fs::read_to_string(path).unwrap();
                let bodies = text.split("fn name(&self) -> &'static str {\n        \"").skip(1);
                names.extend(bodies.filter_map(|body| Some(body.split_once('"')?.0.to_owned())));
            }
        }
        names.sort_unstable();
        assert_eq!(names, CONTROLLERS.iter().map(|known| known.controller).collect::<Vec<_>>());
    }
}
