//! Containers of a pod: the regular ones, init containers with sidecars among them, and ephemeral ones.
//!
//! [`common`] has the rules of all three, in the reference's order. A file has the rules of one part of a container.

mod lifecycle;
mod ports;
mod probes;
pub(super) mod resources;
mod restart;
mod security_context;

use pintle_meta::Value;
use pintle_meta::validation::dns1123_label;

use super::{Facts, Options, env, mounts};
use crate::core::pod::CONTAINERS;
use crate::framework::validation::{Cursor, Seen};

const FOR_EPHEMERAL: &str = "cannot be set for an Ephemeral Container";
const FOR_INIT: &str = "may not be set for init containers without restartPolicy=Always";

/// Checks the containers of a pod.
pub(super) fn containers(containers: &Cursor<'_, '_>, facts: &Facts<'_>, options: &Options) {
    if containers.is_empty() {
        return containers.required("");
    }
    let mut names = Seen::new();
    for container in containers.items() {
        common(&container, facts, options);
        let name = container.field("name");
        if !names.insert(name.text()) {
            name.duplicate(name.text());
        }
        hooks(&container, facts);
        if options.allow_container_restart_rules {
            restart::policy(&container, options);
        } else if container.field("restartPolicy").is_set() {
            container.field("restartPolicy").forbidden("may not be set for non-init containers");
        }
    }
    ports::host_port_conflicts(containers);
}

/// Checks the init containers of a pod, at its spec.
pub(super) fn init_containers(spec: &Cursor<'_, '_>, facts: &Facts<'_>, options: &Options) {
    let containers = spec.field("initContainers");
    if containers.is_empty() {
        return;
    }
    let mut names: Seen<&str> = spec.field("containers").values().iter().map(name_of).collect();
    for container in containers.items() {
        common(&container, facts, options);
        restart::init_policy(&container, options);
        let name = container.field("name");
        if names.contains(name.text()) {
            name.duplicate(name.text());
        } else if !name.is_empty() {
            names.insert(name.text());
        }
        ports::own_host_port_conflicts(&containers, &container);
        let is_sidecar = container.field("restartPolicy").text() == "Always";
        if is_sidecar {
            hooks(&container, facts);
        } else {
            for field in ["lifecycle", "livenessProbe", "readinessProbe", "startupProbe"] {
                if container.field(field).is_set() {
                    container.field(field).forbidden(FOR_INIT);
                }
            }
        }
        resources::init_resize_policy(&container.field("resizePolicy"), is_sidecar, options);
    }
}

/// Checks the ephemeral containers of a pod, at its spec.
pub(super) fn ephemeral_containers(spec: &Cursor<'_, '_>, facts: &Facts<'_>, options: &Options) {
    let containers = spec.field("ephemeralContainers");
    if containers.is_empty() {
        return;
    }
    let (regular, init) = (spec.field("containers"), spec.field("initContainers"));
    let others: Seen<&str> = regular.values().iter().chain(init.values()).map(name_of).collect();
    let mut names: Seen<&str> = Seen::new();
    for container in containers.items() {
        common(&container, facts, options);
        trimmed_image(&container);
        let name = container.field("name");
        if others.contains(name.text()) || !names.insert(name.text()) {
            name.duplicate(name.text());
        }
        let target = container.field("targetContainerName");
        if !target.is_empty() && !others.contains(target.text()) {
            target.not_found(target.text());
        }
        for field in [
            "ports",
            "resources",
            "resizePolicy",
            "restartPolicy",
            "restartPolicyRules",
            "livenessProbe",
            "readinessProbe",
            "startupProbe",
            "lifecycle",
        ] {
            let value = container.field(field);
            let is_given = match field {
                // Always there; without any of their fields they count as not set.
                "resources" => {
                    ["limits", "requests", "claims"].iter().any(|name| value.field(name).is_given())
                }
                _ => value.is_given(),
            };
            if is_given {
                value.forbidden(FOR_EPHEMERAL);
            }
        }
        for mount in container.field("volumeMounts").items() {
            for field in ["subPath", "subPathExpr"] {
                if !mount.field(field).is_empty() {
                    mount.field(field).forbidden(FOR_EPHEMERAL);
                }
            }
        }
    }
}

/// Applies a rule to all containers of a spec, in the order in which the reference visits them.
pub(super) fn each_container<'v>(spec: &Cursor<'_, 'v>, mut rule: impl FnMut(&Cursor<'_, 'v>)) {
    for list in CONTAINERS {
        spec.field(list).each(&mut rule);
    }
}

fn trimmed_image(container: &Cursor<'_, '_>) {
    let image = container.field("image");
    if image.text().trim().len() != image.text().len() {
        image.invalid(image.text(), "must not have leading or trailing whitespace");
    }
}

fn name_of(container: &Value) -> &str {
    container.text_at(&["name"])
}

/// Checks the rules of all kinds of containers.
fn common(container: &Cursor<'_, '_>, facts: &Facts<'_>, options: &Options) {
    let name = container.field("name");
    if name.is_empty() {
        name.required("");
    } else {
        name.text_format(dns1123_label);
    }
    if container.field("image").is_empty() {
        container.field("image").required("");
    }
    container.field("terminationMessagePolicy").required_one_of(&["File", "FallbackToLogsOnError"]);
    ports::ports(&container.field("ports"));
    env::env(&container.field("env"), container, facts, options);
    env::env_from(&container.field("envFrom"), container, facts, options);
    mounts::volume_mounts(&container.field("volumeMounts"), container, facts, options);
    mounts::volume_devices(&container.field("volumeDevices"), container, facts, options);
    container.field("imagePullPolicy").required_one_of(&["Always", "IfNotPresent", "Never"]);
    resources::of_container(&container.field("resources"), facts, options);
    resources::resize_policy(&container.field("resizePolicy"), facts);
    security_context::security_context(&container.field("securityContext"), facts, options);
}

/// Checks lifecycle and probes, of containers that may have them.
fn hooks(container: &Cursor<'_, '_>, facts: &Facts<'_>) {
    lifecycle::lifecycle(&container.field("lifecycle"), facts);
    probes::liveness(&container.field("livenessProbe"), facts);
    probes::readiness(&container.field("readinessProbe"), facts);
    probes::startup(&container.field("startupProbe"), facts);
}

#[cfg(test)]
mod tests;
