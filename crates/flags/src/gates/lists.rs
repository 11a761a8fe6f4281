//! What becomes of gates that are set: which ones switch something here, and which ones switch nothing anywhere in an API
//! server. All others are parsed and validated, and earn a warning when set to something else than their default.

/// Gates that this server asks for, and that do here what they do in the reference.
pub(super) const WITH_EFFECT: &[&str] = &[
    "APIResponseCompression",
    "APIServerIdentity",
    "AllAlpha",
    "AllBeta",
    "AllowInsecureKubeletCertificateSigningRequests",
    "AllowParsingUserUIDFromCertAuth",
    "AllowUnsafeMalformedObjectDeletion",
    "AuthorizePodWebsocketUpgradeCreatePermission",
    "CBORServingAndStorage",
    "ClusterTrustBundle",
    "ClusterTrustBundleProjection",
    "ComponentFlagz",
    "ComponentStatusz",
    "ConstrainedImpersonation",
    "ContainerStopSignals",
    "CrossNamespaceVolumeDataSource",
    "DRADeviceTaintRules",
    "DRANodeAllocatableResources",
    "DRAResourceClaimGranularStatusAuthorization",
    "DRAResourcePoolStatus",
    "DetectCacheInconsistency",
    "GenericWorkload",
    "KubeletServiceAccountTokenForCredentialProviders",
    "ListFromCacheSnapshot",
    "LoggingAlphaOptions",
    "LoggingBetaOptions",
    "OpenAPIEnums",
    "PodCertificateRequest",
    "RemoteRequestHeaderUID",
    "ServiceAccountNodeAudienceRestriction",
    "ShardedListAndWatch",
    "StorageVersionAPI",
    "StorageVersionHash",
    "StorageVersionMigrator",
    "StructuredAuthenticationConfigurationEgressSelector",
    "StructuredAuthenticationConfigurationJWKSMetrics",
    "TokenRequestServiceAccountUIDValidation",
    "UnauthenticatedHTTP2DOSMitigation",
    "WatchCacheInitializationPostStartHook",
    "WatchList",
];

/// Gates that this server asks for, while the reference does more with them.
pub(super) const IN_PART: &[&str] = &[
    "CoordinatedLeaderElection",
    "DRADeviceTaints",
    "DRAExtendedResource",
    "DRAListTypeAttributes",
    "DRAResourceClaimDeviceStatus",
    "DRAWorkloadResourceClaims",
    "ImageVolumeWithDigest",
    "ManifestBasedAdmissionControlConfig",
    "MaxUnavailableStatefulSet",
    "SizeBasedListCostEstimate",
    "TopologyAwareWorkloadScheduling",
    // The lease says where the server is, and nothing is passed on to it.
    "UnknownVersionInteroperabilityProxy",
    "VolumeLimitScaling",
    "WorkloadAwarePreemption",
    "WorkloadWithJob",
];

/// Gates that make no difference in the reference's API server either. Most are read by kubelets, schedulers, controller
/// managers or clients only, some by nobody any more, and some decide how it works inside and not what it answers
/// (`APIServingWithRoutine`, `ConcurrentWatchObjectDecode`, `StorageNamespaceIndex`, those of informers). With
/// `CRDObservedGenerationTracking` it forgets fields of definitions' statuses where it has just taken all of the status from what
/// is stored.
pub(super) const WITHOUT_DIFFERENCE: &[&str] = &[
    "APIServingWithRoutine",
    "AllowDNSOnlyNodeCSR",
    "AllowServiceExternalIPs",
    "AtomicFIFO",
    "CPUManagerPolicyAlphaOptions",
    "CPUManagerPolicyBetaOptions",
    "CRDObservedGenerationTracking",
    "CRIListStreaming",
    "CSIVolumeHealth",
    "ChangeContainerStatusOnKubeletRestart",
    "ClientsAllowTLSCacheGC",
    "CloudControllerManagerWatchBasedRoutesReconciliation",
    "CloudControllerManagerWebhook",
    "ConcurrentWatchObjectDecode",
    "ContainerCheckpoint",
    "ControllerManagerReleaseLeaderElectionLockOnExit",
    "CustomCPUCFSQuotaPeriod",
    "DRASchedulerFilterTimeout",
    "DeclarativeValidationTakeover",
    "DisableCPUQuotaWithExclusiveCPUs",
    "EventedPLEG",
    "GangScheduling",
    "GracefulNodeShutdown",
    "GracefulNodeShutdownBasedOnPodPriority",
    "InOrderInformersBatchProcess",
    "InPlacePodVerticalScalingExclusiveCPUs",
    "InPlacePodVerticalScalingExclusiveMemory",
    "InformerResourceVersion",
    "KubeletCrashLoopBackOffMax",
    "KubeletEnsureSecretPulledImages",
    "KubeletInUserNamespace",
    "KubeletPodResourcesListUseActivePods",
    "KubeletRegistrationGetOnExistsOnly",
    "KubeletSeparateDiskGC",
    "LocalStorageCapacityIsolationFSQuotaMonitoring",
    "MemoryQoS",
    "NominatedNodeNameForExpectation",
    "OpportunisticBatching",
    "PLEGOnDemandRelist",
    "PersistentVolumeClaimUnusedSinceTime",
    "PodAndContainerStatsFromCRI",
    "PodLevelResourceManagers",
    "PodReadyToStartContainersCondition",
    "PodsAPI",
    "PreventStaticPodAPIReferences",
    "QOSReserved",
    "ReduceDefaultCrashLoopBackOffDecay",
    "ReloadKubeletClientCAFile",
    "ReloadKubeletServerCertificateFile",
    "RotateKubeletServerCertificate",
    "RuntimeClassInImageCriApi",
    "SchedulerAsyncAPICalls",
    "SchedulerAsyncPreemption",
    "SchedulerPopFromBackoffQ",
    "StaleControllerConsistencyDaemonSet",
    "StaleControllerConsistencyJob",
    "StaleControllerConsistencyReplicaSet",
    "StaleControllerConsistencyStatefulSet",
    "StatefulSetSemanticRevisionComparison",
    "StorageCapacityScoring",
    "StorageNamespaceIndex",
    "TopologyManagerPolicyAlphaOptions",
    "TopologyManagerPolicyBetaOptions",
    "UnlockWhileProcessingFIFO",
    "WatchListClient",
    "WindowsCPUAndMemoryAffinity",
    "WindowsGracefulNodeShutdown",
    "WindowsHostNetwork",
];

#[cfg(test)]
mod tests {
    use std::collections::{BTreeSet, HashSet};
    use std::path::Path;

    use super::super::{find, known};
    use super::*;

    /// All sources beside those of this folder, without their tests where these are at the end of a file.
    fn sources(folder: &Path, into: &mut String) {
        for entry in std::fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            if path.is_dir() && !matches!(name, "gates" | "tests" | "target") {
                sources(&path, into);
            } else if name.ends_with(".rs") && !name.contains("tests") {
                let text = std::fs::read_to_string(&path).expect("a source");
                into.push_str(text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default());
            }
        }
    }

    #[test]
    fn the_lists_name_gates_and_none_twice() {
        let all: Vec<&str> = [WITH_EFFECT, IN_PART, WITHOUT_DIFFERENCE].concat();
        let unknown: Vec<&&str> =
            all.iter().filter(|name| find(name).is_none_or(|gate| gate.locked)).collect();
        assert!(unknown.is_empty(), "no gates that can be set: {unknown:?}");
        assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), all.len());
    }

    #[test]
    fn gates_are_listed_as_having_an_effect_exactly_if_the_code_asks_for_them() {
        let mut text = String::new();
        sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join(".."), &mut text);
        let is_part = |character: char| character.is_alphanumeric();
        let words: HashSet<&str> = text.split(|character| !is_part(character)).collect();
        let after = |before: &str| {
            let found = text.match_indices(before).map(|(at, _)| &text[at + before.len()..]);
            found
                .map(|rest| rest.split(|c| !is_part(c)).next().unwrap_or_default())
                .collect::<HashSet<&str>>()
        };
        let asked_for = &after("enabled(\"") | &after("when(\"");
        for gate in known().iter().filter(|gate| !gate.locked && !matches!(gate.name, "AllAlpha" | "AllBeta"))
        {
            let name = gate.name;
            let listed = WITH_EFFECT.contains(&name) || IN_PART.contains(&name);
            let is_asked_for = asked_for.contains(name);
            assert!(listed || !is_asked_for, "{name} is asked for and not listed");
            assert!(!listed || words.contains(name), "{name} is listed and nobody asks for it");
        }
    }
}
