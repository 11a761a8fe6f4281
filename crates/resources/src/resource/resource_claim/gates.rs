//! Fields of a claim's status that an update loses: those of features that are off, and those of devices that were freed.

use std::collections::BTreeSet;

use pintle_features::{Feature, Features};
use pintle_meta::{Object, Value};

use super::status::device_id;
use crate::framework::strategy::tree;
use crate::resource::claim_spec;

const DEVICES: tree::Path = &["status", "devices"];
const RESULTS: tree::Path = &["status", "allocation", "devices", "results"];
const BINDING: &[&str] = &["bindingConditions", "bindingFailureConditions"];
const CAPACITY: &[&str] = &["shareID", "consumedCapacity"];

/// Removes fields of features that are off, unless the old claim has such fields.
pub(super) fn drop_disabled(features: &Features, claim: &mut Value, old: &Value) {
    let is_off = |feature: Feature| !features.enabled(feature);
    if is_off(Feature::DRAResourceClaimDeviceStatus) && old.items_at(DEVICES).is_empty() {
        tree::remove(claim, DEVICES);
    }
    if is_off(Feature::DRAAdminAccess) && !has_admin_access(old) {
        remove(claim, RESULTS, &["adminAccess"]);
    }
    if is_off(Feature::DRAConsumableCapacity) && !consumes_capacity(old) {
        remove(claim, RESULTS, CAPACITY);
        remove(claim, DEVICES, &["shareID"]);
    }
    if is_off(Feature::DRADeviceBindingConditions) && !has(old, RESULTS, BINDING) {
        remove(claim, RESULTS, BINDING);
    }
}

fn has_admin_access(claim: &Value) -> bool {
    claim.get("spec").is_some_and(claim_spec::asks_for_admin_access) || has(claim, RESULTS, &["adminAccess"])
}

fn consumes_capacity(claim: &Value) -> bool {
    claim.get("spec").is_some_and(claim_spec::consumes_capacity)
        || has(claim, RESULTS, CAPACITY)
        || has(claim, DEVICES, &["shareID"])
}

/// Whether an item has one of the fields.
fn has(claim: &Value, items: tree::Path, fields: &[&str]) -> bool {
    claim.items_at(items).iter().any(|item| fields.iter().any(|field| item.get(field).is_some()))
}

fn remove(claim: &mut Value, items: tree::Path, fields: &[&str]) {
    if !has(claim, items, fields) {
        return;
    }
    let items = claim.at_mut(items).and_then(Value::as_list_mut).into_iter().flatten();
    for item in items.filter_map(Value::as_object_mut) {
        Object::retain(item, |name, _| !fields.contains(&name));
    }
}

/// Removes the status of devices that the claim no longer has.
pub(super) fn drop_freed(claim: &mut Value, old: &Value) {
    let mut freed: BTreeSet<_> = old.items_at(RESULTS).iter().map(device_id).collect();
    for result in claim.items_at(RESULTS) {
        freed.remove(&device_id(result));
    }
    let given = claim.items_at(DEVICES);
    let kept: Vec<Value> = given.iter().filter(|known| !freed.contains(&device_id(known))).cloned().collect();
    if kept.is_empty() {
        tree::remove(claim, DEVICES);
    } else if kept.len() < given.len() {
        tree::set(claim, DEVICES, kept);
    }
}
