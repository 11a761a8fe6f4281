//! Since 1.19, every container has a seccomp profile of the runtime or of the host, its own or that of the pod; since 1.25 not
//! on Windows, which has none.

use super::pod::Pod;
use super::seccomp_baseline::{forbidden_profiles, is_allowed_type, profile};
use super::{Check, Violation, containers};

pub(super) const CHECK: Check = Check::restricted(&[(19, check), (25, check_unless_windows)]);

fn check(pod: &Pod<'_>) -> Option<Violation> {
    let of_pod = profile(pod.security_context());
    let (mut own, mut missing) = (Vec::new(), Vec::new());
    for container in pod.containers() {
        match profile(container.security_context()) {
            Some(profile) => own.push((container.name(), profile)),
            None if of_pod.is_some_and(is_allowed_type) => {}
            None => missing.push(container.name()),
        }
    }
    forbidden_profiles(of_pod, own.into_iter()).or_else(|| {
        (!missing.is_empty()).then(|| Violation {
            reason: "seccompProfile",
            detail: format!(
                r#"pod or {} must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost""#,
                containers(&missing)
            ),
        })
    })
}

fn check_unless_windows(pod: &Pod<'_>) -> Option<Violation> {
    if pod.is_for_windows() { None } else { check(pod) }
}
