//! Validation of configuration that kubelets once took from ConfigMaps. Nodes that have it may still change it.

use pintle_meta::validation::{config_map_key, object_meta};

use crate::framework::validation::Cursor;

/// Checks `spec.configSource`, which names a ConfigMap of any version.
pub(super) fn source(source: &Cursor<'_, '_>) {
    check(source, |map| {
        for name in ["uid", "resourceVersion"] {
            if !map.field(name).is_empty() {
                map.field(name).forbidden(format!("{name} must not be set in spec"));
            }
        }
    });
}

/// Checks `status.config`, which names ConfigMaps of a certain version.
pub(super) fn status(status: &Cursor<'_, '_>) {
    for name in ["assigned", "active", "lastKnownGood"] {
        if status.field(name).is_set() {
            check(&status.field(name), |map| {
                required(&map.field("uid"));
                required(&map.field("resourceVersion"));
            });
        }
    }
}

fn check(source: &Cursor<'_, '_>, version: impl Fn(&Cursor<'_, '_>)) {
    let map = source.field("configMap");
    if !map.is_set() {
        let printed = source.printed_as("*core.NodeConfigSource");
        return source.invalid(printed, "exactly one reference subfield must be non-nil");
    }
    version(&map);
    required_format(&map.field("namespace"), |name| object_meta::label_name(name, false));
    required_format(&map.field("name"), |name| object_meta::subdomain_name(name, false));
    required_format(&map.field("kubeletConfigKey"), config_map_key);
}

fn required(field: &Cursor<'_, '_>) {
    if field.is_empty() {
        field.required("");
    }
}

fn required_format(field: &Cursor<'_, '_>, format: impl Fn(&str) -> Vec<String>) {
    if field.is_empty() {
        field.required("");
    } else {
        field.text_format(format);
    }
}
