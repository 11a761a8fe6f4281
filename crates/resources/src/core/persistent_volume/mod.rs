//! Volumes that outlive pods.

pub(super) mod columns;
mod validation;

use pintle_features::{Feature, Features};
use pintle_meta::Value;

pub(crate) use self::validation::inline_spec;
use super::strategy::{CLUSTER, warnings};
use crate::framework::strategy::{MetadataRecheck, Rules, Settings, tree};

pub(super) const VOLUMES: Rules = Rules {
    recheck: MetadataRecheck::Full,
    returns_deleted_object: true,
    on_create: |settings, _, volume| {
        drop_disabled(&settings.features, volume, None);
        tree::set(volume, &["status", "phase"], "Pending");
        tree::set(volume, &["status", "lastPhaseTransitionTime"], settings.time());
    },
    on_update: |settings, _, new, old| drop_disabled(&settings.features, new, Some(old)),
    validate: |settings, volume| validation::volume(&settings.features, volume),
    validate_update: |settings, volume| validation::update(&settings.features, volume),
    warnings: |_, volume, _| warnings::of_volume(volume),
    ..CLUSTER.with_status()
};

pub(super) const VOLUME_STATUS: Rules = Rules {
    on_update: |settings, _, new, old| note_transition(settings, new, old),
    validate_update: |_, volume| volume.requires_resource_version(),
    ..VOLUMES.of_status()
};

/// Takes out of a volume's spec what belongs to features that are off, unless the old volume has it already.
fn drop_disabled(features: &Features, volume: &mut Value, old: Option<&Value>) {
    const CLASS: tree::Path = &["spec", "volumeAttributesClassName"];
    let had = old.is_some_and(|old| old.at(CLASS).is_some());
    if !features.enabled(Feature::VolumeAttributesClass) && !had {
        tree::remove(volume, CLASS);
    }
}

/// Notes when a volume's phase changed, if the client did not.
fn note_transition(settings: &Settings, new: &mut Value, old: &Value) {
    const TIME: &[&str] = &["status", "lastPhaseTransitionTime"];
    let is_same_phase = tree::is_same(new, old, &["status", "phase"]);
    if is_same_phase && new.at(TIME).is_none() {
        tree::keep(new, old, TIME);
    } else if !is_same_phase && (new.at(TIME).is_none() || tree::is_same(new, old, TIME)) {
        tree::set(new, TIME, settings.time());
    }
}

#[cfg(test)]
mod tests;
