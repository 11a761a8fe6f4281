//! What requests for a part of a pod may change of it: `pods/ephemeralcontainers` and `pods/resize`.

use std::collections::HashMap;

use pintle_meta::field_path::{self, Error, Path};
use pintle_meta::value::{Key, Object};
use pintle_meta::{Value, quote};
use pintle_schema::go;

use super::quality_of_service;
use crate::framework::conversion::build;
use crate::framework::strategy::tree;

/// Of a pod that a kubelet runs from a file, and only shows here.
pub(super) const MIRROR: &str = "kubernetes.io/config.mirror";

/// Ephemeral containers come, and stay as they are. Their order is not kept by patches and does not matter.
pub(crate) fn ephemeral_containers(new: &Value, old: &Value) -> Vec<Error> {
    const LIST: &[&str] = &["spec", "ephemeralContainers"];
    if old.annotation(MIRROR).is_some() {
        return vec![Error::forbidden(&Path::new(""), "static pods do not support ephemeral containers")];
    }
    let path = Path::new("spec");
    let path = path.child("ephemeralContainers");
    let mut errors = Vec::new();
    // The last of several of a name, which are wrong anyway.
    let named: HashMap<&str, &Value> =
        new.items_at(LIST).iter().map(|container| (container.text_at(&["name"]), container)).collect();
    for container in old.items_at(LIST) {
        let name = container.text_at(&["name"]);
        let refused = match named.get(name).copied() {
            None => "may not be removed\n".to_owned(),
            Some(found) if found == container => continue,
            Some(found) => {
                format!("may not be changed\n{}", go::diff("core.EphemeralContainer", container, found))
            }
        };
        errors.push(Error::forbidden(
            &path,
            format!("existing ephemeral containers {} {refused}", quote(name)),
        ));
    }
    errors
}

/// A resize gives the same containers more or less of what they have, as far as that is CPU and memory.
pub(crate) fn resize(new: &Value, old: &Value) -> Vec<Error> {
    let nowhere = Path::new("");
    if old.annotation(MIRROR).is_some() {
        return vec![Error::forbidden(&nowhere, "static pods cannot be resized")];
    }
    if old.text_at(&["spec", "os", "name"]) == "windows" {
        return vec![Error::forbidden(&nowhere, "windows pods cannot be resized")];
    }
    let spec = Path::new("spec");
    let mut errors = Vec::new();
    let class = |pod: &Value| pod.get("spec").map(quality_of_service).unwrap_or_default();
    let before = match old.text_at(&["status", "qosClass"]) {
        "" => class(old),
        known => known,
    };
    if before != class(new) {
        let shown = field_path::Value::json(new.text_at(&["status", "qosClass"]));
        errors.push(Error::invalid(&spec, shown, "Pod QOS Class may not change as a result of resizing"));
    }
    if !is_supported(old) {
        errors.push(Error::forbidden(&spec, "Pod running on node without support for resize"));
    }
    let mut masked = new.get("spec").cloned().unwrap_or_default();
    if has_own_resources(new) || has_own_resources(old) {
        errors.extend(pod_level(&mut masked, new, old, &spec));
    }
    if !old.items_at(&["status", "nodeAllocatableResourceClaimStatuses"]).is_empty() {
        errors.push(Error::forbidden(&spec, "pods with node allocatable resource claims cannot be resized"));
    }
    let moved = same_containers(new, old, &spec);
    if !moved.is_empty() {
        errors.extend(moved);
        return errors;
    }
    for list in ["initContainers", "containers"] {
        let path = spec.child(list);
        for (place, (new, old)) in pairs(new, old, list).enumerate() {
            let path = path.index(place);
            let path = path.child("resources");
            for (kind, what) in [("requests", "resource requests"), ("limits", "resource limits")] {
                if loses(new.at(&["resources", kind]), old.at(&["resources", kind])) {
                    errors.push(Error::forbidden(&path.child(kind), format!("{what} cannot be removed")));
                }
            }
        }
    }
    for list in ["containers", "initContainers"] {
        let path = spec.child(list);
        let mut containers = Vec::new();
        for (place, (new, old)) in pairs(new, old, list).enumerate() {
            let path = path.index(place);
            let container = masked_container(new, old);
            let is_init = list == "initContainers";
            if container != *old {
                errors.push(match is_init {
                    false => Error::forbidden(&spec, "only cpu and memory resources are mutable"),
                    true => Error::forbidden(
                        &path,
                        "only cpu and memory resources for init or sidecar containers are mutable",
                    ),
                });
            }
            if is_init && new != old && new.text_at(&["restartPolicy"]) != "Always" {
                let why =
                    "non-sidecar init containers with a resize policy of RestartContainer cannot be resized";
                let policies = new.items_at(&["resizePolicy"]).iter();
                let restarts =
                    policies.filter(|policy| policy.text_at(&["restartPolicy"]) == "RestartContainer");
                errors.extend(restarts.map(|_| Error::forbidden(&path, why)));
            }
            containers.push(container);
        }
        if !containers.is_empty()
            && let Some(masked) = masked.as_object_mut()
        {
            masked.insert(Key::new_static(list), containers);
        }
    }
    if errors.is_empty() && old.get("spec").is_some_and(|old| *old != masked) {
        errors.push(Error::forbidden(&spec, "only cpu and memory resources are mutable"));
    }
    errors
}

/// Whether the pod's node can do it. It says so with the first container that runs.
fn is_supported(pod: &Value) -> bool {
    let mut statuses = pod.items_at(&["status", "containerStatuses"]).iter();
    let running = statuses.find(|status| status.at(&["state", "running"]).is_some());
    running.is_none_or(|status| status.get("resources").is_some())
}

fn has_own_resources(pod: &Value) -> bool {
    ["requests", "limits"].iter().any(|kind| !is_empty(pod.at(&["spec", "resources", kind])))
}

fn is_empty(list: Option<&Value>) -> bool {
    list.and_then(Value::as_object).is_none_or(Object::is_empty)
}

/// Of the resources of the pod as a whole. What may change of them is as before in the masked spec.
fn pod_level(masked: &mut Value, new: &Value, old: &Value, spec: &Path<'_>) -> Vec<Error> {
    const OWN: &[&str] = &["spec", "resources"];
    let path = spec.child("resources");
    let mut errors = Vec::new();
    if let Some(old) = old.at(OWN) {
        let Some(new) = new.at(OWN) else {
            return vec![Error::forbidden(&path, "pod-level resources cannot be removed")];
        };
        for (kind, what) in [("requests", "resource requests"), ("limits", "resource limits")] {
            if loses(new.get(kind), old.get(kind)) {
                errors
                    .push(Error::forbidden(&path.child(kind), format!("pod-level {what} cannot be removed")));
            }
        }
    }
    if let Some(new) = new.at(OWN) {
        let mut resources = new.clone();
        let kept = ["requests", "limits"].map(|kind| {
            let kept = mask(new.get(kind), old.at(&["spec", "resources", kind]));
            match &kept {
                Some(kept) => set(&mut resources, kind, kept.clone()),
                None => remove(&mut resources, kind),
            }
            kept.is_some()
        });
        let is_nothing = kept == [false, false] && new.items_at(&["claims"]).is_empty();
        if old.at(OWN).is_none() && is_nothing {
            remove(masked, "resources");
        } else {
            set(masked, "resources", resources);
        }
    }
    if masked.get("resources") != old.at(OWN) {
        errors.push(Error::forbidden(spec, "only cpu and memory resources are mutable at pod-level"));
    }
    errors
}

/// Containers may not come, go, or change their names or places.
fn same_containers(new: &Value, old: &Value, spec: &Path<'_>) -> Vec<Error> {
    let mut errors = Vec::new();
    for list in ["containers", "initContainers"] {
        let path = spec.child(list);
        if new.items_at(&["spec", list]).len() != old.items_at(&["spec", list]).len() {
            errors.push(Error::forbidden(&path, format!("{list} may not be added or removed on resize")));
            continue;
        }
        for (place, (new, old)) in pairs(new, old, list).enumerate() {
            if new.text_at(&["name"]) != old.text_at(&["name"]) {
                let path = path.index(place);
                let why = format!("{list} may not be renamed or reordered on resize");
                errors.push(Error::forbidden(&path.child("name"), why));
            }
        }
    }
    errors
}

fn pairs<'v>(new: &'v Value, old: &'v Value, list: &str) -> impl Iterator<Item = (&'v Value, &'v Value)> {
    new.items_at(&["spec", list]).iter().zip(old.items_at(&["spec", list]))
}

/// Whether something that was asked for is not any more.
fn loses(new: Option<&Value>, old: Option<&Value>) -> bool {
    let old = old.and_then(Value::as_object);
    let has = |name: &str| new.is_some_and(|new| new.get(name).is_some());
    old.is_some_and(|old| !old.keys().all(has))
}

/// A container with the CPU and memory that it had; it has no claims then, as the reference has it.
fn masked_container(new: &Value, old: &Value) -> Value {
    let kept = |kind: &str| mask(new.at(&["resources", kind]), old.at(&["resources", kind]));
    let resources =
        build("core/v1.ResourceRequirements", [("limits", kept("limits")), ("requests", kept("requests"))]);
    let mut container = new.clone();
    tree::set(&mut container, &["resources"], resources);
    container
}

/// Amounts with the CPU and memory that were there; `None` where there are none.
fn mask(new: Option<&Value>, old: Option<&Value>) -> Option<Value> {
    let mut amounts = new.and_then(Value::as_object).cloned().unwrap_or_default();
    for name in ["cpu", "memory"] {
        match old.and_then(|old| old.get(name)) {
            Some(amount) => drop(amounts.insert(Key::new_static(name), amount.clone())),
            None => drop(amounts.remove(name)),
        }
    }
    (!amounts.is_empty()).then(|| Value::object(amounts))
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
mod tests {
    use pintle_codec::json;
    use pintle_meta::field_path::aggregate;

    use super::*;

    fn pod(text: &str) -> Value {
        json::decode(pintle_schema::find("core/v1.Pod").unwrap(), text.as_bytes()).unwrap().value
    }

    fn with_debugger(image: &str) -> Value {
        pod(&format!(r#"{{"spec":{{"ephemeralContainers":[{{"name":"d","image":"{image}"}}]}}}}"#))
    }

    #[test]
    fn ephemeral_containers_stay_as_they_are() {
        let old = with_debugger("i");
        let more = pod(r#"{"spec":{"ephemeralContainers":[{"name":"e"},{"name":"d","image":"i"}]}}"#);
        assert_eq!(ephemeral_containers(&more, &old), []);
        assert_eq!(
            aggregate(&ephemeral_containers(&pod("{}"), &old)),
            "spec.ephemeralContainers: Forbidden: existing ephemeral containers \"d\" may not be removed\n"
        );
        let changed = aggregate(&ephemeral_containers(&with_debugger("j"), &old));
        assert!(
            changed.starts_with(
                "spec.ephemeralContainers: Forbidden: existing ephemeral containers \"d\" may not be changed\n@@ -1,6 +1,6 @@\n"
            ),
            "{changed}"
        );
        assert!(changed.contains("\n- \"Image\": \"i\",\n+ \"Image\": \"j\",\n"), "{changed}");
        let mirrored = pod(r#"{"metadata":{"annotations":{"kubernetes.io/config.mirror":"x"}}}"#);
        let refused = ephemeral_containers(&more, &mirrored);
        assert!(aggregate(&refused).contains("static pods do not support ephemeral containers"));
    }

    /// What is wrong with a resize from one spec to another, of a pod with a status.
    fn resized(old: &str, new: &str, status: &str) -> String {
        let with = |spec: &str| pod(&format!(r#"{{"spec":{spec},"status":{status}}}"#));
        aggregate(&resize(&with(new), &with(old)))
    }

    fn container(resources: &str) -> String {
        format!(r#"{{"containers":[{{"name":"c","image":"i","resources":{resources}}}]}}"#)
    }

    #[test]
    fn cpu_and_memory_may_change_within_the_class() {
        let old = container(r#"{"requests":{"cpu":"1"},"limits":{"cpu":"2","memory":"1Gi"}}"#);
        let burstable = r#"{"qosClass":"Burstable"}"#;
        for (new, expect) in [
            (r#"{"requests":{"cpu":"500m"},"limits":{"cpu":"3","memory":"2Gi"}}"#, ""),
            (r#"{"requests":{"cpu":"500m","memory":"1Gi"},"limits":{"cpu":"3","memory":"2Gi"}}"#, ""),
            (
                r#"{"requests":{"cpu":"1","memory":"1Gi"},"limits":{"cpu":"1","memory":"1Gi"}}"#,
                r#"spec: Invalid value: "Burstable": Pod QOS Class may not change as a result of resizing"#,
            ),
            (
                r#"{"requests":{"cpu":"1"},"limits":{"cpu":"2","memory":"1Gi","example.com/x":"1"}}"#,
                "spec: Forbidden: only cpu and memory resources are mutable",
            ),
            (
                r#"{"limits":{"cpu":"2"}}"#,
                "[spec.containers[0].resources.requests: Forbidden: resource requests cannot be removed, \
                 spec.containers[0].resources.limits: Forbidden: resource limits cannot be removed]",
            ),
        ] {
            assert_eq!(resized(&old, &container(new), burstable), expect, "{new}");
        }
        let running = r#"{"qosClass":"Burstable","containerStatuses":[{"name":"c","state":{"running":{}}}]}"#;
        assert_eq!(
            resized(&old, &old, running),
            "spec: Forbidden: Pod running on node without support for resize"
        );
    }

    #[test]
    fn containers_keep_their_places() {
        let spec = |names: [&str; 2]| {
            format!(r#"{{"containers":[{{"name":"{}"}},{{"name":"{}"}}]}}"#, names[0], names[1])
        };
        let none = r#"{"qosClass":"BestEffort"}"#;
        assert_eq!(
            resized(&spec(["a", "b"]), &spec(["b", "b"]), none),
            "spec.containers[0].name: Forbidden: containers may not be renamed or reordered on resize"
        );
        assert_eq!(
            resized(
                &spec(["a", "b"]),
                r#"{"containers":[{"name":"a"}],"initContainers":[{"name":"i"}]}"#,
                none
            ),
            "[spec.containers: Forbidden: containers may not be added or removed on resize, \
             spec.initContainers: Forbidden: initContainers may not be added or removed on resize]"
        );
    }

    #[test]
    fn what_belongs_to_the_whole_pod_may_change_in_the_same_way() {
        let spec = |resources: &str| {
            format!(r#"{{"containers":[{{"name":"c"}}],"resources":{{"requests":{resources}}}}}"#)
        };
        let status = r#"{"qosClass":"Burstable"}"#;
        let old = spec(r#"{"cpu":"1"}"#);
        assert_eq!(resized(&old, &spec(r#"{"cpu":"2"}"#), status), "");
        assert_eq!(
            resized(&old, &spec(r#"{"memory":"1Gi"}"#), status),
            "spec.resources.requests: Forbidden: pod-level resource requests cannot be removed"
        );
        assert_eq!(
            resized(&old, &spec(r#"{"cpu":"1","hugepages-2Mi":"2Mi"}"#), status),
            "spec: Forbidden: only cpu and memory resources are mutable at pod-level"
        );
        let plain = r#"{"containers":[{"name":"c"}]}"#;
        assert!(
            resized(&old, plain, status)
                .contains("spec.resources: Forbidden: pod-level resources cannot be removed")
        );
        assert_eq!(resized(plain, &old, r#"{"qosClass":"Burstable"}"#), "");
    }
}
