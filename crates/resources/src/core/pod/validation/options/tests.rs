//! Tests of options: an update allows what the old object uses.

use pintle_features::{Feature, Features};
use pintle_meta::Value;

use super::Options;
use crate::framework::strategy::Settings;
use crate::framework::strategy::testing::of;
use crate::framework::validation::{Cursor, Errors};

/// Returns the options of an update, with all features on or off.
fn options(features: Features, old: &str) -> Options {
    let settings = Settings { features, ..Settings::default() };
    let pods = of("", "pods");
    let (new, old): (Value, Value) =
        (pods.tree(r#"{"spec":{}}"#), pods.tree(&format!(r#"{{"spec":{old}}}"#)));
    let errors = Errors::default();
    Options::for_template(&settings, &Cursor::root(&new, Some(&old), &errors))
}

/// Checks that an option is set by the use of a field in the old object, without any feature.
#[track_caller]
fn by_use(option: fn(&Options) -> bool, old: &str) {
    assert!(!option(&options(Features::none(), "{}")), "without use");
    assert!(option(&options(Features::none(), old)), "with {old}");
}

#[test]
fn fields_in_use_stay_allowed() {
    let init = |rest: &str| format!(r#"{{"initContainers":[{{"name":"i",{rest}}}]}}"#);
    let container = |rest: &str| format!(r#"{{"containers":[{{"name":"c",{rest}}}]}}"#);
    let pages = r#""resources":{"requests":{"hugepages-2Mi":"3Mi"}}"#;
    by_use(|options| options.allow_indivisible_huge_pages, &container(pages));
    by_use(|options| options.allow_indivisible_huge_pages, &init(&pages.replace("requests", "limits")));
    by_use(|options| options.allow_indivisible_huge_pages, r#"{"overhead":{"hugepages-2Mi":"3Mi"}}"#);
    assert!(
        !options(Features::none(), r#"{"overhead":{"hugepages-2Mi":"4Mi","cpu":"1"}}"#)
            .allow_indivisible_huge_pages
    );
    for path in ["/a", "../a", "a/../b", "..a"] {
        let volume = format!(
            r#"{{"volumes":[{{"name":"v","projected":{{"sources":[{{"serviceAccountToken":{{"path":"{path}"}}}}]}}}}]}}"#
        );
        by_use(|options| options.allow_non_local_token_path, &volume);
    }
    by_use(
        |options| options.allow_namespaced_sysctls_of_host,
        r#"{"hostNetwork":true,"securityContext":{"sysctls":[{"name":"net.a","value":"1"}]}}"#,
    );
    by_use(
        |options| options.allow_sidecar_resize_policy,
        &init(
            r#""restartPolicy":"Always","resizePolicy":[{"resourceName":"cpu","restartPolicy":"NotRequired"}]"#,
        ),
    );
    by_use(
        |options| options.allow_restart_container_of_init_containers,
        &init(r#""resizePolicy":[{"resourceName":"cpu","restartPolicy":"RestartContainer"}]"#),
    );
    by_use(
        |options| options.allow_env_files,
        r#"{"ephemeralContainers":[{"name":"e","env":[{"name":"a","valueFrom":{"fileKeyRef":{"key":"k"}}}]}]}"#,
    );
    by_use(|options| options.allow_container_restart_rules, &container(r#""restartPolicy":"Never""#));
    by_use(|options| options.allow_container_restart_rules, &init(r#""restartPolicy":"Never""#));
    by_use(
        |options| options.allow_container_restart_rules,
        &init(r#""restartPolicy":"Always","restartPolicyRules":[{"action":"Restart"}]"#),
    );
    assert!(!options(Features::none(), &init(r#""restartPolicy":"Always""#)).allow_container_restart_rules);
    let all = r#""restartPolicyRules":[{"action":"RestartAllContainers"}]"#;
    by_use(|options| options.allow_restart_all_containers, &container(all));
    by_use(|options| options.allow_restart_all_containers, &init(all));
    by_use(
        |options| options.allow_restart_all_containers,
        &init(r#""restartPolicy":"Always","restartPolicyRules":[{"action":"Restart"}]"#),
    );
    by_use(
        |options| options.allow_user_namespaces_with_devices,
        r#"{"hostUsers":false,"containers":[{"name":"c","volumeDevices":[{"name":"d","devicePath":"/d"}]}]}"#,
    );
    by_use(
        |options| options.allow_user_namespaces_on_host_network,
        r#"{"hostUsers":false,"hostNetwork":true}"#,
    );
    by_use(|options| options.allow_toleration_comparison, r#"{"tolerations":[{"operator":"Gt"}]}"#);
    let only = |options: &Options| !options.allow_only_recursive_selinux_change;
    by_use(only, r#"{"securityContext":{"seLinuxChangePolicy":"MountOption"}}"#);
}

#[test]
fn gates_allow_by_themselves() {
    for (feature, option) in [
        (Feature::EnvFiles, (|options| options.allow_env_files) as fn(&Options) -> bool),
        (Feature::ContainerRestartRules, |options| options.allow_container_restart_rules),
        (Feature::RestartAllContainersOnContainerExits, |options| options.allow_restart_all_containers),
        (Feature::UserNamespacesHostNetworkSupport, |options| options.allow_user_namespaces_on_host_network),
        (Feature::TaintTolerationComparisonOperators, |options| options.allow_toleration_comparison),
        (Feature::ImageVolumeWithDigest, |options| options.allow_image_volume_digest),
        (Feature::PodLevelResources, |options| options.pod_level_resources),
        (Feature::InPlacePodVerticalScaling, |options| options.allow_sidecar_resize_policy),
        (Feature::SELinuxMount, |options| !options.allow_only_recursive_selinux_change),
        (Feature::PodDeletionCost, |options| !options.allow_invalid_deletion_cost),
    ] {
        assert!(option(&options(Features::none().with(feature, true), "{}")), "{feature:?} is on");
        assert!(!option(&options(Features::none(), "{}")), "{feature:?} is off");
    }
}
