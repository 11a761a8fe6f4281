//! Fields of pods that belong to features that are off. They are dropped on writes unless the old object uses them.
//!
//! Features whose gates cannot be changed any more are always on, and have no fields here.

use pintle_features::{Feature, Features};
use pintle_meta::{Object, Value};

use super::validation::options::{has_env_file, has_restart_rules, is_sidecar};
use super::{CONTAINERS, containers};
use crate::framework::strategy::tree;

const STATUSES: [tree::Path; 3] = [
    &["status", "containerStatuses"],
    &["status", "initContainerStatuses"],
    &["status", "ephemeralContainerStatuses"],
];
const HEALTH: tree::Path = &["allocatedResourcesStatus"];

/// Drops fields of a pod's spec.
pub(crate) fn drop_from_spec(features: &Features, spec: &mut Value, old: Option<&Value>) {
    let is_off = |feature| !features.enabled(feature);
    let old_has = |has: fn(&Value) -> bool| old.is_some_and(has);
    if is_off(Feature::PodLevelResources) && !old_has(has_own_resources) {
        tree::remove(spec, &["resources"]);
    }
    if is_off(Feature::MatchLabelKeysInPodTopologySpread) && !old_has(spreads_by_label_keys) {
        for constraint in tree::items_mut(spec, &["topologySpreadConstraints"], has_match_label_keys) {
            tree::remove(constraint, &["matchLabelKeys"]);
        }
    }
    if is_off(Feature::ClusterTrustBundleProjection) {
        drop_projection(spec, old, "clusterTrustBundle");
    }
    if is_off(Feature::PodCertificateRequest) {
        drop_projection(spec, old, "podCertificate");
    }
    if is_off(Feature::GenericWorkload) && !old_has(|old| old.get("schedulingGroup").is_some()) {
        tree::remove(spec, &["schedulingGroup"]);
    }
    if is_off(Feature::ContainerRestartRules) && !old_has(has_restart_rules) {
        drop_restart_rules(spec);
    }
    if is_off(Feature::HostnameOverride) && !old_has(|old| old.get("hostnameOverride").is_some()) {
        tree::remove(spec, &["hostnameOverride"]);
    }
    if is_off(Feature::EnvFiles) && !old_has(|old| containers(old).any(has_env_file)) {
        drop_env_files(spec);
    }
    if is_off(Feature::ContainerStopSignals) && !old_has(|old| containers(old).any(has_stop_signal)) {
        drop_stop_signals(spec);
    }
}

/// [`drop_from_spec`] for a template for pods, if there is one at a path.
pub(crate) fn drop_from_template(
    features: &Features,
    new: &mut Value,
    old: Option<&Value>,
    path: tree::Path,
) {
    let old = old.and_then(|old| old.at(path)?.get("spec"));
    if let Some(spec) = new.at_mut(path).and_then(|template| template.get_mut("spec")) {
        drop_from_spec(features, spec, old);
    }
}

/// Drops fields of a pod's status, given the whole pods.
pub(crate) fn drop_from_status(features: &Features, new: &mut Value, old: &Value) {
    let is_off = |feature| !features.enabled(feature);
    let old_has =
        |has: &dyn Fn(&Value) -> bool| STATUSES.iter().any(|path| old.items_at(path).iter().any(has));
    let is_unused = |path: tree::Path| old.at(path).is_none();
    const OWN: [tree::Path; 2] = [&["status", "resources"], &["status", "allocatedResources"]];
    if is_off(Feature::InPlacePodLevelResourcesVerticalScaling) && OWN.into_iter().all(is_unused) {
        OWN.into_iter().for_each(|path| tree::remove(new, path));
    }
    for (feature, path) in [
        (Feature::DRAExtendedResource, &["status", "extendedResourceClaimStatus"]),
        (Feature::DRANodeAllocatableResources, &["status", "nodeAllocatableResourceClaimStatuses"]),
    ] {
        if is_off(feature) && is_unused(path) {
            tree::remove(new, path);
        }
    }
    let has_health = |status: &Value| !status.items_at(HEALTH).is_empty();
    if is_off(Feature::ResourceHealthStatus) && !old_has(&has_health) {
        for_statuses(new, has_health, |status| tree::remove(status, HEALTH));
    }
    if is_off(Feature::ResourceHealthStatusMessage) && !old_has(&has_health_message) {
        for_statuses(new, has_health_message, |status| {
            for resource in tree::items_mut(status, HEALTH, |_| true) {
                for device in tree::items_mut(resource, &["resources"], |_| true) {
                    tree::remove(device, &["message"]);
                }
            }
        });
    }
    let is_of_volume = |mount: &Value| mount.get("volumeStatus").is_some();
    let has_volume = |status: &Value| status.items_at(&["volumeMounts"]).iter().any(is_of_volume);
    if is_off(Feature::ImageVolumeWithDigest) && !old_has(&has_volume) {
        for_statuses(new, has_volume, |status| {
            for mount in tree::items_mut(status, &["volumeMounts"], is_of_volume) {
                tree::remove(mount, &["volumeStatus"]);
            }
        });
    }
}

fn for_statuses(pod: &mut Value, wanted: impl Fn(&Value) -> bool + Copy, change: impl Fn(&mut Value)) {
    for path in STATUSES {
        tree::items_mut(pod, path, wanted).for_each(&change);
    }
}

fn has_health_message(status: &Value) -> bool {
    let mut devices = status.items_at(HEALTH).iter().flat_map(|resource| resource.items_at(&["resources"]));
    devices.any(|device| device.get("message").is_some())
}

fn has_own_resources(spec: &Value) -> bool {
    let amounts = |kind: &str| spec.at(&["resources", kind]).and_then(Value::as_object);
    ["requests", "limits"].iter().any(|kind| amounts(kind).is_some_and(|amounts| !amounts.is_empty()))
}

fn has_match_label_keys(constraint: &Value) -> bool {
    !constraint.items_at(&["matchLabelKeys"]).is_empty()
}

fn spreads_by_label_keys(spec: &Value) -> bool {
    spec.items_at(&["topologySpreadConstraints"]).iter().any(has_match_label_keys)
}

fn drop_restart_rules(spec: &mut Value) {
    for list in CONTAINERS {
        let keeps_policy = |container: &Value| list == "initContainers" && is_sidecar(container);
        let is_concerned = |container: &Value| {
            container.get("restartPolicyRules").is_some()
                || (container.get("restartPolicy").is_some() && !keeps_policy(container))
        };
        for container in tree::items_mut(spec, &[list], is_concerned) {
            tree::remove(container, &["restartPolicyRules"]);
            if !keeps_policy(container) {
                tree::remove(container, &["restartPolicy"]);
            }
        }
    }
}

fn drop_env_files(spec: &mut Value) {
    const FILE: tree::Path = &["valueFrom", "fileKeyRef"];
    for list in CONTAINERS {
        for container in tree::items_mut(spec, &[list], has_env_file) {
            for variable in tree::items_mut(container, &["env"], |variable| variable.at(FILE).is_some()) {
                tree::remove(variable, FILE);
            }
        }
    }
}

const SIGNAL: tree::Path = &["lifecycle", "stopSignal"];

fn has_stop_signal(container: &Value) -> bool {
    container.at(SIGNAL).is_some()
}

fn drop_stop_signals(spec: &mut Value) {
    for list in CONTAINERS {
        for container in tree::items_mut(spec, &[list], has_stop_signal) {
            tree::remove(container, SIGNAL);
            if container.get("lifecycle").and_then(Value::as_object).is_some_and(Object::is_empty) {
                tree::remove(container, &["lifecycle"]);
            }
        }
    }
}

fn drop_projection(spec: &mut Value, old: Option<&Value>, source: &'static str) {
    const SOURCES: tree::Path = &["projected", "sources"];
    let has = |volume: &Value| volume.items_at(SOURCES).iter().any(|found| found.get(source).is_some());
    if old.is_some_and(|old| old.items_at(&["volumes"]).iter().any(has)) {
        return;
    }
    for volume in tree::items_mut(spec, &["volumes"], has) {
        for found in tree::items_mut(volume, SOURCES, |found| found.get(source).is_some()) {
            if let Some(found) = found.as_object_mut() {
                found.remove(source);
            }
        }
    }
}

#[cfg(test)]
mod tests;
