//! Resources of a pod as a whole.

use std::collections::BTreeMap;

use pintle_meta::field_path::{Error, Value as Printed};
use pintle_meta::quantity::Quantity;

use super::containers::resources;
use super::{Facts, Options};
use crate::core::resource_names;
use crate::framework::validation::Cursor;

/// Checks at the spec the resources of the pod and that its containers fit into them.
pub(super) fn pod_resources(spec: &Cursor<'_, '_>, facts: &Facts<'_>, options: &Options) {
    let resources = spec.field("resources");
    if !options.pod_level_resources || !resources.is_set() {
        return;
    }
    if facts.os == "windows" {
        return resources.forbidden("may not be set for a windows pod");
    }
    if resources.field("claims").is_given() {
        resources.field("claims").forbidden("claims may not be set for Resources at pod-level");
    }
    resources::requirements(&resources, check_name, facts, options);
    requests_fit(spec, &resources);
    limits_fit(spec, &resources);
}

fn check_name(at: &Cursor<'_, '_>, name: &str) {
    let is_supported = matches!(name, "cpu" | "memory") || resource_names::is_huge_page(name);
    if resource_names::check_name(at, name) && !is_supported {
        at.not_supported(Printed::json(name), &["cpu", "hugepages-", "memory"]);
    }
}

/// Checks that the pod requests at least as much as its containers together.
fn requests_fit(spec: &Cursor<'_, '_>, resources: &Cursor<'_, '_>) {
    let requests = resources.field("requests");
    if requests.is_empty() {
        return;
    }
    for (name, total) in of_containers(spec, "requests") {
        let of_pod = requests.key(name);
        if let Some(requested) = of_pod.quantity().filter(|requested| total > *requested) {
            let why = format!("must be greater than or equal to aggregate container requests of {total}");
            of_pod.invalid(requested.to_string(), why);
        }
    }
}

/// Checks that the limits of the pod are at least those of each container; for huge pages, those of all containers together.
fn limits_fit(spec: &Cursor<'_, '_>, resources: &Cursor<'_, '_>) {
    let limits = resources.field("limits");
    if limits.is_empty() {
        return;
    }
    let totals = of_containers(spec, "limits").into_iter();
    for (name, total) in totals.filter(|(name, _)| resource_names::is_huge_page(name)) {
        let of_pod = limits.key(name);
        if let Some(limit) = of_pod.quantity().filter(|limit| total > *limit) {
            let why = format!("must be greater than or equal to aggregate container limits of {total}");
            of_pod.invalid(limit.to_string(), why);
        }
    }
    for (index, container) in spec.field("containers").items().enumerate() {
        for (name, limit) in container.at(&["resources", "limits"]).entries() {
            let (Some(limit), Some(of_pod)) = (limit.quantity(), limits.key(name).quantity()) else {
                continue;
            };
            if limit > of_pod {
                // The reference looks for containers in the resources of the pod.
                let path = resources.path().child("containers");
                let path = path.index(index);
                let path = path.key(name);
                let why = format!("must be less than or equal to pod limits of {of_pod}");
                resources.report([Error::invalid(&path.child("limits"), limit.to_string(), why)]);
            }
        }
    }
}

/// Amounts of one resource, added up over containers.
#[derive(Default)]
struct Total {
    /// Of regular containers and sidecars.
    running: Option<Quantity>,
    sidecars: Option<Quantity>,
    /// The most that is in use while the pod starts: an init container, and the sidecars before it.
    starting: Option<Quantity>,
}

/// Returns the amounts of all containers together by resource: what they need when all of them run, or more if the pod needs
/// more to start.
fn of_containers<'v>(spec: &Cursor<'_, 'v>, kind: &str) -> BTreeMap<&'v str, Quantity> {
    let mut totals: BTreeMap<&'v str, Total> = BTreeMap::new();
    for container in spec.field("containers").items() {
        for (name, amount) in amounts(&container, kind) {
            add(&mut totals.entry(name).or_default().running, &amount);
        }
    }
    for container in spec.field("initContainers").items() {
        let is_sidecar = container.field("restartPolicy").text() == "Always";
        for (name, amount) in amounts(&container, kind) {
            let total = totals.entry(name).or_default();
            let mut in_use = amount.clone();
            if is_sidecar {
                add(&mut total.running, &amount);
                add(&mut total.sidecars, &amount);
                in_use.clone_from(total.sidecars.as_ref().unwrap_or(&amount));
            } else if let Some(sidecars) = &total.sidecars {
                in_use.add(sidecars);
            }
            if total.starting.as_ref().is_none_or(|starting| in_use > *starting) {
                total.starting = Some(in_use);
            }
        }
    }
    let most = |total: Total| match (total.running, total.starting) {
        (Some(running), Some(starting)) => Some(if starting > running { starting } else { running }),
        (running, starting) => running.or(starting),
    };
    totals.into_iter().filter_map(|(name, total)| Some((name, most(total)?))).collect()
}

/// Returns the requests or limits of a container.
fn amounts<'v>(container: &Cursor<'_, 'v>, kind: &str) -> Vec<(&'v str, Quantity)> {
    let list = container.at(&["resources", kind]).value().as_object();
    let entries = list.into_iter().flat_map(|list| list.iter());
    entries.filter_map(|(name, amount)| Some((name, Quantity::parse(amount.as_str()?).ok()?))).collect()
}

fn add(total: &mut Option<Quantity>, amount: &Quantity) {
    match total {
        Some(total) => total.add(amount),
        None => *total = Some(amount.clone()),
    }
}

#[cfg(test)]
mod tests;
