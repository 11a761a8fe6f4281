//! Pods, and the parts of them that have requests of their own.

use std::collections::{HashMap, VecDeque};

use pintle_features::{Feature, Features};
use pintle_meta::field_path::Path as FieldPath;
use pintle_meta::validation::ip_warnings;
use pintle_meta::value::{Key, Object};
use pintle_meta::{Value, Warnings};
use pintle_registry::{DeleteOptions, ResetFields};

use super::validation::{self, Options};
use super::{app_armor_profile, disabled, resize, status, update};
use crate::core::pod;
use crate::core::strategy::NAMESPACED;
use crate::framework::conversion::build;
use crate::framework::strategy::tree::{self, Path};
use crate::framework::strategy::{MetadataRecheck, Rules, Settings};

const STATUS: &[Path] = &[&["status"]];

pub(in crate::core) const PODS: Rules = Rules {
    recheck: MetadataRecheck::Both,
    kept_on_update: STATUS,
    generation_fields: &[&["spec"]],
    reset_fields: ResetFields::These(STATUS),
    returns_deleted_object: true,
    early_warnings: app_armor_profile::warnings,
    on_create: |settings, _, pod| create(settings, pod),
    on_update: |settings, _, new, old| drop_disabled(&settings.features, new, old),
    validate: |settings, pod| validation::create(pod, &Options::for_pod(settings, pod)),
    validate_update: |settings, pod| update::update(pod, &Options::for_pod(settings, pod)),
    // No warnings on updates: users seldom change pods themselves.
    warnings: |_, pod, old| if old.is_none() { pod::warnings::of_pod(pod) } else { Vec::new() },
    grace: Some(|_, pod, options| grace(pod, options)),
    ..NAMESPACED
};

pub(in crate::core) const POD_STATUS: Rules = Rules {
    recheck: MetadataRecheck::Immutable,
    kept_on_update: &[&["spec"], &["metadata", "ownerReferences"]],
    generation_fields: &[],
    reset_fields: ResetFields::These(&[
        &["spec"],
        &["metadata", "deletionTimestamp"],
        &["metadata", "ownerReferences"],
    ]),
    on_update: |settings, _, new, old| {
        // Set again below from the old object.
        tree::remove(new, &["metadata", "deletionTimestamp"]);
        complete_status(new, old);
        drop_disabled(&settings.features, new, old);
        disabled::drop_from_status(&settings.features, new, old);
    },
    validate_update: |settings, pod| status::update(pod, &Options::for_pod(settings, pod)),
    warnings: |_, pod, _| addresses(pod),
    ..PODS
};

pub(in crate::core) const EPHEMERAL_CONTAINERS: Rules = Rules {
    // The reference has a filter for them, and does not use it; nor for a resize.
    reset_fields: ResetFields::These(&[]),
    on_update: |settings, _, new, old| {
        let containers = new.at(&["spec", "ephemeralContainers"]).cloned();
        keep_spec_and_metadata(new, old);
        match containers {
            Some(containers) => tree::set(new, &["spec", "ephemeralContainers"], containers),
            None => tree::remove(new, &["spec", "ephemeralContainers"]),
        }
        drop_disabled(&settings.features, new, old);
    },
    validate_update: |settings, pod| update::ephemeral_containers(pod, &Options::for_pod(settings, pod)),
    ..PODS
};

pub(in crate::core) const RESIZE: Rules = Rules {
    // Changes that are allowed with the containers are checked below.
    kept_on_update: &[],
    reset_fields: ResetFields::These(&[]),
    on_update: |settings, _, new, old| {
        keep_unless_resized(&settings.features, new, old);
        drop_disabled(&settings.features, new, old);
    },
    validate_update: |settings, pod| resize::resize(pod, &Options::for_pod(settings, pod)),
    ..PODS
};

fn create(settings: &Settings, pod: &mut Value) {
    let class = match pod.text_at(&["status", "qosClass"]) {
        "" => {
            let pod_level = settings.features.enabled(Feature::PodLevelResources);
            pod::quality_of_service(pod.get("spec").unwrap_or(&Value::NULL), pod_level).into()
        }
        given => Value::string(given),
    };
    let status = build("core/v1.PodStatus", [("phase", Some("Pending".into())), ("qosClass", Some(class))]);
    tree::set(pod, &["status"], status);
    if let Some(spec) = pod.get_mut("spec") {
        disabled::drop_from_spec(&settings.features, spec, None);
    }
    if !pod.items_at(&["spec", "schedulingGates"]).is_empty() {
        let why = ("SchedulingGated", "Scheduling is blocked due to non-empty scheduling gates");
        pod::set_condition(pod, "PodScheduled", false, Some(why), settings.time());
    }
    select_by_own_labels(&settings.features, pod);
    app_armor_profile::set_fields(pod);
}

/// For a request that writes a part of the spec, which is put back then.
fn keep_spec_and_metadata(new: &mut Value, old: &Value) {
    for path in Rules::NAMESPACED.of_status_alone().kept_on_update {
        tree::keep(new, old, path);
    }
}

fn drop_disabled(features: &Features, new: &mut Value, old: &Value) {
    if let Some(spec) = new.get_mut("spec") {
        disabled::drop_from_spec(features, spec, old.get("spec"));
    }
}

/// About addresses that are not written as they should be.
fn addresses(pod: &Value) -> Vec<String> {
    let mut warnings = Warnings::new();
    let status = FieldPath::new("status");
    for list in ["podIPs", "hostIPs"] {
        let path = status.child(list);
        let addresses = pod.items_at(&["status", list]).iter().enumerate();
        warnings.extend(addresses.flat_map(|(index, address)| {
            ip_warnings(&path.index(index).child("ip"), address.text_at(&["ip"]))
        }));
    }
    warnings.into_texts()
}

/// Keeps what older kubelets do not know, and would take away.
fn complete_status(new: &mut Value, old: &Value) {
    if new.text_at(&["status", "qosClass"]).is_empty() {
        tree::keep(new, old, &["status", "qosClass"]);
    }
    if new.at(&["status", "observedGeneration"]).is_none() {
        tree::keep(new, old, &["status", "observedGeneration"]);
    }
    // There may be several conditions of a type, which follow one another as they did.
    let mut before: HashMap<&str, VecDeque<Option<&Value>>> = HashMap::new();
    for condition in old.items_at(&["status", "conditions"]) {
        let same = before.entry(condition.text_at(&["type"])).or_default();
        same.push_back(condition.get("observedGeneration"));
    }
    let mut kept = Vec::new();
    for (place, condition) in new.items_at(&["status", "conditions"]).iter().enumerate() {
        let kind = condition.text_at(&["type"]);
        let Some(generation) = before.get_mut(kind).and_then(VecDeque::pop_front) else { continue };
        if let Some(generation) = generation.filter(|_| condition.get("observedGeneration").is_none()) {
            kept.push((place, generation.clone()));
        }
    }
    if let Some(conditions) = new.at_mut(&["status", "conditions"]).filter(|_| !kept.is_empty())
        && let Some(conditions) = conditions.as_list_mut()
    {
        for (place, generation) in kept {
            tree::set(&mut conditions[place], &["observedGeneration"], generation);
        }
    }
}

/// Takes over what a resize may change. Where containers came, went or changed places, everything stays as it was asked
/// for, so that validation can tell.
fn keep_unless_resized(features: &Features, new: &mut Value, old: &Value) {
    const LISTS: [Path; 2] = [&["spec", "containers"], &["spec", "initContainers"]];
    if LISTS.iter().any(|list| new.items_at(list).len() != old.items_at(list).len()) {
        return;
    }
    let resized = LISTS.map(|list| resized(new.items_at(list), old.items_at(list)));
    let resources = new.at(&["spec", "resources"]).cloned();
    keep_spec_and_metadata(new, old);
    tree::keep(new, old, &["status"]);
    if features.enabled(Feature::InPlacePodLevelResourcesVerticalScaling) {
        match resources {
            Some(resources) => tree::set(new, &["spec", "resources"], resources),
            None => tree::remove(new, &["spec", "resources"]),
        }
    }
    for (list, containers) in LISTS.into_iter().zip(resized) {
        if !containers.is_empty() {
            tree::set(new, list, containers);
        }
    }
}

fn resized(new: &[Value], old: &[Value]) -> Vec<Value> {
    let is_same = |(new, old): (&Value, &Value)| new.text_at(&["name"]) == old.text_at(&["name"]);
    if !new.iter().zip(old).all(is_same) {
        return new.to_vec();
    }
    let resized = |(new, old): (&Value, &Value)| {
        let mut container = old.clone();
        tree::keep(&mut container, new, &["resources"]);
        tree::keep(&mut container, new, &["resizePolicy"]);
        container
    };
    new.iter().zip(old).map(resized).collect()
}

/// How long a pod has to end: as it says, but not at all if it runs nowhere.
fn grace(pod: &Value, options: &mut DeleteOptions) -> bool {
    let own = pod.at(&["spec", "terminationGracePeriodSeconds"]).and_then(Value::as_i64);
    let mut seconds = options.grace_period_seconds.or(own).unwrap_or_default();
    let is_over = matches!(pod.text_at(&["status", "phase"]), "Failed" | "Succeeded");
    if pod.text_at(&["spec", "nodeName"]).is_empty() || is_over {
        seconds = 0;
    }
    options.grace_period_seconds = Some(if seconds < 0 { 1 } else { seconds });
    true
}

/// Where a pod is to be near or far from those with the same labels, selects them by the labels that it has.
fn select_by_own_labels(features: &Features, pod: &mut Value) {
    const TERMS: [Path; 4] = [
        &["spec", "affinity", "podAffinity", "preferredDuringSchedulingIgnoredDuringExecution"],
        &["spec", "affinity", "podAffinity", "requiredDuringSchedulingIgnoredDuringExecution"],
        &["spec", "affinity", "podAntiAffinity", "preferredDuringSchedulingIgnoredDuringExecution"],
        &["spec", "affinity", "podAntiAffinity", "requiredDuringSchedulingIgnoredDuringExecution"],
    ];
    let Some(labels) = pod.metadata().and_then(|metadata| metadata.get("labels")?.as_object()).cloned()
    else {
        return;
    };
    for (path, inner) in TERMS.into_iter().zip([Some("podAffinityTerm"), None].into_iter().cycle()) {
        let term = |item: &Value| inner.map_or_else(|| Some(item.clone()), |inner| item.get(inner).cloned());
        let selects = |item: &Value| term(item).is_some_and(|term| selects(&term));
        for item in tree::items_mut(pod, path, selects) {
            let term = match inner {
                Some(inner) => item.get_mut(inner),
                None => Some(item),
            };
            if let Some(term) = term {
                select(term, "matchLabelKeys", "In", &labels);
                select(term, "mismatchLabelKeys", "NotIn", &labels);
            }
        }
    }
    const MERGED: [Feature; 2] =
        [Feature::MatchLabelKeysInPodTopologySpread, Feature::MatchLabelKeysInPodTopologySpreadSelectorMerge];
    if !features.all_enabled(&MERGED) {
        return;
    }
    for constraint in tree::items_mut(pod, &["spec", "topologySpreadConstraints"], selects) {
        select(constraint, "matchLabelKeys", "In", &labels);
    }
}

/// Whether keys of labels are to be added to a selector. No selector selects nothing, whatever is added.
fn selects(term: &Value) -> bool {
    let keys = ["matchLabelKeys", "mismatchLabelKeys"];
    term.get("labelSelector").is_some() && keys.iter().any(|keys| !term.items_at(&[keys]).is_empty())
}

fn select(term: &mut Value, keys: &str, operator: &'static str, labels: &Object) {
    let requirement = |key: &Value| {
        let value = labels.get(key.as_str()?)?.clone();
        Some(build(
            "meta/v1.LabelSelectorRequirement",
            [
                ("key", Some(key.clone())),
                ("operator", Some(operator.into())),
                ("values", Some(vec![value].into())),
            ],
        ))
    };
    let added: Vec<Value> = term.items_at(&[keys]).iter().filter_map(requirement).collect();
    if added.is_empty() {
        return;
    }
    let before = term.items_at(&["labelSelector", "matchExpressions"]);
    let expressions: Vec<Value> = before.iter().cloned().chain(added).collect();
    if let Some(selector) = term.get_mut("labelSelector").and_then(Value::as_object_mut) {
        selector.insert(Key::new_static("matchExpressions"), expressions);
    }
}
