//! Device classes: selectors and configuration that claims refer to by name.

use pintle_features::Feature;
use pintle_meta::Value;
use pintle_meta::validation::declared;

use super::claim_spec::MOST_CONFIGURATIONS;
use super::collections::list;
use super::names::metadata_update;
use super::selectors::{Selectors, configuration};
use super::strategy::CLUSTER;
use crate::core::resource_names::is_extended;
use crate::framework::strategy::{MetadataRecheck, Rules, Settings, tree};
use crate::framework::validation::Cursor;

pub(super) const CLASSES: Rules = Rules {
    name: class_name,
    recheck: MetadataRecheck::Full,
    on_create: |settings, _, class| drop_disabled(settings, class, None),
    on_update: |settings, _, class, old| drop_disabled(settings, class, Some(old)),
    validate,
    validate_update: |settings, class| {
        metadata_update(class);
        validate(settings, class);
    },
    ..CLUSTER.counting_spec()
};

/// A prefix is not checked, only the generated name.
fn class_name(name: &str, is_prefix: bool) -> Vec<String> {
    if is_prefix { Vec::new() } else { declared::dns1123_subdomain(name) }
}

fn drop_disabled(settings: &Settings, class: &mut Value, old: Option<&Value>) {
    const NAME: tree::Path = &["spec", "extendedResourceName"];
    let was_used = old.is_some_and(|old| old.at(NAME).is_some());
    if !settings.features.enabled(Feature::DRAExtendedResource) && !was_used {
        tree::remove(class, NAME);
    }
}

fn validate(settings: &Settings, class: &Cursor<'_, '_>) {
    let spec = class.field("spec");
    let selectors = spec.field("selectors");
    Selectors::new(&settings.features, !selectors.changed()).check(&selectors);
    let config = spec.field("config");
    let is_stored = !config.changed();
    list(&config, MOST_CONFIGURATIONS, |config| configuration(config, is_stored));
    let name = spec.field("extendedResourceName");
    if name.is_set() && !is_extended(name.text()) {
        name.invalid(name.text(), "must be a valid extended resource name");
    }
}

#[cfg(test)]
mod tests;
