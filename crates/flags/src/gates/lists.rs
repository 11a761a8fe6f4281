//! The effect of gates that are set: which ones switch something here, and which ones switch nothing anywhere in an API
//! server. All others are parsed and validated, and earn a warning when set to something else than their default.

use pintle_features::Feature;

/// Gates that this server asks for, and that do here what they do in the reference.
pub(super) const WITH_EFFECT: &[Feature] = &[
    Feature::APIResponseCompression,
    Feature::APIServerIdentity,
    Feature::AllAlpha,
    Feature::AllBeta,
    Feature::AllowInsecureKubeletCertificateSigningRequests,
    Feature::AllowParsingUserUIDFromCertAuth,
    Feature::AllowUnsafeMalformedObjectDeletion,
    Feature::AuthorizePodWebsocketUpgradeCreatePermission,
    Feature::CBORServingAndStorage,
    Feature::ClearingNominatedNodeNameAfterBinding,
    Feature::ClusterTrustBundle,
    Feature::ClusterTrustBundleProjection,
    Feature::ComponentFlagz,
    Feature::ComponentStatusz,
    Feature::ConstrainedImpersonation,
    Feature::ContainerRestartRules,
    Feature::ContainerStopSignals,
    Feature::CrossNamespaceVolumeDataSource,
    Feature::DRAConsumableCapacity,
    Feature::DRADeviceBindingConditions,
    Feature::DRADeviceTaintRules,
    Feature::DRADeviceTaints,
    Feature::DRANodeAllocatableResources,
    Feature::DRAPartitionableDevices,
    Feature::DRAPrioritizedList,
    Feature::DRAResourceClaimDeviceStatus,
    Feature::DRAResourceClaimGranularStatusAuthorization,
    Feature::DRAResourcePoolStatus,
    Feature::DeploymentReplicaSetTerminatingReplicas,
    Feature::DetectCacheInconsistency,
    Feature::EnvFiles,
    Feature::ExtendWebSocketsToKubelet,
    Feature::GenericWorkload,
    Feature::HPAConfigurableTolerance,
    Feature::HPAScaleToZero,
    Feature::HostnameOverride,
    Feature::ImageVolumeWithDigest,
    Feature::InPlacePodLevelResourcesVerticalScaling,
    Feature::InPlacePodVerticalScalingInitContainers,
    Feature::KMSv1,
    Feature::KubeletServiceAccountTokenForCredentialProviders,
    Feature::ListFromCacheSnapshot,
    Feature::LoggingAlphaOptions,
    Feature::LoggingBetaOptions,
    Feature::ManifestBasedAdmissionControlConfig,
    Feature::MatchLabelKeysInPodTopologySpread,
    Feature::MatchLabelKeysInPodTopologySpreadSelectorMerge,
    Feature::MaxUnavailableStatefulSet,
    Feature::MutablePVNodeAffinity,
    Feature::MutablePodResourcesForSuspendedJobs,
    Feature::MutableSchedulingDirectivesForSuspendedJobs,
    Feature::MutatingAdmissionPolicy,
    Feature::NodeDeclaredFeatures,
    Feature::OpenAPIEnums,
    Feature::PersistentVolumeClaimUnusedSinceTime,
    Feature::PodCertificateRequest,
    Feature::PodDeletionCost,
    Feature::PodLogsQuerySplitStreams,
    Feature::PodTopologyLabelsAdmission,
    Feature::PortForwardWebsockets,
    Feature::RelaxedServiceNameValidation,
    Feature::RemoteRequestHeaderUID,
    Feature::ResourceHealthStatus,
    Feature::ResourceHealthStatusMessage,
    Feature::RestartAllContainersOnContainerExits,
    Feature::SELinuxMount,
    Feature::ServiceAccountNodeAudienceRestriction,
    Feature::ServiceCIDRStatusFieldWiping,
    Feature::ShardedListAndWatch,
    Feature::StorageVersionAPI,
    Feature::StorageVersionHash,
    Feature::StorageVersionMigrator,
    Feature::StrictIPCIDRValidation,
    Feature::StructuredAuthenticationConfigurationEgressSelector,
    Feature::StructuredAuthenticationConfigurationJWKSMetrics,
    Feature::TaintTolerationComparisonOperators,
    Feature::TokenRequestServiceAccountUIDValidation,
    Feature::TranslateStreamCloseWebsocketRequests,
    Feature::UnauthenticatedHTTP2DOSMitigation,
    Feature::UserNamespacesHostNetworkSupport,
    Feature::WatchCacheInitializationPostStartHook,
    Feature::WatchList,
    Feature::WorkloadWithJob,
];

/// Gates that this server asks for, while the reference does more with them.
pub(super) const IN_PART: &[Feature] = &[
    Feature::CoordinatedLeaderElection,
    Feature::DRAExtendedResource,
    Feature::DRAListTypeAttributes,
    Feature::DRAWorkloadResourceClaims,
    Feature::PodLevelResources,
    Feature::SizeBasedListCostEstimate,
    Feature::TopologyAwareWorkloadScheduling,
    Feature::UnknownVersionInteroperabilityProxy,
    Feature::VolumeLimitScaling,
    Feature::WorkloadAwarePreemption,
];

/// Gates that make no difference in the reference's API server either. Most are read by kubelets, schedulers, controller
/// managers or clients only, some by no component any more, and some decide how it works inside and not what it answers
/// (`APIServingWithRoutine`, `ConcurrentWatchObjectDecode`, `StorageNamespaceIndex`, those of informers). With
/// `CRDObservedGenerationTracking` it forgets fields of definitions' statuses where it has just taken all of the status from what
/// is stored.
pub(super) const WITHOUT_DIFFERENCE: &[Feature] = &[
    Feature::APIServingWithRoutine,
    Feature::AllowDNSOnlyNodeCSR,
    Feature::AllowServiceExternalIPs,
    Feature::AtomicFIFO,
    Feature::CPUManagerPolicyAlphaOptions,
    Feature::CPUManagerPolicyBetaOptions,
    Feature::CRDObservedGenerationTracking,
    Feature::CRIListStreaming,
    Feature::CSIVolumeHealth,
    Feature::ChangeContainerStatusOnKubeletRestart,
    Feature::ClientsAllowTLSCacheGC,
    Feature::CloudControllerManagerWatchBasedRoutesReconciliation,
    Feature::CloudControllerManagerWebhook,
    Feature::ConcurrentWatchObjectDecode,
    Feature::ContainerCheckpoint,
    Feature::ControllerManagerReleaseLeaderElectionLockOnExit,
    Feature::CustomCPUCFSQuotaPeriod,
    Feature::DRASchedulerFilterTimeout,
    Feature::DeclarativeValidationTakeover,
    Feature::DisableCPUQuotaWithExclusiveCPUs,
    Feature::EventedPLEG,
    Feature::GangScheduling,
    Feature::GracefulNodeShutdown,
    Feature::GracefulNodeShutdownBasedOnPodPriority,
    Feature::InOrderInformersBatchProcess,
    Feature::InPlacePodVerticalScalingExclusiveCPUs,
    Feature::InPlacePodVerticalScalingExclusiveMemory,
    Feature::InformerResourceVersion,
    Feature::KubeletCrashLoopBackOffMax,
    Feature::KubeletEnsureSecretPulledImages,
    Feature::KubeletInUserNamespace,
    Feature::KubeletPodResourcesListUseActivePods,
    Feature::KubeletRegistrationGetOnExistsOnly,
    Feature::KubeletSeparateDiskGC,
    Feature::LocalStorageCapacityIsolationFSQuotaMonitoring,
    Feature::MemoryQoS,
    Feature::NominatedNodeNameForExpectation,
    Feature::OpportunisticBatching,
    Feature::PLEGOnDemandRelist,
    Feature::PodAndContainerStatsFromCRI,
    Feature::PodLevelResourceManagers,
    Feature::PodReadyToStartContainersCondition,
    Feature::PodsAPI,
    Feature::PreventStaticPodAPIReferences,
    Feature::QOSReserved,
    Feature::ReduceDefaultCrashLoopBackOffDecay,
    Feature::ReloadKubeletClientCAFile,
    Feature::ReloadKubeletServerCertificateFile,
    Feature::RotateKubeletServerCertificate,
    Feature::RuntimeClassInImageCriApi,
    Feature::SchedulerAsyncAPICalls,
    Feature::SchedulerAsyncPreemption,
    Feature::SchedulerPopFromBackoffQ,
    Feature::StaleControllerConsistencyDaemonSet,
    Feature::StaleControllerConsistencyJob,
    Feature::StaleControllerConsistencyReplicaSet,
    Feature::StaleControllerConsistencyStatefulSet,
    Feature::StatefulSetSemanticRevisionComparison,
    Feature::StorageCapacityScoring,
    Feature::StorageNamespaceIndex,
    Feature::TopologyManagerPolicyAlphaOptions,
    Feature::TopologyManagerPolicyBetaOptions,
    Feature::UnlockWhileProcessingFIFO,
    Feature::WatchListClient,
    Feature::WindowsCPUAndMemoryAffinity,
    Feature::WindowsGracefulNodeShutdown,
    Feature::WindowsHostNetwork,
];

#[cfg(test)]
mod tests {
    use std::collections::{BTreeSet, HashSet};
    use std::path::Path;

    use pintle_features::gates;

    use super::*;

    /// Reads all sources beside those of this folder, without their tests where these are at the end of a file.
    fn sources(folder: &Path, into: &mut String) {
        for entry in std::fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            if path.is_dir() && !matches!(name, "gates" | "features" | "tests" | "target") {
                sources(&path, into);
            } else if name.ends_with(".rs") && !name.contains("tests") {
                let text = std::fs::read_to_string(&path).expect("a source");
                into.push_str(text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default());
            }
        }
    }

    #[test]
    fn the_lists_name_gates_that_can_be_set_and_none_twice() {
        let all: Vec<Feature> = [WITH_EFFECT, IN_PART, WITHOUT_DIFFERENCE].concat();
        let locked: Vec<&Feature> = all.iter().filter(|feature| feature.gate().locked).collect();
        assert!(locked.is_empty(), "cannot be set: {locked:?}");
        assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), all.len());
    }

    #[test]
    fn gates_are_listed_as_having_an_effect_exactly_if_the_code_asks_for_them() {
        let mut text = String::new();
        sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join(".."), &mut text);
        let named = |at: usize| text[at..].split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
        const BEFORE: &str = "Feature::";
        let asked_for: HashSet<&str> =
            text.match_indices(BEFORE).map(|(at, _)| named(at + BEFORE.len())).collect();
        // Resources name the gate without which they are not served in the facts about them.
        let words: HashSet<&str> = text.split(|c: char| !c.is_alphanumeric()).collect();
        let (mut missing, mut idle) = (Vec::new(), Vec::new());
        for gate in gates().iter().filter(|gate| !gate.locked && !gate.name.starts_with("All")) {
            let listed = WITH_EFFECT.contains(&gate.feature) || IN_PART.contains(&gate.feature);
            if !listed && asked_for.contains(gate.name) {
                missing.push(gate.name);
            }
            if listed && !words.contains(gate.name) {
                idle.push(gate.name);
            }
        }
        assert!(missing.is_empty(), "asked for and not listed: {missing:?}");
        assert!(idle.is_empty(), "listed and not asked for anywhere: {idle:?}");
    }
}
