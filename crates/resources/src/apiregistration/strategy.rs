//! The strategies of the group's resources.

use std::sync::Arc;

use pintle_meta::Value;
use pintle_meta::validation::{dns1035_label, dns1123_subdomain, path_segment_name, port_number};
use pintle_registry::{ResetFields, Strategy};

use crate::framework::conversion::build;
use crate::framework::strategy::{Entry, MetadataRecheck, Rules, Settings, find, tree};
use crate::framework::validation::Cursor;

const TABLE: &[Entry] = &[
    Entry { name: "apiservices", kind: "apiregistration/v1.APIService", rules: SERVICES },
    Entry {
        name: "apiservices/status",
        kind: "apiregistration/v1.APIService",
        rules: Rules {
            kept_on_update: &[
                &["spec"],
                &["metadata", "labels"],
                &["metadata", "annotations"],
                &["metadata", "finalizers"],
                &["metadata", "ownerReferences"],
            ],
            reset_fields: ResetFields::These(&[&["metadata"], &["spec"]]),
            validate_update: |_, service| status(&service.field("status")),
            ..SERVICES.of_status()
        },
    },
];

const SERVICES: Rules = Rules {
    name_within: Some(name),
    recheck: MetadataRecheck::Both,
    standard_finalizers: false,
    on_create: |settings, _, service| note_local(service, settings),
    validate: |_, service| validate(&service.field("spec")),
    validate_update: |_, service| validate(&service.field("spec")),
    ..Rules::CLUSTER.with_status()
};

/// A version and its group.
fn name(service: &Value, name: &str, _: bool) -> Vec<String> {
    let wrong = path_segment_name(name);
    if !wrong.is_empty() {
        return wrong;
    }
    let spec = |field| service.text_at(&["spec", field]);
    let required = format!("{}.{}", spec("version"), spec("group"));
    if name == required {
        return Vec::new();
    }
    vec![format!("must be `spec.version+\".\"+spec.group`: {}", pintle_meta::quote(&required))]
}

fn validate(spec: &Cursor<'_, '_>) {
    let (group, version) = (spec.field("group"), spec.field("version"));
    if group.is_empty() && version.text() != "v1" {
        group.required("only v1 may have an empty group and it better be legacy kube");
    }
    if !group.is_empty() {
        group.text_format(dns1123_subdomain);
    }
    version.text_format(dns1035_label);
    for (field, most) in [("groupPriorityMinimum", 20_000), ("versionPriority", 1_000)] {
        let priority = spec.field(field);
        if !(1..=most).contains(&priority.integer()) {
            priority.invalid(priority.integer(), format!("must be positive and less than {most}"));
        }
    }
    let (service, bundle) = (spec.field("service"), spec.field("caBundle"));
    let size = bundle.value().as_bytes().map_or(0, <[u8]>::len);
    let insecure = spec.field("insecureSkipTLSVerify");
    if !service.is_set() {
        if size > 0 {
            bundle.invalid(format!("{size} bytes"), "local APIServices may not have a caBundle");
        }
        if insecure.flag() {
            insecure.invalid(true, "local APIServices may not have insecureSkipTLSVerify");
        }
        return;
    }
    for name in ["namespace", "name"] {
        let name = service.field(name);
        if name.is_empty() {
            name.required("");
        }
    }
    let port = service.field("port");
    let wrong = port_number(port.integer());
    if !wrong.is_empty() {
        port.invalid(port.integer(), format!("port is not valid: {}", wrong.join(", ")));
    }
    if insecure.flag() && size > 0 {
        insecure.invalid(true, "may not be true if caBundle is present");
    }
}

fn status(status: &Cursor<'_, '_>) {
    for condition in status.field("conditions").items() {
        condition.field("status").one_of(&["True", "False", "Unknown"]);
    }
}

/// A local APIService is available at once.
fn note_local(service: &mut Value, settings: &Settings) {
    if service.at(&["spec", "service"]).is_some_and(|service| !service.is_null()) {
        return;
    }
    let fields = [
        ("type", Some("Available".into())),
        ("status", Some("True".into())),
        ("lastTransitionTime", Some(settings.time())),
        ("reason", Some("Local".into())),
        ("message", Some("Local APIServices are always available".into())),
    ];
    let condition = build("apiregistration/v1.APIServiceCondition", fields);
    tree::set(service, &["status", "conditions"], vec![condition]);
}

/// The strategy of a resource or subresource.
pub(crate) fn strategy(name: &str, settings: &Settings) -> Option<Arc<dyn Strategy>> {
    find(TABLE, name, settings)
}

#[cfg(test)]
mod tests {
    use crate::framework::strategy::testing::{NOW, invalid, of, text};
    use crate::framework::validation::testing::Base;

    const GROUP: &str = "apiregistration.k8s.io";

    fn service(name: &str, spec: &str) -> String {
        format!(
            r#"{{"metadata":{{"name":"{name}"}},"spec":{{"group":"g","version":"v1","groupPriorityMinimum":1,"versionPriority":1{spec}}},"status":{{"conditions":[{{"type":"x","status":"y"}}]}}}}"#
        )
    }

    #[test]
    fn what_is_served_here_is_available_at_once() {
        let services = of(GROUP, "apiservices");
        let local = services.created(&service("v1.g", ""));
        assert_eq!(
            text(local.get("status").unwrap()),
            format!(
                r#"{{"conditions":[{{"type":"Available","status":"True","lastTransitionTime":"{NOW}","reason":"Local","message":"Local APIServices are always available"}}]}}"#
            )
        );
        let remote = services.created(&service("v1.g", r#","service":{"namespace":"n","name":"s"}"#));
        assert_eq!(text(remote.get("status").unwrap()), "{}");
    }

    const LOCAL: &str = r#"{"metadata":{"name":"v1.g"},"spec":{"group":"g","version":"v1","groupPriorityMinimum":1,"versionPriority":1}}"#;

    #[test]
    fn group_version_and_priorities_are_checked() {
        let base = Base::new(GROUP, "apiservices", LOCAL);
        base.accepts(&[
            &[("/spec/groupPriorityMinimum", "20000"), ("/spec/versionPriority", "1000")],
            &[("/spec/group", r#""""#), ("/metadata/name", r#""v1.""#)],
        ]);
        base.refuses(&[
            (
                &[("/spec/group", r#""""#), ("/spec/version", r#""v2""#), ("/metadata/name", r#""v2.""#)],
                &["spec.group: Required value: only v1 may have an empty group and it better be legacy kube"],
            ),
            (
                &[("/spec/groupPriorityMinimum", "0"), ("/spec/versionPriority", "1001")],
                &[
                    "spec.groupPriorityMinimum: Invalid value: 0: must be positive and less than 20000",
                    "spec.versionPriority: Invalid value: 1001: must be positive and less than 1000",
                ],
            ),
            (
                &[("/spec/group", r#""G""#), ("/spec/version", r#""1""#), ("/metadata/name", r#""1.G""#)],
                &[
                    "spec.group: Invalid value: \"G\": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
                    "spec.version: Invalid value: \"1\": a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')",
                ],
            ),
        ]);
    }

    #[test]
    fn certificates_need_a_service_and_must_be_used() {
        let base = Base::new(GROUP, "apiservices", LOCAL);
        base.accepts(&[&[
            ("/spec/service", r#"{"namespace":"n","name":"s"}"#),
            ("/spec/caBundle", r#""YQ==""#),
        ]]);
        base.refuses(&[
            (
                &[("/spec/caBundle", r#""YQ==""#), ("/spec/insecureSkipTLSVerify", "true")],
                &[
                    r#"spec.caBundle: Invalid value: "1 bytes": local APIServices may not have a caBundle"#,
                    "spec.insecureSkipTLSVerify: Invalid value: true: local APIServices may not have insecureSkipTLSVerify",
                ],
            ),
            (
                &[
                    ("/spec/caBundle", r#""YQ==""#),
                    ("/spec/insecureSkipTLSVerify", "true"),
                    ("/spec/service", r#"{"port":-1}"#),
                ],
                &[
                    "spec.service.namespace: Required value",
                    "spec.service.name: Required value",
                    "spec.service.port: Invalid value: -1: port is not valid: must be between 1 and 65535, inclusive",
                    "spec.insecureSkipTLSVerify: Invalid value: true: may not be true if caBundle is present",
                ],
            ),
        ]);
    }

    #[test]
    fn a_condition_is_true_false_or_unknown() {
        let base = Base::new(GROUP, "apiservices/status", LOCAL);
        base.accepts_update(&[&[("/status/conditions/-", r#"{"type":"Available","status":"Unknown"}"#)]]);
        base.refuses_update(&[(
            &[("/status/conditions/-", r#"{"type":"Available","status":"Yes"}"#)],
            &[r#"status.conditions[0].status: Unsupported value: "Yes": supported values: "True", "False", "Unknown""#],
        )]);
    }

    #[test]
    fn a_service_is_named_after_its_version_and_group() {
        let services = of(GROUP, "apiservices");
        assert!(invalid(&services, &service("v1.g", "")).is_empty());
        assert_eq!(
            invalid(&services, &service("v2.g", "")),
            [r#"metadata.name: Invalid value: "v2.g": must be `spec.version+"."+spec.group`: "v1.g""#]
        );
    }
}
