//! AppArmor profiles are those of the runtime or of the host, in fields and in the older annotations.

use std::collections::BTreeSet;

use pintle_meta::{Value, quote};

use super::pod::Pod;
use super::{Check, Violation, plural, quoted, setters};

const ANNOTATION: &str = "container.apparmor.security.beta.kubernetes.io/";

pub(super) const CHECK: Check = Check::baseline(&[(0, check)]);

fn check(pod: &Pod<'_>) -> Option<Violation> {
    let mut types = BTreeSet::new();
    let of_pod = forbidden_type(pod.security_context());
    types.extend(of_pod);
    let mut names = Vec::new();
    for container in pod.containers() {
        if let Some(profile) = forbidden_type(container.security_context()) {
            types.insert(profile);
            names.push(container.name());
        }
    }
    let forbidden = |(key, value): &(&str, &str)| key.starts_with(ANNOTATION) && !is_allowed(value);
    let annotations: BTreeSet<String> =
        pod.annotations().filter(forbidden).map(|(key, value)| format!("{key}={}", quote(value))).collect();

    let by_annotations =
        (!annotations.is_empty()).then(|| plural(annotations.len(), "annotation", "annotations").to_owned());
    let setters: Vec<String> =
        [setters(of_pod.is_some(), &names), by_annotations].into_iter().flatten().collect();
    let values = types.iter().copied().chain(annotations.iter().map(String::as_str));
    (!setters.is_empty()).then(|| Violation {
        reason: plural(
            types.len() + annotations.len(),
            "forbidden AppArmor profile",
            "forbidden AppArmor profiles",
        ),
        detail: format!("{} must not set AppArmor profile type to {}", setters.join(" and "), quoted(values)),
    })
}

/// Returns the type of the profile that a security context sets, if it is not allowed.
fn forbidden_type(context: Option<&Value>) -> Option<&str> {
    let profile = context?.get("appArmorProfile")?.text_at(&["type"]);
    (!matches!(profile, "RuntimeDefault" | "Localhost")).then_some(profile)
}

/// Returns whether an annotation may have this value.
fn is_allowed(value: &str) -> bool {
    value.is_empty() || value == "runtime/default" || value.starts_with("localhost/")
}
