//! Checks of pods and volume claims against the limits of a LimitRange.

use pintle_meta::Value;
use pintle_meta::quantity::Quantity;
use pintle_quota::ResourceList;
use pintle_quota::pod_resources::{Part, of_containers};

use super::limit_range::{Limit, LimitRange};

/// Larger amounts are compared in whole units, smaller ones in thousandths.
const LARGEST_IN_THOUSANDTHS: i64 = i64::MAX / 1000;

/// The requests and limits of a container, a pod or a claim.
struct Amounts {
    requests: ResourceList,
    limits: ResourceList,
}

/// Returns what is wrong with a pod: for each limit the containers, the init containers, or the pod as a whole.
pub(super) fn pod(range: &LimitRange, pod: &Value, pod_level: bool) -> Vec<String> {
    let mut wrong = Vec::new();
    for limit in &range.limits {
        match limit.of.as_str() {
            "Container" => {
                let lists = ["containers", "initContainers"];
                for container in lists.into_iter().flat_map(|list| pod.items_at(&["spec", list])) {
                    let amounts = Amounts {
                        requests: ResourceList::read(container.at(&["resources", "requests"])),
                        limits: ResourceList::read(container.at(&["resources", "limits"])),
                    };
                    check(limit, &amounts, &mut wrong);
                }
            }
            "Pod" => check(limit, &whole_pod(pod, pod_level), &mut wrong),
            _ => {}
        }
    }
    wrong
}

/// Returns the amounts of a pod by its spec, without overhead. CPU and memory of the pod itself stand for those of its
/// containers.
fn whole_pod(pod: &Value, pod_level: bool) -> Amounts {
    let sum = |part: Part, field: &str| {
        let mut sum = of_containers(pod, part, false);
        if pod_level {
            let own = ResourceList::read(pod.at(&["spec", "resources", field]));
            for (name, amount) in own.iter().filter(|(name, _)| ["cpu", "memory"].contains(name)) {
                sum.set(name, amount.clone());
            }
        }
        sum
    };
    Amounts { requests: sum(Part::Requests, "requests"), limits: sum(Part::Limits, "limits") }
}

/// Returns what is wrong with the storage that a volume claim requests. It has no limits.
pub(super) fn claim(range: &LimitRange, claim: &Value) -> Vec<String> {
    let requests = ResourceList::read(claim.at(&["spec", "resources", "requests"]));
    let amounts = Amounts { requests, limits: ResourceList::default() };
    let mut wrong = Vec::new();
    for limit in range.limits.iter().filter(|limit| limit.of == "PersistentVolumeClaim") {
        wrong.extend(limit.min.iter().filter_map(|(name, min)| below(&limit.of, name, min, &amounts)));
        wrong
            .extend(limit.max.iter().filter_map(|(name, max)| request_above(&limit.of, name, max, &amounts)));
    }
    wrong
}

fn check(limit: &Limit, amounts: &Amounts, wrong: &mut Vec<String>) {
    let of = &limit.of;
    wrong.extend(limit.min.iter().filter_map(|(name, min)| below(of, name, min, amounts)));
    wrong.extend(limit.max.iter().filter_map(|(name, max)| above(of, name, max, amounts)));
    wrong.extend(limit.max_ratio.iter().filter_map(|(name, ratio)| beyond_ratio(of, name, ratio, amounts)));
}

/// Returns request, limit and bound in the same unit.
fn compared(request: &Quantity, limit: &Quantity, bound: &Quantity) -> (i64, i64, i64) {
    let all = [request, limit, bound];
    let [request, limit, bound] = match all.iter().all(|amount| amount.value() <= LARGEST_IN_THOUSANDTHS) {
        true => all.map(Quantity::milli_value),
        false => all.map(Quantity::value),
    };
    (request, limit, bound)
}

fn below(of: &str, name: &str, min: &Quantity, amounts: &Amounts) -> Option<String> {
    let is = format!("minimum {name} usage per {of} is {min}");
    let zero = Quantity::default();
    let (request, limit) = (amounts.requests.get(name), amounts.limits.get(name));
    let (requested, limited, bound) = compared(request.unwrap_or(&zero), limit.unwrap_or(&zero), min);
    match (request, limit) {
        (None, _) => Some(format!("{is}.  No request is specified")),
        (Some(request), _) if requested < bound => Some(format!("{is}, but request is {request}")),
        (_, Some(limit)) if limited < bound => Some(format!("{is}, but limit is {limit}")),
        _ => None,
    }
}

fn above(of: &str, name: &str, max: &Quantity, amounts: &Amounts) -> Option<String> {
    let is = format!("maximum {name} usage per {of} is {max}");
    let zero = Quantity::default();
    let (request, limit) = (amounts.requests.get(name), amounts.limits.get(name));
    let (requested, limited, bound) = compared(request.unwrap_or(&zero), limit.unwrap_or(&zero), max);
    match (limit, request) {
        (None, _) => Some(format!("{is}.  No limit is specified")),
        (Some(limit), _) if limited > bound => Some(format!("{is}, but limit is {limit}")),
        (_, Some(request)) if requested > bound => Some(format!("{is}, but request is {request}")),
        _ => None,
    }
}

/// The same for objects without limits.
fn request_above(of: &str, name: &str, max: &Quantity, amounts: &Amounts) -> Option<String> {
    let is = format!("maximum {name} usage per {of} is {max}");
    let Some(request) = amounts.requests.get(name) else {
        return Some(format!("{is}.  No request is specified"));
    };
    let (requested, _, bound) = compared(request, &Quantity::default(), max);
    (requested > bound).then(|| format!("{is}, but request is {request}"))
}

fn beyond_ratio(of: &str, name: &str, max: &Quantity, amounts: &Amounts) -> Option<String> {
    let is = format!("{name} max limit to request ratio per {of} is {max}");
    let zero = Quantity::default();
    let amount = |list: &ResourceList| list.get(name).unwrap_or(&zero).clone();
    let (requested, limited, _) = compared(&amount(&amounts.requests), &amount(&amounts.limits), max);
    if requested == 0 {
        return Some(format!("{is}, but no request is specified or request is 0"));
    }
    if limited == 0 {
        return Some(format!("{is}, but no limit is specified or limit is 0"));
    }
    let ratio = limited as f64 / requested as f64;
    let is_beyond = match max.value() <= LARGEST_IN_THOUSANDTHS {
        true => ratio * 1000.0 > max.milli_value() as f64,
        false => ratio > max.value() as f64,
    };
    is_beyond.then(|| format!("{is}, but provided ratio is {ratio:.6}"))
}
