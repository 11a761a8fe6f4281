//! The strategies of the group's resources.

use std::sync::Arc;

use pintle_features::Feature;
use pintle_meta::Value;
use pintle_registry::Strategy;

use crate::framework::strategy::{Entry, MetadataRecheck, Rules, Settings, find};

const TABLE: &[Entry] = &[
    Entry {
        name: "mutatingadmissionpolicies",
        kind: "admissionregistration/v1beta1.MutatingAdmissionPolicy",
        rules: ALL.counting_spec(),
    },
    Entry {
        name: "mutatingadmissionpolicybindings",
        kind: "admissionregistration/v1beta1.MutatingAdmissionPolicyBinding",
        rules: ALL.counting_spec(),
    },
    Entry {
        name: "mutatingwebhookconfigurations",
        kind: "admissionregistration/v1.MutatingWebhookConfiguration",
        rules: WEBHOOKS,
    },
    Entry {
        name: "validatingadmissionpolicies",
        kind: "admissionregistration/v1.ValidatingAdmissionPolicy",
        rules: POLICIES,
    },
    Entry {
        name: "validatingadmissionpolicies/status",
        kind: "admissionregistration/v1.ValidatingAdmissionPolicy",
        rules: Rules {
            recheck: MetadataRecheck::None,
            warnings: reserved_name,
            ..POLICIES.of_status_alone()
        },
    },
    Entry {
        name: "validatingadmissionpolicybindings",
        kind: "admissionregistration/v1.ValidatingAdmissionPolicyBinding",
        rules: ALL.counting_spec(),
    },
    Entry {
        name: "validatingwebhookconfigurations",
        kind: "admissionregistration/v1.ValidatingWebhookConfiguration",
        rules: WEBHOOKS,
    },
];

const ALL: Rules = Rules {
    recheck: MetadataRecheck::Full,
    standard_finalizers: false,
    warnings: reserved_name,
    ..Rules::CLUSTER
};
const WEBHOOKS: Rules = Rules { generation_fields: &[&["webhooks"]], ..ALL };
const POLICIES: Rules = ALL.with_status().counting_spec();

/// Names that belong to what is configured in files.
fn reserved_name(settings: &Settings, object: &Value, old: Option<&Value>) -> Vec<String> {
    // Where there are such files, a new object of such a name is refused.
    let refused = old.is_none() && settings.features.enabled(Feature::ManifestBasedAdmissionControlConfig);
    if refused || !object.name().ends_with(".static.k8s.io") {
        return Vec::new();
    }
    let why = "metadata.name: names ending with \".static.k8s.io\" are reserved for static manifest-based configurations and \
               cannot be managed via the API";
    vec![why.into()]
}

/// The strategy of a resource or subresource.
pub(crate) fn strategy(name: &str, settings: &Settings) -> Option<Arc<dyn Strategy>> {
    find(TABLE, name, settings)
}

#[cfg(test)]
mod tests {
    use crate::framework::strategy::testing::{of, warnings};

    const GROUP: &str = "admissionregistration.k8s.io";

    #[test]
    fn webhooks_are_what_is_counted_where_there_is_no_spec() {
        let webhooks = of(GROUP, "validatingwebhookconfigurations");
        let old = r#"{"metadata":{"name":"a","generation":4},"webhooks":[]}"#;
        assert_eq!(webhooks.created(old).generation(), 1);
        let same = r#"{"metadata":{"name":"a","generation":4,"labels":{"a":"b"}}}"#;
        assert_eq!(webhooks.updated(same, old).generation(), 4);
        let more = r#"{"metadata":{"name":"a","generation":4},"webhooks":[{"name":"w","clientConfig":{}}]}"#;
        assert_eq!(webhooks.updated(more, old).generation(), 5);
    }

    #[test]
    fn a_name_of_a_file_is_warned_of() {
        let policy = r#"{"metadata":{"name":"a.static.k8s.io"}}"#;
        for name in
            ["mutatingwebhookconfigurations", "validatingadmissionpolicies", "mutatingadmissionpolicies"]
        {
            assert_eq!(warnings(&of(GROUP, name), policy, None).len(), 1, "{name}");
            assert_eq!(warnings(&of(GROUP, name), policy, Some(policy)).len(), 1, "{name}");
        }
    }
}
