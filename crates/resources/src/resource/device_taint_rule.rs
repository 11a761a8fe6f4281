//! Rules that taint devices of other owners.

use pintle_meta::Value;
use pintle_meta::validation::dns1123_label;

use super::names;
use super::strategy::CLUSTER;
use super::taints::taint;
use crate::core::volume_sources::driver_name;
use crate::framework::strategy::{Rules, Settings, tree};
use crate::framework::validation::Cursor;

const MOST_CONDITIONS: usize = 8;

pub(super) const RULES: Rules = Rules {
    on_update: |settings, _, rule, old| note_effect(rule, old, settings),
    validate: |_, rule| validate(rule),
    validate_update: |_, rule| validate(rule),
    ..CLUSTER.with_status().counting_spec()
};

pub(super) const STATUS: Rules = Rules {
    validate_update: |_, rule| {
        let status = rule.field("status");
        let conditions = status.field("conditions");
        conditions.conditions();
        if conditions.len() > MOST_CONDITIONS {
            conditions.too_many(MOST_CONDITIONS);
        }
    },
    ..RULES.of_status_alone()
};

/// Sets the time of a taint to that of its effect, unless the client sets it.
fn note_effect(rule: &mut Value, old: &Value, settings: &Settings) {
    const TIME: tree::Path = &["spec", "taint", "timeAdded"];
    if !tree::is_same(rule, old, &["spec", "taint", "effect"]) && tree::is_same(rule, old, TIME) {
        tree::set(rule, TIME, settings.time());
    }
}

fn validate(rule: &Cursor<'_, '_>) {
    let spec = rule.field("spec");
    let selector = spec.field("deviceSelector");
    let (driver, pool) = (selector.field("driver"), selector.field("pool"));
    if driver.is_set() {
        driver_name(&driver);
    }
    if pool.is_set() {
        names::pool(&pool);
    }
    let device = selector.field("device");
    if device.is_set() {
        device.text_format(dns1123_label);
    }
    taint(&spec.field("taint"));
}

#[cfg(test)]
mod tests;
