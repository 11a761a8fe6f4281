//! Fields of devices that are dropped while their features are off, unless a slice has them already.

use pintle_features::{Feature, Features};
use pintle_meta::{Object, Value};

use crate::framework::strategy::tree;

const DEVICES: tree::Path = &["spec", "devices"];
const CONSUMPTION: &[&str] = &["consumesCounters", "nodeName", "nodeSelector", "allNodes"];
const PARTITIONS: &[&str] = &["sharedCounters", "perDeviceNodeSelection"];
const BINDING: &[&str] = &["bindingConditions", "bindingFailureConditions", "bindsToNode"];
pub(super) const LISTS: &[&str] = &["ints", "bools", "strings", "versions"];
const MULTIPLE: &[&str] = &["allowMultipleAllocations"];
const MAPPINGS: &[&str] = &["nodeAllocatableResourceMappings"];

/// Fields of a feature: whether a slice has any, and their removal.
struct Gated {
    features: &'static [Feature],
    is_used: fn(&Value) -> bool,
    remove: fn(&mut Value),
}

const GATED: &[Gated] = &[
    Gated {
        features: &[Feature::DRADeviceTaints],
        is_used: |slice| any_device(slice, &["taints"]),
        remove: |slice| remove_from_devices(slice, &["taints"]),
    },
    Gated {
        features: &[Feature::DRAPartitionableDevices],
        is_used: |slice| {
            slice.get("spec").is_some_and(|spec| has(spec, PARTITIONS)) || any_device(slice, CONSUMPTION)
        },
        remove: |slice| {
            if let Some(spec) = slice.get_mut("spec") {
                remove(spec, PARTITIONS);
            }
            remove_from_devices(slice, CONSUMPTION);
        },
    },
    Gated {
        features: &[Feature::DRADeviceBindingConditions, Feature::DRAResourceClaimDeviceStatus],
        is_used: |slice| any_device(slice, BINDING),
        remove: |slice| remove_from_devices(slice, BINDING),
    },
    Gated {
        features: &[Feature::DRAConsumableCapacity],
        is_used: |slice| any_device(slice, MULTIPLE) || any_entry(slice, "capacity", &["requestPolicy"]),
        remove: |slice| {
            remove_from_devices(slice, MULTIPLE);
            remove_from_entries(slice, "capacity", &["requestPolicy"]);
        },
    },
    Gated {
        features: &[Feature::DRANodeAllocatableResources],
        is_used: |slice| any_device(slice, MAPPINGS),
        remove: |slice| remove_from_devices(slice, MAPPINGS),
    },
    Gated {
        features: &[Feature::DRAListTypeAttributes],
        is_used: |slice| any_entry(slice, "attributes", LISTS),
        remove: |slice| remove_from_entries(slice, "attributes", LISTS),
    },
];

/// Removes fields of features that are off, unless the old slice has such fields.
pub(super) fn drop_disabled(features: &Features, slice: &mut Value, old: Option<&Value>) {
    for Gated { features: wanted, is_used, remove } in GATED {
        let is_on = wanted.iter().all(|feature| features.enabled(*feature));
        if !is_on && is_used(slice) && !old.is_some_and(is_used) {
            remove(slice);
        }
    }
}

fn has(value: &Value, fields: &[&str]) -> bool {
    fields.iter().any(|field| value.get(field).is_some())
}

fn remove(value: &mut Value, fields: &[&str]) {
    if let Some(object) = value.as_object_mut() {
        object.retain(|name, _| !fields.contains(&name));
    }
}

fn any_device(slice: &Value, fields: &[&str]) -> bool {
    slice.items_at(DEVICES).iter().any(|device| has(device, fields))
}

/// Whether an entry of a map of a device has one of the fields.
pub(super) fn any_entry_of(device: &Value, of: &str, fields: &[&str]) -> bool {
    let entries = device.get(of).and_then(Value::as_object).into_iter().flat_map(Object::iter);
    entries.into_iter().any(|(_, entry)| has(entry, fields))
}

fn any_entry(slice: &Value, of: &str, fields: &[&str]) -> bool {
    slice.items_at(DEVICES).iter().any(|device| any_entry_of(device, of, fields))
}

fn devices_mut(slice: &mut Value) -> impl Iterator<Item = &mut Value> {
    slice.at_mut(DEVICES).and_then(Value::as_list_mut).into_iter().flatten()
}

fn remove_from_devices(slice: &mut Value, fields: &[&str]) {
    devices_mut(slice).for_each(|device| remove(device, fields));
}

fn remove_from_entries(slice: &mut Value, of: &str, fields: &[&str]) {
    for device in devices_mut(slice) {
        let entries = device.get_mut(of).and_then(Value::as_object_mut);
        for (_, entry) in entries.into_iter().flat_map(Object::iter_mut) {
            remove(entry, fields);
        }
    }
}
