//! CSIDrivers.

use std::collections::HashSet;

use pintle_features::{Feature, Features};
use pintle_meta::Value;
use pintle_meta::field_path::Value as Printed;

use super::strategy::RETURNED;
use crate::framework::strategy::{Rules, Settings, tree};
use crate::framework::validation::Cursor;

pub(super) const DRIVERS: Rules = Rules {
    on_create: |settings, _, driver| drop_disabled(&settings.features, driver, None),
    on_update: |settings, _, driver, old| {
        drop_disabled(&settings.features, driver, Some(old));
        // Drivers are counted although the first is not.
        if !tree::is_same(driver, old, &["spec"]) {
            tree::set(driver, &["metadata", "generation"], old.generation() + 1);
        }
    },
    validate: |settings, driver| validate(settings, &driver.field("spec")),
    validate_update: |settings, driver| {
        let spec = driver.field("spec");
        validate(settings, &spec);
        spec.at_as(&["attachRequired"], ATTACH).immutable("*bool");
        spec.field("volumeLifecycleModes").immutable("[]storage.VolumeLifecycleMode");
    },
    warnings: token_requests,
    ..RETURNED
};

/// The reference's name of `attachRequired` in errors.
const ATTACH: &str = "attachedRequired";
const MIN_UPDATE_PERIOD: i64 = 10;
const MIN_EXPIRATION: i64 = 600;
const MAX_EXPIRATION: i64 = 1 << 32;

/// Fields that are removed while a feature is off, unless the old driver has them already.
const GATED: &[(Feature, tree::Path)] = &[
    (Feature::SELinuxMountReadWriteOncePod, &["spec", "seLinuxMount"]),
    (Feature::MutableCSINodeAllocatableCount, &["spec", "nodeAllocatableUpdatePeriodSeconds"]),
    (Feature::CSIServiceAccountTokenSecrets, &["spec", "serviceAccountTokenInSecrets"]),
    (Feature::VolumeLimitScaling, &["spec", "preventPodSchedulingIfMissing"]),
];

fn drop_disabled(features: &Features, driver: &mut Value, old: Option<&Value>) {
    for (feature, path) in GATED {
        if !features.enabled(*feature) && old.is_none_or(|old| old.at(path).is_none()) {
            tree::remove(driver, path);
        }
    }
}

fn validate(settings: &Settings, spec: &Cursor<'_, '_>) {
    let required = |field: Cursor<'_, '_>| {
        if !field.is_set() {
            field.required(""); // unreachable: these fields have defaults
        }
    };
    let enabled = |feature| settings.features.enabled(feature);
    required(spec.at_as(&["attachRequired"], ATTACH));
    required(spec.field("podInfoOnMount"));
    required(spec.field("storageCapacity"));
    let policy = spec.field("fsGroupPolicy");
    if policy.is_set() {
        policy.one_of(&["File", "None", "ReadWriteOnceWithFSType"]);
    }
    check_token_requests(&spec.field("tokenRequests"));
    let modes = spec.field("volumeLifecycleModes");
    for mode in modes.texts() {
        const MODES: &[&str] = &["Persistent", "Ephemeral"];
        if !MODES.contains(&mode) {
            modes.not_supported(Printed::json(mode), MODES);
        }
    }
    if enabled(Feature::SELinuxMountReadWriteOncePod) {
        required(spec.field("seLinuxMount"));
    }
    let period = spec.field("nodeAllocatableUpdatePeriodSeconds");
    if let Some(seconds) = period.optional_integer().filter(|seconds| *seconds < MIN_UPDATE_PERIOD) {
        period.invalid(seconds, "must be greater than or equal to 10 seconds");
    }
    let in_secrets = spec.field("serviceAccountTokenInSecrets");
    if in_secrets.is_set() && spec.field("tokenRequests").is_empty() {
        let why = "serviceAccountTokenInSecrets is set but no tokenRequests are specified";
        in_secrets.invalid(in_secrets.flag(), why);
    }
    if enabled(Feature::VolumeLimitScaling) {
        required(spec.field("preventPodSchedulingIfMissing"));
    }
}

fn check_token_requests(requests: &Cursor<'_, '_>) {
    let mut known = HashSet::new();
    for request in requests.items() {
        let audience = request.field("audience");
        if !known.insert(audience.text()) {
            audience.duplicate(audience.text());
            continue;
        }
        let expiration = request.field("expirationSeconds");
        match expiration.optional_integer() {
            Some(seconds) if seconds < MIN_EXPIRATION => {
                expiration.invalid(seconds, "may not specify a duration less than 10 minutes");
            }
            Some(seconds) if seconds > MAX_EXPIRATION => {
                expiration.invalid(seconds, "may not specify a duration larger than 2^32 seconds");
            }
            _ => {}
        }
    }
}

/// A driver that is given tokens should say whether it finds them where they are not logged.
fn token_requests(settings: &Settings, driver: &Value, old: Option<&Value>) -> Vec<String> {
    const REQUESTS: tree::Path = &["spec", "tokenRequests"];
    let is_enabled = settings.features.enabled(Feature::CSIServiceAccountTokenSecrets);
    let changed = old.is_none_or(|old| !tree::is_same(driver, old, REQUESTS));
    let unset = driver.at(&["spec", "serviceAccountTokenInSecrets"]).is_none();
    if !is_enabled || !changed || !unset || driver.items_at(REQUESTS).is_empty() {
        return Vec::new();
    }
    let why = "spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set to true to prevent possible \
               logging of tokens in volume attributes";
    vec![why.into()]
}

#[cfg(test)]
mod tests;
