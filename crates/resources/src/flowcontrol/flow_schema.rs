//! FlowSchemas: which requests belong to which priority level.

use pintle_meta::field_path::Error;
use pintle_meta::field_path::Path;
use pintle_meta::validation::{dns1123_label, dns1123_subdomain};

use super::bootstrap;
use super::strategy::{RESOURCE, STATUS_OF_RESOURCE, conditions};
use crate::framework::strategy::Rules;
use crate::framework::validation::Cursor;

pub(super) const FLOW_SCHEMAS: Rules = Rules {
    validate: |_, schema| validate(schema),
    validate_update: |_, schema| validate(schema),
    ..RESOURCE
};

pub(super) const STATUS: Rules = Rules {
    validate_update: |_, schema| conditions(&schema.at(&["status", "conditions"])),
    ..STATUS_OF_RESOURCE
};

const MAX_PRECEDENCE: i64 = 10_000;
/// Sorted, as errors list them.
const VERBS: &[&str] =
    &["create", "delete", "deletecollection", "get", "list", "patch", "proxy", "update", "watch"];
const ALL: &str = "*";

fn validate(schema: &Cursor<'_, '_>) {
    let spec = schema.field("spec");
    let name = schema.at(&["metadata", "name"]).text();
    validate_spec(&spec, name);
    if bootstrap::flow_schema(name).is_some_and(|fixed| fixed != *spec.value()) {
        let why = format!("spec of '{name}' must equal the fixed value");
        spec.invalid(spec.printed_as("flowcontrol.FlowSchemaSpec"), why);
    }
    conditions(&schema.at(&["status", "conditions"]));
}

fn validate_spec(spec: &Cursor<'_, '_>, name: &str) {
    let precedence = spec.field("matchingPrecedence");
    let value = precedence.integer();
    if value <= 0 {
        precedence.invalid(value, "must be a positive value");
    }
    if value > MAX_PRECEDENCE {
        precedence.invalid(value, format!("must not be greater than {MAX_PRECEDENCE}"));
    }
    if value == 1 && name != bootstrap::EXEMPT {
        precedence.invalid(value, "only the schema named 'exempt' may have matchingPrecedence 1");
    }
    let method = spec.field("distinguisherMethod");
    if method.is_set() && !["ByNamespace", "ByUser"].contains(&method.field("type").text()) {
        let printed = method.printed_as("*flowcontrol.FlowDistinguisherMethod");
        method.field("type").not_supported(printed, &["ByNamespace", "ByUser"]);
    }
    let level = spec.at(&["priorityLevelConfiguration", "name"]);
    if level.is_empty() {
        level.required("must reference a priority level");
    } else {
        level.text_format(dns1123_subdomain);
    }
    spec.field("rules").each(|rule| validate_rule(rule));
}

fn validate_rule(rule: &Cursor<'_, '_>) {
    let subjects = rule.field("subjects");
    if subjects.len() == 0 {
        subjects.required("subjects must contain at least one value");
    }
    subjects.each(|subject| validate_subject(subject));
    let (resources, others) = (rule.field("resourceRules"), rule.field("nonResourceRules"));
    if resources.len() == 0 && others.len() == 0 {
        rule.required("at least one of resourceRules and nonResourceRules has to be non-empty");
    }
    resources.each(|rule| validate_resource_rule(rule));
    others.each(|rule| validate_non_resource_rule(rule));
}

fn validate_subject(subject: &Cursor<'_, '_>) {
    // In the order in which errors name those that must not be there.
    const KINDS: [(&str, &str); 3] =
        [("ServiceAccount", "serviceAccount"), ("User", "user"), ("Group", "group")];
    let kind = subject.field("kind");
    let Some((_, own)) = KINDS.iter().find(|(known, _)| *known == kind.text()) else {
        return kind.one_of(&["Group", "ServiceAccount", "User"]);
    };
    validate_named(&subject.field(own), kind.text());
    for (other, field) in KINDS.iter().filter(|(known, _)| *known != kind.text()) {
        let member = subject.field(field);
        if member.is_set() {
            member.forbidden(format!("{field} is forbidden when subject kind is not '{other}'"));
        }
    }
}

/// Checks the part of a subject that its kind asks for.
fn validate_named(subject: &Cursor<'_, '_>, kind: &str) {
    if !subject.is_set() {
        let field = match kind {
            "ServiceAccount" => "serviceAccount",
            "User" => "user",
            _ => "group",
        };
        return subject.required(format!("{field} is required when subject kind is '{kind}'"));
    }
    let name = subject.field("name");
    if name.is_empty() {
        name.required("");
    }
    if kind == "ServiceAccount" {
        if !name.is_empty() && name.text() != ALL {
            name.text_format(dns1123_subdomain);
        }
        let namespace = subject.field("namespace");
        if namespace.is_empty() {
            namespace.required("must specify namespace for service account");
        } else {
            namespace.text_format(dns1123_label);
        }
    }
}

fn validate_resource_rule(rule: &Cursor<'_, '_>) {
    validate_verbs(&rule.field("verbs"));
    for (field, one, others) in
        [("apiGroups", "api group", "api groups"), ("resources", "resource", "resources")]
    {
        let list = rule.field(field);
        if list.len() == 0 {
            list.required(format!("resource rules must supply at least one {one}"));
        } else {
            check_alone(&list, others);
        }
    }
    let namespaces = rule.field("namespaces");
    if namespaces.len() == 0 && !rule.field("clusterScope").flag() {
        namespaces.required("resource rules that are not cluster scoped must supply at least one namespace");
    } else if has_all(&namespaces) {
        check_alone(&namespaces, "namespaces");
    } else {
        let format = |text: &str| -> Vec<String> {
            let wrong = dns1123_label(text).into_iter();
            wrong
                .map(|why| format!("each member of this list must be '*' or a DNS-1123 label; {why}"))
                .collect()
        };
        namespaces.each(|namespace| namespace.text_format(format));
    }
}

fn validate_non_resource_rule(rule: &Cursor<'_, '_>) {
    validate_verbs(&rule.field("verbs"));
    let urls = rule.field("nonResourceURLs");
    if urls.len() == 0 {
        urls.required("nonResourceURLs must contain at least one value");
    } else if has_all(&urls) {
        check_alone(&urls, "non-resource URLs");
    } else {
        urls.each(|url| url.text_check(url_path));
    }
}

fn validate_verbs(verbs: &Cursor<'_, '_>) {
    if verbs.len() == 0 {
        verbs.required("verbs must contain at least one value");
    } else if has_all(verbs) {
        check_alone(verbs, "verbs");
    } else if !verbs.values().iter().all(|verb| VERBS.contains(&verb.as_str().unwrap_or_default())) {
        verbs.not_supported(verbs.printed_as("[]string"), VERBS);
    }
}

fn has_all(list: &Cursor<'_, '_>) -> bool {
    list.values().iter().any(|item| item.as_str() == Some(ALL))
}

/// Checks that an item that stands for all is the only one.
fn check_alone(list: &Cursor<'_, '_>, others: &str) {
    if list.len() > 1 && has_all(list) {
        let why = format!("if '*' is present, must not specify other {others}");
        list.invalid(list.printed_as("[]string"), why);
    }
}

/// Checks the path of requests that are for no resource; a wildcard stands for its last part.
fn url_path(path: &Path<'_>, url: &str) -> Option<Error> {
    let why = match url {
        "" => "must not be empty",
        "/" => return None,
        _ if !url.starts_with('/') => "must start with slash",
        _ if url.contains(' ') => "must not contain white-space",
        _ if url.contains("//") => "must not contain double slash",
        _ => {
            let head = url.strip_suffix("/*").unwrap_or(url);
            if !head.contains('*') {
                return None;
            }
            "wildcard can only do suffix matching"
        }
    };
    Some(Error::invalid(path, url, why))
}

#[cfg(test)]
mod tests {
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
    fn rules_say_whom_and_what_they_are_about() {
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
}
