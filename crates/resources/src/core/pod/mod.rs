//! Pods and pod templates: rules that several kinds share.

pub(crate) mod app_armor_profile;
pub(crate) mod binding;
pub(in crate::core) mod columns;
pub(in crate::core) mod defaults;
mod image;
pub(crate) mod parts;
mod resource_defaults;
pub(crate) mod strategy;
pub(crate) mod update;
pub(crate) mod validation;
pub(crate) mod warnings;

use pintle_features::{Feature, Features};
use pintle_meta::Value;
use pintle_meta::quantity::Quantity;
use pintle_meta::value::Object;

use crate::framework::conversion::build;
use crate::framework::strategy::tree;

/// The lists of containers of a pod, in the order in which the reference looks through them.
pub(crate) const CONTAINERS: [&str; 3] = ["initContainers", "containers", "ephemeralContainers"];

/// All containers of a pod's spec, whatever they are for.
pub(crate) fn containers(spec: &Value) -> impl Iterator<Item = &Value> {
    CONTAINERS.into_iter().flat_map(|list| spec.items_at(&[list]))
}

/// Takes out of a pod's spec what belongs to features that are off, unless the old spec has such a thing already.
pub(crate) fn drop_disabled(features: &Features, spec: &mut Value, old: Option<&Value>) {
    if !features.enabled(Feature::ContainerStopSignals) {
        drop_stop_signals(spec, old);
    }
    if !features.enabled(Feature::ClusterTrustBundleProjection) {
        drop_projection(spec, old, "clusterTrustBundle");
    }
    if !features.enabled(Feature::PodCertificateRequest) {
        drop_projection(spec, old, "podCertificate");
    }
    if !features.enabled(Feature::GenericWorkload)
        && old.is_none_or(|old| old.get("schedulingGroup").is_none())
    {
        tree::remove(spec, &["schedulingGroup"]);
    }
}

/// [`drop_disabled`] for a template for pods, if there is one at a path.
pub(crate) fn drop_disabled_template(
    features: &Features,
    new: &mut Value,
    old: Option<&Value>,
    path: tree::Path,
) {
    let old = old.and_then(|old| old.at(path)?.get("spec"));
    if let Some(spec) = new.at_mut(path).and_then(|template| template.get_mut("spec")) {
        drop_disabled(features, spec, old);
    }
}

fn drop_stop_signals(spec: &mut Value, old: Option<&Value>) {
    const SIGNAL: tree::Path = &["lifecycle", "stopSignal"];
    let has = |container: &Value| container.at(SIGNAL).is_some();
    if old.is_some_and(|old| containers(old).any(has)) {
        return;
    }
    for list in CONTAINERS {
        for container in tree::items_mut(spec, &[list], has) {
            tree::remove(container, SIGNAL);
            if container.get("lifecycle").and_then(Value::as_object).is_some_and(Object::is_empty) {
                tree::remove(container, &["lifecycle"]);
            }
        }
    }
}

fn drop_projection(spec: &mut Value, old: Option<&Value>, source: &'static str) {
    const SOURCES: tree::Path = &["projected", "sources"];
    let has = |volume: &Value| volume.items_at(SOURCES).iter().any(|found| found.get(source).is_some());
    if old.is_some_and(|old| old.items_at(&["volumes"]).iter().any(has)) {
        return;
    }
    for volume in tree::items_mut(spec, &["volumes"], has) {
        for found in tree::items_mut(volume, SOURCES, |found| found.get(source).is_some()) {
            if let Some(found) = found.as_object_mut() {
                found.remove(source);
            }
        }
    }
}

/// How much is promised to a pod: nothing, exactly what it may use, or something in between.
pub(crate) fn quality_of_service(spec: &Value) -> &'static str {
    const RESOURCES: [&str; 2] = ["cpu", "memory"];
    let resources: Vec<&Value> = match spec.get("resources") {
        Some(resources) => vec![resources],
        None => ["containers", "initContainers"]
            .into_iter()
            .flat_map(|list| spec.items_at(&[list]))
            .filter_map(|container| container.get("resources"))
            .collect(),
    };
    let amount = |resources: &Value, what: &str, name: &str| {
        let amount = resources.at(&[what, name])?.as_str().and_then(|text| Quantity::parse(text).ok())?;
        (amount.signum() > 0).then_some(amount)
    };
    let total = |what: &str, name: &str| {
        let amounts = resources.iter().filter_map(|resources| amount(resources, what, name));
        amounts.reduce(|mut total, amount| {
            total.add(&amount);
            total
        })
    };
    let is_limited =
        |resources: &&Value| RESOURCES.iter().all(|name| amount(resources, "limits", name).is_some());
    let totals = RESOURCES.map(|name| (total("requests", name), total("limits", name)));
    if totals.iter().all(|(request, limit)| request.is_none() && limit.is_none()) {
        "BestEffort"
    } else if resources.iter().all(is_limited) && totals.iter().all(|(request, limit)| request == limit) {
        "Guaranteed"
    } else {
        "Burstable"
    }
}

/// Sets a condition of a pod, which keeps the time of its last transition if it is as it was.
pub(crate) fn set_condition(pod: &mut Value, kind: &str, is: bool, reason: Option<(&str, &str)>, now: Value) {
    let status = if is { "True" } else { "False" };
    let conditions = pod.items_at(&["status", "conditions"]);
    let known = conditions.iter().position(|condition| condition.text_at(&["type"]) == kind);
    let before = known.map(|place| &conditions[place]).filter(|known| known.text_at(&["status"]) == status);
    let since = match before {
        Some(before) => before.get("lastTransitionTime").cloned(),
        None => Some(now),
    };
    let condition = build(
        "core/v1.PodCondition",
        [
            ("type", Some(kind.into())),
            ("status", Some(status.into())),
            ("lastTransitionTime", since),
            ("reason", reason.map(|(reason, _)| reason.into())),
            ("message", reason.map(|(_, message)| message.into())),
        ],
    );
    let mut conditions = conditions.to_vec();
    match known {
        Some(place) => conditions[place] = condition,
        None => conditions.push(condition),
    }
    tree::set(pod, &["status", "conditions"], conditions);
}
