//! Environment variables and their sources.

use std::collections::HashMap;

use pintle_meta::Value;
use pintle_meta::validation::{config_map_key, dns1123_label, object_meta, relaxed_env_var_name};

use super::containers::each_container;
use super::field_selectors::{field_ref, resource_field_ref};
use super::{Facts, Options};
use crate::core::volume_sources::paths;
use crate::framework::validation::Cursor;

const FIELDS: &[&str] = &[
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
];

/// Checks the variables of a container.
pub(super) fn env(env: &Cursor<'_, '_>, _: &Cursor<'_, '_>, _: &Facts<'_>, options: &Options) {
    for variable in env.items() {
        let name = variable.field("name");
        if name.is_empty() {
            name.required("");
        } else {
            name.text_format(relaxed_env_var_name);
        }
        let source = variable.field("valueFrom");
        if source.is_set() {
            value_from(&source, !variable.field("value").is_empty(), options);
        }
    }
}

fn value_from(source: &Cursor<'_, '_>, has_value: bool, options: &Options) {
    let mut count = 0;
    let mut each = |name: &str, check: &dyn Fn(&Cursor<'_, '_>)| {
        let field = source.field(name);
        if field.is_set() {
            count += 1;
            check(&field);
        }
    };
    each("fieldRef", &|selector| field_ref(selector, FIELDS));
    each("resourceFieldRef", &|selector| resource_field_ref(selector, false));
    each("configMapKeyRef", &key_ref);
    each("secretKeyRef", &key_ref);
    each("fileKeyRef", &file_key_ref);
    if count == 0 {
        let why = if options.allow_env_files {
            "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`"
        } else {
            "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef` or `secretKeyRef`"
        };
        source.invalid("", why);
    } else if has_value {
        source.invalid("", "may not be specified when `value` is not empty");
    } else if count > 1 {
        source.invalid("", "may not have more than one field specified at a time");
    }
}

/// Checks a key of a ConfigMap or Secret.
fn key_ref(selector: &Cursor<'_, '_>) {
    selector.field("name").text_format(|name| object_meta::subdomain_name(name, false));
    let key = selector.field("key");
    if key.is_empty() {
        key.required("");
    } else {
        key.text_format(config_map_key);
    }
}

/// Checks a variable in a file of a volume.
fn file_key_ref(selector: &Cursor<'_, '_>) {
    let (key, volume, path) = (selector.field("key"), selector.field("volumeName"), selector.field("path"));
    if key.is_empty() {
        key.required("");
    } else {
        key.text_format(relaxed_env_var_name);
    }
    if volume.is_empty() {
        volume.required("");
    } else {
        volume.text_format(dns1123_label);
    }
    if path.is_empty() {
        path.required("");
    } else {
        paths::no_backsteps(&path);
    }
}

/// Checks the ConfigMaps and Secrets all of whose keys are variables.
pub(super) fn env_from(sources: &Cursor<'_, '_>, _: &Cursor<'_, '_>, _: &Facts<'_>, _: &Options) {
    for source in sources.items() {
        let prefix = source.field("prefix");
        if !prefix.is_empty() {
            prefix.text_format(relaxed_env_var_name);
        }
        let mut count = 0;
        for name in ["configMapRef", "secretRef"] {
            let reference = source.field(name);
            if reference.is_set() {
                count += 1;
                object_name(&reference.field("name"));
            }
        }
        // These name the list.
        if count == 0 {
            sources.invalid("", "must specify one of: `configMapRef` or `secretRef`");
        } else if count > 1 {
            sources.invalid("", "may not have more than one field specified at a time");
        }
    }
}

/// Checks a name as the prefix of one, which may end in a dash.
fn object_name(name: &Cursor<'_, '_>) {
    if name.is_empty() {
        name.required("");
    } else {
        name.text_format(|name| object_meta::subdomain_name(name, true));
    }
}

/// Checks at the spec that volumes of environment files are there and are of type emptyDir.
pub(super) fn file_volumes(spec: &Cursor<'_, '_>) {
    let mut volumes: Option<HashMap<&str, &Value>> = None;
    each_container(spec, |container| {
        for variable in container.field("env").items() {
            let reference = variable.at(&["valueFrom", "fileKeyRef"]);
            if !reference.is_set() {
                continue;
            }
            let volumes = volumes.get_or_insert_with(|| {
                let volumes = spec.field("volumes").values().iter();
                volumes.map(|volume| (volume.text_at(&["name"]), volume)).collect()
            });
            let name = reference.field("volumeName");
            match volumes.get(name.text()) {
                None => name.not_found(name.text()),
                Some(volume) if volume.get("emptyDir").is_none() => {
                    name.invalid(name.text(), "referenced volume must be of type emptyDir");
                }
                Some(_) => {}
            }
        }
    });
}

#[cfg(test)]
mod tests;
