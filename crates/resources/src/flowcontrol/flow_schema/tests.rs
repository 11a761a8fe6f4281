//! Rules of FlowSchemas.

use super::*;
use crate::framework::validation::testing::Base;

const GROUP: &str = "flowcontrol.apiserver.k8s.io";
const SCHEMA: &str = r#"{"metadata":{"name":"a"},"spec":{"priorityLevelConfiguration":{"name":"p"},"rules":[{
    "subjects":[{"kind":"User","user":{"name":"u"}}],
    "resourceRules":[{"verbs":["get"],"apiGroups":["*"],"resources":["pods"],"namespaces":["n"]}],
    "nonResourceRules":[{"verbs":["*"],"nonResourceURLs":["/healthz"]}]}]}}"#;
const RULE: &str = "/spec/rules/0";
const LABEL: &str = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const SUBDOMAIN: &str = r"a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";

fn base() -> Base {
    Base::new(GROUP, "flowschemas", SCHEMA)
}

#[test]
fn schemas_have_a_precedence_and_a_level() {
    const PRECEDENCE: &str = "/spec/matchingPrecedence";
    base().accepts(&[
        &[(PRECEDENCE, "10000")],
        &[("/spec/distinguisherMethod", r#"{"type":"ByUser"}"#)],
        &[("/spec/rules", "")],
    ]);
    base().refuses(&[
        (
            &[(PRECEDENCE, "-1")],
            &["spec.matchingPrecedence: Invalid value: -1: must be a positive value"],
        ),
        (
            &[(PRECEDENCE, "10001")],
            &["spec.matchingPrecedence: Invalid value: 10001: must not be greater than 10000"],
        ),
        (
            &[(PRECEDENCE, "1")],
            &[
                "spec.matchingPrecedence: Invalid value: 1: only the schema named 'exempt' may have matchingPrecedence 1",
            ],
        ),
        (
            &[("/spec/distinguisherMethod", r#"{"type":"x"}"#)],
            &[
                r#"spec.distinguisherMethod.type: Unsupported value: {"Type":"x"}: supported values: "ByNamespace", "ByUser""#,
            ],
        ),
        (
            &[("/spec/priorityLevelConfiguration/name", r#""""#)],
            &["spec.priorityLevelConfiguration.name: Required value: must reference a priority level"],
        ),
        (
            &[("/spec/priorityLevelConfiguration/name", r#""A""#)],
            &[&format!(r#"spec.priorityLevelConfiguration.name: Invalid value: "A": {SUBDOMAIN}"#)],
        ),
    ]);
    base().refuses_update(&[(
        &[(PRECEDENCE, "-1")],
        &["spec.matchingPrecedence: Invalid value: -1: must be a positive value"],
    )]);
}

#[test]
fn subjects_are_of_one_kind() {
    let at = |rest: &str| format!("spec.rules[0].subjects[0].{rest}");
    let subject = format!("{RULE}/subjects/0");
    let refuses = |json: &str, errors: &[String]| {
        let errors: Vec<&str> = errors.iter().map(String::as_str).collect();
        base().refuses(&[(&[(&subject, json)], &errors)]);
    };
    base().accepts(&[
        &[(&subject, r#"{"kind":"ServiceAccount","serviceAccount":{"name":"*","namespace":"n"}}"#)],
        &[(&subject, r#"{"kind":"Group","group":{"name":"g"}}"#)],
    ]);
    refuses(
        r#"{"kind":"x"}"#,
        &[at(r#"kind: Unsupported value: "x": supported values: "Group", "ServiceAccount", "User""#)],
    );
    refuses(
        r#"{"kind":"User"}"#,
        &[at("user: Required value: user is required when subject kind is 'User'")],
    );
    refuses(
        r#"{"kind":"Group"}"#,
        &[at("group: Required value: group is required when subject kind is 'Group'")],
    );
    refuses(
        r#"{"kind":"ServiceAccount"}"#,
        &[at(
            "serviceAccount: Required value: serviceAccount is required when subject kind is 'ServiceAccount'",
        )],
    );
    refuses(r#"{"kind":"User","user":{"name":""}}"#, &[at("user.name: Required value")]);
    refuses(
        r#"{"kind":"ServiceAccount","serviceAccount":{"name":"","namespace":""}}"#,
        &[
            at("serviceAccount.name: Required value"),
            at("serviceAccount.namespace: Required value: must specify namespace for service account"),
        ],
    );
    refuses(
        r#"{"kind":"ServiceAccount","serviceAccount":{"name":"A","namespace":"B"}}"#,
        &[
            at(&format!(r#"serviceAccount.name: Invalid value: "A": {SUBDOMAIN}"#)),
            at(&format!(r#"serviceAccount.namespace: Invalid value: "B": {LABEL}"#)),
        ],
    );
    refuses(
        r#"{"kind":"Group","group":{"name":"g"},"user":{"name":"u"},"serviceAccount":{"name":"a","namespace":"n"}}"#,
        &[
            at(
                "serviceAccount: Forbidden: serviceAccount is forbidden when subject kind is not 'ServiceAccount'",
            ),
            at("user: Forbidden: user is forbidden when subject kind is not 'User'"),
        ],
    );
}

#[test]
fn rules_have_subjects_and_requests() {
    base().refuses(&[
        (
            &[(&format!("{RULE}/subjects"), "")],
            &["spec.rules[0].subjects: Required value: subjects must contain at least one value"],
        ),
        (
            &[(&format!("{RULE}/resourceRules"), ""), (&format!("{RULE}/nonResourceRules"), "")],
            &[
                "spec.rules[0]: Required value: at least one of resourceRules and nonResourceRules has to be non-empty",
            ],
        ),
        (
            &[(
                &format!("{RULE}/resourceRules/0"),
                r#"{"verbs":[],"apiGroups":[],"resources":[]}"#,
            )],
            &[
                "spec.rules[0].resourceRules[0].verbs: Required value: verbs must contain at least one value",
                "spec.rules[0].resourceRules[0].apiGroups: Required value: resource rules must supply at least one api group",
                "spec.rules[0].resourceRules[0].resources: Required value: resource rules must supply at least one resource",
                "spec.rules[0].resourceRules[0].namespaces: Required value: resource rules that are not cluster scoped must supply at least one namespace",
            ],
        ),
        (
            &[(
                &format!("{RULE}/resourceRules/0"),
                r#"{"verbs":["*","get"],"apiGroups":["*","a"],"resources":["*","b"],"namespaces":["*","c"]}"#,
            )],
            &[
                r#"spec.rules[0].resourceRules[0].verbs: Invalid value: ["*","get"]: if '*' is present, must not specify other verbs"#,
                r#"spec.rules[0].resourceRules[0].apiGroups: Invalid value: ["*","a"]: if '*' is present, must not specify other api groups"#,
                r#"spec.rules[0].resourceRules[0].resources: Invalid value: ["*","b"]: if '*' is present, must not specify other resources"#,
                r#"spec.rules[0].resourceRules[0].namespaces: Invalid value: ["*","c"]: if '*' is present, must not specify other namespaces"#,
            ],
        ),
        (
            &[
                (&format!("{RULE}/resourceRules/0/verbs"), r#"["use"]"#),
                (&format!("{RULE}/resourceRules/0/namespaces"), r#"["A"]"#),
            ],
            &[
                r#"spec.rules[0].resourceRules[0].verbs: Unsupported value: ["use"]: supported values: "create", "delete", "deletecollection", "get", "list", "patch", "proxy", "update", "watch""#,
                &format!(
                    r#"spec.rules[0].resourceRules[0].namespaces[0]: Invalid value: "A": each member of this list must be '*' or a DNS-1123 label; {LABEL}"#
                ),
            ],
        ),
        (
            &[(&format!("{RULE}/nonResourceRules/0/nonResourceURLs"), "[]")],
            &[
                "spec.rules[0].nonResourceRules[0].nonResourceURLs: Required value: nonResourceURLs must contain at least one value",
            ],
        ),
        (
            &[(&format!("{RULE}/nonResourceRules/0/nonResourceURLs"), r#"["*","/a"]"#)],
            &[
                r#"spec.rules[0].nonResourceRules[0].nonResourceURLs: Invalid value: ["*","/a"]: if '*' is present, must not specify other non-resource URLs"#,
            ],
        ),
        (
            &[(&format!("{RULE}/nonResourceRules/0/nonResourceURLs"), r#"["/a","b"]"#)],
            &[
                r#"spec.rules[0].nonResourceRules[0].nonResourceURLs[1]: Invalid value: "b": must start with slash"#,
            ],
        ),
    ]);
    base().accepts(&[&[(
        &format!("{RULE}/resourceRules/0"),
        r#"{"verbs":["*"],"apiGroups":["*"],"resources":["*"],"clusterScope":true}"#,
    )]]);
}

#[test]
fn wildcards_of_paths_are_at_their_end() {
    let why = |url: &str| url_path(&Path::NOWHERE, url).map(|error| error.detail);
    for good in ["/", "/a", "/a/*", "/*"] {
        assert_eq!(why(good), None, "{good}");
    }
    for (bad, expected) in [
        ("", "must not be empty"),
        ("a", "must start with slash"),
        ("/a b", "must not contain white-space"),
        ("/a//b", "must not contain double slash"),
        ("/a*", "wildcard can only do suffix matching"),
        ("/*/a", "wildcard can only do suffix matching"),
        ("/*/*", "wildcard can only do suffix matching"),
    ] {
        assert_eq!(why(bad).as_deref(), Some(expected), "{bad}");
    }
}

#[test]
fn mandatory_schemas_have_fixed_specs() {
    let exempt = r#"{"metadata":{"name":"exempt"},"spec":{"priorityLevelConfiguration":{"name":"exempt"},"matchingPrecedence":1,
        "rules":[{"subjects":[{"kind":"Group","group":{"name":"system:masters"}}],
        "resourceRules":[{"verbs":["*"],"apiGroups":["*"],"resources":["*"],"clusterScope":true,"namespaces":["*"]}],
        "nonResourceRules":[{"verbs":["*"],"nonResourceURLs":["*"]}]}]}}"#;
    let exempt = Base::new(GROUP, "flowschemas", exempt);
    exempt.refuses(&[(
        &[("/spec/matchingPrecedence", "2"), ("/spec/rules", "")],
        &[
            r#"spec: Invalid value: {"PriorityLevelConfiguration":{"Name":"exempt"},"MatchingPrecedence":2,"DistinguisherMethod":null,"Rules":null}: spec of 'exempt' must equal the fixed value"#,
        ],
    )]);
    let catch_all = r#"{"metadata":{"name":"catch-all"},"spec":{"priorityLevelConfiguration":{"name":"catch-all"},"matchingPrecedence":10000,
        "distinguisherMethod":{"type":"ByUser"},
        "rules":[{"subjects":[{"kind":"Group","group":{"name":"system:unauthenticated"}},{"kind":"Group","group":{"name":"system:authenticated"}}],
        "resourceRules":[{"verbs":["*"],"apiGroups":["*"],"resources":["*"],"clusterScope":true,"namespaces":["*"]}],
        "nonResourceRules":[{"verbs":["*"],"nonResourceURLs":["*"]}]}]}}"#;
    Base::new(GROUP, "flowschemas", catch_all);
}

#[test]
fn conditions_have_types_of_their_own() {
    let status = Base::new(GROUP, "flowschemas/status", SCHEMA);
    status.accepts_update(&[&[("/status", r#"{"conditions":[{"type":"Dangling"},{"type":"x"}]}"#)]]);
    status.refuses_update(&[(
        &[("/status", r#"{"conditions":[{"type":""},{"type":""}]}"#)],
        &[
            "status.conditions[0].type: Required value",
            r#"status.conditions[1].type: Duplicate value: """#,
            "status.conditions[1].type: Required value",
        ],
    )]);
    // A stored status is checked again with the whole.
    base().refuses_update_of(
        &[("/metadata/labels", r#"{"a":"b"}"#)],
        &[(
            &[("/spec/rules/0/subjects", "")],
            &["spec.rules[0].subjects: Required value: subjects must contain at least one value"],
        )],
    );
}
