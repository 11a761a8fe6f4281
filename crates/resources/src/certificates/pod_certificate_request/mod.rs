//! PodCertificateRequests: a kubelet asks a signer for a certificate of a pod. The spec is immutable; the signer writes the status
//! once, and needs the permission to `sign`, which the control plane checks.

mod issued;
mod spec;
mod status;
#[cfg(test)]
mod tests;

use pintle_registry::ResetFields;

use crate::framework::strategy::Rules;

pub(super) const REQUESTS: Rules = Rules {
    // The status is reset all the same.
    reset_fields: ResetFields::These(&[]),
    validate: |_, request| spec::validate(&request.field("spec")),
    validate_update: |_, request| request.field("spec").immutable("certificates.PodCertificateRequestSpec"),
    ..Rules::NAMESPACED.with_status()
};

pub(super) const STATUS: Rules = Rules {
    reset_fields: ResetFields::These(&[&["spec"]]),
    validate_update: |settings, request| status::validate(settings, request),
    ..REQUESTS.of_status_alone()
};
