//! Pods: their number, and the CPU, memory, storage and extended resources that they request and are limited to.

use std::collections::{BTreeMap, BTreeSet};

use pintle_features::{Feature, Features};
use pintle_meta::Value;
use pintle_meta::time::Time;

use crate::names::{HUGE_PAGES, REQUESTS, is_extended_in_quota, is_extended_or_device_class};
use crate::pod_resources::{Part, has_pod_level, of_pod};
use crate::resource_list::ResourceList;
use crate::scope::ScopeRequirement;

/// Counts pods in any state; `pods` only those that have not ended.
pub(super) const COUNT: &str = "count/pods";
const PODS: &str = "pods";

/// Resources that quotas limit by requests, under two names, and by limits.
const COMPUTE: [&str; 3] = ["cpu", "memory", "ephemeral-storage"];

pub(super) fn tracks(name: &str) -> bool {
    let compute = |name: &str| COMPUTE.contains(&name);
    let requested = name.strip_prefix(REQUESTS);
    name == COUNT
        || name == PODS
        || compute(name)
        || requested.is_some_and(|rest| compute(rest) || rest.starts_with(HUGE_PAGES))
        || name.strip_prefix("limits.").is_some_and(compute)
        || name.starts_with(HUGE_PAGES)
        || is_extended_in_quota(name)
}

pub(super) fn usage(pod: &Value, features: &Features, now: Time) -> ResourceList {
    let mut usage = ResourceList::default();
    if is_charged(pod, now) {
        let pod_level = features.enabled(Feature::PodLevelResources);
        usage = compute_usage(&of_pod(pod, Part::Requests, pod_level), &of_pod(pod, Part::Limits, pod_level));
    }
    usage.set_count(COUNT, 1);
    usage
}

/// Returns requests and limits under their names in quotas.
fn compute_usage(requests: &ResourceList, limits: &ResourceList) -> ResourceList {
    let mut usage = ResourceList::default();
    usage.set_count(PODS, 1);
    for (name, amount) in requests.iter() {
        let is_compute = COMPUTE.contains(&name) || name.starts_with(HUGE_PAGES);
        if is_compute {
            usage.set(name, amount.clone());
        }
        if is_compute || is_extended_or_device_class(name) {
            usage.set(format!("{REQUESTS}{name}"), amount.clone());
        }
    }
    for (name, amount) in limits.iter().filter(|(name, _)| COMPUTE.contains(name)) {
        usage.set(format!("limits.{name}"), amount.clone());
    }
    usage
}

/// Returns whether a pod uses resources: it has not ended, and is not stuck in its deletion, as on a lost node.
fn is_charged(pod: &Value, now: Time) -> bool {
    if matches!(pod.text_at(&["status", "phase"]), "Failed" | "Succeeded") {
        return false;
    }
    let deleted = pod.deletion_timestamp().and_then(|time| Time::parse(time).ok());
    let grace = pod.at(&["metadata", "deletionGracePeriodSeconds"]).and_then(Value::as_i64);
    match (deleted, grace) {
        (Some(deleted), Some(grace)) => {
            now <= Time::from_unix(deleted.unix_seconds().saturating_add(grace), 0)
        }
        _ => true,
    }
}

/// Checks that every container requests, or is limited to, an amount of each resource that a quota limits. Only of CPU and
/// memory, for compatibility; and not if the pod has resources of its own.
pub(super) fn check_constraints(required: &[&str], pod: &Value, features: &Features) -> Result<(), String> {
    if features.enabled(Feature::PodLevelResources) && has_pod_level(pod) {
        return Ok(());
    }
    let mut missing: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    let lists = ["containers", "initContainers"];
    for container in lists.into_iter().flat_map(|list| pod.items_at(&["spec", list])) {
        for name in required {
            let (part, resource) = match name.split_once('.') {
                Some((part @ ("requests" | "limits"), resource)) => (part, resource),
                _ => ("requests", *name),
            };
            if ["cpu", "memory"].contains(&resource) && container.at(&["resources", part, resource]).is_none()
            {
                missing.entry(name).or_default().insert(container.text_at(&["name"]));
            }
        }
    }
    if missing.is_empty() {
        return Ok(());
    }
    let of_containers = missing.into_iter().map(|(name, containers)| {
        format!("{name} for: {}", containers.into_iter().collect::<Vec<_>>().join(","))
    });
    Err(format!("must specify {}", of_containers.collect::<Vec<_>>().join("; ")))
}

pub(super) fn is_in_scope(
    scope: &ScopeRequirement,
    pod: &Value,
    features: &Features,
) -> Result<bool, String> {
    let class = Some(pod.text_at(&["spec", "priorityClassName"])).filter(|class| !class.is_empty());
    Ok(match scope.scope.as_str() {
        "Terminating" => is_terminating(pod),
        "NotTerminating" => !is_terminating(pod),
        "BestEffort" => is_best_effort(pod, features),
        "NotBestEffort" => !is_best_effort(pod, features),
        "PriorityClass" => return scope.matches_class(class),
        "CrossNamespacePodAffinity" => has_cross_namespace_affinity(pod),
        _ => false,
    })
}

/// Returns whether a pod has a deadline.
fn is_terminating(pod: &Value) -> bool {
    pod.at(&["spec", "activeDeadlineSeconds"]).and_then(Value::as_i64).is_some_and(|seconds| seconds >= 0)
}

fn is_best_effort(pod: &Value, features: &Features) -> bool {
    match pod.text_at(&["status", "qosClass"]) {
        "" => {}
        class => return class == "BestEffort",
    }
    let asks = |owner: &Value| {
        ["requests", "limits"].iter().any(|part| {
            let amounts = ResourceList::read(owner.at(&["resources", part]));
            ["cpu", "memory"].iter().any(|name| amounts.get(name).is_some_and(|amount| amount.signum() > 0))
        })
    };
    let Some(spec) = pod.get("spec") else { return true };
    if features.enabled(Feature::PodLevelResources) && spec.get("resources").is_some() {
        return !asks(spec);
    }
    !["containers", "initContainers"].iter().any(|list| spec.items_at(&[list]).iter().any(asks))
}

/// Returns whether a pod wants to be near to, or far from, pods of other namespaces.
fn has_cross_namespace_affinity(pod: &Value) -> bool {
    let crosses =
        |term: &Value| !term.items_at(&["namespaces"]).is_empty() || term.get("namespaceSelector").is_some();
    ["podAffinity", "podAntiAffinity"].iter().any(|affinity| {
        let of = |when| pod.items_at(&["spec", "affinity", affinity, when]).iter();
        of("requiredDuringSchedulingIgnoredDuringExecution").any(crosses)
            || of("preferredDuringSchedulingIgnoredDuringExecution")
                .any(|weighted| weighted.get("podAffinityTerm").is_some_and(crosses))
    })
}

/// Returns whether a change of a pod may lower usage: it was resized, its scope changed, or it has ended.
pub(super) fn may_free(old: &Value, new: &Value, now: Time) -> bool {
    let resized = ["containerStatuses", "initContainerStatuses"].iter().any(|list| {
        let after = new.items_at(&["status", list]);
        old.items_at(&["status", list]).iter().any(|old| {
            let new = after.iter().find(|new| new.text_at(&["name"]) == old.text_at(&["name"]));
            new.is_some_and(|new| new.get("resources") != old.get("resources"))
        })
    });
    resized || is_terminating(old) != is_terminating(new) || (is_charged(old, now) && !is_charged(new, now))
}
