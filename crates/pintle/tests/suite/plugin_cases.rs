//! Coverage of admission plugins: every one of them has tests of this suite in which it acts and in which it leaves a request alone.

use std::collections::HashSet;

use pintle_admission::PLUGINS;
use tokio::process::Command;

/// A plugin and its tests.
struct Cases {
    plugin: &'static str,
    /// The test in which it changes an object or rejects a request.
    acts: &'static str,
    /// The test in which an object stays, or a request succeeds, that the plugin must leave alone.
    leaves: &'static str,
}

const fn both(plugin: &'static str, test: &'static str) -> Cases {
    Cases { plugin, acts: test, leaves: test }
}

const CASES: &[Cases] = &[
    both("AlwaysAdmit", "optional_plugins::resources::a_plugin_that_admits_everything_overrules_none"),
    both(
        "NamespaceAutoProvision",
        "optional_plugins::resources::a_namespace_is_there_when_an_object_is_created_in_it",
    ),
    both("NamespaceLifecycle", "etcd_reads::namespaces_and_accounts_of_a_moment_ago_count_on_etcd"),
    both("NamespaceExists", "optional_plugins::resources::objects_are_not_created_in_missing_namespaces"),
    both(
        "LimitPodHardAntiAffinityTopology",
        "optional_plugins::pods::anti_affinity_is_required_by_hostname_alone",
    ),
    both("LimitRanger", "limit_ranges::a_range_gives_defaults_and_sets_limits"),
    both("ServiceAccount", "service_accounts::a_pod_of_a_new_namespace_has_an_account_and_a_token"),
    both("NodeRestriction", "node::a_kubelet_registers_reports_and_shows_its_own_pods"),
    both("TaintNodesByCondition", "marks::a_node_is_tainted_when_it_is_made_and_never_again"),
    both("AlwaysPullImages", "optional_plugins::pods::images_are_always_pulled"),
    both("ImagePolicyWebhook", "optional_plugins::image_policy::images_are_asked_about"),
    both("PodSecurity", "pod_security::violating_pods_are_rejected_and_violating_workloads_warned_about"),
    both("PodNodeSelector", "optional_plugins::pods::pods_have_the_node_selector_of_their_namespace"),
    both("Priority", "pod_admission::a_pod_has_the_priority_of_its_class"),
    both("DefaultTolerationSeconds", "pod_admission::a_pod_bears_bad_nodes_for_as_long_as_flags_say"),
    both("PodTolerationRestriction", "optional_plugins::pods::tolerations_are_those_of_the_namespace"),
    both("EventRateLimit", "optional_plugins::resources::events_are_limited_by_namespace"),
    both("ExtendedResourceToleration", "optional_plugins::pods::extended_resources_are_tolerated"),
    both("DefaultStorageClass", "default_classes::claims_without_a_class_get_the_default"),
    both("StorageObjectInUseProtection", "marks::storage_is_protected_when_it_is_made_and_never_again"),
    both("PodGroupProtection", "pod_groups::a_group_is_made_of_a_template_and_protected"),
    both(
        "OwnerReferencesPermissionEnforcement",
        "optional_plugins::owner_references::changes_of_owners_need_permissions",
    ),
    both("PersistentVolumeClaimResize", "default_classes::bound_claims_grow_where_their_class_allows_it"),
    both("RuntimeClass", "pod_admission::a_pod_follows_its_runtime_class"),
    both("CertificateApproval", "csr::deciding_needs_a_right_to_the_signer"),
    both("CertificateSigning", "csr::deciding_needs_a_right_to_the_signer"),
    both("ClusterTrustBundleAttest", "csr::attesting_for_a_signer_needs_a_right_to_it"),
    both("CertificateSubjectRestriction", "csr::a_signing_request_for_masters_is_refused"),
    both("DefaultIngressClass", "default_classes::ingresses_without_a_class_get_the_default"),
    both("DenyServiceExternalIPs", "optional_plugins::resources::services_have_no_new_external_ips"),
    both("PodTopologyLabels", "pod_nodes::bound_pods_have_the_topology_of_their_node"),
    both("PodGroupWorkloadExists", "pod_groups::a_group_is_made_of_a_template_and_protected"),
    both(
        "NodeDeclaredFeatureValidator",
        "pod_nodes::a_resize_of_init_containers_needs_a_node_that_declares_it",
    ),
    both("JobValidation", "pod_groups::the_parallelism_of_a_gang_is_fixed"),
    both("PodResizeValidator", "pod_nodes::a_resize_must_fit_the_node"),
    both("MutatingAdmissionPolicy", "mutating_policies::a_sidecar_is_injected_once"),
    both("MutatingAdmissionWebhook", "admission_webhooks::mutating::a_patch_is_stored_and_defaulted"),
    both("ValidatingAdmissionPolicy", "validating_policies::examples::match_conditions_exclude_requests"),
    both(
        "ValidatingAdmissionWebhook",
        "admission_webhooks::validating::a_denial_reaches_the_client_and_takes_effect_at_once",
    ),
    both("ResourceQuota", "quotas::a_quota_of_a_scope_leaves_other_pods_alone"),
    Cases {
        plugin: "AlwaysDeny",
        acts: "optional_plugins::resources::a_namespace_that_is_made_passes_admission",
        leaves: "optional_plugins::resources::a_plugin_that_denies_everything_denies_no_reads",
    },
];

/// Returns the names of all tests of this binary.
async fn tests() -> HashSet<String> {
    let program = std::env::current_exe().expect("this binary");
    let listed = Command::new(program).args(["--list", "--format=terse"]).output().await.expect("a list");
    let listed = String::from_utf8(listed.stdout).expect("text");
    listed.lines().filter_map(|line| line.strip_suffix(": test")).map(str::to_owned).collect()
}

#[tokio::test]
async fn every_plugin_has_a_positive_and_a_negative_case() {
    let covered: Vec<&str> = CASES.iter().map(|cases| cases.plugin).collect();
    let implemented: Vec<&str> = PLUGINS.iter().map(|plugin| plugin.name).collect();
    assert_eq!(covered, implemented, "each plugin once, in the same order");
    let tests = tests().await;
    for Cases { plugin, acts, leaves } in CASES {
        for test in [acts, leaves] {
            assert!(tests.contains(*test), "{plugin}: there is no test {test}");
        }
    }
}
