//! Templates of claims, from which a claim is made for each pod.

use super::claim_spec;
use super::collections::immutable;
use super::names::metadata_update;
use super::strategy::NAMESPACED;
use crate::framework::strategy::{MetadataRecheck, Rules, Settings, tree};
use crate::framework::validation::Cursor;

const SPEC: tree::Path = &["spec", "spec"];

pub(super) const TEMPLATES: Rules = Rules {
    recheck: MetadataRecheck::Full,
    on_create: |settings, _, template| {
        claim_spec::drop_disabled(&settings.features, template.at_mut(SPEC), None);
    },
    on_update: |settings, _, template, old| {
        claim_spec::drop_disabled(&settings.features, template.at_mut(SPEC), old.at(SPEC));
    },
    validate,
    validate_update: |settings, template| {
        validate(settings, template);
        metadata_update(template);
        immutable(
            &template.field("spec"),
            "resource.ResourceClaimTemplateSpec",
            "resource/v1.ResourceClaimTemplateSpec",
        );
    },
    ..NAMESPACED
};

fn validate(settings: &Settings, template: &Cursor<'_, '_>) {
    let spec = template.field("spec");
    spec.field("metadata").template_metadata();
    claim_spec::validate(&spec.field("spec"), &settings.features);
}

#[cfg(test)]
mod tests;
