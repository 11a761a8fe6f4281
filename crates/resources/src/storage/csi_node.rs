//! CSINodes: the drivers of a node.

use std::collections::{HashMap, HashSet};

use pintle_features::{Feature, Features};
use pintle_meta::Value;
use pintle_meta::validation::qualified_name;
use pintle_schema::go;

use super::strategy::RETURNED;
use crate::core::volume_sources::driver_name;
use crate::framework::semantic;
use crate::framework::strategy::{MetadataRecheck, Rules, tree};
use crate::framework::validation::Cursor;

pub(super) const CSI_NODES: Rules = Rules {
    recheck: MetadataRecheck::Full,
    validate: |_, node| validate(&node.at(DRIVERS)),
    validate_update: |settings, node| {
        let drivers = node.at(DRIVERS);
        validate(&drivers);
        immutable(&settings.features, &drivers);
    },
    ..RETURNED
};

const DRIVERS: tree::Path = &["spec", "drivers"];
const MAX_NODE_ID: usize = 256;

fn validate(drivers: &Cursor<'_, '_>) {
    let mut names = HashSet::new();
    for driver in drivers.items() {
        let (name, id) = (driver.field("name"), driver.field("nodeID"));
        driver_name(&name);
        if id.is_empty() {
            id.required("");
        }
        if id.text().len() > MAX_NODE_ID {
            id.invalid(id.text(), format!("must be {MAX_NODE_ID} characters or less"));
        }
        driver.at(&["allocatable", "count"]).non_negative();
        if !names.insert(name.text()) {
            name.duplicate(name.text());
        }
        topology_keys(&driver);
    }
}

/// Errors name the driver, as in the reference, and not the key.
fn topology_keys(driver: &Cursor<'_, '_>) {
    let mut keys = HashSet::new();
    for key in driver.field("topologyKeys").texts() {
        if key.is_empty() {
            driver.required("");
        }
        if !keys.insert(key) {
            driver.duplicate(key);
        }
        qualified_name(key).into_iter().for_each(|why| driver.invalid(key, why));
    }
}

/// Refuses changes of a driver that stays, apart from the number of volumes that the node takes.
fn immutable(features: &Features, drivers: &Cursor<'_, '_>) {
    if !drivers.changed() {
        return;
    }
    let of = |driver: &Value| {
        let mut driver = driver.clone();
        if features.enabled(Feature::MutableCSINodeAllocatableCount) {
            tree::remove(&mut driver, &["allocatable"]);
        }
        driver
    };
    let mut named: HashMap<&str, Vec<&Value>> = HashMap::new();
    for driver in drivers.values() {
        named.entry(driver.text_at(&["name"])).or_default().push(driver);
    }
    for old in drivers.before().values() {
        for new in named.get(old.text_at(&["name"])).into_iter().flatten() {
            let new = of(new);
            if !semantic::is_same_as("storage/v1.CSINodeDriver", Some(&new), Some(&of(old))) {
                drivers.invalid(go::printed("*storage.CSINodeDriver", &new), "field is immutable");
            }
        }
    }
}

#[cfg(test)]
mod tests;
