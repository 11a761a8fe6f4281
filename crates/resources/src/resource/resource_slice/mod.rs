//! Slices of a driver's pool of devices.

mod capacity;
mod device;
mod gates;

use pintle_meta::validation::{DNS1123_LABEL_MAX_LENGTH, dns1123_label, dns1123_subdomain};
use pintle_meta::{Value, quote};

use super::collections::{map, set_by_name};
use super::names;
use super::strategy::CLUSTER;
use crate::core::pod::validation::affinity::node_selector;
use crate::core::volume_sources::driver_name;
use crate::framework::semantic::is_same_as;
use crate::framework::strategy::{Rules, tree};
use crate::framework::validation::Cursor;

const MOST_DEVICES: usize = 128;
/// Most devices if one has taints, consumes counters or has attributes that are lists.
const MOST_ADVANCED_DEVICES: usize = 64;
const MOST_COUNTER_SETS: usize = 8;
const MOST_COUNTERS: usize = 32;

pub(super) const SLICES: Rules = Rules {
    on_create: |settings, _, slice| {
        tree::set(slice, &["metadata", "generation"], 1);
        gates::drop_disabled(&settings.features, slice, None);
    },
    on_update: |settings, _, slice, old| {
        // A field that is dropped counts as a change all the same.
        if !is_same_as("resource/v1.ResourceSliceSpec", slice.get("spec"), old.get("spec")) {
            tree::set(slice, &["metadata", "generation"], old.generation() + 1);
        }
        gates::drop_disabled(&settings.features, slice, Some(old));
    },
    validate: |_, slice| validate(&slice.field("spec")),
    validate_update: |_, slice| validate(&slice.field("spec")),
    warnings: |_, slice, _| uppercase_driver(slice),
    ..CLUSTER
};

fn uppercase_driver(slice: &Value) -> Vec<String> {
    let driver = slice.text_at(&["spec", "driver"]);
    if driver == driver.to_lowercase() {
        return Vec::new();
    }
    let driver = quote(driver);
    vec![format!("spec.driver: driver names should be lowercase; {driver} contains uppercase characters")]
}

fn validate(spec: &Cursor<'_, '_>) {
    const ONE_OF: &str =
        "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required";
    let (driver, pool, node) = (spec.field("driver"), spec.field("pool"), spec.field("nodeName"));
    driver_name(&driver);
    validate_pool(&pool);
    pool.field("name").immutable("string");
    driver.immutable("string");
    node.immutable("*string");
    let mut nodes = Nodes::default();
    nodes.name(&node, "must be either unset or set to a non-empty string");
    nodes.selector(&spec.field("nodeSelector"));
    let terms = spec.at(&["nodeSelector", "nodeSelectorTerms"]);
    if spec.field("nodeSelector").is_set() && terms.len() != 1 {
        terms
            .invalid(terms.printed_as("[]core.NodeSelectorTerm"), "must have exactly one node selector term");
    }
    nodes.flag(&spec.field("allNodes"), "`allNodes`");
    let per_device = spec.field("perDeviceNodeSelection");
    nodes.flag(&per_device, "`perDeviceNodeSelection`");
    match nodes.set.as_slice() {
        [] => spec.required(ONE_OF),
        [_] => {}
        _ => spec.invalid(nodes.printed(), format!("{ONE_OF}, but multiple fields are set")),
    }
    let (devices, counters) = (spec.field("devices"), spec.field("sharedCounters"));
    // An empty list counts; only where one of them has items is it worth to look at what was sent.
    if (counters.is_set() && devices.is_given()) || (devices.is_set() && counters.is_given()) {
        spec.invalid("", "only one of `sharedCounters` or `devices` is allowed");
    }
    let is_advanced = devices.values().iter().any(device::is_advanced);
    let max = if is_advanced { MOST_ADVANCED_DEVICES } else { MOST_DEVICES };
    validate_devices(&devices, max, per_device.flag());
    set_by_name(&counters, MOST_COUNTER_SETS, |set| validate_counters(set, "name"));
}

/// Checks devices, each beside the old device of its name.
fn validate_devices(devices: &Cursor<'_, '_>, max: usize, per_device: bool) {
    if devices.len() > max {
        return devices.too_many(max);
    }
    for item in devices.items_by(|device| device.text_at(&["name"])) {
        device::validate(&item, per_device);
    }
    set_by_name(devices, max, |_| {});
}

fn validate_pool(pool: &Cursor<'_, '_>) {
    names::pool(&pool.field("name"));
    pool.field("resourceSliceCount").positive();
    let generation = pool.field("generation");
    if generation.integer() < 0 {
        generation.invalid(generation.integer(), "must be greater than or equal to zero");
    }
}

/// Checks a set of counters, or the consumption of one; `name` is the field with the name of the set.
fn validate_counters(set: &Cursor<'_, '_>, name: &str) {
    let (name, counters) = (set.field(name), set.field("counters"));
    if name.is_empty() {
        name.required("");
    } else {
        name.text_format(dns1123_label);
    }
    if counters.is_empty() {
        counters.required("");
    } else if counters.len() > MOST_COUNTERS {
        counters.too_many(MOST_COUNTERS);
    } else {
        let check_key = |at: &Cursor<'_, '_>, key: &str| {
            for why in dns1123_label(key) {
                at.invalid(key, why);
            }
        };
        map(&counters, DNS1123_LABEL_MAX_LENGTH, check_key, |_| {});
    }
}

/// The ways in which nodes are said to have a device or slice, of which only one may be used.
#[derive(Default)]
struct Nodes {
    set: Vec<&'static str>,
}

impl Nodes {
    fn name(&mut self, node: &Cursor<'_, '_>, if_empty: &str) {
        if node.is_set() && node.is_empty() {
            node.invalid("", if_empty);
        } else if node.is_set() {
            self.set.push("`nodeName`");
            node.text_format(dns1123_subdomain);
        }
    }

    fn selector(&mut self, selector: &Cursor<'_, '_>) {
        if selector.is_set() {
            self.set.push("`nodeSelector`");
            node_selector(selector, false);
        }
    }

    fn flag(&mut self, flag: &Cursor<'_, '_>, name: &'static str) {
        if flag.flag() {
            self.set.push(name);
        } else if flag.is_set() {
            flag.invalid(false, "must be either unset or set to true");
        }
    }

    fn printed(&self) -> String {
        format!("{{{}}}", self.set.join(", "))
    }
}

#[cfg(test)]
mod tests;
