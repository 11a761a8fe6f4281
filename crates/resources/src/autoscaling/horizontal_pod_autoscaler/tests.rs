//! Cases of autoscalers.

use pintle_features::Feature;

use crate::framework::strategy::Settings;
use crate::framework::strategy::testing::{of, text, with_settings};
use crate::framework::validation::testing::Base;

const AUTOSCALER: &str = r#"{"metadata":{"name":"h","namespace":"n"},"spec":{"maxReplicas":5,
    "scaleTargetRef":{"apiVersion":"apps/v1","kind":"Deployment","name":"d"}}}"#;
const TYPES: &str = r#"supported values: "ContainerResource", "External", "Object", "Pods", "Resource""#;

#[test]
fn bounds() {
    let base = Base::new("autoscaling", "horizontalpodautoscalers", AUTOSCALER);
    base.refuses(&[
        (
            &[("/spec/minReplicas", "0")],
            &[
                "spec.minReplicas: Invalid value: 0: must be greater than or equal to 1",
                "spec.metrics: Forbidden: must specify at least one Object or External metric to support scaling to zero replicas",
            ],
        ),
        (
            &[("/spec/maxReplicas", "0")],
            &[
                "spec.maxReplicas: Required value: must be set and greater than 0",
                "spec.maxReplicas: Invalid value: 0: must be greater than or equal to `minReplicas`",
            ],
        ),
        (
            &[("/spec/maxReplicas", "-1"), ("/spec/minReplicas", "2")],
            &[
                "spec.maxReplicas: Invalid value: -1: must be greater than or equal to 1",
                "spec.maxReplicas: Invalid value: -1: must be greater than or equal to `minReplicas`",
            ],
        ),
    ]);
    let external =
        r#"[{"type":"External","external":{"metric":{"name":"m"},"target":{"type":"Value","value":"1"}}}]"#;
    let zero: &[(&str, &str)] = &[("/spec/minReplicas", "0"), ("/spec/metrics", external)];
    let enabled = [(Feature::HPAScaleToZero, true)];
    Base::with_features("autoscaling", "horizontalpodautoscalers", AUTOSCALER, &enabled).accepts(&[zero]);
    base.accepts_update_of(zero, &[&[("/spec/maxReplicas", "7")]]);
    base.refuses_update_of(
        zero,
        &[(
            &[("/spec/minReplicas", "-1")],
            &["spec.minReplicas: Invalid value: -1: must be greater than or equal to 0"],
        )],
    );
}

#[test]
fn targets() {
    let base = Base::new("autoscaling", "horizontalpodautoscalers", AUTOSCALER);
    base.refuses(&[
        (
            &[("/spec/scaleTargetRef", r#"{"apiVersion":"a/b/c"}"#)],
            &[
                "spec.scaleTargetRef.kind: Required value",
                "spec.scaleTargetRef.name: Required value",
                r#"spec.scaleTargetRef.apiVersion: Invalid value: "a/b/c": unexpected GroupVersion string: a/b/c"#,
            ],
        ),
        (
            &[("/spec/scaleTargetRef", r#"{"kind":"..","name":"a/b"}"#)],
            &[
                r#"spec.scaleTargetRef.kind: Invalid value: "..": may not be '..'"#,
                r#"spec.scaleTargetRef.name: Invalid value: "a/b": may not contain '/'"#,
                r#"spec.scaleTargetRef.apiVersion: Invalid value: "": apiVersion must specify API group"#,
            ],
        ),
    ]);
    base.accepts(&[&[(
        "/spec/scaleTargetRef",
        r#"{"kind":"ReplicationController","name":"r","apiVersion":"v1"}"#,
    )]]);
    // The version of a stored target may stay as it is.
    let before: &[(&str, &str)] = &[("/spec/scaleTargetRef/apiVersion", r#""a/b/c""#)];
    base.accepts_update_of(before, &[&[("/spec/scaleTargetRef/name", r#""e""#)]]);
    base.refuses_update_of(
        before,
        &[(
            &[("/spec/scaleTargetRef/kind", r#""Other""#)],
            &[r#"spec.scaleTargetRef.apiVersion: Invalid value: "a/b/c": unexpected GroupVersion string: a/b/c"#],
        )],
    );
}

#[test]
fn metrics_have_one_source() {
    let base = Base::new("autoscaling", "horizontalpodautoscalers", AUTOSCALER);
    let resource = r#""resource":{"name":"cpu","target":{"type":"Utilization","averageUtilization":50}}"#;
    let pods = r#""pods":{"metric":{"name":"m"},"target":{"type":"AverageValue","averageValue":"1"}}"#;
    let metric = |of: &str, sources: &[&str]| {
        let sources: String = sources.iter().map(|source| format!(",{source}")).collect();
        format!(r#"[{{"type":"{of}"{sources}}}]"#)
    };
    let populate = "must populate information for the given metric source";
    base.refuses(&[
        (
            &[("/spec/metrics", &metric("", &[resource]))],
            &[
                "spec.metrics[0].type: Required value: must specify a metric source type",
                &format!(r#"spec.metrics[0].type: Unsupported value: "": {TYPES}"#),
                &format!(r#"spec.metrics[0].type: Unsupported value: "": {TYPES}"#),
            ],
        ),
        (
            &[("/spec/metrics", &metric("Pods", &[resource]))],
            &[&format!("spec.metrics[0].pods: Required value: {populate}")],
        ),
        (
            &[("/spec/metrics", &metric("Resource", &[resource, pods]))],
            &["spec.metrics[0].pods: Forbidden: must populate the given metric source only"],
        ),
        (
            &[("/spec/metrics", &metric("External", &[resource, pods]))],
            &[
                &format!("spec.metrics[0].external: Required value: {populate}"),
                "spec.metrics[0].pods: Forbidden: must populate the given metric source only",
                "spec.metrics[0].resource: Forbidden: must populate the given metric source only",
            ],
        ),
    ]);
    base.accepts(&[&[("/spec/metrics", &metric("Resource", &[resource]))]]);
}

#[test]
fn sources() {
    let base = Base::new("autoscaling", "horizontalpodautoscalers", AUTOSCALER);
    let metric =
        |of: &str, field: &str, source: &str| format!(r#"[{{"type":"{of}","{field}":{{{source}}}}}]"#);
    let of_type = "must be either Utilization, Value, or AverageValue";
    base.refuses(&[
        (
            &[("/spec/metrics", &metric("Object", "object", r#""describedObject":{"kind":"K","name":"n","apiVersion":"a/b/c"}"#))],
            &[
                r#"spec.metrics[0].object.describedObject.apiVersion: Invalid value: "a/b/c": unexpected GroupVersion string: a/b/c"#,
                "spec.metrics[0].object.metric.name: Required value: must specify a metric name",
                "spec.metrics[0].object.target.type: Required value: must specify a metric target type",
                &format!(r#"spec.metrics[0].object.target.type: Invalid value: "": {of_type}"#),
                "spec.metrics[0].object.target.averageValue: Required value: must set either a target value or averageValue",
            ],
        ),
        (
            &[("/spec/metrics", &metric("External", "external", r#""metric":{"name":"a/b"},"target":{"type":"Value"}"#))],
            &[
                r#"spec.metrics[0].external.metric.name: Invalid value: "a/b": may not contain '/'"#,
                "spec.metrics[0].external.target.averageValue: Required value: must set either a target value for metric or a \
                 per-pod target",
            ],
        ),
        (
            &[(
                "/spec/metrics",
                &metric(
                    "External",
                    "external",
                    r#""metric":{"name":"m"},"target":{"type":"Other","value":"0","averageValue":"-1"}"#,
                ),
            )],
            &[
                &format!(r#"spec.metrics[0].external.target.type: Invalid value: "Other": {of_type}"#),
                r#"spec.metrics[0].external.target.value: Invalid value: "0": must be positive"#,
                r#"spec.metrics[0].external.target.averageValue: Invalid value: "-1": must be positive"#,
                "spec.metrics[0].external.target.value: Forbidden: may not set both a target value for metric and a per-pod target",
            ],
        ),
        (
            &[("/spec/metrics", &metric("Pods", "pods", r#""metric":{"name":"m"},"target":{"type":"Value","value":"1"}"#))],
            &["spec.metrics[0].pods.target.averageValue: Required value: must specify a positive target averageValue"],
        ),
        (
            &[("/spec/metrics", &metric("Resource", "resource", r#""target":{"type":"Utilization","averageUtilization":0,"averageValue":"1"}"#))],
            &[
                "spec.metrics[0].resource.name: Required value: must specify a resource name",
                "spec.metrics[0].resource.target.averageUtilization: Invalid value: 0: must be greater than 0",
                "spec.metrics[0].resource.target.averageValue: Forbidden: may not set both a target raw value and a target \
                 utilization",
            ],
        ),
        (
            &[("/spec/metrics", &metric("ContainerResource", "containerResource", r#""target":{"type":"Utilization"}"#))],
            &[
                "spec.metrics[0].containerResource.name: Required value: must specify a resource name",
                "spec.metrics[0].containerResource.container: Required value: must specify a container",
                "spec.metrics[0].containerResource.target.averageUtilization: Required value: must set either a target raw value \
                 or a target utilization",
            ],
        ),
        (
            &[(
                "/spec/metrics",
                &metric(
                    "ContainerResource",
                    "containerResource",
                    r#""name":"pods","container":"a.b","target":{"type":"Utilization","averageUtilization":5}"#,
                ),
            )],
            &[
                r#"spec.metrics[0].containerResource.name: Invalid value: "pods": must be a standard resource for containers"#,
                r#"spec.metrics[0].containerResource.container: Invalid value: "a.b": must not contain dots"#,
            ],
        ),
    ]);
    let named = |name: &str| {
        let target = r#""target":{"type":"Utilization","averageUtilization":5}"#;
        metric(
            "ContainerResource",
            "containerResource",
            &format!(r#""name":"{name}","container":"c",{target}"#),
        )
    };
    let refused = |name: &str| base.create_errors(&[("/spec/metrics", &named(name))]);
    let path = "spec.metrics[0].containerResource.name: Invalid value";
    assert_eq!(
        refused("thing"),
        [
            format!(r#"{path}: "thing": must be a standard resource type or fully qualified"#),
            format!(r#"{path}: "thing": must be a standard resource for containers"#),
        ]
    );
    assert_eq!(refused("/x")[0], format!(r#"{path}: "/x": prefix part must be non-empty"#));
    assert_eq!(
        refused("requests.a.io/x"),
        [format!(r#"{path}: "requests.a.io/x": doesn't follow extended resource name standard"#)]
    );
    assert!(refused("example.com/gpu").is_empty() && refused("memory").is_empty());
    // Where a stored metric has an invalid version, so may others.
    let object = |version: &str| {
        let reference = format!(r#""describedObject":{{"kind":"K","name":"n","apiVersion":"{version}"}}"#);
        metric(
            "Object",
            "object",
            &format!(r#"{reference},"metric":{{"name":"m"}},"target":{{"type":"Value","value":"1"}}"#),
        )
    };
    base.accepts(&[&[("/spec/metrics", &object(""))]]);
    let before: &[(&str, &str)] = &[("/spec/metrics", &object("a/b/c"))];
    base.accepts_update_of(before, &[&[("/spec/metrics", &object("d/e/f"))]]);
}

#[test]
fn behavior() {
    let base = Base::new("autoscaling", "horizontalpodautoscalers", AUTOSCALER);
    base.refuses(&[
        (
            &[("/spec/behavior", r#"{"scaleUp":{"stabilizationWindowSeconds":-1,"selectPolicy":"Other","policies":[]}}"#)],
            &[
                "spec.behavior.scaleUp.stabilizationWindowSeconds: Invalid value: -1: must be greater than or equal to zero",
                r#"spec.behavior.scaleUp.selectPolicy: Unsupported value: "Other": supported values: "Disabled", "Max", "Min""#,
                "spec.behavior.scaleUp.policies: Required value: must specify at least one Policy",
            ],
        ),
        (
            &[(
                "/spec/behavior",
                r#"{"scaleDown":{"stabilizationWindowSeconds":3601,"tolerance":"-100m",
                    "policies":[{"type":"Other","value":0,"periodSeconds":0},{"type":"Pods","value":1,"periodSeconds":1801}]}}"#,
            )],
            &[
                "spec.behavior.scaleDown.stabilizationWindowSeconds: Invalid value: 3601: must be less than or equal to 3600",
                r#"spec.behavior.scaleDown.policies[0].type: Unsupported value: "Other": supported values: "Percent", "Pods""#,
                "spec.behavior.scaleDown.policies[0].value: Invalid value: 0: must be greater than zero",
                "spec.behavior.scaleDown.policies[0].periodSeconds: Invalid value: 0: must be greater than zero",
                "spec.behavior.scaleDown.policies[1].periodSeconds: Invalid value: 1801: must be less than or equal to 1800",
                r#"spec.behavior.scaleDown.tolerance: Invalid value: "-100m": must be greater than or equal to 0"#,
            ],
        ),
    ]);
    base.accepts(&[&[("/spec/behavior", r#"{"scaleUp":{}}"#)]]);
}

#[test]
fn statuses() {
    let base = Base::new("autoscaling", "horizontalpodautoscalers/status", AUTOSCALER);
    base.refuses_update(&[(
        &[("/status/currentReplicas", "-1"), ("/status/desiredReplicas", "-2")],
        &[
            "status.currentReplicas: Invalid value: -1: must be greater than or equal to 0",
            "status.desiredReplicas: Invalid value: -2: must be greater than or equal to 0",
        ],
    )]);
}

#[test]
fn tolerances_go_with_their_feature() {
    let object = |rules: &str| {
        format!(
            r#"{{"metadata":{{"name":"h"}},"spec":{{"maxReplicas":5,"behavior":{{"scaleUp":{{{rules}}}}}}}}}"#
        )
    };
    let with = object(r#""tolerance":"100m""#);
    let mut settings = Settings::default();
    settings.features.set(Feature::HPAConfigurableTolerance, false);
    let without_feature = with_settings("autoscaling", "horizontalpodautoscalers", &settings);
    assert!(!text(&without_feature.created(&with)).contains("tolerance"));
    assert!(!text(&without_feature.updated(&with, &object(""))).contains("tolerance"));
    assert!(text(&without_feature.updated(&with, &with)).contains("tolerance"));
    assert!(text(&of("autoscaling", "horizontalpodautoscalers").created(&with)).contains("tolerance"));
}
