//! Claims for volumes, and where their data come from.

mod validation;

use pintle_features::{Feature, Features};
use pintle_meta::Value;
use pintle_meta::field_path::Path;
use pintle_meta::value::Key;

use crate::core::pod;
use crate::core::strategy::NAMESPACED;
use crate::framework::conversion::build;
use crate::framework::strategy::{MetadataRecheck, Rules, tree};

pub(crate) use self::validation::{SpecOptions, spec, template};

/// Named the storage class before `storageClassName` did.
const CLASS_ANNOTATION: &str = "volume.beta.kubernetes.io/storage-class";
const SOURCE: &str = "dataSource";
const REFERENCE: &str = "dataSourceRef";

pub(in crate::core) const CLAIMS: Rules = Rules {
    recheck: MetadataRecheck::Both,
    returns_deleted_object: true,
    on_create: |settings, _, claim| {
        if let Some(spec) = claim.get_mut("spec") {
            prepare(&settings.features, spec, None);
        }
    },
    on_update: |settings, _, new, old| {
        if let Some(spec) = new.get_mut("spec") {
            prepare(&settings.features, spec, old.get("spec"));
        }
    },
    validate: |settings, claim| {
        spec(&claim.field("spec"), &SpecOptions::for_claim(&settings.features, claim));
    },
    validate_update: |settings, claim| validation::update(&settings.features, claim),
    warnings: |_, claim, _| {
        const ANNOTATION: &str = CLASS_ANNOTATION;
        let mut warnings = Vec::new();
        if claim.annotation(ANNOTATION).is_some() {
            warnings.push(format!(
                r#"metadata.annotations[{ANNOTATION}]: deprecated since v1.8; use "storageClassName" attribute instead"#
            ));
        }
        if let Some(spec) = claim.get("spec") {
            warnings.extend(pod::warnings::claim_spec(&Path::new("spec"), spec));
        }
        warnings
    },
    decorated: |_, claim| decorated(claim),
    ..NAMESPACED.with_status()
};

pub(in crate::core) const CLAIM_STATUS: Rules = Rules {
    on_update: |settings, _, new, old| drop_disabled_status(&settings.features, new, old),
    validate_update: |settings, claim| validation::status_update(&settings.features, claim),
    ..CLAIMS.of_status()
};

/// Brings both ways of naming a source in line, in the spec of a claim.
fn prepare(features: &Features, spec: &mut Value, old: Option<&Value>) {
    drop_disabled(features, spec, old);
    let had = old.is_some_and(|old| old.get(SOURCE).is_some() || old.get(REFERENCE).is_some());
    // The older way knows two kinds. What else older clients said was ignored, and still is.
    let ignored = spec.get(SOURCE).is_some_and(|source| {
        !matches!(
            (source.text_at(&["apiGroup"]), source.kind()),
            ("", "PersistentVolumeClaim") | ("snapshot.storage.k8s.io", "VolumeSnapshot")
        )
    });
    if !had && spec.get(REFERENCE).is_none() && ignored {
        tree::remove(spec, &[SOURCE]);
    }
    if features.enabled(Feature::AnyVolumeDataSource)
        && let Some((field, value)) = lacking(spec)
        && let Some(spec) = spec.as_object_mut()
    {
        spec.insert(Key::new_static(field), value);
    }
}

/// The other way of naming what a spec names in one way only.
fn lacking(spec: &Value) -> Option<(&'static str, Value)> {
    match (spec.get(SOURCE), spec.get(REFERENCE)) {
        (Some(source), None) => Some((REFERENCE, copy("core/v1.TypedObjectReference", source))),
        (None, Some(reference)) if reference.text_at(&["namespace"]).is_empty() => {
            Some((SOURCE, copy("core/v1.TypedLocalObjectReference", reference)))
        }
        _ => None,
    }
}

/// A claim as clients see it: one that was stored when there was only one way to name a source is shown with both.
fn decorated(claim: &Value) -> Option<Value> {
    let (field, value) = lacking(claim.get("spec")?)?;
    let mut shown = claim.clone();
    shown.get_mut("spec")?.as_object_mut()?.insert(Key::new_static(field), value);
    Some(shown)
}

/// Takes out of a claim's spec what belongs to features that are off, unless the old spec has it already.
pub(crate) fn drop_disabled(features: &Features, spec: &mut Value, old: Option<&Value>) {
    let had = |field: &str| old.is_some_and(|old| old.get(field).is_some());
    if !features.enabled(Feature::VolumeAttributesClass) && !had("volumeAttributesClassName") {
        tree::remove(spec, &["volumeAttributesClassName"]);
    }
    if !features.enabled(Feature::AnyVolumeDataSource) && !had(REFERENCE) {
        tree::remove(spec, &[REFERENCE]);
    }
    let crosses = !spec.text_at(&[REFERENCE, "namespace"]).is_empty();
    if !features.enabled(Feature::CrossNamespaceVolumeDataSource) && crosses && !had(REFERENCE) {
        tree::remove(spec, &[REFERENCE]);
    }
}

/// As [`drop_disabled`], of a claim's status.
fn drop_disabled_status(features: &Features, claim: &mut Value, old: &Value) {
    let mut drop = |path: tree::Path| {
        if old.at(path).is_none() {
            tree::remove(claim, path);
        }
    };
    if !features.enabled(Feature::VolumeAttributesClass) {
        drop(&["status", "currentVolumeAttributesClassName"]);
        drop(&["status", "modifyVolumeStatus"]);
    }
    if !features.enabled(Feature::RecoverVolumeExpansionFailure) {
        drop(&["status", "allocatedResources"]);
        drop(&["status", "allocatedResourceStatuses"]);
    }
}

fn copy(kind: &str, from: &Value) -> Value {
    let field = |name: &str| from.get(name).cloned();
    build(kind, [("apiGroup", field("apiGroup")), ("kind", field("kind")), ("name", field("name"))])
}

#[cfg(test)]
mod tests;
