//! Requests and limits of whole pods.

use std::collections::HashMap;

use pintle_meta::Value;

use crate::names::HUGE_PAGES;
use crate::resource_list::ResourceList;

/// The part of resource requirements that is summed up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    Requests,
    Limits,
}

impl Part {
    fn field(self) -> &'static str {
        match self {
            Part::Requests => "requests",
            Part::Limits => "limits",
        }
    }

    /// Reads this part of an object that has `resources`.
    fn of(self, owner: &Value) -> ResourceList {
        ResourceList::read(owner.at(&["resources", self.field()]))
    }
}

/// Returns the sum over the containers of a pod. Init containers run before the others and one after another, so they only
/// raise the sum; those that stay (sidecars) count like containers, and for the init containers after them.
///
/// ```text
/// containers  a 2, b 1        sum 3
/// init        i 4             4
///             s 2, sidecar    2             sum 5
///             j 4             4 + 2 = 6     the largest of 5, 4, 6 counts
/// ```
///
/// With `statuses`, a container counts for what it has as well as for what it should have: an in-place resize is charged
/// before it is done, and given back after.
pub fn of_containers(pod: &Value, part: Part, statuses: bool) -> ResourceList {
    let statuses = if statuses { Statuses::of(pod) } else { Statuses::default() };
    let mut sum = ResourceList::default();
    for container in pod.items_at(&["spec", "containers"]) {
        sum.add(&statuses.effective(container, part));
    }
    let (mut sidecars, mut largest) = (ResourceList::default(), ResourceList::default());
    for container in pod.items_at(&["spec", "initContainers"]) {
        if container.text_at(&["restartPolicy"]) == "Always" {
            let own = statuses.effective(container, part);
            sum.add(&own);
            sidecars.add(&own);
            largest.raise_to(&sidecars);
        } else {
            let mut own = part.of(container);
            own.add(&sidecars);
            largest.raise_to(&own);
        }
    }
    sum.raise_to(&largest);
    sum
}

/// Returns what a pod counts for: the sum over its containers, replaced by its own resources where it has some and
/// `pod_level` is on, and the overhead.
pub fn of_pod(pod: &Value, part: Part, pod_level: bool) -> ResourceList {
    let mut sum = of_containers(pod, part, true);
    if pod_level && let Some(spec) = pod.get("spec") {
        for (name, amount) in part.of(spec).iter().filter(|(name, _)| is_pod_level(name)) {
            sum.set(name, amount.clone());
        }
    }
    let overhead = ResourceList::read(pod.at(&["spec", "overhead"]));
    for (name, amount) in overhead.iter() {
        // Without a limit, there is none for the overhead either.
        if part == Part::Requests || sum.get(name).is_some_and(|limit| !limit.is_zero()) {
            sum.add_to(name, amount);
        }
    }
    sum
}

/// Returns whether a pod has resources of its own, beside those of its containers.
pub fn has_pod_level(pod: &Value) -> bool {
    [Part::Requests, Part::Limits].iter().any(|part| {
        let own = pod.at(&["spec", "resources", part.field()]).and_then(Value::as_object);
        own.is_some_and(|own| own.keys().any(is_pod_level))
    })
}

fn is_pod_level(name: &str) -> bool {
    name == "cpu" || name == "memory" || name.starts_with(HUGE_PAGES)
}

/// The statuses of containers that report their resources.
#[derive(Default)]
struct Statuses<'p> {
    by_container: HashMap<&'p str, &'p Value>,
    /// The node cannot do the resize that the spec asks for.
    infeasible: bool,
}

impl<'p> Statuses<'p> {
    fn of(pod: &'p Value) -> Statuses<'p> {
        let all = ["containerStatuses", "initContainerStatuses"];
        let all = all.into_iter().flat_map(|list| pod.items_at(&["status", list]));
        let by_container = all.map(|status| (status.text_at(&["name"]), status)).collect();
        let pending = pod.items_at(&["status", "conditions"]).iter();
        let pending =
            pending.into_iter().find(|condition| condition.text_at(&["type"]) == "PodResizePending");
        let infeasible = pending.is_some_and(|pending| pending.text_at(&["reason"]) == "Infeasible");
        Statuses { by_container, infeasible }
    }

    /// Returns the largest of what a container should have, was promised and has. What it should have does not count where
    /// it cannot get it.
    fn effective(&self, container: &Value, part: Part) -> ResourceList {
        let status = self.by_container.get(container.text_at(&["name"]));
        let Some(status) = status.filter(|status| status.get("resources").is_some()) else {
            return part.of(container);
        };
        let mut effective = if self.infeasible { ResourceList::default() } else { part.of(container) };
        effective.raise_to(&part.of(status));
        if part == Part::Requests {
            effective.raise_to(&ResourceList::read(status.get("allocatedResources")));
        }
        effective
    }
}
