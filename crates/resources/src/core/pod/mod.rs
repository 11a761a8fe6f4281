//! Pods and pod templates: rules that several kinds share.

pub(crate) mod app_armor_profile;
pub(crate) mod binding;
pub(in crate::core) mod columns;
mod container_status;
pub(in crate::core) mod defaults;
mod disabled;
mod image;
pub(crate) mod log;
mod resize;
mod resource_defaults;
mod status;
pub(crate) mod strategy;
pub(in crate::core) mod template;
pub(crate) mod update;
pub(crate) mod validation;
pub(crate) mod warnings;

use pintle_meta::Value;
use pintle_meta::quantity::Quantity;

pub(crate) use self::disabled::drop_from_template as drop_disabled_template;
use crate::framework::conversion::build;
use crate::framework::strategy::tree;

/// The lists of containers of a pod, in the order in which the reference looks through them.
pub(crate) const CONTAINERS: [&str; 3] = ["initContainers", "containers", "ephemeralContainers"];

/// All containers of a pod's spec, whatever they are for.
pub(crate) fn containers(spec: &Value) -> impl Iterator<Item = &Value> {
    CONTAINERS.into_iter().flat_map(|list| spec.items_at(&[list]))
}

/// Returns how much is promised to a pod: nothing, exactly what it may use, or something in between. Its own resources count
/// if `pod_level_resources` is on.
pub(crate) fn quality_of_service(spec: &Value, pod_level_resources: bool) -> &'static str {
    const RESOURCES: [&str; 2] = ["cpu", "memory"];
    let resources: Vec<&Value> = match spec.get("resources").filter(|_| pod_level_resources) {
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
