//! Validation of the statuses of containers in the status of a pod.

use std::collections::{HashMap, HashSet};

use pintle_meta::Value;
use pintle_meta::field_path::Value as Printed;
use pintle_meta::validation::{group_id, user_id};

use super::validation::Options;
use super::validation::options::is_sidecar;
use crate::framework::validation::Cursor;

const MAX_HEALTH_MESSAGE: usize = 1024;
const MAX_IMAGE_REFERENCE: usize = 256;

/// A list of statuses, and the list of containers in the spec that it is about.
const LISTS: [(&str, &str); 3] = [
    ("containerStatuses", "containers"),
    ("initContainerStatuses", "initContainers"),
    ("ephemeralContainerStatuses", "ephemeralContainers"),
];

/// Checks that no container left its terminated state, those aside that are restarted. `spec` is the old one.
pub(super) fn transitions(status: &Cursor<'_, '_>, spec: &Value, options: &Options) {
    for (statuses, containers) in LISTS {
        let statuses = status.field(statuses);
        let is_ephemeral = containers == "ephemeralContainers";
        if statuses.is_empty() || statuses.before().is_empty() {
            continue;
        }
        let uses_rules = options.allow_container_restart_rules && !is_ephemeral;
        if uses_rules && options.allow_restart_all_containers && restarts_all(spec) {
            continue;
        }
        let mut named = HashMap::new();
        for container in spec.items_at(&[containers]) {
            named.entry(container.text_at(&["name"])).or_insert(container);
        }
        // Number of statuses that are not terminated, by name.
        let mut running: HashMap<&str, usize> = HashMap::new();
        for status in statuses.values().iter().filter(|status| terminated(status).is_none()) {
            *running.entry(status.text_at(&["name"])).or_default() += 1;
        }
        for (place, old) in statuses.before().values().iter().enumerate() {
            let Some(state) = terminated(old) else { continue };
            let exit_code = state.get("exitCode").and_then(Value::as_i64).unwrap_or_default();
            let (name, container) = (old.text_at(&["name"]), named.get(old.text_at(&["name"])).copied());
            let (is_allowed, most) = if uses_rules {
                (container.is_some_and(|container| restarts(container, spec, exit_code)), 1)
            } else {
                let is_sidecar = containers == "initContainers" && container.is_some_and(is_sidecar);
                (!is_ephemeral && (is_sidecar || pod_restarts(spec, exit_code)), usize::MAX)
            };
            if is_allowed {
                continue;
            }
            for _ in 0..running.get(name).copied().unwrap_or_default().min(most) {
                let at = statuses.index(place);
                at.field("state").forbidden("may not be transitioned to non-terminated state");
            }
        }
    }
}

fn terminated(status: &Value) -> Option<&Value> {
    status.at(&["state", "terminated"])
}

/// Whether a container has a rule that restarts all of them.
fn restarts_all(spec: &Value) -> bool {
    let containers = ["initContainers", "containers"].iter().flat_map(|list| spec.items_at(&[list]));
    let mut rules = containers.flat_map(|container| container.items_at(&["restartPolicyRules"]));
    rules.any(|rule| rule.text_at(&["action"]) == "RestartAllContainers")
}

/// Whether the policy of the pod restarts containers that exited so; an unknown one does.
fn pod_restarts(spec: &Value, exit_code: i64) -> bool {
    match spec.text_at(&["restartPolicy"]) {
        "OnFailure" => exit_code != 0,
        "Never" => false,
        _ => true,
    }
}

/// Whether a container that exited so is restarted: by its rules, by its policy, or by that of its pod.
fn restarts(container: &Value, spec: &Value, exit_code: i64) -> bool {
    let policy = container.text_at(&["restartPolicy"]);
    if policy.is_empty() {
        return pod_restarts(spec, exit_code);
    }
    let mut rules = container.items_at(&["restartPolicyRules"]).iter();
    let rule = rules.find(|rule| {
        let codes = rule.items_at(&["exitCodes", "values"]);
        let has_code = codes.iter().any(|code| code.as_i64() == Some(exit_code));
        match rule.text_at(&["exitCodes", "operator"]) {
            "In" => has_code,
            "NotIn" => !has_code,
            _ => false,
        }
    });
    if rule.is_some_and(|rule| rule.text_at(&["action"]) == "Restart") {
        return true;
    }
    match policy {
        "Always" => true,
        "OnFailure" => exit_code != 0,
        "Never" => false,
        _ => pod_restarts(spec, exit_code),
    }
}

/// Checks the statuses of all containers: users, health of their devices, and volumes.
pub(super) fn statuses(status: &Cursor<'_, '_>, spec: &Value, options: &Options) {
    for (statuses, _) in LISTS {
        status.field(statuses).each(|status| user(&status.field("user"), spec.text_at(&["os", "name"])));
    }
    for (statuses, containers) in LISTS {
        let statuses = status.field(statuses);
        if containers == "ephemeralContainers" {
            statuses.each(|status| {
                let health = status.field("allocatedResourcesStatus");
                if !health.is_empty() {
                    health.forbidden("must not be specified in container status");
                }
            });
        } else {
            health_of_resources(&statuses, spec.items_at(&[containers]));
        }
    }
    if !options.allow_image_volume_digest {
        return;
    }
    for (statuses, _) in LISTS {
        status.field(statuses).each(|status| {
            status.field("volumeMounts").each(|mount| {
                image_volume(&mount.field("volumeStatus").at_as(&["image"], "imageVolumeStatus"));
            });
        });
    }
}

fn user(user: &Cursor<'_, '_>, os: &str) {
    let linux = user.field("linux");
    if !linux.is_set() {
        return;
    }
    match os {
        "windows" => linux.forbidden("cannot be set for a windows pod"),
        "linux" | "" => {
            linux.field("uid").integer_format(user_id);
            linux.field("gid").integer_format(group_id);
            linux.field("supplementalGroups").each(|group| group.integer_format(group_id));
        }
        _ => {}
    }
}

/// Checks the health of resources. Containers that are not in the spec are ignored.
fn health_of_resources(statuses: &Cursor<'_, '_>, containers: &[Value]) {
    if statuses.values().iter().all(|status| status.items_at(&["allocatedResourcesStatus"]).is_empty()) {
        return;
    }
    let mut named = HashMap::new();
    for container in containers {
        named.entry(container.text_at(&["name"])).or_insert(container);
    }
    statuses.each(|status| {
        let container = named.get(status.value().text_at(&["name"])).copied();
        let claims: HashSet<String> = container.map(claims).unwrap_or_default();
        status.field("allocatedResourcesStatus").each(|resource| {
            let name = resource.field("name");
            if let Some(container) = container {
                let (is_known, why) = if name.text().starts_with("claim:") {
                    let why = "must match one of the container's resource claims in a format 'claim:<claimName>/<request>' or 'claim:<claimName>' if request is empty";
                    (claims.contains(name.text()), why)
                } else {
                    let is_known = container.at(&["resources", "requests", name.text()]).is_some();
                    (is_known, "must match one of the container's resource requests")
                };
                if !is_known {
                    name.invalid(Printed::json(name.text()), why);
                }
            }
            let mut seen = HashSet::new();
            resource.field("resources").each(|device| {
                device.field("health").one_of(&["Healthy", "Unhealthy", "Unknown"]);
                let message = device.field("message");
                if message.is_set() && message.is_empty() {
                    message.required("must be non-empty if specified");
                } else if message.text().len() > MAX_HEALTH_MESSAGE {
                    message.too_long(MAX_HEALTH_MESSAGE);
                }
                let id = device.field("resourceID");
                if !seen.insert(id.text()) {
                    id.duplicate(Printed::json(id.text()));
                }
            });
        });
    });
}

/// Returns the names that claims of a container have in statuses.
fn claims(container: &Value) -> HashSet<String> {
    let claims = container.items_at(&["resources", "claims"]).iter();
    let name = |claim: &Value| match (claim.text_at(&["name"]), claim.text_at(&["request"])) {
        (name, "") => format!("claim:{name}"),
        (name, request) => format!("claim:{name}/{request}"),
    };
    claims.map(name).collect()
}

/// Checks the status of an image volume, which the reference names by its type.
fn image_volume(image: &Cursor<'_, '_>) {
    if !image.is_set() {
        return;
    }
    let reference = image.field("imageRef");
    if reference.is_empty() {
        reference.required("imageRef must not be empty");
    }
    if reference.text().len() > MAX_IMAGE_REFERENCE {
        reference.too_long(MAX_IMAGE_REFERENCE);
    }
}
