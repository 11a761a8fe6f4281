//! CSIStorageCapacities.

use pintle_meta::Value;
use pintle_meta::field_path::Path;
use pintle_meta::selector::ValidationOptions;
use pintle_meta::validation::object_meta;

use crate::framework::strategy::{MetadataRecheck, Rules, labels, rules};
use crate::framework::validation::Cursor;

pub(super) const CAPACITIES: Rules = Rules {
    recheck: MetadataRecheck::Full,
    validate: |_, capacity| validate(capacity, false),
    validate_update: |_, capacity| {
        let topology = capacity.field("nodeTopology");
        let is_lenient = !topology.before().label_selector_is_valid(ValidationOptions::default());
        validate(capacity, is_lenient);
        rules::metadata_update(capacity);
        topology.immutable("*meta/v1.LabelSelector");
        capacity.field("storageClassName").immutable("string");
    },
    warnings: |_, capacity, _| {
        let selector = capacity.get("nodeTopology").unwrap_or(&Value::NULL);
        labels::in_selector(selector, &Path::new("nodeTopology"))
    },
    ..Rules::NAMESPACED
};

fn validate(capacity: &Cursor<'_, '_>, allow_invalid_values: bool) {
    let options = ValidationOptions { allow_invalid_values, ..ValidationOptions::default() };
    capacity.field("nodeTopology").label_selector(options);
    capacity.field("storageClassName").text_format(|name| object_meta::subdomain_name(name, false));
    capacity.field("capacity").non_negative_quantity();
}

#[cfg(test)]
mod tests;
