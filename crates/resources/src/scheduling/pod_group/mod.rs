//! PodGroups: pods that are scheduled together.

mod templates;
#[cfg(test)]
mod tests;

use pintle_features::Feature;

pub(super) use self::templates::{Gates, claim_key, controller_reference, drop_disabled, template};
use super::strategy::UNCONDITIONAL;
use crate::framework::strategy::{Rules, Settings, tree};
use crate::framework::validation::{Cursor, declarative};

pub(super) const POD_GROUPS: Rules = Rules {
    on_create: |settings, _, group| drop_disabled(SPEC, settings, group.get_mut("spec"), None),
    on_update: |settings, _, group, old| {
        drop_disabled(SPEC, settings, group.get_mut("spec"), old.get("spec"));
    },
    validate,
    validate_update: validate,
    ..UNCONDITIONAL.with_status()
};

pub(super) const STATUS: Rules = Rules {
    on_update: |settings, _, group, old| {
        let claims = settings.features.enabled(Feature::DRAWorkloadResourceClaims);
        if !claims && old.items_at(&["spec", "resourceClaims"]).is_empty() {
            tree::remove(group, &["status", "resourceClaimStatuses"]);
        }
    },
    validate_update: |_, group| {
        let status = group.field("status");
        status.field("conditions").conditions();
        claim_statuses(group);
        declarative::field(group, "status", declared_status);
    },
    ..POD_GROUPS.of_status_alone()
};

const SPEC: &str = "scheduling/v1alpha2.PodGroupSpec";

fn validate(settings: &Settings, group: &Cursor<'_, '_>) {
    let gates = &Gates::new(settings);
    declarative::field(group, "spec", |spec| templates::spec(spec, gates));
}

/// Checks that each status is of a claim of the spec.
fn claim_statuses(group: &Cursor<'_, '_>) {
    let claims = group.at(&["spec", "resourceClaims"]);
    let statuses = group.at(&["status", "resourceClaimStatuses"]);
    for status in statuses.items() {
        let name = status.field("name");
        if !claims.values().iter().any(|claim| claim_key(claim) == name.text()) {
            name.invalid(name.text(), "must match the name of an entry in `spec.resourceClaims`");
        }
    }
}

fn declared_status(status: &Cursor<'_, '_>) {
    declarative::field(status, "resourceClaimStatuses", |statuses| {
        if declarative::max_items(statuses, templates::MAX_CLAIMS) {
            declarative::unique_by(statuses, claim_key);
            declarative::each_by(statuses, claim_key, |status| {
                declarative::field(status, "resourceClaimName", templates::long_name);
            });
        }
    });
}
