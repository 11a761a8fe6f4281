//! Validation of `pods/resize`: containers keep what they are and get more or less CPU and memory.

use pintle_meta::Value;
use pintle_meta::field_path::{Error, Path, Value as Printed};
use pintle_meta::value::{Key, Object};

use super::quality_of_service;
use super::validation::options::is_sidecar;
use super::validation::{self, Options, annotations};
use crate::framework::conversion::build;
use crate::framework::semantic::is_same_as;
use crate::framework::strategy::tree;
use crate::framework::validation::Cursor;

const CONTAINER: &str = "core/v1.Container";

const ONLY_CPU_AND_MEMORY: &str = "only cpu and memory resources are mutable";

/// Checks a resized pod, beside its metadata.
pub(crate) fn resize(pod: &Cursor<'_, '_>, options: &Options) {
    let old = pod.before();
    let whole = |why: &str| pod.report([Error::forbidden(&Path::new(""), why)]);
    if old.at(&["metadata", "annotations", annotations::MIRROR]).is_set() {
        return whole("static pods cannot be resized");
    }
    if old.at(&["spec", "os", "name"]).text() == "windows" {
        return whole("windows pods cannot be resized");
    }
    let errors = pod.error_count();
    validation::annotations_and_spec(pod, options);
    let spec = pod.field("spec");
    let class =
        |pod: &Cursor<'_, '_>| quality_of_service(pod.field("spec").value(), options.pod_level_resources);
    let before = match old.at(&["status", "qosClass"]).text() {
        "" => class(&old),
        known => known,
    };
    if before != class(pod) {
        let shown = Printed::json(pod.at(&["status", "qosClass"]).text());
        spec.invalid(shown, "Pod QOS Class may not change as a result of resizing");
    }
    if !is_supported(old.value()) {
        spec.forbidden("Pod running on node without support for resize");
    }
    let mut masked = spec.value().clone();
    if has_own_resources(pod) || has_own_resources(&old) {
        if !options.in_place_pod_level_resources {
            return whole(
                "resize of pods with pod-level resources is forbidden when InPlacePodLevelResourcesVerticalScalingEnabled feature gate is disabled",
            );
        }
        pod_level(&spec, &mut masked);
    }
    if !old.at(&["status", "nodeAllocatableResourceClaimStatuses"]).is_empty() {
        spec.forbidden("pods with node allocatable resource claims cannot be resized");
    }
    if !has_same_containers(&spec) {
        return;
    }
    for list in ["initContainers", "containers"] {
        spec.field(list).each(|container| {
            let is_init = list == "initContainers";
            if is_init && !options.resize_init_containers && !is_sidecar(container.before().value()) {
                return;
            }
            let resources = container.field("resources");
            keeps_all(&resources.field("requests"), "resource requests cannot be removed");
            keeps_all(&resources.field("limits"), "resource limits cannot be removed");
        });
    }
    let containers = spec.field("containers");
    containers.each(|container| {
        if !is_same_as(
            CONTAINER,
            Some(&masked_container(container)),
            container.before().is_set().then(|| container.before().value()),
        ) {
            spec.forbidden(ONLY_CPU_AND_MEMORY);
        }
    });
    set_list(&mut masked, "containers", containers.items().map(|container| masked_container(&container)));
    let containers = spec.field("initContainers");
    let init =
        containers.items().map(|container| init_container(&spec, &container, options)).collect::<Vec<_>>();
    set_list(&mut masked, "initContainers", init.into_iter());
    if pod.error_count() == errors
        && !is_same_as("core/v1.PodSpec", Some(&masked), Some(spec.before().value()))
    {
        spec.forbidden(ONLY_CPU_AND_MEMORY);
    }
}

/// Checks an init container, and returns it masked if it can be resized.
fn init_container(spec: &Cursor<'_, '_>, container: &Cursor<'_, '_>, options: &Options) -> Value {
    let (new, old) = (container.value(), container.before().value());
    let is_changed = !is_same_as(CONTAINER, Some(new), Some(old));
    if !options.resize_init_containers && !is_sidecar(new) {
        if is_changed {
            spec.forbidden("resources for non-sidecar init containers are immutable");
        }
        return new.clone();
    }
    let masked = masked_container(container);
    if !is_same_as(CONTAINER, Some(&masked), Some(old)) {
        container.forbidden("only cpu and memory resources for init or sidecar containers are mutable");
    }
    if is_changed && !is_sidecar(new) {
        let policies = new.items_at(&["resizePolicy"]).iter();
        for _ in policies.filter(|policy| policy.text_at(&["restartPolicy"]) == "RestartContainer") {
            container.forbidden(
                "non-sidecar init containers with a resize policy of RestartContainer cannot be resized",
            );
        }
    }
    masked
}

/// Whether the pod's node can resize it. The first container that runs tells.
fn is_supported(pod: &Value) -> bool {
    let mut statuses = pod.items_at(&["status", "containerStatuses"]).iter();
    let running = statuses.find(|status| status.at(&["state", "running"]).is_some());
    running.is_none_or(|status| status.get("resources").is_some())
}

fn has_own_resources(pod: &Cursor<'_, '_>) -> bool {
    ["requests", "limits"].iter().any(|kind| !pod.at(&["spec", "resources", kind]).is_empty())
}

/// Checks the resources of the pod as a whole. What may change of them is as before in the masked spec.
fn pod_level(spec: &Cursor<'_, '_>, masked: &mut Value) {
    let resources = spec.field("resources");
    let old = resources.before();
    if old.is_set() {
        if !resources.is_set() {
            return resources.forbidden("pod-level resources cannot be removed");
        }
        keeps_all(&resources.field("requests"), "pod-level resource requests cannot be removed");
        keeps_all(&resources.field("limits"), "pod-level resource limits cannot be removed");
    }
    if resources.is_set() {
        let mut kept = resources.value().clone();
        for kind in ["requests", "limits"] {
            match mask(&resources.field(kind)) {
                Some(amounts) => set(&mut kept, kind, amounts),
                None => remove(&mut kept, kind),
            }
        }
        let is_nothing = ["requests", "limits"].iter().all(|kind| kept.get(kind).is_none())
            && resources.field("claims").is_empty();
        if !old.is_set() && is_nothing {
            remove(masked, "resources");
        } else {
            set(masked, "resources", kept);
        }
    }
    if !is_same_as("core/v1.ResourceRequirements", masked.get("resources"), old.is_set().then(|| old.value()))
    {
        spec.forbidden("only cpu and memory resources are mutable at pod-level");
    }
}

/// Checks that containers did not come, go, or change their names or places.
fn has_same_containers(spec: &Cursor<'_, '_>) -> bool {
    let errors = spec.error_count();
    for list in ["containers", "initContainers"] {
        let containers = spec.field(list);
        if containers.len() != containers.before().len() {
            containers.forbidden(format!("{list} may not be added or removed on resize"));
            continue;
        }
        containers.each(|container| {
            let name = container.field("name");
            if name.text() != name.before().text() {
                name.forbidden(format!("{list} may not be renamed or reordered on resize"));
            }
        });
    }
    spec.error_count() == errors
}

/// Checks that all amounts that were asked for still are.
fn keeps_all(amounts: &Cursor<'_, '_>, why: &str) {
    let mut before = amounts.before().map().into_iter().flat_map(Object::keys);
    if !before.all(|name| amounts.key(name).is_set()) {
        amounts.forbidden(why);
    }
}

/// Returns a container with the CPU and memory that it had; it has no claims then, as the reference has it.
fn masked_container(container: &Cursor<'_, '_>) -> Value {
    let kept = |kind: &str| mask(&container.at(&["resources", kind]));
    let resources =
        build("core/v1.ResourceRequirements", [("limits", kept("limits")), ("requests", kept("requests"))]);
    let mut masked = container.value().clone();
    tree::set(&mut masked, &["resources"], resources);
    masked
}

/// Returns amounts with the CPU and memory that were there; `None` where there are none.
fn mask(amounts: &Cursor<'_, '_>) -> Option<Value> {
    let mut masked = amounts.map().cloned().unwrap_or_default();
    for name in ["cpu", "memory"] {
        match amounts.before().map().and_then(|old| old.get(name)) {
            Some(amount) => masked.insert(Key::new_static(name), amount.clone()),
            None => masked.remove(name),
        };
    }
    (!masked.is_empty()).then(|| Value::object(masked))
}

fn set_list(spec: &mut Value, list: &'static str, containers: impl Iterator<Item = Value>) {
    let containers: Vec<Value> = containers.collect();
    if !containers.is_empty() {
        set(spec, list, Value::list(containers));
    }
}

fn set(object: &mut Value, field: &'static str, value: Value) {
    if let Some(object) = object.as_object_mut() {
        object.insert(Key::new_static(field), value);
    }
}

fn remove(object: &mut Value, field: &str) {
    if let Some(object) = object.as_object_mut() {
        object.remove(field);
    }
}

#[cfg(test)]
mod tests;
