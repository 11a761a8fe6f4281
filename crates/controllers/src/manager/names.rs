//! The names of kube-controller-manager's controllers, all of which `--controllers` knows.

/// Names and older names, which are empty for those that have none.
pub(super) const NAMES: &[(&str, &str)] = &[
    ("bootstrap-signer-controller", "bootstrapsigner"),
    ("certificatesigningrequest-approving-controller", "csrapproving"),
    ("certificatesigningrequest-cleaner-controller", "csrcleaner"),
    ("certificatesigningrequest-signing-controller", "csrsigning"),
    ("cloud-node-lifecycle-controller", "cloud-node-lifecycle"),
    ("clusterrole-aggregation-controller", "clusterrole-aggregation"),
    ("cronjob-controller", "cronjob"),
    ("daemonset-controller", "daemonset"),
    ("deployment-controller", "deployment"),
    ("device-taint-eviction-controller", ""),
    ("disruption-controller", "disruption"),
    ("endpoints-controller", "endpoint"),
    ("endpointslice-controller", "endpointslice"),
    ("endpointslice-mirroring-controller", "endpointslicemirroring"),
    ("ephemeral-volume-controller", "ephemeral-volume"),
    ("garbage-collector-controller", "garbagecollector"),
    ("horizontal-pod-autoscaler-controller", "horizontalpodautoscaling"),
    ("job-controller", "job"),
    ("kube-apiserver-serving-clustertrustbundle-publisher-controller", ""),
    ("legacy-serviceaccount-token-cleaner-controller", "legacy-service-account-token-cleaner"),
    ("namespace-controller", "namespace"),
    ("node-ipam-controller", "nodeipam"),
    ("node-lifecycle-controller", "nodelifecycle"),
    ("node-route-controller", "route"),
    ("persistentvolume-attach-detach-controller", "attachdetach"),
    ("persistentvolume-binder-controller", "persistentvolume-binder"),
    ("persistentvolume-expander-controller", "persistentvolume-expander"),
    ("persistentvolume-protection-controller", "pv-protection"),
    ("persistentvolumeclaim-protection-controller", "pvc-protection"),
    ("pod-garbage-collector-controller", "podgc"),
    ("podcertificaterequest-cleaner-controller", ""),
    ("podgroup-protection-controller", ""),
    ("replicaset-controller", "replicaset"),
    ("replicationcontroller-controller", "replicationcontroller"),
    ("resourceclaim-controller", "resource-claim-controller"),
    ("resourcepoolstatusrequest-controller", ""),
    ("resourcequota-controller", "resourcequota"),
    ("root-ca-certificate-publisher-controller", "root-ca-cert-publisher"),
    ("selinux-warning-controller", ""),
    ("service-cidr-controller", ""),
    ("service-lb-controller", "service"),
    ("serviceaccount-controller", "serviceaccount"),
    ("serviceaccount-token-controller", "serviceaccount-token"),
    ("statefulset-controller", "statefulset"),
    ("storage-version-migrator-controller", "svm"),
    ("storageversion-garbage-collector-controller", "storage-version-gc"),
    ("taint-eviction-controller", ""),
    ("token-cleaner-controller", "tokencleaner"),
    ("ttl-after-finished-controller", "ttl-after-finished"),
    ("ttl-controller", "ttl"),
    ("validatingadmissionpolicy-status-controller", ""),
    ("volumeattributesclass-protection-controller", ""),
];

/// Controllers whose work a loop of the API server always does, since the API depends on it.
pub(super) const ALWAYS_RUNNING: [&str; 3] = [
    "clusterrole-aggregation-controller",
    "serviceaccount-controller",
    "validatingadmissionpolicy-status-controller",
];

/// Returns the name of a controller by its name or its older name.
pub(super) fn find(name: &str) -> Option<&'static str> {
    let known = NAMES.iter().find(|(known, alias)| *known == name || !alias.is_empty() && *alias == name);
    known.map(|(known, _)| *known)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manager::MANAGED;

    #[test]
    fn names_are_in_order_and_each_is_there_once() {
        assert!(NAMES.is_sorted_by(|a, b| a.0 < b.0));
        let mut all: Vec<&str> = NAMES.iter().flat_map(|(name, alias)| [*name, *alias]).collect();
        all.retain(|name| !name.is_empty());
        let count = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), count);
    }

    #[test]
    fn controllers_of_this_process_have_the_names_of_the_original() {
        for known in MANAGED {
            assert!(NAMES.contains(&(known.name, known.alias.unwrap_or_default())), "{}", known.name);
            assert!(!ALWAYS_RUNNING.contains(&known.name), "{}", known.name);
        }
        assert!(ALWAYS_RUNNING.iter().all(|name| find(name) == Some(name)));
    }
}
