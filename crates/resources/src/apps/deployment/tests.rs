//! Cases of deployments.

use bytes::Bytes;
use pintle_codec::negotiate::Encoding;
use pintle_features::Feature;
use pintle_registry::{Context, Sent};

use crate::framework::strategy::Settings;
use crate::framework::strategy::testing::{of, text, warnings, with_settings};
use crate::framework::validation::testing::Base;

const DEPLOYMENT: &str = r#"{"metadata":{"name":"d","namespace":"n"},"spec":{"selector":{"matchLabels":{"a":"b"}},
    "template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}}"#;

const EMPTY_SELECTOR: &str = "spec.selector: Invalid value: {}: empty selector is invalid for deployment";
const MISMATCH: &str = "`selector` does not match template `labels`";

fn object(metadata: &str, spec: &str, status: &str) -> String {
    format!(
        r#"{{"metadata":{{"name":"a","namespace":"n"{metadata}}},"spec":{{{spec}}},"status":{{{status}}}}}"#
    )
}

#[test]
fn numbers_are_not_negative() {
    let base = Base::new("apps", "deployments", DEPLOYMENT);
    base.refuses(&[
        (
            &[("/spec/replicas", "-1")],
            &["spec.replicas: Invalid value: -1: must be greater than or equal to 0"],
        ),
        (
            &[("/spec/minReadySeconds", "-1"), ("/spec/revisionHistoryLimit", "-2")],
            &[
                "spec.minReadySeconds: Invalid value: -1: must be greater than or equal to 0",
                "spec.revisionHistoryLimit: Invalid value: -2: must be greater than or equal to 0",
            ],
        ),
        (
            &[("/spec/minReadySeconds", "5"), ("/spec/progressDeadlineSeconds", "5")],
            &["spec.progressDeadlineSeconds: Invalid value: 5: must be greater than minReadySeconds"],
        ),
        (
            &[("/spec/progressDeadlineSeconds", "-1")],
            &[
                "spec.progressDeadlineSeconds: Invalid value: -1: must be greater than or equal to 0",
                "spec.progressDeadlineSeconds: Invalid value: -1: must be greater than minReadySeconds",
            ],
        ),
        (
            &[("/metadata/annotations/deprecated.deployment.rollback.to", r#""-3""#)],
            &["spec.rollback.version: Invalid value: -3: must be greater than or equal to 0"],
        ),
    ]);
    base.accepts(&[
        &[("/spec/replicas", "0"), ("/spec/revisionHistoryLimit", "0")],
        &[("/metadata/annotations/deprecated.deployment.rollback.to", r#""3""#)],
    ]);
}

#[test]
fn a_selector_selects_the_pods_of_the_template() {
    let base = Base::new("apps", "deployments", DEPLOYMENT);
    let labels = |labels: &str| format!("spec.template.metadata.labels: Invalid value: {labels}: {MISMATCH}");
    base.refuses(&[
        (&[("/spec/selector", "")], &["spec.selector: Required value", &labels(r#"{"a":"b"}"#)]),
        (&[("/spec/selector", "{}")], &[EMPTY_SELECTOR]),
        (&[("/spec/template/metadata/labels", "")], &[&labels("null")]),
        (&[("/spec/selector/matchLabels/a", r#""c""#)], &[&labels(r#"{"a":"b"}"#)]),
        (
            &[("/spec/selector", r#"{"matchExpressions":[{"key":"a","operator":"Near"}]}"#)],
            &[
                r#"spec.selector.matchExpressions[0].operator: Invalid value: "Near": not a valid selector operator"#,
                r#"spec.selector: Invalid value: {"matchExpressions":[{"key":"a","operator":"Near"}]}: invalid label selector"#,
            ],
        ),
    ]);
    base.refuses_update(&[(
        &[("/spec/selector/matchLabels/a", r#""c""#), ("/spec/template/metadata/labels/a", r#""c""#)],
        &[r#"spec.selector: Invalid value: {"matchLabels":{"a":"c"}}: field is immutable"#],
    )]);
    base.accepts_update(&[&[("/spec/replicas", "5"), ("/spec/template/metadata/labels/c", r#""d""#)]]);
}

#[test]
fn pods_run_without_end() {
    let base = Base::new("apps", "deployments", DEPLOYMENT);
    base.refuses(&[
        (
            &[("/spec/template/spec/restartPolicy", r#""Never""#)],
            &[r#"spec.template.spec.restartPolicy: Unsupported value: "Never": supported values: "Always""#],
        ),
        (
            &[("/spec/template/spec/activeDeadlineSeconds", "5")],
            &["spec.template.spec.activeDeadlineSeconds: Forbidden: activeDeadlineSeconds in ReplicaSet is not Supported"],
        ),
        (&[("/spec/template/spec/containers", "[]")], &["spec.template.spec.containers: Required value"]),
    ]);
}

#[test]
fn a_rolling_update_makes_progress() {
    let base = Base::new("apps", "deployments", DEPLOYMENT);
    const UNAVAILABLE: &str = "/spec/strategy/rollingUpdate/maxUnavailable";
    const SURGE: &str = "/spec/strategy/rollingUpdate/maxSurge";
    let percent = "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', \
                   regex used for validation is '[0-9]+%')";
    let unavailable = "spec.strategy.rollingUpdate.maxUnavailable: Invalid value";
    base.refuses(&[
        (
            &[(UNAVAILABLE, "-1"), (SURGE, r#""x""#)],
            &[
                &format!("{unavailable}: -1: must be greater than or equal to 0"),
                &format!(r#"spec.strategy.rollingUpdate.maxSurge: Invalid value: "x": {percent}"#),
            ],
        ),
        (
            &[(UNAVAILABLE, r#""0%""#), (SURGE, "0")],
            &[&format!(r#"{unavailable}: "0%": may not be 0 when `maxSurge` is 0"#)],
        ),
        (
            &[(UNAVAILABLE, r#""x""#), (SURGE, "0")],
            &[
                &format!(r#"{unavailable}: "x": {percent}"#),
                &format!(r#"{unavailable}: "x": may not be 0 when `maxSurge` is 0"#),
            ],
        ),
        (
            &[(UNAVAILABLE, r#""101%""#)],
            &[&format!(r#"{unavailable}: "101%": must not be greater than 100%"#)],
        ),
        (
            &[(UNAVAILABLE, r#""99999999999999999999%""#)],
            &[&format!(r#"{unavailable}: "99999999999999999999%": must not be greater than 100%"#)],
        ),
        (
            &[("/spec/strategy", r#"{"type":"Recreate","rollingUpdate":{}}"#)],
            &["spec.strategy.rollingUpdate: Forbidden: may not be specified when strategy `type` is 'Recreate'"],
        ),
        (
            &[("/spec/strategy", r#"{"type":"Other"}"#)],
            &[
                r#"spec.strategy: Unsupported value: {"Type":"Other","RollingUpdate":null}: supported values: "Recreate", "RollingUpdate""#,
            ],
        ),
    ]);
    base.accepts(&[
        &[("/spec/strategy", r#"{"type":"Recreate"}"#)],
        &[(SURGE, r#""200%""#)],
        &[(UNAVAILABLE, r#""100%""#), (SURGE, "0")],
    ]);
    // Text that is a number counts, though it is no percentage.
    base.refuses(&[(
        &[(UNAVAILABLE, r#""5""#), (SURGE, "0")],
        &[&format!(r#"{unavailable}: "5": {percent}"#)],
    )]);
}

#[test]
fn counts_of_a_status_fit_together() {
    let base = Base::new("apps", "deployments/status", DEPLOYMENT);
    let negative = "must be greater than or equal to 0";
    base.refuses_update(&[
        (
            &[("/status/observedGeneration", "-1"), ("/status/terminatingReplicas", "-1")],
            &[
                &format!("status.observedGeneration: Invalid value: -1: {negative}"),
                &format!("status.terminatingReplicas: Invalid value: -1: {negative}"),
            ],
        ),
        (
            &[
                ("/status/updatedReplicas", "1"),
                ("/status/readyReplicas", "2"),
                ("/status/availableReplicas", "3"),
            ],
            &[
                "status.updatedReplicas: Invalid value: 1: cannot be greater than status.replicas",
                "status.readyReplicas: Invalid value: 2: cannot be greater than status.replicas",
                "status.availableReplicas: Invalid value: 3: cannot be greater than status.replicas",
                "status.availableReplicas: Invalid value: 3: cannot be greater than readyReplicas",
            ],
        ),
    ]);
    base.refuses_update_of(
        &[("/status/collisionCount", "2")],
        &[
            (
                &[("/status/collisionCount", "1")],
                &["status.collisionCount: Invalid value: 1: cannot be decremented"],
            ),
            (
                &[("/status/collisionCount", "")],
                &["status.collisionCount: Invalid value: 0: cannot be decremented"],
            ),
        ],
    );
    base.accepts_update(&[&[("/status/replicas", "2"), ("/status/readyReplicas", "2")]]);
}

#[test]
fn terminating_replicas_go_with_their_feature() {
    let with = |enabled: bool| {
        let mut settings = Settings::default();
        settings.features.set(Feature::DeploymentReplicaSetTerminatingReplicas, enabled);
        settings
    };
    for resource in ["deployments/status", "replicasets/status"] {
        let (old, new) = (object("", "", ""), object("", "", r#""terminatingReplicas":3"#));
        let updated =
            |enabled, old: &str| text(&with_settings("apps", resource, &with(enabled)).updated(&new, old));
        assert!(updated(true, &old).contains("terminatingReplicas"));
        assert!(!updated(false, &old).contains("terminatingReplicas"));
        assert!(updated(false, &new).contains("terminatingReplicas"));
    }
}

#[test]
fn annotations_count_as_a_generation() {
    let deployments = of("apps", "deployments");
    let old = object(r#","generation":4"#, r#""replicas":1"#, r#""replicas":1"#);
    let created = deployments.created(&old);
    assert_eq!((created.generation(), created.at(&["status", "replicas"])), (1, None));
    let labelled = object(r#","generation":4,"labels":{"a":"b"}"#, r#""replicas":1"#, "");
    assert_eq!(deployments.updated(&labelled, &old).generation(), 4);
    assert_eq!(deployments.updated(&labelled.replace("labels", "annotations"), &old).generation(), 5);
    assert_eq!(deployments.updated(&old.replace(r#""replicas":1"#, r#""replicas":2"#), &old).generation(), 5);
    let status = of("apps", "deployments/status");
    let updated = status.updated(&labelled.replace(r#""status":{"#, r#""status":{"replicas":9"#), &old);
    assert_eq!(updated.label("a"), None);
    assert_eq!(updated.at(&["status", "replicas"]), Some(&9.into()));
}

#[test]
fn templates_are_warned_of_when_they_count() {
    let template = r#""template":{"spec":{"containers":[],"hostAliases":[{"ip":"01.1.1.1"}]}}"#;
    let old = object(r#","generation":1"#, template, "");
    let new = old.replace(r#""generation":1"#, r#""generation":2"#);
    for name in ["deployments", "replicasets", "statefulsets"] {
        let found = warnings(&of("apps", name), &old, None);
        assert!(
            found.len() == 1 && found[0].starts_with("spec.template.spec.hostAliases[0].ip: "),
            "{found:?}"
        );
        assert_eq!(warnings(&of("apps", name), &new, Some(&old)).len(), 1, "{name}");
        assert!(warnings(&of("apps", name), &old, Some(&old)).is_empty(), "{name}");
    }
}

#[test]
fn names_that_are_no_labels_are_warned_of() {
    let dotted = DEPLOYMENT.replace(r#""name":"d""#, r#""name":"a.b""#);
    Base::new("apps", "deployments", &dotted);
    assert_eq!(
        warnings(&of("apps", "deployments"), &dotted, None),
        [
            "metadata.name: this is used in Pod names and hostnames, which can result in surprising behavior; a DNS label is \
             recommended: [must not contain dots]"
        ]
    );
    assert!(warnings(&of("apps", "replicasets"), &dotted, Some(&dotted)).is_empty());
}

#[test]
fn errors_print_the_empty_map_that_a_client_sent() {
    const SENT: &[u8] =
        br#"{"metadata":{"name":"a","namespace":"n"},"spec":{"selector":{"matchLabels":{"a":"b"}},
        "template":{"metadata":{"labels":{}},"spec":{"containers":[{"name":"c","image":"i"}]}}}}"#;
    let deployments = of("apps", "deployments");
    let object = deployments.tree(std::str::from_utf8(SENT).unwrap());
    let printed = |sent: Option<Sent>| {
        let context = Context { sent, ..Context::default() };
        let errors = deployments.strategy.validate(&context, &object);
        let found = errors.iter().find(|error| error.field == "spec.template.metadata.labels");
        found.unwrap_or_else(|| panic!("{errors:?}")).value.to_string()
    };
    let sent = Sent::Body { encoding: Encoding::Json, bytes: Bytes::from_static(SENT) };
    assert_eq!(printed(Some(sent)), "{}");
    assert_eq!(printed(None), "null");
}
