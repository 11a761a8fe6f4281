//! Validation of claims and of claim templates.

use pintle_features::{Feature, Features};
use pintle_meta::Value;
use pintle_meta::field_path::Value as Printed;
use pintle_meta::quantity::Quantity;
use pintle_meta::selector::ValidationOptions;
use pintle_meta::validation::{dns1123_subdomain, object_meta, qualified_name};

use super::{CLASS_ANNOTATION, REFERENCE, SOURCE, lacking};
use crate::core::resource_names::{check_basic_amount, is_native, same_amounts};
use crate::framework::strategy::tree;
use crate::framework::validation::Cursor;

/// The access modes of volumes and claims.
pub(in crate::core) const ACCESS_MODES: &[&str] =
    &["ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"];
pub(in crate::core) const VOLUME_MODES: &[&str] = &["Block", "Filesystem"];
const STORAGE: &str = "storage";
const REQUESTED: tree::Path = &["resources", "requests", STORAGE];
const ATTRIBUTES_CLASS: tree::Path = &["spec", "volumeAttributesClassName"];

/// Conditions that depend on feature gates or on the old claim.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a condition of its own")]
pub(crate) struct SpecOptions {
    allow_invalid_label_value_in_selector: bool,
    allow_invalid_api_group_of_source: bool,
    volume_attributes_class: bool,
    recover_from_expansion_failure: bool,
}

impl SpecOptions {
    /// Returns the options for a new claim, and for a claim template.
    pub(crate) fn new(features: &Features) -> SpecOptions {
        SpecOptions {
            allow_invalid_label_value_in_selector: false,
            allow_invalid_api_group_of_source: false,
            volume_attributes_class: features.enabled(Feature::VolumeAttributesClass),
            recover_from_expansion_failure: features.enabled(Feature::RecoverVolumeExpansionFailure),
        }
    }

    /// Returns the options for a claim, given as the cursor of the whole.
    pub(crate) fn for_claim(features: &Features, claim: &Cursor<'_, '_>) -> SpecOptions {
        let new = SpecOptions::new(features);
        if !claim.is_update() {
            return new;
        }
        let old = claim.before();
        let had = |path: &[&str]| old.at(path).is_set();
        let selector = old.at(&["spec", "selector"]);
        let is_strict = selector.label_selector_is_valid(ValidationOptions::default());
        SpecOptions {
            allow_invalid_label_value_in_selector: !is_strict,
            allow_invalid_api_group_of_source: had(&["spec", SOURCE, "apiGroup"])
                || had(&["spec", REFERENCE, "apiGroup"]),
            volume_attributes_class: new.volume_attributes_class || had(ATTRIBUTES_CLASS),
            recover_from_expansion_failure: new.recover_from_expansion_failure
                || had(&["status", "allocatedResources"])
                || had(&["status", "allocatedResourceStatuses"]),
        }
    }
}

/// Checks a claim template, such as that of an ephemeral volume: metadata and spec.
pub(crate) fn template(template: &Cursor<'_, '_>, options: &SpecOptions) {
    template.field("metadata").template_metadata();
    spec(&template.field("spec"), options);
}

/// Checks the spec of a claim or of a claim template.
pub(crate) fn spec(spec: &Cursor<'_, '_>, options: &SpecOptions) {
    let modes = spec.field("accessModes");
    if modes.is_empty() {
        modes.required("at least 1 access mode is required");
    }
    let selector = spec.field("selector");
    if selector.is_set() {
        selector.label_selector(ValidationOptions {
            allow_invalid_values: options.allow_invalid_label_value_in_selector,
            ..ValidationOptions::default()
        });
    }
    access_modes(&modes);
    let requests = spec.at_as(&["resources", "requests"], "resources");
    let storage = requests.key(STORAGE);
    if storage.is_set() {
        // An amount of storage above zero has no further rules.
        storage.positive_quantity();
    } else {
        storage.required("");
    }
    optional_class_name(&spec.field("storageClassName"));
    let mode = spec.field("volumeMode");
    if mode.is_set() {
        mode.one_of(VOLUME_MODES);
    }
    let source = spec.field(SOURCE);
    if source.is_set() {
        data_source(&source, options);
    }
    let reference = spec.field(REFERENCE);
    let namespace = reference.field("namespace");
    if reference.is_set() {
        data_source(&reference, options);
        if !namespace.is_empty() {
            namespace.text_format(|name| object_meta::label_name(name, false));
        }
    }
    // The reference prints a path as the value, which has no exported fields.
    let path = || Printed::Printed("{}".into());
    if source.is_set() && reference.is_set() {
        let same =
            |field: &str| source.field(field).optional_text() == reference.field(field).optional_text();
        if !namespace.is_empty() {
            spec.invalid(path(), "may not be specified when dataSourceRef.namespace is specified");
        } else if !["apiGroup", "kind", "name"].into_iter().all(same) {
            spec.invalid(path(), "must match dataSourceRef");
        }
    }
    if options.volume_attributes_class {
        optional_class_name(&spec.field("volumeAttributesClassName"));
    }
}

/// Checks the access modes of a claim or volume; errors name the list.
pub(in crate::core) fn access_modes(modes: &Cursor<'_, '_>) {
    let (mut exclusive, mut shared) = (false, false);
    for item in modes.items() {
        match item.text() {
            "ReadWriteOncePod" => exclusive = true,
            mode if ACCESS_MODES.contains(&mode) => shared = true,
            mode => modes.not_supported(Printed::json(mode), ACCESS_MODES),
        }
    }
    if exclusive && shared {
        modes.forbidden("may not use ReadWriteOncePod with other access modes");
    }
}

fn optional_class_name(name: &Cursor<'_, '_>) {
    if !name.is_empty() {
        name.text_format(|name| object_meta::subdomain_name(name, false));
    }
}

fn data_source(source: &Cursor<'_, '_>, options: &SpecOptions) {
    for field in ["name", "kind"] {
        if source.field(field).is_empty() {
            source.field(field).required("");
        }
    }
    let (group, kind) = (source.field("apiGroup"), source.field("kind"));
    if group.is_empty() {
        if kind.text() != "PersistentVolumeClaim" {
            let why = "must be 'PersistentVolumeClaim' when referencing the default apiGroup";
            source.invalid(kind.text(), why);
        }
    } else if !options.allow_invalid_api_group_of_source {
        group.text_format(dns1123_subdomain);
    }
}

/// Checks an update of a claim. Its spec is immutable, so that quotas hold: apart from the volume, once, a class that was not
/// set, and size and attributes class of a bound claim.
pub(super) fn update(features: &Features, claim: &Cursor<'_, '_>) {
    let options = SpecOptions::for_claim(features, claim);
    spec(&claim.field("spec"), &options);
    immutable_spec(features, claim);
    size(claim, &options);
    claim.at_as(&["spec", "volumeMode"], "volumeMode").immutable("*core.PersistentVolumeMode");
    let class = claim.at(ATTRIBUTES_CLASS);
    if class.changed() {
        if !features.enabled(Feature::VolumeAttributesClass) {
            class.forbidden("update is forbidden when the VolumeAttributesClass feature gate is disabled");
        }
        let is_applied = claim.before().at(&["status", "currentVolumeAttributesClassName"]).is_set();
        if options.volume_attributes_class && is_applied && class.is_empty() {
            let to = if class.is_set() { "empty string" } else { "nil" };
            class.forbidden(format!(
                "update to {to} is forbidden when status.currentVolumeAttributesClassName is not nil"
            ));
        }
    }
}

fn immutable_spec(features: &Features, claim: &Cursor<'_, '_>) {
    let before = claim.before();
    let (mut new, mut old) = (claim.field("spec").value().clone(), before.field("spec").value().clone());
    // A claim that was stored with one way to name a source is compared with both.
    if features.enabled(Feature::AnyVolumeDataSource)
        && let Some((field, value)) = lacking(&old)
    {
        tree::set(&mut old, if field == SOURCE { &[SOURCE] } else { &[REFERENCE] }, value);
    }
    if old.text_at(&["volumeName"]).is_empty() {
        tree::keep(&mut old, &new, &["volumeName"]);
    }
    storage_class(claim, &mut new);
    if claim.at(&["status", "phase"]).text() == "Bound" {
        if new.at(&["resources", "requests"]).is_some() {
            let size = old.at(REQUESTED).cloned().unwrap_or_else(|| Value::literal("0"));
            tree::set(&mut new, REQUESTED, size);
        }
        tree::keep(&mut new, &old, &["volumeAttributesClassName"]);
    }
    if !is_same_spec(&new, &old) {
        let spec = claim.field("spec");
        spec.forbidden(format!(
            "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims\n{}",
            spec.diff("core.PersistentVolumeClaimSpec", &old, &new)
        ));
    }
}

/// Allows a class name that was not set before, or that was in an annotation; `new` is the spec that is compared.
fn storage_class(claim: &Cursor<'_, '_>, new: &mut Value) {
    const CLASS: tree::Path = &["storageClassName"];
    let annotation = claim.at(&["metadata", "annotations", CLASS_ANNOTATION]);
    let known = annotation.before().optional_text();
    let class = claim.at(&["spec", "storageClassName"]);
    let added = class.optional_text().filter(|_| !class.before().is_set());
    let is_known = known.is_some() && added == known;
    if is_known && annotation.optional_text().is_none_or(|class| Some(class) == known) {
        tree::remove(new, CLASS);
        return;
    }
    if annotation.text() != annotation.before().text() {
        annotation.invalid(annotation.text(), "field is immutable");
    }
    if added.is_some() && (known.is_none() || is_known) {
        tree::remove(new, CLASS);
    }
}

fn is_same_spec(new: &Value, old: &Value) -> bool {
    let amounts = |of: &str| same_amounts(new.at(&["resources", of]), old.at(&["resources", of]));
    let rest = |spec: &Value| {
        let mut spec = spec.clone();
        tree::remove(&mut spec, &["resources"]);
        spec
    };
    new.is_same(old) || (amounts("requests") && amounts("limits") && rest(new) == rest(old))
}

/// A request may shrink as far as to more than the claim's volume has, after an expansion that failed.
fn size(claim: &Cursor<'_, '_>, options: &SpecOptions) {
    let requested = claim.at(&["spec", "resources", "requests", STORAGE]);
    let new = requested.quantity().unwrap_or_default();
    let old = requested.before().quantity().unwrap_or_default();
    if new >= old {
        return;
    }
    let present: Quantity =
        claim.before().at(&["status", "capacity", STORAGE]).quantity().unwrap_or_default();
    if !options.recover_from_expansion_failure {
        requested.forbidden("field can not be less than previous value");
    } else if new <= present {
        requested.forbidden("field can not be less than status.capacity");
    }
}

/// Checks an update of a claim's status.
pub(super) fn status_update(features: &Features, claim: &Cursor<'_, '_>) {
    const RESIZE_STATUSES: &[&str] = &[
        "ControllerResizeInProgress",
        "ControllerResizeInfeasible",
        "NodeResizeInProgress",
        "NodeResizeInfeasible",
        "NodeResizePending",
    ];
    claim.requires_resource_version();
    let spec = claim.at_as(&["spec"], "Spec");
    if spec.field("accessModes").is_empty() {
        spec.field("accessModes").required("");
    }
    let status = claim.field("status");
    for (_, amount) in status.field("capacity").entries() {
        check_basic_amount(&amount);
    }
    if !SpecOptions::for_claim(features, claim).recover_from_expansion_failure {
        return;
    }
    let statuses = status.field("allocatedResourceStatuses");
    for (name, status) in statuses.entries() {
        resource_name(&statuses, name);
        if !RESIZE_STATUSES.contains(&status.text()) {
            statuses.not_supported(Printed::json(name), RESIZE_STATUSES);
        }
    }
    let resources = status.field("allocatedResources");
    for (name, amount) in resources.entries() {
        // An amount of storage that is not negative has no further rules.
        if resource_name(&resources, name) {
            check_basic_amount(&amount);
        }
    }
}

/// Checks the name of a resource in a claim's status: `storage`, or one of another domain. Returns whether it is one.
fn resource_name(at: &Cursor<'_, '_>, name: &str) -> bool {
    let wrong = qualified_name(name);
    if !wrong.is_empty() {
        wrong.into_iter().for_each(|why| at.invalid(name, why));
        return false;
    }
    let is_known = !is_native(name) || name == STORAGE;
    if !is_known {
        at.not_supported(name, &[STORAGE]);
    }
    is_known
}
