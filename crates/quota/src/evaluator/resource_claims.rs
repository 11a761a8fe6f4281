//! Resource claims: their number, and the devices that they ask for, by device class.
//!
//! A device class may provide an extended resource, which pods request in place of claims. A quota on the extended resource then
//! counts devices of claims as well. The claim that the scheduler makes for such a pod is not counted twice: what the pod is
//! charged for is left out of it.

use pintle_features::{Feature, Features};
use pintle_meta::Value;
use pintle_meta::quantity::{Format, Quantity};
use pintle_meta::time::Time;

use super::{Surroundings, pods};
use crate::names::{CLAIMED_DEVICES, DEVICE_CLASS, REQUESTS, is_extended_in_quota};
use crate::resource_list::ResourceList;

const COUNT: &str = "count/resourceclaims.resource.k8s.io";

/// Marks claims that the scheduler makes for the extended resources of a pod.
const EXTENDED_RESOURCE_CLAIM: &str = "resource.kubernetes.io/extended-resource-claim";

/// The most devices that one request can get, which is what "all" is charged for.
const MOST_DEVICES: i64 = 32;

pub(super) fn tracks(name: &str, features: &Features, surroundings: &dyn Surroundings) -> bool {
    if name == COUNT || name.ends_with(CLAIMED_DEVICES) {
        return true;
    }
    if !features.enabled(Feature::DRAExtendedResource) || !is_extended_in_quota(name) {
        return false;
    }
    let resource = name.strip_prefix(REQUESTS).unwrap_or_default();
    let class = resource.strip_prefix(DEVICE_CLASS);
    class.is_some_and(|class| surroundings.extended_resource(class).is_some())
        || surroundings.has_device_class(resource)
}

pub(super) fn usage(claim: &Value, features: &Features, surroundings: &dyn Surroundings) -> ResourceList {
    let mut usage = ResourceList::default();
    for request in claim.items_at(&["spec", "devices", "requests"]) {
        let alternatives = request.items_at(&["firstAvailable"]);
        if !alternatives.is_empty() {
            // One of them is allocated: the worst case of each class counts.
            let mut worst = ResourceList::default();
            for alternative in alternatives {
                let (class, devices) = devices(alternative);
                // A class of which nothing is asked does not appear.
                if devices > 0 {
                    let mut asked = ResourceList::default();
                    asked.set_count(format!("{class}{CLAIMED_DEVICES}"), devices);
                    worst.raise_to(&asked);
                }
            }
            usage.add(&worst);
        } else if let Some(exactly) = request.get("exactly") {
            let (class, devices) = devices(exactly);
            let devices = Quantity::new(devices, Format::DecimalSi);
            usage.add_to(format!("{class}{CLAIMED_DEVICES}"), &devices);
        }
    }
    if features.enabled(Feature::DRAExtendedResource) {
        let of_pod = usage_of_pod(claim, features, surroundings);
        let extended = extended_resources(&usage, surroundings).excess_over(&of_pod);
        extended.iter().for_each(|(name, amount)| usage.set(name, amount.clone()));
    }
    usage.set_count(COUNT, 1);
    usage
}

/// Returns the class and the largest number of devices of a request. Modes of later versions count nothing.
fn devices(request: &Value) -> (&str, i64) {
    let count = match request.text_at(&["allocationMode"]) {
        "ExactCount" => request.get("count").and_then(Value::as_i64).unwrap_or(0),
        "All" => MOST_DEVICES,
        _ => 0,
    };
    (request.text_at(&["deviceClassName"]), count)
}

/// Returns the devices of a claim as the extended resources that their classes provide.
fn extended_resources(usage: &ResourceList, surroundings: &dyn Surroundings) -> ResourceList {
    let mut extended = ResourceList::default();
    for (name, devices) in usage.iter() {
        let class = name.strip_suffix(CLAIMED_DEVICES).filter(|class| !class.is_empty());
        let Some(class) = class else { continue };
        extended.set(format!("{REQUESTS}{DEVICE_CLASS}{class}"), devices.clone());
        if let Some(resource) = surroundings.extended_resource(class) {
            extended.set(format!("{REQUESTS}{resource}"), devices.clone());
        }
    }
    extended
}

/// Returns what the pod is charged for for whose extended resources a claim was made; nothing for other claims.
fn usage_of_pod(claim: &Value, features: &Features, surroundings: &dyn Surroundings) -> ResourceList {
    let Some(pod) = pod_of(claim, surroundings) else { return ResourceList::default() };
    pods::usage(&pod, features, surroundings.now())
}

/// Returns the pod of a claim. If the pod does not name its claim yet, the oldest of its claims is the one.
fn pod_of(claim: &Value, surroundings: &dyn Surroundings) -> Option<Value> {
    let owner = extended_resource_owner(claim)?;
    let pod = surroundings.pod(claim.namespace(), owner.text_at(&["name"]))?;
    if pod.uid() != owner.text_at(&["uid"]) {
        return None;
    }
    let is_claim = match pod.at(&["status", "extendedResourceClaimStatus"]) {
        Some(status) => status.text_at(&["resourceClaimName"]) == claim.name(),
        None => {
            let age = |claim: &Value| {
                Time::parse(claim.text_at(&["metadata", "creationTimestamp"])).unwrap_or_default()
            };
            let own = (age(claim), claim.name());
            let others = surroundings.extended_resource_claims(claim.namespace(), pod.uid());
            others.iter().all(|other| (age(other), other.name()) >= own)
        }
    };
    is_claim.then_some(pod)
}

/// Returns the reference to the pod for whose extended resources a claim was made.
pub fn extended_resource_owner(claim: &Value) -> Option<&Value> {
    if claim.annotation(EXTENDED_RESOURCE_CLAIM) != Some("true") {
        return None;
    }
    let is_controller = |owner: &&Value| owner.get("controller").and_then(Value::as_bool).unwrap_or_default();
    let owner = claim.owner_references().iter().find(is_controller)?;
    let is_pod = owner.text_at(&["kind"]) == "Pod" && owner.text_at(&["apiVersion"]) == "v1";
    is_pod.then_some(owner)
}
