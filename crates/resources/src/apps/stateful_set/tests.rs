//! Cases of stateful sets.

use pintle_features::Feature;

use crate::framework::strategy::testing::{of, text, warnings};
use crate::framework::validation::testing::Base;

const SET: &str = r#"{"metadata":{"name":"s","namespace":"n"},"spec":{"serviceName":"h",
    "selector":{"matchLabels":{"a":"b"}},
    "template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}}"#;
const CLAIM: &str = r#"[{"metadata":{"name":"v"},"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}}}]"#;
const FIXED: &str = "spec: Forbidden: updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', \
                     'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are \
                     forbidden";
const LABEL: &str = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and \
                     end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is \
                     '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";

fn object(metadata: &str, spec: &str) -> String {
    format!(r#"{{"metadata":{{"name":"a","namespace":"n"{metadata}}},"spec":{{{spec}}}}}"#)
}

#[test]
fn specs() {
    let base = Base::new("apps", "statefulsets", SET);
    base.refuses(&[
        (
            &[("/spec/podManagementPolicy", r#""Other""#)],
            &[r#"spec.podManagementPolicy: Invalid value: "Other": must be 'OrderedReady' or 'Parallel'"#],
        ),
        (
            &[("/spec/persistentVolumeClaimRetentionPolicy", r#"{"whenDeleted":"Keep","whenScaled":"Delete"}"#)],
            &[
                r#"spec.persistentVolumeClaimRetentionPolicy.whenDeleted: Unsupported value: "Keep": supported values: "Retain", "Delete""#,
            ],
        ),
        (
            &[
                ("/spec/replicas", "-1"),
                ("/spec/minReadySeconds", "-2"),
                ("/spec/ordinals", r#"{"start":-3}"#),
                ("/spec/serviceName", r#""A""#),
            ],
            &[
                "spec.replicas: Invalid value: -1: must be greater than or equal to 0",
                "spec.minReadySeconds: Invalid value: -2: must be greater than or equal to 0",
                "spec.ordinals.start: Invalid value: -3: must be greater than or equal to 0",
                &format!(r#"spec.serviceName: Invalid value: "A": {LABEL}"#),
            ],
        ),
        (
            &[("/spec/selector", "{}")],
            &["spec.selector: Invalid value: {}: empty selector is invalid for statefulset"],
        ),
        (
            &[("/spec/selector", r#"{"matchExpressions":[{"key":"a","operator":"Near"}]}"#)],
            &[
                r#"spec.selector.matchExpressions[0].operator: Invalid value: "Near": not a valid selector operator"#,
                r#"spec.selector: Invalid value: {"matchExpressions":[{"key":"a","operator":"Near"}]}"#,
            ],
        ),
        (
            &[
                ("/spec/template/spec/restartPolicy", r#""Never""#),
                ("/spec/template/spec/activeDeadlineSeconds", "5"),
            ],
            &[
                r#"spec.template.spec.restartPolicy: Unsupported value: "Never": supported values: "Always""#,
                "spec.template.spec.activeDeadlineSeconds: Forbidden: activeDeadlineSeconds in StatefulSet is not Supported",
            ],
        ),
    ]);
    base.accepts(&[
        &[("/spec/serviceName", r#""""#), ("/spec/replicas", "0")],
        &[("/spec/revisionHistoryLimit", "-1")],
    ]);
}

#[test]
fn update_strategies() {
    let base =
        Base::with_features("apps", "statefulsets", SET, &[(Feature::MaxUnavailableStatefulSet, true)]);
    const UNAVAILABLE: &str = "/spec/updateStrategy/rollingUpdate/maxUnavailable";
    let path = "spec.updateStrategy.rollingUpdate.maxUnavailable: Invalid value";
    base.refuses(&[
        (
            &[("/spec/updateStrategy", r#"{"type":"Other"}"#)],
            &[
                r#"spec.updateStrategy: Invalid value: {"Type":"Other","RollingUpdate":null}: must be 'RollingUpdate' or 'OnDelete'"#,
            ],
        ),
        (
            &[("/spec/updateStrategy", r#"{"type":"OnDelete","rollingUpdate":{"partition":1}}"#)],
            &[
                r#"spec.updateStrategy.rollingUpdate: Invalid value: {"Partition":1,"MaxUnavailable":null}: only allowed for updateStrategy 'RollingUpdate'"#,
            ],
        ),
        (
            &[("/spec/updateStrategy/rollingUpdate/partition", "-1"), (UNAVAILABLE, "0")],
            &[
                "spec.updateStrategy.rollingUpdate.partition: Invalid value: -1: must be greater than or equal to 0",
                &format!("{path}: 0: cannot be 0"),
            ],
        ),
        (&[(UNAVAILABLE, "-1")], &[&format!("{path}: -1: must be greater than or equal to 0")]),
        (&[(UNAVAILABLE, r#""101%""#)], &[&format!(r#"{path}: "101%": must not be greater than 100%"#)]),
    ]);
    base.accepts(&[&[(UNAVAILABLE, r#""50%""#)], &[("/spec/updateStrategy", r#"{"type":"OnDelete"}"#)]]);
    // Dropped while the feature is off.
    Base::new("apps", "statefulsets", SET).accepts(&[&[(UNAVAILABLE, "0")]]);
}

#[test]
fn the_template_is_checked_as_pods_have_it() {
    let base = Base::new("apps", "statefulsets", SET);
    let mount = ("/spec/template/spec/containers/0/volumeMounts", r#"[{"name":"v","mountPath":"/v"}]"#);
    base.accepts(&[
        // The controller overwrites these.
        &[("/spec/template/spec/hostname", r#""A_B""#), ("/spec/template/spec/subdomain", r#""A_B""#)],
        &[mount, ("/spec/volumeClaimTemplates", CLAIM)],
        &[
            mount,
            ("/spec/volumeClaimTemplates", CLAIM),
            ("/spec/template/spec/volumes", r#"[{"name":"v","emptyDir":{}},{"name":"w","emptyDir":{}}]"#),
        ],
    ]);
    base.refuses(&[(
        &[("/spec/volumeClaimTemplates", r#"[{"metadata":{"name":"v"},"spec":{"resources":{"requests":{"storage":"1Gi"}}}}]"#)],
        &["spec.volumeClaimTemplates[0].spec.accessModes: Required value: at least 1 access mode is required"],
    )]);
    // Labels and annotations are checked twice.
    let label = "spec.template.labels: Invalid value: \"-\": name part must consist of alphanumeric characters, '-', '_' or '.', \
                 and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used \
                 for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
    base.refuses(&[(&[("/spec/template/metadata/labels/-", r#""x""#)], &[label, label])]);
}

#[test]
fn few_fields_may_change() {
    let base = Base::new("apps", "statefulsets", SET);
    base.accepts_update(&[
        &[("/spec/replicas", "3"), ("/spec/ordinals", r#"{"start":2}"#), ("/spec/minReadySeconds", "1")],
        &[("/spec/template/spec/containers/0/image", r#""j""#), ("/spec/revisionHistoryLimit", "3")],
        &[(
            "/spec/persistentVolumeClaimRetentionPolicy",
            r#"{"whenDeleted":"Delete","whenScaled":"Retain"}"#,
        )],
        &[("/spec/updateStrategy/rollingUpdate/partition", "1")],
    ]);
    base.refuses_update(&[
        (&[("/spec/serviceName", r#""other""#)], &[FIXED]),
        (&[("/spec/serviceName", r#""A B""#)], &[FIXED]),
        (&[("/spec/podManagementPolicy", r#""Parallel""#)], &[FIXED]),
        (&[("/spec/volumeClaimTemplates", CLAIM)], &[FIXED]),
        (
            &[("/spec/replicas", "-1")],
            &["spec.replicas: Invalid value: -1: must be greater than or equal to 0"],
        ),
        (&[("/spec/template/spec/containers", "[]")], &["spec.template.spec.containers: Required value"]),
    ]);
    // Amounts are numbers, however they are written.
    let rewritten = CLAIM.replace("1Gi", "1073741824");
    base.accepts_update_of(
        &[("/spec/volumeClaimTemplates", CLAIM)],
        &[&[("/spec/volumeClaimTemplates", &rewritten)]],
    );
    // A stored template that is invalid may stay so.
    let before: &[(&str, &str)] = &[("/spec/template/spec/containers/0/name", r#""A""#)];
    base.accepts_update_of(before, &[&[("/spec/replicas", "3")]]);
    base.refuses_update_of(
        before,
        &[(
            &[("/spec/replicas", "-1")],
            &["spec.replicas: Invalid value: -1: must be greater than or equal to 0"],
        )],
    );
}

#[test]
fn statuses_come_before_metadata() {
    let base = Base::new("apps", "statefulsets/status", SET);
    let finalizer = "metadata.finalizers[0]: Invalid value: \"x\": name is neither a standard finalizer name nor is it fully \
                     qualified";
    base.refuses_update_of(
        &[("/status/collisionCount", "2"), ("/metadata/finalizers", r#"["x"]"#)],
        &[(
            &[
                ("/status/currentReplicas", "-1"),
                ("/status/readyReplicas", "2"),
                ("/status/collisionCount", "1"),
            ],
            &[
                "status.currentReplicas: Invalid value: -1: must be greater than or equal to 0",
                "status.readyReplicas: Invalid value: 2: cannot be greater than status.replicas",
                finalizer,
                "status.collisionCount: Invalid value: 1: cannot be decremented",
            ],
        )],
    );
    base.refuses_update(&[(
        &[("/status/replicas", "2"), ("/status/availableReplicas", "1")],
        &["status.availableReplicas: Invalid value: 1: cannot be greater than status.readyReplicas"],
    )]);
    base.accepts_update(&[&[("/status/replicas", "3")]]);
}

#[test]
fn how_many_pods_are_away_goes_unless_it_was_said_before() {
    let sets = of("apps", "statefulsets");
    let set = |field: &str| object("", &format!(r#""updateStrategy":{{"rollingUpdate":{{{field}}}}}"#));
    let with = set(r#""maxUnavailable":2"#);
    assert!(!text(&sets.created(&with)).contains("maxUnavailable"));
    assert!(!text(&sets.updated(&with, &set(""))).contains("maxUnavailable"));
    assert!(text(&sets.updated(&with, &set(r#""maxUnavailable":1"#))).contains(r#""maxUnavailable":2"#));
}

#[test]
fn claims_and_endless_histories_are_warned_of() {
    let claims =
        object("", r#""volumeClaimTemplates":[{"spec":{"resources":{"requests":{"storage":"100m"}}}}]"#);
    let place = |old| warnings(&of("apps", "statefulsets"), &claims, old)[0].clone();
    let why = r#"fractional byte value "100m" is invalid, must be an integer"#;
    assert_eq!(place(None), format!("spec.volumeClaimTemplates[0].resources.requests[storage]: {why}"));
    assert_eq!(
        place(Some(claims.as_str())),
        format!("spec.volumeClaimTemplates[0].Spec.resources.requests[storage]: {why}")
    );
    let endless = object("", r#""revisionHistoryLimit":-1"#);
    assert_eq!(warnings(&of("apps", "statefulsets"), &endless, Some(&endless)).len(), 1);
}

#[test]
fn names_are_labels() {
    let base = Base::new("apps", "statefulsets", SET);
    base.refuses(&[(
        &[("/metadata/name", r#""a.b""#)],
        &[r#"metadata.name: Invalid value: "a.b": must not contain dots"#],
    )]);
    base.accepts_update_of(&[("/metadata/name", r#""a.b""#)], &[&[("/spec/replicas", "3")]]);
}
