//! Tests of nodes.

use pintle_features::Feature;

use crate::framework::strategy::testing::{of, text};
use crate::framework::validation::testing::Base;

const BASE: &str = r#"{"metadata":{"name":"a"},"spec":{"podCIDRs":["10.0.0.0/24"],"providerID":"p"},
    "status":{"capacity":{"cpu":"1"}}}"#;
/// Addresses are checked on updates only, so a node may be created that no update accepts.
const ADDRESSES: (&str, &str) = ("/status/addresses", r#"[{"type":"InternalIP","address":"10.0.0.1"}]"#);

fn base() -> Base {
    Base::new("", "nodes", BASE)
}

fn status() -> Base {
    Base::new("", "nodes/status", BASE)
}

const LONG: &str = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";

#[test]
fn taints_are_shown_below_the_metadata() {
    base().refuses(&[
        (
            &[("/spec/taints", &format!(r#"[{{"key":"{LONG}","value":"{LONG}","effect":"NoSchedule"}}]"#))],
            &[
                &format!(
                    r#"metadata.taints[0].key: Invalid value: "{LONG}": name part must be no more than 63 bytes"#
                ),
                &format!(
                    r#"metadata.taints[0].value: Invalid value: "{LONG}": must be no more than 63 bytes"#
                ),
            ],
        ),
        (&[("/spec/taints", r#"[{"key":"k"}]"#)], &["metadata.taints[0].effect: Required value"]),
        (
            &[("/spec/taints", r#"[{"key":"k","effect":"No"}]"#)],
            &[
                r#"metadata.taints[0].effect: Unsupported value: "No": supported values: "NoSchedule", "PreferNoSchedule", "NoExecute""#,
            ],
        ),
        (
            &[(
                "/spec/taints",
                r#"[{"key":"k","effect":"NoExecute"},{"key":"k","value":"v","effect":"NoExecute"}]"#,
            )],
            &[
                r#"metadata.taints[1]: Duplicate value: {"Key":"k","Value":"v","Effect":"NoExecute","TimeAdded":null}: taints must be unique by key and effect pair"#,
            ],
        ),
    ]);
    base().accepts(&[&[(
        "/spec/taints",
        r#"[{"key":"k","effect":"NoExecute"},{"key":"k","effect":"NoSchedule"}]"#,
    )]]);
}

#[test]
fn the_rules_of_updates_repeat_those_of_nodes() {
    let twice = "metadata.taints[0].effect: Required value";
    base().refuses_update(&[(&[("/spec/taints", r#"[{"key":"k"}]"#)], &[twice, twice])]);
}

#[test]
fn annotations_that_were_there_before_the_fields_are_checked() {
    const TAINTS: &str = "/metadata/annotations/scheduler.alpha.kubernetes.io~1taints";
    const AVOID: &str = "/metadata/annotations/scheduler.alpha.kubernetes.io~1preferAvoidPods";
    let taints = "metadata.annotations: Invalid value: \"scheduler.alpha.kubernetes.io/taints\"";
    let avoid = "metadata.annotations.scheduler.alpha.kubernetes.io/preferAvoidPods";
    let key = "scheduler.alpha.kubernetes.io/preferAvoidPods";
    base().refuses(&[
        (&[(TAINTS, r#""[""#)], &[&format!("{taints}: unexpected end of JSON input")]),
        (
            &[(TAINTS, r#""{}""#)],
            &[&format!("{taints}: json: cannot unmarshal object into Go value of type []core.Taint")],
        ),
        (
            &[(TAINTS, r#""[1]""#)],
            &[&format!("{taints}: json: cannot unmarshal number into Go value of type core.Taint")],
        ),
        (
            &[(TAINTS, r#""[{\"key\":\"k\"}]""#)],
            &["metadata.annotations.scheduler.alpha.kubernetes.io/taints[0].effect: Required value"],
        ),
        (
            &[(AVOID, r#""{""#)],
            &[&format!(r#"metadata.annotations.AvoidPods: Invalid value: "{key}": unexpected end of JSON input"#)],
        ),
        (
            &[(AVOID, r#""{\"preferAvoidPods\":[{\"podSignature\":{}}]}""#)],
            &[&format!("{avoid}[0].PodSignature: Required value")],
        ),
        (
            &[(
                AVOID,
                r#""{\"preferAvoidPods\":[{\"podSignature\":{\"podController\":{\"name\":\"a\",\"controller\":false}}}]}""#,
            )],
            &[&format!(
                "{avoid}[0].PodSignature.PodController.Controller: Invalid value: false: must point to a controller"
            )],
        ),
    ]);
    base().accepts(&[
        &[(TAINTS, r#""""#), (AVOID, r#""""#)],
        &[(TAINTS, r#""null""#)],
        &[(TAINTS, r#""[{\"key\":\"k\",\"effect\":\"NoSchedule\"}]""#)],
        &[(
            AVOID,
            r#""{\"preferAvoidPods\":[{\"podSignature\":{\"podController\":{\"controller\":true}}}]}""#,
        )],
    ]);
}

#[test]
fn resources_and_swap_of_a_status_are_amounts() {
    let negative = "must be greater than or equal to 0";
    base().refuses(&[
        (
            &[("/status/capacity/cpu", r#""-1""#), ("/status/allocatable/pods", r#""500m""#)],
            &[
                &format!(r#"status.capacity.cpu: Invalid value: "-1": {negative}"#),
                r#"status.allocatable.pods: Invalid value: "500m": must be an integer"#,
            ],
        ),
        (
            &[("/status/nodeInfo/swap/capacity", "0")],
            &["metadata.nodeSwapStatus.capacity: Invalid value: 0: must be greater than zero"],
        ),
    ]);
    base().accepts(&[&[("/status/nodeInfo/swap/capacity", "1")], &[("/status/nodeInfo/swap", "{}")]]);
    status().refuses_update(&[(
        &[("/status/allocatable/cpu", r#""-1""#)],
        &[&format!(r#"status.allocatable.cpu: Invalid value: "-1": {negative}"#)],
    )]);
}

#[test]
fn declared_features_are_named_and_sorted() {
    const FEATURES: &str = "/status/declaredFeatures";
    let name = "must start with an UpperCamelCase segment, with subsequent segments separated by '/' (e.g., MyFeature or \
                MyFeature/mySubFeature), and contain only alphanumeric characters and slashes";
    let long = "A".repeat(254);
    base().refuses(&[
        (
            &[(FEATURES, r#"["a"]"#)],
            &[&format!(r#"status.declaredFeatures[0]: Invalid value: "a": invalid feature name "a": {name}"#)],
        ),
        (
            &[(FEATURES, r#"["A/"]"#)],
            &[&format!(r#"status.declaredFeatures[0]: Invalid value: "A/": invalid feature name "A/": {name}"#)],
        ),
        (
            &[(FEATURES, &format!(r#"["{long}"]"#))],
            &[&format!(
                r#"status.declaredFeatures[0]: Invalid value: "{long}": invalid feature name "{long}": must be no more than 253 characters"#
            )],
        ),
        (
            &[(FEATURES, r#"["B","A","A"]"#)],
            &[
                r#"status.declaredFeatures[1]: Invalid value: "A": list must be sorted alphabetically"#,
                r#"status.declaredFeatures[2]: Duplicate value: "A""#,
            ],
        ),
    ]);
    base().accepts(&[&[(FEATURES, r#"["A","A/b","A/b/C9"]"#)]]);
    let off = [(Feature::NodeDeclaredFeatures, false)];
    Base::with_features("", "nodes", BASE, &off).accepts(&[&[(FEATURES, r#"["a"]"#)]]);
}

#[test]
fn pod_ranges_are_one_per_family() {
    const RANGES: &str = "/spec/podCIDRs";
    let one = "may specify no more than one CIDR for each IP family";
    let not_one = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)";
    base().refuses(&[
        (
            &[(RANGES, r#"["a"]"#)],
            &[&format!(r#"spec.podCIDRs[0]: Invalid value: "a": {not_one}"#)],
        ),
        (
            &[(RANGES, r#"["10.0.0.0/24","a"]"#)],
            &[
                &format!(r#"spec.podCIDRs[1]: Invalid value: "a": {not_one}"#),
                "spec.podCIDRs: Internal error: invalid PodCIDRs. failed to check with dual stack with error:invalid CIDR[1]: \
                 <nil> (invalid CIDR address: a)",
                &format!(r#"spec.podCIDRs: Invalid value: ["10.0.0.0/24","a"]: {one}"#),
            ],
        ),
        (
            &[(RANGES, r#"["10.0.0.0/24","10.1.0.0/24"]"#)],
            &[&format!(r#"spec.podCIDRs: Invalid value: ["10.0.0.0/24","10.1.0.0/24"]: {one}"#)],
        ),
        (
            &[(RANGES, r#"["10.0.0.0/24","fd00::/64","fd01::/64"]"#)],
            &[&format!(r#"spec.podCIDRs: Invalid value: ["10.0.0.0/24","fd00::/64","fd01::/64"]: {one}"#)],
        ),
    ]);
    base().accepts(&[&[(RANGES, r#"["10.0.0.0/24","fd00::/64"]"#)], &[(RANGES, "")]]);
    let off = [(Feature::StrictIPCIDRValidation, false)];
    let sloppy = Base::with_features("", "nodes", BASE, &off);
    sloppy.accepts(&[&[(RANGES, r#"["010.0.0.0/24"]"#)]]);
}

#[test]
fn assigned_fields_do_not_change() {
    let ranges = r#"spec.podCIDRs: Forbidden: node updates may not change podCIDR except from "" to valid"#;
    base().refuses_update(&[
        (&[("/spec/podCIDRs/0", r#""10.0.1.0/24""#)], &[ranges]),
        (&[("/spec/podCIDRs", "")], &[ranges]),
        (
            &[("/spec/providerID", r#""q""#)],
            &[r#"spec.providerID: Forbidden: node updates may not change providerID except from "" to valid"#],
        ),
        (&[("/spec/externalID", r#""e""#)], &["spec.externalID: Forbidden: may not be updated"]),
    ]);
    base().accepts_update_of(
        &[("/spec", "{}")],
        &[&[("/spec/providerID", r#""q""#), ("/spec/podCIDRs", r#"["10.0.1.0/24"]"#)]],
    );
    base().accepts_update(&[&[("/spec/unschedulable", "true")]]);
}

#[test]
fn addresses_are_unique() {
    status().refuses_update_of(
        &[ADDRESSES],
        &[(
            &[("/status/addresses/-", r#"{"type":"InternalIP","address":"10.0.0.1"}"#)],
            &[r#"status.addresses[1]: Duplicate value: {"Type":"InternalIP","Address":"10.0.0.1"}"#],
        )],
    );
    let another = [("/status/addresses/-", r#"{"type":"ExternalIP","address":"10.0.0.1"}"#)];
    status().accepts_update_of(&[ADDRESSES], &[&another]);
}

#[test]
fn configuration_of_old_nodes_is_checked() {
    const SOURCE: &str = "/spec/configSource";
    let one = "exactly one reference subfield must be non-nil";
    let nodes = of("", "nodes");
    let update = |source: &str| {
        let node = |source: &str| {
            nodes.tree(&format!(
                r#"{{"metadata":{{"name":"a","resourceVersion":"1"}},"spec":{{"configSource":{source}}},"status":{{}}}}"#
            ))
        };
        let errors = nodes.strategy.validate_update(&Default::default(), &node(source), &node("{}"));
        errors.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    assert_eq!(update("{}"), [format!(r#"spec.configSource: Invalid value: {{"ConfigMap":null}}: {one}"#)]);
    assert_eq!(
        update(r#"{"configMap":{"uid":"u","resourceVersion":"1"}}"#),
        [
            "spec.configSource.configMap.uid: Forbidden: uid must not be set in spec",
            "spec.configSource.configMap.resourceVersion: Forbidden: resourceVersion must not be set in spec",
            "spec.configSource.configMap.namespace: Required value",
            "spec.configSource.configMap.name: Required value",
            "spec.configSource.configMap.kubeletConfigKey: Required value",
        ]
    );
    let long = "a".repeat(254);
    assert_eq!(
        update(&format!(
            r#"{{"configMap":{{"namespace":"a.b","name":"{long}","kubeletConfigKey":"{long}"}}}}"#
        )),
        [
            r#"spec.configSource.configMap.namespace: Invalid value: "a.b": must not contain dots"#,
            &format!(
                r#"spec.configSource.configMap.name: Invalid value: "{long}": must be no more than 253 characters"#
            ),
            &format!(
                r#"spec.configSource.configMap.kubeletConfigKey: Invalid value: "{long}": must be no more than 253 characters"#
            ),
        ]
    );
    assert!(update(r#"{"configMap":{"namespace":"n","name":"a","kubeletConfigKey":"k"}}"#).is_empty());
    // New nodes, and old ones that had none, get none.
    base().accepts(&[&[(SOURCE, "{}")]]);
    base().accepts_update(&[&[(SOURCE, "{}")]]);
    status().refuses_update_of(
        &[("/status/config", "{}")],
        &[(
            &[("/status/config", r#"{"assigned":{},"active":{"configMap":{"namespace":"n","name":"a","kubeletConfigKey":"k"}}}"#)],
            &[
                &format!(r#"status.config.assigned: Invalid value: {{"ConfigMap":null}}: {one}"#),
                "status.config.active.configMap.uid: Required value",
                "status.config.active.configMap.resourceVersion: Required value",
            ],
        )],
    );
}

#[test]
fn status_of_disabled_features_goes() {
    use crate::framework::strategy::Settings;
    use crate::framework::strategy::testing::with_settings;
    let mut settings = Settings::default();
    for feature in [
        Feature::RecursiveReadOnlyMounts,
        Feature::UserNamespacesSupport,
        Feature::SupplementalGroupsPolicy,
        Feature::NodeDeclaredFeatures,
    ] {
        settings.features.set(feature, false);
    }
    let node = r#"{"metadata":{"name":"a"},"spec":{},"status":{"declaredFeatures":["A"],"features":{},"runtimeHandlers":[{"name":"r"}]}}"#;
    let nodes = with_settings("", "nodes", &settings);
    let created = text(&nodes.created(node));
    assert!(!created.contains("eatures") && !created.contains("runtimeHandlers"), "{created}");
    let updated = text(&nodes.updated(node, node));
    assert!(updated.contains("declaredFeatures") && !updated.contains("runtimeHandlers"), "{updated}");
    let created = text(&of("", "nodes").created(node));
    assert!(created.contains("declaredFeatures") && created.contains("runtimeHandlers"), "{created}");
}
