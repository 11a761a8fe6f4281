//! The strategies of the group's resources.

use std::sync::Arc;

use pintle_features::Feature;
use pintle_meta::Value;
use pintle_registry::Strategy;

use super::{mutating_admission_policy, validating_admission_policy, webhook_configuration};
use crate::framework::strategy::{Entry, MetadataRecheck, Rules, Settings, find};
use crate::framework::validation::Cursor;

const TABLE: &[Entry] = &[
    Entry {
        name: "mutatingadmissionpolicies",
        kind: "admissionregistration/v1beta1.MutatingAdmissionPolicy",
        rules: mutating_admission_policy::POLICIES,
    },
    Entry {
        name: "mutatingadmissionpolicybindings",
        kind: "admissionregistration/v1beta1.MutatingAdmissionPolicyBinding",
        rules: mutating_admission_policy::BINDINGS,
    },
    Entry {
        name: "mutatingwebhookconfigurations",
        kind: "admissionregistration/v1.MutatingWebhookConfiguration",
        rules: webhook_configuration::MUTATING,
    },
    Entry {
        name: "validatingadmissionpolicies",
        kind: "admissionregistration/v1.ValidatingAdmissionPolicy",
        rules: validating_admission_policy::POLICIES,
    },
    Entry {
        name: "validatingadmissionpolicies/status",
        kind: "admissionregistration/v1.ValidatingAdmissionPolicy",
        rules: validating_admission_policy::POLICY_STATUS,
    },
    Entry {
        name: "validatingadmissionpolicybindings",
        kind: "admissionregistration/v1.ValidatingAdmissionPolicyBinding",
        rules: validating_admission_policy::BINDINGS,
    },
    Entry {
        name: "validatingwebhookconfigurations",
        kind: "admissionregistration/v1.ValidatingWebhookConfiguration",
        rules: webhook_configuration::VALIDATING,
    },
];

/// Rules that all resources of the group share.
pub(super) const RULES: Rules = Rules {
    recheck: MetadataRecheck::Full,
    standard_finalizers: false,
    warnings: static_name_warning,
    ..Rules::CLUSTER
};

/// The end of names of objects that are configured in files.
const STATIC_SUFFIX: &str = ".static.k8s.io";
const STATIC_NAME: &str = "names ending with \".static.k8s.io\" are reserved for static manifest-based configurations and \
                           cannot be managed via the API";

/// Refuses a new object with the name of one from a file, where there are such files.
pub(super) fn check_static_name(settings: &Settings, object: &Cursor<'_, '_>) {
    let name = object.at(&["metadata", "name"]);
    if settings.features.enabled(Feature::ManifestBasedAdmissionControlConfig)
        && name.text().ends_with(STATIC_SUFFIX)
    {
        name.invalid(name.text(), STATIC_NAME);
    }
}

/// Warns of such a name, where a new object is not refused.
fn static_name_warning(settings: &Settings, object: &Value, old: Option<&Value>) -> Vec<String> {
    let refused = old.is_none() && settings.features.enabled(Feature::ManifestBasedAdmissionControlConfig);
    if refused || !object.name().ends_with(STATIC_SUFFIX) {
        return Vec::new();
    }
    vec![format!("metadata.name: {STATIC_NAME}")]
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
