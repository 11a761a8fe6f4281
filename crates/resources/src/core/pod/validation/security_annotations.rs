//! Seccomp and AppArmor profiles, as annotations of the time before there were fields.

use std::collections::HashSet;

use pintle_meta::{Value, quote};

use super::containers::each_container;
use crate::core::pod::app_armor_profile::ANNOTATION as APP_ARMOR;
use crate::core::volume_sources::paths;
use crate::framework::validation::Cursor;

const SECCOMP_OF_POD: &str = "seccomp.security.alpha.kubernetes.io/pod";
/// Before the name of a container.
const SECCOMP: &str = "container.seccomp.security.alpha.kubernetes.io/";
const LOCALHOST: &str = "localhost/";
const PROFILE: &[&str] = &["securityContext", "appArmorProfile"];

/// Checks the values of seccomp annotations. The reference's errors name a key as if it were a field.
pub(super) fn seccomp_values(annotations: &Cursor<'_, '_>) {
    let of_pod = annotations.field(SECCOMP_OF_POD);
    if of_pod.is_set() {
        seccomp_value(&of_pod);
    }
    for (key, _) in annotations.entries().filter(|(key, _)| key.starts_with(SECCOMP)) {
        seccomp_value(&annotations.field(key));
    }
}

fn seccomp_value(annotation: &Cursor<'_, '_>) {
    match annotation.text() {
        "runtime/default" | "docker/default" | "unconfined" => {}
        profile => match profile.strip_prefix(LOCALHOST) {
            Some(file) => paths::local_descending(&annotation.with_value(&Value::string(file))),
            None => annotation.invalid(profile, "must be a valid seccomp profile"),
        },
    }
}

/// Checks keys and values of AppArmor annotations, of a pod with this spec.
pub(super) fn app_armor_values(annotations: &Cursor<'_, '_>, spec: &Cursor<'_, '_>) {
    let mut names = None;
    for (key, annotation) in annotations.entries() {
        let Some(container) = key.strip_prefix(APP_ARMOR) else { continue };
        let names: &HashSet<&str> = names.get_or_insert_with(|| container_names(spec));
        if !names.contains(container) {
            annotation.invalid(container, "container not found");
        }
        let profile = annotation.text();
        let is_known = matches!(profile, "" | "runtime/default" | "unconfined");
        if !is_known && !profile.starts_with(LOCALHOST) {
            let shown = quote(profile);
            annotation.invalid(profile, format!("invalid AppArmor profile name: {shown}"));
        }
    }
}

fn container_names<'v>(spec: &Cursor<'_, 'v>) -> HashSet<&'v str> {
    let mut names = HashSet::new();
    each_container(spec, |container| {
        names.insert(container.field("name").text());
    });
    names
}

/// Checks that seccomp annotations agree with fields, where both are given.
pub(super) fn seccomp(annotations: &Cursor<'_, '_>, spec: &Cursor<'_, '_>) {
    let check = |key: &str, owner: &Cursor<'_, '_>| {
        let context = owner.field("securityContext");
        let profile = context.field("seccompProfile");
        if let Some(annotation) = annotations.key(key).optional_text().filter(|_| profile.is_set()) {
            let is_runtime = matches!(annotation, "runtime/default" | "docker/default");
            agree(&profile, profile.value(), annotation, is_runtime, "seccomp");
        }
    };
    check(SECCOMP_OF_POD, spec);
    if annotations.entries().any(|(key, _)| key.starts_with(SECCOMP)) {
        each_container(spec, |container| {
            check(&format!("{SECCOMP}{}", container.field("name").text()), container);
        });
    }
}

/// Checks that AppArmor annotations agree with fields, where both are given. A container without a profile has that of the pod.
pub(super) fn app_armor(annotations: &Cursor<'_, '_>, spec: &Cursor<'_, '_>) {
    let is_concerned = annotations.entries().any(|(key, _)| key.starts_with(APP_ARMOR));
    if !is_concerned || spec.at(&["os", "name"]).text() == "windows" {
        return;
    }
    let of_pod = spec.value().at(PROFILE);
    each_container(spec, |container| {
        let key = format!("{APP_ARMOR}{}", container.field("name").text());
        let profile = container.value().at(PROFILE).or(of_pod);
        if let Some((profile, annotation)) = profile.zip(annotations.key(&key).optional_text()) {
            let is_runtime = annotation == "runtime/default";
            // Reported at the container in any case.
            agree(&container.at(PROFILE), profile, annotation, is_runtime, "apparmor");
        }
    });
}

/// Checks that a profile is the same as that of an annotation, and reports below `at`.
fn agree(at: &Cursor<'_, '_>, profile: &Value, annotation: &str, is_runtime: bool, what: &str) {
    let is_same_type = match profile.text_at(&["type"]) {
        "Unconfined" => annotation == "unconfined",
        "RuntimeDefault" => is_runtime,
        "Localhost" => match annotation.strip_prefix(LOCALHOST) {
            Some(file) => {
                if profile.get("localhostProfile").and_then(Value::as_str) != Some(file) {
                    let why = format!("{what} profile in annotation and field must match");
                    at.field("localhostProfile").forbidden(why);
                }
                true
            }
            None => false,
        },
        _ => true,
    };
    if !is_same_type {
        at.field("type").forbidden(format!("{what} type in annotation and field must match"));
    }
}

#[cfg(test)]
mod tests;
