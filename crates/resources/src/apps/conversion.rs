//! Versions of the workloads. Two fields of the internal types exist in the oldest versions only; `apps/v1` writes them as
//! annotations.

use pintle_meta::selector::LabelSelector;
use pintle_meta::selector::label::Selector;
use pintle_meta::value::{Key, Object};
use pintle_meta::{Value, quote};

use crate::framework::conversion::{
    Error, Fields, Fix, Pair, build, set_annotation, with, with_metadata, without_annotations,
};

pub(crate) const PAIRS: &[Pair] = &[
    Pair::new("apps/v1beta1.Deployment", "apps/v1.Deployment")
        .inward(deployment_inward)
        .outward(|value, out| deployment_outward("apps/v1beta1.RollbackConfig", value, out)),
    Pair::new("extensions/v1beta1.Deployment", "apps/v1.Deployment")
        .inward(deployment_inward)
        .outward(|value, out| deployment_outward("extensions/v1beta1.RollbackConfig", value, out)),
    Pair::new("extensions/v1beta1.DaemonSet", "apps/v1.DaemonSet")
        .inward(daemon_set_inward)
        .outward(daemon_set_outward),
    scale("apps/v1beta1.ScaleStatus"),
    scale("apps/v1beta2.ScaleStatus"),
    scale("extensions/v1beta1.ScaleStatus"),
];

pub(crate) const FIXES: &[Fix] = &[
    Fix::new("apps/v1.Deployment").change(deployment),
    Fix::new("apps/v1.DaemonSet").change(daemon_set),
    Fix::new("apps/v1.DeploymentSpec").filled(&["replicas"]),
    Fix::new("apps/v1.ReplicaSetSpec").filled(&["replicas"]),
    Fix::new("apps/v1.StatefulSetSpec").filled(&["replicas"]).change(stateful_set_spec),
    Fix::new("apps/v1.RollingUpdateDeployment").filled(&["maxUnavailable", "maxSurge"]),
    Fix::new("apps/v1.RollingUpdateDaemonSet").filled(&["maxUnavailable", "maxSurge"]),
    Fix::new("apps/v1.RollingUpdateStatefulSetStrategy").filled(&["partition"]),
];

pub(super) const ROLLBACK_TO: &str = "deprecated.deployment.rollback.to";
pub(super) const TEMPLATE_GENERATION: &str = "deprecated.daemonset.template.generation";

const fn scale(version: &'static str) -> Pair {
    Pair::new(version, "autoscaling/v1.ScaleStatus").inward(scale_inward).outward(scale_outward)
}

/// The revision to roll back to is a number in the internal type, and the annotation is written from it.
fn deployment(value: &Value) -> Result<Option<Value>, Error> {
    let Some(text) = value.annotation(ROLLBACK_TO) else { return Ok(None) };
    let Some(metadata) = value.get("metadata") else { return Ok(None) };
    if text.is_empty() {
        return Ok(
            without_annotations(metadata, &[ROLLBACK_TO]).map(|metadata| with_metadata(value, metadata))
        );
    }
    let revision = parse_int(text).map_err(|error| {
        Error::Invalid(format!("failed to parse annotation[{ROLLBACK_TO}]={text} as int64: {error}"))
    })?;
    Ok(rewritten(value, ROLLBACK_TO, text, revision))
}

fn daemon_set(value: &Value) -> Result<Option<Value>, Error> {
    let text = value.annotation(TEMPLATE_GENERATION);
    let generation = text.map_or(Ok(0), parse_int).map_err(Error::Invalid)?;
    Ok(rewritten(value, TEMPLATE_GENERATION, text.unwrap_or_default(), generation))
}

/// The object with the number as Go writes it, if it was written otherwise.
fn rewritten(value: &Value, key: &'static str, text: &str, number: i64) -> Option<Value> {
    let written = number.to_string();
    if written == text {
        return None;
    }
    let mut metadata = value.get("metadata")?.clone();
    set_annotation(&mut metadata, key, written);
    Some(with_metadata(value, metadata))
}

/// The claims of a stateful set say their kind, whatever they came as.
fn stateful_set_spec(value: &Value) -> Result<Option<Value>, Error> {
    let templates = value.items_at(&["volumeClaimTemplates"]);
    if templates.iter().all(|claim| claim.kind() == "PersistentVolumeClaim" && claim.api_version() == "v1") {
        return Ok(None);
    }
    let claim = |claim: &Value| {
        let claim = with(claim, "kind", Value::literal("PersistentVolumeClaim"));
        with(&claim, "apiVersion", Value::literal("v1"))
    };
    let templates: Vec<Value> = templates.iter().map(claim).collect();
    Ok(Some(with(value, "volumeClaimTemplates", templates)))
}

fn deployment_inward(value: &Value, out: &mut Fields) -> Result<(), Error> {
    let Some(metadata) = out.get("metadata").cloned() else { return Ok(()) };
    let metadata = match value.at(&["spec", "rollbackTo"]) {
        Some(rollback) => {
            let revision = rollback.get("revision").and_then(Value::as_i64).unwrap_or_default();
            let mut metadata = metadata;
            set_annotation(&mut metadata, ROLLBACK_TO, revision.to_string());
            metadata
        }
        None => without_annotations(&metadata, &[ROLLBACK_TO]).unwrap_or(metadata),
    };
    out.set("metadata", metadata);
    Ok(())
}

fn deployment_outward(config: &str, value: &Value, out: &mut Fields) -> Result<(), Error> {
    // The annotation has been made sure of.
    let Some(revision) = value.annotation(ROLLBACK_TO).and_then(|text| parse_int(text).ok()) else {
        return Ok(());
    };
    if let Some(metadata) = out.get("metadata").and_then(|found| without_annotations(found, &[ROLLBACK_TO])) {
        out.set("metadata", metadata);
    }
    let config = build(config, [("revision", Some(revision.into()))]);
    if let Some(spec) = out.get_mut("spec").and_then(Value::as_object_mut) {
        spec.insert(Key::new_static("rollbackTo"), config);
    }
    Ok(())
}

fn daemon_set_inward(value: &Value, out: &mut Fields) -> Result<(), Error> {
    let generation = value.at(&["spec", "templateGeneration"]).and_then(Value::as_i64).unwrap_or_default();
    if let Some(metadata) = out.get_mut("metadata") {
        set_annotation(metadata, TEMPLATE_GENERATION, generation.to_string());
    }
    Ok(())
}

fn daemon_set_outward(value: &Value, out: &mut Fields) -> Result<(), Error> {
    let generation = value.annotation(TEMPLATE_GENERATION).and_then(|text| parse_int(text).ok());
    let metadata = out.get("metadata").and_then(|found| without_annotations(found, &[TEMPLATE_GENERATION]));
    if let Some(metadata) = metadata {
        out.set("metadata", metadata);
    }
    if let Some(generation) = generation.filter(|generation| *generation != 0)
        && let Some(spec) = out.get_mut("spec").and_then(Value::as_object_mut)
    {
        spec.insert(Key::new_static("templateGeneration"), generation);
    }
    Ok(())
}

/// The oldest versions have the selector twice: as labels, where it can be said so, and as text.
fn scale_inward(value: &Value, out: &mut Fields) -> Result<(), Error> {
    let text = value.text_at(&["targetSelector"]);
    if !text.is_empty() {
        out.set("selector", text);
    } else if let Some(labels) = value.get("selector").and_then(Value::as_object) {
        let labels = labels.iter().map(|(key, value)| (key, value.as_str().unwrap_or_default()));
        out.set("selector", Selector::from_labels(labels).to_string());
    } else {
        out.clear("selector");
    }
    Ok(())
}

fn scale_outward(value: &Value, out: &mut Fields) -> Result<(), Error> {
    let text = value.text_at(&["selector"]);
    out.set("targetSelector", text);
    let selector = LabelSelector::parse(text)
        .map_err(|error| Error::Invalid(format!("failed to parse selector: {error}")))?;
    if selector.match_expressions.is_empty() {
        out.set("selector", selector.match_labels.into_iter().collect::<Object>());
    } else {
        out.clear("selector");
    }
    Ok(())
}

/// Go's `strconv.ParseInt` and what it says.
pub(super) fn parse_int(text: &str) -> Result<i64, String> {
    use std::num::IntErrorKind;
    text.parse().map_err(|error: std::num::ParseIntError| {
        let reason = match error.kind() {
            IntErrorKind::PosOverflow | IntErrorKind::NegOverflow => "value out of range",
            _ => "invalid syntax",
        };
        format!("strconv.ParseInt: parsing {}: {reason}", quote(text))
    })
}
