//! Claims of devices: the request of a user, and its allocation as the status.

mod gates;
mod status;

use super::claim_spec;
use super::collections::immutable;
use super::names::metadata_update;
use super::strategy::NAMESPACED;
use crate::framework::strategy::{MetadataRecheck, Rules, tree};

const SPEC: tree::Path = &["spec"];

pub(super) const CLAIMS: Rules = Rules {
    recheck: MetadataRecheck::Full,
    on_create: |settings, _, claim| {
        claim_spec::drop_disabled(&settings.features, claim.at_mut(SPEC), None);
    },
    on_update: |settings, _, claim, old| {
        claim_spec::drop_disabled(&settings.features, claim.at_mut(SPEC), old.at(SPEC));
    },
    validate: |settings, claim| claim_spec::validate(&claim.field("spec"), &settings.features),
    validate_update: |_, claim| {
        metadata_update(claim);
        immutable(&claim.field("spec"), "resource.ResourceClaimSpec", "resource/v1.ResourceClaimSpec");
    },
    ..NAMESPACED.with_status()
};

pub(super) const STATUS: Rules = Rules {
    on_update: |settings, _, claim, old| {
        gates::drop_disabled(&settings.features, claim, old);
        gates::drop_freed(claim, old);
    },
    validate_update: |_, claim| status::validate(claim),
    ..CLAIMS.of_status_alone()
};

#[cfg(test)]
mod tests;
