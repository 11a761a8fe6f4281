//! Conditions of pod validation that depend on feature gates, or on fields that the old object already uses.

use pintle_features::Feature;

use crate::framework::strategy::Settings;
use crate::framework::validation::Cursor;

/// Made once per request. A field in use in the old object stays allowed, whatever the gates say.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a condition of its own")]
pub(crate) struct Options {
    /// `--allow-privileged`.
    pub(crate) allow_privileged: bool,
    /// Whether the object under validation is a pod, and not a kind with a template.
    pub(crate) is_pod: bool,
    pub(crate) allow_invalid_deletion_cost: bool,
    /// In selectors of affinity terms.
    pub(crate) allow_invalid_label_value_in_selector: bool,
    pub(crate) allow_invalid_label_value_in_required_node_affinity: bool,
    pub(crate) allow_invalid_topology_spread_selector: bool,
    /// Huge pages in amounts that are no multiple of the page size.
    pub(crate) allow_indivisible_huge_pages: bool,
    /// Projected tokens with paths that lead out of the volume.
    pub(crate) allow_non_local_token_path: bool,
    /// Namespaced sysctls in pods with the host's network or IPC namespace.
    pub(crate) allow_namespaced_sysctls_of_host: bool,
    pub(crate) pod_level_resources: bool,
    pub(crate) in_place_pod_level_resources: bool,
    pub(crate) allow_sidecar_resize_policy: bool,
    pub(crate) allow_match_label_keys_in_spread: bool,
    pub(crate) merge_match_label_keys_in_spread: bool,
    pub(crate) old_violates_match_label_keys: bool,
    pub(crate) old_violates_legacy_match_label_keys: bool,
    pub(crate) allow_env_files: bool,
    pub(crate) allow_container_restart_rules: bool,
    pub(crate) allow_restart_all_containers: bool,
    /// The resize policy `RestartContainer` of init containers that are no sidecars.
    pub(crate) allow_restart_container_of_init_containers: bool,
    pub(crate) allow_user_namespaces_with_devices: bool,
    pub(crate) allow_user_namespaces_on_host_network: bool,
    /// `Lt` and `Gt` in tolerations.
    pub(crate) allow_toleration_comparison: bool,
    pub(crate) allow_image_volume_digest: bool,
}

impl Options {
    /// Returns the options for a pod, given as the cursor of the whole.
    pub(crate) fn for_pod(settings: &Settings, pod: &Cursor<'_, '_>) -> Options {
        Options { is_pod: true, ..Options::for_template(settings, pod) }
    }

    /// Returns the options for a pod template, such as that of a Deployment: the cursor of metadata and spec.
    pub(crate) fn for_template(settings: &Settings, _template: &Cursor<'_, '_>) -> Options {
        let enabled = |feature| settings.features.enabled(feature);
        Options {
            allow_privileged: settings.allow_privileged,
            is_pod: false,
            allow_invalid_deletion_cost: !enabled(Feature::PodDeletionCost),
            allow_invalid_label_value_in_selector: false,
            allow_invalid_label_value_in_required_node_affinity: false,
            allow_invalid_topology_spread_selector: false,
            allow_indivisible_huge_pages: false,
            allow_non_local_token_path: false,
            allow_namespaced_sysctls_of_host: false,
            pod_level_resources: enabled(Feature::PodLevelResources),
            in_place_pod_level_resources: enabled(Feature::InPlacePodLevelResourcesVerticalScaling),
            allow_sidecar_resize_policy: enabled(Feature::InPlacePodVerticalScaling),
            allow_match_label_keys_in_spread: enabled(Feature::MatchLabelKeysInPodTopologySpread),
            merge_match_label_keys_in_spread: enabled(
                Feature::MatchLabelKeysInPodTopologySpreadSelectorMerge,
            ),
            old_violates_match_label_keys: false,
            old_violates_legacy_match_label_keys: false,
            allow_env_files: enabled(Feature::EnvFiles),
            allow_container_restart_rules: enabled(Feature::ContainerRestartRules),
            allow_restart_all_containers: enabled(Feature::RestartAllContainersOnContainerExits),
            allow_restart_container_of_init_containers: false,
            allow_user_namespaces_with_devices: false,
            allow_user_namespaces_on_host_network: enabled(Feature::UserNamespacesHostNetworkSupport),
            allow_toleration_comparison: enabled(Feature::TaintTolerationComparisonOperators),
            allow_image_volume_digest: enabled(Feature::ImageVolumeWithDigest),
        }
    }
}
