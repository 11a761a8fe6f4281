//! Tests of fields of features that are off.

use pintle_features::Feature;

use crate::framework::strategy::Settings;
use crate::framework::strategy::testing::{Subject, text, with_settings};

fn subject(resource: &str, feature: Feature, on: bool) -> Subject {
    let mut settings = Settings::default();
    settings.features.set(feature, on);
    with_settings("", resource, &settings)
}

/// Checks that a spec stays with a feature, is `dropped` without it, and stays without it if the old one has it.
#[track_caller]
fn check_spec(feature: Feature, spec: &str, dropped: &str) {
    let pod = |spec: &str| format!(r#"{{"metadata":{{"name":"p"}},"spec":{spec}}}"#);
    let template = |spec: &str| format!(r#"{{"metadata":{{"name":"p"}},"template":{{"spec":{spec}}}}}"#);
    let (on, off) = (subject("pods", feature, true), subject("pods", feature, false));
    let spec_of = |pod: pintle_meta::Value| text(pod.get("spec").unwrap());
    let (whole, dropped_text) = (spec_of(on.tree(&pod(spec))), spec_of(on.tree(&pod(dropped))));
    assert_ne!(whole, dropped_text, "{feature:?}");
    assert_eq!(spec_of(on.created(&pod(spec))), whole, "{feature:?} is on");
    assert_eq!(spec_of(off.created(&pod(spec))), dropped_text, "{feature:?} is off");
    assert_eq!(
        spec_of(off.updated(&pod(spec), &pod(dropped))),
        dropped_text,
        "{feature:?} is off and unused"
    );
    assert_eq!(spec_of(off.updated(&pod(spec), &pod(spec))), whole, "{feature:?} is off and in use");
    let off = subject("podtemplates", feature, false);
    let spec_of = |template: pintle_meta::Value| text(template.at(&["template", "spec"]).unwrap());
    assert_eq!(spec_of(off.created(&template(spec))), dropped_text, "{feature:?} in a template");
    assert_eq!(spec_of(off.updated(&template(spec), &template(spec))), whole, "{feature:?} in a template");
}

#[test]
fn fields_of_specs_are_dropped() {
    let container = |rest: &str| {
        let all = |list: &str| format!(r#""{list}":[{{"name":"c"{rest}}}]"#);
        format!("{{{},{},{}}}", all("initContainers"), all("containers"), all("ephemeralContainers"))
    };
    let plain = &container("");
    check_spec(Feature::PodLevelResources, r#"{"resources":{"limits":{"cpu":"1"}}}"#, "{}");
    check_spec(
        Feature::MatchLabelKeysInPodTopologySpread,
        r#"{"topologySpreadConstraints":[{"matchLabelKeys":["a"]},{"topologyKey":"t"}]}"#,
        r#"{"topologySpreadConstraints":[{},{"topologyKey":"t"}]}"#,
    );
    for (feature, source) in [
        (Feature::ClusterTrustBundleProjection, r#""clusterTrustBundle":{"path":"p"}"#),
        (Feature::PodCertificateRequest, r#""podCertificate":{"signerName":"s","keyType":"k"}"#),
    ] {
        let volumes = |source: &str| {
            format!(
                r#"{{"volumes":[{{"name":"v","projected":{{"sources":[{{{source}}},{{"configMap":{{}}}}]}}}}]}}"#
            )
        };
        check_spec(feature, &volumes(source), &volumes(""));
    }
    check_spec(Feature::GenericWorkload, r#"{"schedulingGroup":{"podGroupName":"g"}}"#, "{}");
    check_spec(Feature::HostnameOverride, r#"{"hostnameOverride":"h"}"#, "{}");
    check_spec(
        Feature::EnvFiles,
        &container(
            r#","env":[{"name":"a","valueFrom":{"fileKeyRef":{"key":"k","path":"p","volumeName":"v"}}},{"name":"b"}]"#,
        ),
        &container(r#","env":[{"name":"a","valueFrom":{}},{"name":"b"}]"#),
    );
    check_spec(Feature::ContainerStopSignals, &container(r#","lifecycle":{"stopSignal":"SIGTERM"}"#), plain);
    check_spec(
        Feature::ContainerStopSignals,
        &container(r#","lifecycle":{"preStop":{},"stopSignal":"SIGTERM"}"#),
        &container(r#","lifecycle":{"preStop":{}}"#),
    );
    check_spec(
        Feature::ContainerRestartRules,
        &container(r#","restartPolicy":"Never","restartPolicyRules":[{"action":"Restart"}]"#),
        plain,
    );
}

#[test]
fn sidecars_keep_their_policy_without_restart_rules() {
    let off = subject("pods", Feature::ContainerRestartRules, false);
    let pod = off.created(
        r#"{"metadata":{"name":"p"},"spec":{"initContainers":[{"name":"s","restartPolicy":"Always","restartPolicyRules":[{"action":"Restart"}]}],"containers":[{"name":"c","restartPolicy":"Always"}]}}"#,
    );
    assert_eq!(
        text(pod.get("spec").unwrap()),
        r#"{"initContainers":[{"name":"s","resources":{},"restartPolicy":"Always"}],"containers":[{"name":"c","resources":{}}]}"#
    );
}

#[test]
fn own_resources_count_for_the_class_only_with_the_feature() {
    let pod = r#"{"metadata":{"name":"p"},"spec":{"containers":[{"name":"c"}],"resources":{"requests":{"cpu":"1"}}}}"#;
    let class = |on| {
        let pod = subject("pods", Feature::PodLevelResources, on).created(pod);
        pod.text_at(&["status", "qosClass"]).to_owned()
    };
    assert_eq!((class(true), class(false)), ("Burstable".into(), "BestEffort".into()));
}

/// As [`check_spec`], for a status.
#[track_caller]
fn check_status(feature: Feature, status: &str, dropped: &str) {
    let pod = |status: &str| format!(r#"{{"metadata":{{"name":"p"}},"spec":{{}},"status":{status}}}"#);
    let (on, off) = (subject("pods/status", feature, true), subject("pods/status", feature, false));
    let status_of = |pod: pintle_meta::Value| text(pod.get("status").unwrap());
    let (whole, dropped_text) = (status_of(on.tree(&pod(status))), status_of(on.tree(&pod(dropped))));
    assert_ne!(whole, dropped_text, "{feature:?}");
    assert_eq!(status_of(on.updated(&pod(status), &pod(dropped))), whole, "{feature:?} is on");
    assert_eq!(status_of(off.updated(&pod(status), &pod(dropped))), dropped_text, "{feature:?} is off");
    assert_eq!(status_of(off.updated(&pod(status), &pod(status))), whole, "{feature:?} is off and in use");
}

#[test]
fn fields_of_statuses_are_dropped() {
    let statuses = |rest: &str| {
        let all = |list: &str| format!(r#""{list}":[{{"name":"c"{rest}}},{{"name":"d"}}]"#);
        format!(
            "{{{},{},{}}}",
            all("containerStatuses"),
            all("initContainerStatuses"),
            all("ephemeralContainerStatuses")
        )
    };
    let own = r#"{"resources":{"limits":{"cpu":"1"}},"allocatedResources":{"cpu":"1"}}"#;
    check_status(Feature::InPlacePodLevelResourcesVerticalScaling, own, "{}");
    check_status(
        Feature::DRAExtendedResource,
        r#"{"extendedResourceClaimStatus":{"resourceClaimName":"a","requestMappings":[]}}"#,
        "{}",
    );
    check_status(
        Feature::DRANodeAllocatableResources,
        r#"{"nodeAllocatableResourceClaimStatuses":[{"resourceClaimName":"a"}]}"#,
        "{}",
    );
    let health = |message: &str| {
        statuses(&format!(
            r#","allocatedResourcesStatus":[{{"name":"a","resources":[{{"resourceID":"r"{message}}},{{"resourceID":"s"}}]}}]"#
        ))
    };
    check_status(Feature::ResourceHealthStatus, &health(""), &statuses(""));
    check_status(Feature::ResourceHealthStatusMessage, &health(r#","message":"m""#), &health(""));
    let mount = |rest: &str| statuses(&format!(r#","volumeMounts":[{{"name":"v","mountPath":"/v"{rest}}}]"#));
    check_status(
        Feature::ImageVolumeWithDigest,
        &mount(r#","volumeStatus":{"image":{"imageRef":"a"}}"#),
        &mount(""),
    );
}

#[test]
fn keys_of_labels_are_merged_only_with_both_features() {
    let pod = r#"{"metadata":{"name":"p","labels":{"a":"1"}},"spec":{"topologySpreadConstraints":[{"labelSelector":{},"matchLabelKeys":["a"]}]}}"#;
    let selector = |feature, on| {
        let pod = subject("pods", feature, on).created(pod);
        text(pod.items_at(&["spec", "topologySpreadConstraints"])[0].get("labelSelector").unwrap())
    };
    let merge = Feature::MatchLabelKeysInPodTopologySpreadSelectorMerge;
    assert_eq!(selector(merge, false), "{}");
    assert_eq!(selector(Feature::MatchLabelKeysInPodTopologySpread, false), "{}");
    assert_eq!(selector(merge, true), r#"{"matchExpressions":[{"key":"a","operator":"In","values":["1"]}]}"#);
}
