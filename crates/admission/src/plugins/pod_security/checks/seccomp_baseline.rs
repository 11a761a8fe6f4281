//! Seccomp profiles are those of the runtime or of the host: until 1.18 in annotations, since 1.19 in fields.

use std::collections::BTreeSet;

use pintle_meta::{Value, quote};

use super::pod::Pod;
use super::{Check, Violation, plural, quoted, setters};

const OF_POD: &str = "seccomp.security.alpha.kubernetes.io/pod";
const OF_CONTAINER: &str = "container.seccomp.security.alpha.kubernetes.io/";

pub(super) const CHECK: Check =
    Check::baseline(&[(0, check_annotations), (19, check_fields)]).replaced_since(19);

fn check_annotations(pod: &Pod<'_>) -> Option<Violation> {
    let of_containers = pod.containers().map(|container| format!("{OF_CONTAINER}{}", container.name()));
    let forbidden: BTreeSet<String> = std::iter::once(OF_POD.to_owned())
        .chain(of_containers)
        .filter_map(|key| {
            let value = pod.annotation(&key).filter(|value| !is_allowed(value))?;
            Some(format!("{key}={}", quote(value)))
        })
        .collect();
    (!forbidden.is_empty()).then(|| {
        let noun = plural(forbidden.len(), "annotation", "annotations");
        let forbidden: Vec<String> = forbidden.into_iter().collect();
        Violation { reason: "seccompProfile", detail: format!("forbidden {noun} {}", forbidden.join(", ")) }
    })
}

fn check_fields(pod: &Pod<'_>) -> Option<Violation> {
    let of_pod = profile(pod.security_context());
    let of_containers = pod.containers().filter_map(|container| {
        let profile = profile(container.security_context())?;
        Some((container.name(), profile))
    });
    forbidden_profiles(of_pod, of_containers)
}

/// Returns the violation of profiles that are set and not allowed.
pub(super) fn forbidden_profiles<'a>(
    of_pod: Option<&'a str>,
    of_containers: impl Iterator<Item = (&'a str, &'a str)>,
) -> Option<Violation> {
    let of_pod = of_pod.filter(|profile| !is_allowed_type(profile));
    let (names, profiles): (Vec<&str>, Vec<&str>) =
        of_containers.filter(|(_, profile)| !is_allowed_type(profile)).unzip();
    let setters = setters(of_pod.is_some(), &names)?;
    let types: BTreeSet<&str> = of_pod.into_iter().chain(profiles).collect();
    let detail = format!("{setters} must not set securityContext.seccompProfile.type to {}", quoted(types));
    Some(Violation { reason: "seccompProfile", detail })
}

/// Returns the type of the profile that a security context sets.
pub(super) fn profile(context: Option<&Value>) -> Option<&str> {
    Some(context?.get("seccompProfile")?.text_at(&["type"]))
}

pub(super) fn is_allowed_type(profile: &str) -> bool {
    matches!(profile, "Localhost" | "RuntimeDefault")
}

/// Returns whether an annotation may have this value.
fn is_allowed(value: &str) -> bool {
    matches!(value, "runtime/default" | "docker/default") || value.starts_with("localhost/")
}
