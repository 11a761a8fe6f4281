//! Policies in CEL: what ValidatingAdmissionPolicies and MutatingAdmissionPolicies share.
//!
//! ```text
//! manifests    policies and bindings that are files
//! source       stored policies with their bindings, compiled by a task; those that a kind of request can match
//! binding      a binding: where it applies, and its reference to parameters
//! environment  what both kinds look up for a request
//! params       finds parameters in the caches of their stores
//! decoded      decoded parameters, which a binding keeps
//! conditions   match conditions
//! inputs       what expressions read of a request, prepared on first use
//! mutating     MutatingAdmissionPolicies: compiled, and applied to objects
//! validating   ValidatingAdmissionPolicies
//! ```

pub(crate) mod binding;
pub(crate) mod conditions;
mod configuration;
mod decoded;
pub(crate) mod environment;
pub(crate) mod inputs;
mod manifests;
pub(crate) mod mutating;
pub(crate) mod params;
#[cfg(test)]
pub(crate) mod random;
pub(crate) mod source;
pub(crate) mod validating;

use crate::attributes::Target;

/// The cost of all expressions of a policy, for one binding and parameter.
pub(crate) const VALIDATION_BUDGET: u64 = 10_000_000;

/// Reports whether no policy sees requests for a resource: reviews, which other components need to work at all.
pub(crate) fn excluded(target: &Target) -> bool {
    let resource = target.resource.resource.as_str();
    match target.resource.group.as_str() {
        "authentication.k8s.io" => matches!(resource, "selfsubjectreviews" | "tokenreviews"),
        "authorization.k8s.io" => matches!(
            resource,
            "localsubjectaccessreviews"
                | "selfsubjectaccessreviews"
                | "selfsubjectrulesreviews"
                | "subjectaccessreviews"
        ),
        _ => false,
    }
}

/// Reports whether a resource configures policies. Stored policies do not see it: one that rejects them could not be repaired.
pub(crate) fn is_configuration(target: &Target) -> bool {
    target.resource.group == "admissionregistration.k8s.io"
        && matches!(
            target.resource.resource.as_str(),
            "validatingadmissionpolicies"
                | "validatingadmissionpolicybindings"
                | "mutatingadmissionpolicies"
                | "mutatingadmissionpolicybindings"
        )
}
