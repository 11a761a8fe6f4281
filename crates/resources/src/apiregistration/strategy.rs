//! The strategies of the group's resources.

use std::sync::Arc;

use pintle_meta::Value;
use pintle_meta::validation::path_segment_name;
use pintle_registry::{ResetFields, Strategy};

use crate::framework::conversion::build;
use crate::framework::strategy::{Entry, MetadataRecheck, Rules, Settings, find, tree};

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
            ..SERVICES.of_status()
        },
    },
];

const SERVICES: Rules = Rules {
    name_within: Some(name),
    recheck: MetadataRecheck::Both,
    standard_finalizers: false,
    on_create: |settings, _, service| note_local(service, settings),
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
