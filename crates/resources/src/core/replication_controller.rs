//! ReplicationControllers.

use pintle_meta::field_path::{Error, Path};
use pintle_meta::validation::{dns1123_subdomain, max_bytes_error};
use pintle_meta::{Object, Value};
use pintle_registry::GarbageCollection;

use super::pod;
use super::pod::validation::{self, Options};
use super::strategy::{NAMESPACED, warnings};
use crate::framework::strategy::{Rules, Settings};
use crate::framework::validation::Cursor;

pub(super) const CONTROLLERS: Rules = Rules {
    name: long_name,
    // Its pods stay, as its first users expected.
    garbage_collection: GarbageCollection::Orphan,
    on_create: |settings, _, controller| {
        pod::drop_disabled_template(&settings.features, controller, None, &["spec", "template"]);
    },
    on_update: |settings, _, new, old| {
        pod::drop_disabled_template(&settings.features, new, Some(old), &["spec", "template"]);
    },
    validate: spec,
    validate_update: |settings, controller| {
        spec(settings, controller);
        not_convertible(controller);
    },
    warnings: |_, controller, old| warnings::of_controller(controller, old),
    ..NAMESPACED.with_status().counting_spec()
};

pub(super) const CONTROLLER_STATUS: Rules =
    Rules { validate_update: |_, controller| status(&controller.field("status")), ..CONTROLLERS.of_status() };

/// Checks a name as the reference's newer validation does: it counts bytes, and leaves prefixes of generated names alone.
fn long_name(name: &str, is_prefix: bool) -> Vec<String> {
    const MAX_LENGTH: usize = 253;
    let mut wrong = if is_prefix { Vec::new() } else { dns1123_subdomain(name) };
    if let Some(first) = wrong.first_mut().filter(|_| name.len() > MAX_LENGTH) {
        *first = max_bytes_error(MAX_LENGTH);
    }
    wrong
}

fn spec(settings: &Settings, controller: &Cursor<'_, '_>) {
    let spec = controller.field("spec");
    spec.field("minReadySeconds").non_negative();
    let selector = spec.field("selector");
    if selector.is_empty() {
        selector.required("");
    }
    let replicas = spec.field("replicas");
    if replicas.is_set() {
        replicas.non_negative();
    } else {
        replicas.required(""); // unreachable: replicas have a default
    }
    template(settings, &spec.field("template"), &selector);
}

fn template(settings: &Settings, template: &Cursor<'_, '_>, selector: &Cursor<'_, '_>) {
    if !template.is_set() {
        return template.required("");
    }
    let labels = template.at(&["metadata", "labels"]);
    let matches = |(key, value): (&str, &Value)| labels.key(key).value() == value;
    if !selector.map().into_iter().flat_map(Object::iter).all(matches) {
        labels.invalid(labels.printed_as("map[string]string"), "`selector` does not match template `labels`");
    }
    validation::template(template, &Options::for_template(settings, template));
    let policy = template.at(&["spec", "restartPolicy"]);
    policy.one_of(&["Always"]);
    let deadline = template.at(&["spec", "activeDeadlineSeconds"]);
    if deadline.is_set() {
        deadline.forbidden("activeDeadlineSeconds in ReplicationController is not Supported");
    }
}

/// Refuses changes of fields that a newer kind had in a form which this one cannot express, as annotations remember.
fn not_convertible(controller: &Cursor<'_, '_>) {
    let annotations = controller.before();
    let annotations = annotations.at(&["metadata", "annotations"]);
    for (key, value) in annotations.entries() {
        let mut parts =
            key.strip_prefix("non-convertible.kubernetes.io").into_iter().flat_map(|_| key.split('/'));
        let (Some(_), Some(field), None) = (parts.next(), parts.next(), parts.next()) else { continue };
        let selector = controller.at(&["spec", "selector"]);
        if !field.contains("selector") {
            let detail = "unknown non-convertible field".into();
            controller.report([Error { detail, ..Error::not_found(&Path::new(field), value.text()) }]);
        } else if selector.changed() {
            selector
                .invalid(selector.printed_as("map[string]string"), "cannot update non-convertible selector");
        }
    }
}

fn status(status: &Cursor<'_, '_>) {
    let count = |name: &str| status.field(name).integer();
    for name in
        ["replicas", "fullyLabeledReplicas", "readyReplicas", "availableReplicas", "observedGeneration"]
    {
        status.field(name).non_negative();
    }
    for name in ["fullyLabeledReplicas", "readyReplicas", "availableReplicas"] {
        if count(name) > count("replicas") {
            status.field(name).invalid(count(name), "cannot be greater than status.replicas");
        }
    }
    let available = status.field("availableReplicas");
    if available.integer() > count("readyReplicas") {
        available.invalid(available.integer(), "cannot be greater than readyReplicas");
    }
}

#[cfg(test)]
mod tests;
