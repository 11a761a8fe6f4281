//! Conditions of pod validation that depend on feature gates, or on fields that the old object already uses.

use pintle_features::Feature;
use pintle_meta::Value;
use pintle_meta::quantity::Quantity;

use super::{affinity, annotations, sysctls, topology_spread};
use crate::core::pod::containers;
use crate::core::resource_names;
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
    /// Of the policies about SELinux labels, only `Recursive`.
    pub(crate) allow_only_recursive_selinux_change: bool,
    /// IP addresses in their usual spelling only, those of the old object aside.
    pub(crate) strict_ips: bool,
    pub(crate) clear_nominated_node_of_bound_pods: bool,
    /// Resizes of init containers that are no sidecars.
    pub(crate) resize_init_containers: bool,
}

impl Options {
    /// Returns the options for a pod, given as the cursor of the whole.
    pub(crate) fn for_pod(settings: &Settings, pod: &Cursor<'_, '_>) -> Options {
        Options { is_pod: true, ..Options::for_template(settings, pod) }
    }

    /// Returns the options for a pod template, such as that of a Deployment: the cursor of metadata and spec.
    pub(crate) fn for_template(settings: &Settings, template: &Cursor<'_, '_>) -> Options {
        let options = Options::by_gates(settings);
        if template.before().field("spec").is_set() {
            options.with_old(template.before().value())
        } else {
            options
        }
    }

    /// Returns the options for a new object.
    fn by_gates(settings: &Settings) -> Options {
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
            allow_only_recursive_selinux_change: !enabled(Feature::SELinuxMount),
            strict_ips: enabled(Feature::StrictIPCIDRValidation),
            clear_nominated_node_of_bound_pods: enabled(Feature::ClearingNominatedNodeNameAfterBinding),
            resize_init_containers: enabled(Feature::InPlacePodVerticalScalingInitContainers),
        }
    }

    /// Returns the options for an update of a template, given as metadata and spec.
    fn with_old(self, old: &Value) -> Options {
        let spec = old.get("spec").unwrap_or(&Value::NULL);
        let any = |has: fn(&Value) -> bool| containers(spec).any(has);
        let has_own_users = spec.get("hostUsers").and_then(Value::as_bool) == Some(false);
        let uses_merge = self.allow_match_label_keys_in_spread && self.merge_match_label_keys_in_spread;
        let uses_legacy = self.allow_match_label_keys_in_spread && !self.merge_match_label_keys_in_spread;
        Options {
            allow_invalid_deletion_cost: self.allow_invalid_deletion_cost
                || !annotations::is_deletion_cost(old.annotation(annotations::DELETION_COST)),
            allow_invalid_label_value_in_selector: affinity::has_invalid_selector(spec),
            allow_invalid_label_value_in_required_node_affinity: affinity::has_invalid_required_node_affinity(
                spec,
            ),
            allow_invalid_topology_spread_selector: topology_spread::has_invalid_selector(spec),
            allow_indivisible_huge_pages: any(asks_for_part_of_page)
                || has_part_of_page(spec.get("overhead")),
            allow_non_local_token_path: spec.items_at(&["volumes"]).iter().any(has_non_local_token_path),
            allow_namespaced_sysctls_of_host: sysctls::has_shared_with_host(spec),
            allow_sidecar_resize_policy: self.allow_sidecar_resize_policy
                || spec.items_at(&["initContainers"]).iter().any(|container| {
                    is_sidecar(container) && !container.items_at(&["resizePolicy"]).is_empty()
                }),
            old_violates_match_label_keys: uses_merge
                && topology_spread::violates(spec, affinity::label_keys),
            old_violates_legacy_match_label_keys: uses_legacy
                && topology_spread::violates(spec, affinity::unmerged_label_keys),
            allow_env_files: self.allow_env_files || any(has_env_file),
            allow_container_restart_rules: self.allow_container_restart_rules || has_restart_rules(spec),
            allow_restart_all_containers: self.allow_restart_all_containers || restarts_all_containers(spec),
            allow_restart_container_of_init_containers: spec
                .items_at(&["initContainers"])
                .iter()
                .any(restarts_on_resize),
            allow_user_namespaces_with_devices: has_own_users
                && any(|container| !container.items_at(&["volumeDevices"]).is_empty()),
            allow_user_namespaces_on_host_network: self.allow_user_namespaces_on_host_network
                || (has_own_users && spec.get("hostNetwork").and_then(Value::as_bool) == Some(true)),
            allow_toleration_comparison: self.allow_toleration_comparison || compares_tolerations(spec),
            allow_only_recursive_selinux_change: self.allow_only_recursive_selinux_change
                && spec.at(&["securityContext", "seLinuxChangePolicy"]).is_none(),
            ..self
        }
    }
}

/// Whether a container is a sidecar, if it is an init container.
pub(crate) fn is_sidecar(container: &Value) -> bool {
    container.text_at(&["restartPolicy"]) == "Always"
}

fn has_part_of_page(amounts: Option<&Value>) -> bool {
    let mut amounts = amounts.and_then(Value::as_object).into_iter().flat_map(|amounts| amounts.iter());
    amounts.any(|(name, amount)| {
        let amount = amount.as_str().and_then(|amount| Quantity::parse(amount).ok());
        resource_names::is_huge_page(name)
            && amount.is_some_and(|amount| !resource_names::is_multiple_of_page_size(name, &amount))
    })
}

fn asks_for_part_of_page(container: &Value) -> bool {
    ["limits", "requests"].iter().any(|kind| has_part_of_page(container.at(&["resources", kind])))
}

fn has_non_local_token_path(volume: &Value) -> bool {
    let mut sources = volume.items_at(&["projected", "sources"]).iter();
    sources.any(|source| {
        let path = source.text_at(&["serviceAccountToken", "path"]);
        path.starts_with('/') || path.starts_with("..") || path.split('/').any(|part| part == "..")
    })
}

/// Whether a container has a variable from a file.
pub(crate) fn has_env_file(container: &Value) -> bool {
    container.items_at(&["env"]).iter().any(|variable| variable.at(&["valueFrom", "fileKeyRef"]).is_some())
}

/// Whether containers of a spec have restart policies of their own.
pub(crate) fn has_restart_rules(spec: &Value) -> bool {
    let init = spec.items_at(&["initContainers"]).iter();
    let mut init = init.map(|container| (container, !container.items_at(&["restartPolicyRules"]).is_empty()));
    let mut others = spec.items_at(&["containers"]).iter();
    init.any(|(container, rules)| {
        rules || (container.get("restartPolicy").is_some() && !is_sidecar(container))
    }) || others.any(|container| container.get("restartPolicy").is_some())
}

fn restarts_all_containers(spec: &Value) -> bool {
    let restarts_all = |container: &Value| {
        let mut rules = container.items_at(&["restartPolicyRules"]).iter();
        rules.any(|rule| rule.text_at(&["action"]) == "RestartAllContainers")
    };
    let has_rules = |container: &Value| !container.items_at(&["restartPolicyRules"]).is_empty();
    spec.items_at(&["containers"]).iter().any(restarts_all)
        || spec
            .items_at(&["initContainers"])
            .iter()
            .any(|container| restarts_all(container) || (is_sidecar(container) && has_rules(container)))
}

/// Whether an init container that is no sidecar is to be restarted when it is resized.
fn restarts_on_resize(container: &Value) -> bool {
    let mut policies = container.items_at(&["resizePolicy"]).iter();
    !is_sidecar(container) && policies.any(|policy| policy.text_at(&["restartPolicy"]) == "RestartContainer")
}

fn compares_tolerations(spec: &Value) -> bool {
    let mut tolerations = spec.items_at(&["tolerations"]).iter();
    tolerations.any(|toleration| matches!(toleration.text_at(&["operator"]), "Lt" | "Gt"))
}

#[cfg(test)]
mod tests;
