//! Cases of ResourceQuotas.

use crate::framework::validation::testing::Base;

fn base() -> Base {
    Base::new(
        "",
        "resourcequotas",
        r#"{"metadata":{"name":"a","namespace":"n"},"spec":{"hard":{"pods":"5","requests.example.com/gpu":"1"}}}"#,
    )
}

#[test]
fn resources_are_known_to_quotas() {
    let negative = "must be greater than or equal to 0";
    base().refuses(&[
        (
            &[("/spec/hard/thing", r#""1""#)],
            &[
                r#"spec.hard[thing]: Invalid value: "thing": must be a standard resource type or fully qualified"#,
                r#"spec.hard[thing]: Invalid value: "thing": must be a standard resource for quota"#,
            ],
        ),
        (
            &[("/spec/hard/storage", r#""1""#)],
            &[r#"spec.hard[storage]: Invalid value: "storage": must be a standard resource for quota"#],
        ),
        (
            &[("/spec/hard/pods", r#""-5500m""#)],
            &[
                &format!(r#"spec.hard[pods]: Invalid value: "-5500m": {negative}"#),
                r#"spec.hard[pods]: Invalid value: "-5500m": must be an integer"#,
            ],
        ),
    ]);
    base().accepts(&[
        &[("/spec/hard/cpu", r#""1500m""#), ("/spec/hard/hugepages-2Mi", r#""2Mi""#)],
        &[("/spec/hard/count~1deployments.apps", r#""1""#)],
        &[("/spec/hard", "")],
    ]);
}

#[test]
fn scopes_fit_each_other_and_the_resources() {
    base().refuses(&[
        (&[("/spec/scopes", r#"["Some"]"#)], &[r#"spec.scopes: Invalid value: ["Some"]: unsupported scope"#]),
        (
            &[("/spec/hard/secrets", r#""1""#), ("/spec/hard/cpu", r#""1""#), ("/spec/scopes", r#"["BestEffort"]"#)],
            &[
                r#"spec.scopes: Invalid value: ["BestEffort"]: unsupported scope applied to resource"#,
                r#"spec.scopes: Invalid value: ["BestEffort"]: unsupported scope applied to resource"#,
            ],
        ),
        (
            &[("/spec/hard/secrets", r#""1""#), ("/spec/scopes", r#"["Terminating","Terminating"]"#)],
            &[
                r#"spec.scopes: Invalid value: ["Terminating","Terminating"]: unsupported scope applied to resource"#,
                r#"spec.scopes: Invalid value: ["Terminating","Terminating"]: unsupported scope applied to resource"#,
            ],
        ),
        (
            &[("/spec/scopes", r#"["VolumeAttributesClass"]"#)],
            &[r#"spec.scopes: Invalid value: ["VolumeAttributesClass"]: unsupported scope applied to resource"#],
        ),
        (
            &[("/spec/scopes", r#"["BestEffort","NotBestEffort","NotTerminating","Terminating"]"#)],
            &[
                r#"spec.scopes: Invalid value: ["BestEffort","NotBestEffort","NotTerminating","Terminating"]: conflicting scopes"#,
                r#"spec.scopes: Invalid value: ["BestEffort","NotBestEffort","NotTerminating","Terminating"]: conflicting scopes"#,
            ],
        ),
    ]);
    base().accepts(&[
        &[("/spec/scopes", r#"["BestEffort","Terminating","PriorityClass","CrossNamespacePodAffinity"]"#)],
        &[
            ("/spec/hard", r#"{"persistentvolumeclaims":"1"}"#),
            ("/spec/scopes", r#"["VolumeAttributesClass"]"#),
        ],
    ]);
}

#[test]
fn scope_selectors_are_checked_at_the_list() {
    const LIST: &str = "/spec/scopeSelector/matchExpressions";
    let path = "spec.scopeSelector.matchExpressions";
    let exists = "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, \
                  ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity";
    let one = "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector";
    let none = "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector";
    base().refuses(&[
        (
            &[(LIST, r#"[{"scopeName":"Some","operator":"Near"}]"#)],
            &[
                &format!(r#"{path}.scopeName: Invalid value: "Some": unsupported scope"#),
                &format!(r#"{path}.operator: Invalid value: "Near": not a valid selector operator"#),
            ],
        ),
        (
            &[("/spec/hard/secrets", r#""1""#), (LIST, r#"[{"scopeName":"PriorityClass","operator":"Exists"}]"#)],
            &[&format!(
                r#"{path}: Invalid value: {{"MatchExpressions":[{{"ScopeName":"PriorityClass","Operator":"Exists","Values":null}}]}}: unsupported scope applied to resource"#
            )],
        ),
        (
            &[(LIST, r#"[{"scopeName":"Terminating","operator":"In"}]"#)],
            &[
                &format!(r#"{path}.operator: Invalid value: "In": {exists}"#),
                &format!("{path}.values: Required value: {one}"),
            ],
        ),
        (
            &[(LIST, r#"[{"scopeName":"PriorityClass","operator":"DoesNotExist","values":["a"]}]"#)],
            &[&format!(r#"{path}.values: Invalid value: ["a"]: {none}"#)],
        ),
        (
            &[(
                LIST,
                r#"[{"scopeName":"BestEffort","operator":"Exists"},{"scopeName":"NotBestEffort","operator":"Exists"}]"#,
            )],
            &[&format!("{path}: Invalid value: null: conflicting scopes")],
        ),
    ]);
    base().accepts(&[&[(LIST, r#"[{"scopeName":"PriorityClass","operator":"NotIn","values":["a"]}]"#)]]);
}

#[test]
fn scopes_are_immutable() {
    base().refuses_update(&[(
        &[("/spec/scopes", r#"["BestEffort"]"#)],
        &[r#"spec.scopes: Invalid value: ["BestEffort"]: field is immutable"#],
    )]);
    base().refuses_update_of(
        &[("/spec/scopes", r#"["BestEffort"]"#)],
        &[(&[("/spec/scopes", "")], &["spec.scopes: Invalid value: null: field is immutable"])],
    );
    base().accepts_update_of(
        &[("/spec/scopes", r#"["BestEffort","Terminating"]"#)],
        &[&[("/spec/scopes", r#"["Terminating","BestEffort"]"#)], &[("/spec/hard/pods", r#""6""#)]],
    );
}

#[test]
fn a_status_counts_the_same_resources() {
    let status = Base::new(
        "",
        "resourcequotas/status",
        r#"{"metadata":{"name":"a","namespace":"n"},"spec":{"hard":{"pods":"5"}},"status":{"hard":{"pods":"5"}}}"#,
    );
    status.refuses_update(&[
        (
            &[("/status/hard/thing", r#""1""#), ("/status/used", r#"{"pods":"-1"}"#)],
            &[
                r#"status.hard[thing]: Invalid value: "thing": must be a standard resource type or fully qualified"#,
                r#"status.hard[thing]: Invalid value: "thing": must be a standard resource for quota"#,
                r#"status.used[pods]: Invalid value: "-1": must be greater than or equal to 0"#,
            ],
        ),
        (
            &[("/metadata/resourceVersion", "")],
            &[
                r#"metadata.resourceVersion: Invalid value: "": must be specified for an update"#,
                "resourceVersion: Required value",
            ],
        ),
    ]);
    status.accepts_update(&[&[("/status/used", r#"{"pods":"1"}"#)]]);
}
