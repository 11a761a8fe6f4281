//! Updates of jobs: most fields never change, and some of the template only while a job is suspended.

use pintle_features::Feature;
use pintle_meta::selector::LabelSelector;
use pintle_meta::validation::object_meta;
use pintle_meta::{Object, Value};

use super::{CONTROLLER_UID, JOB_NAME, TEMPLATE, status, validation};
use crate::core::pod::validation::Options;
use crate::framework::semantic::is_same_as;
use crate::framework::strategy::rules::{metadata, metadata_update};
use crate::framework::strategy::{Settings, tree};
use crate::framework::validation::Cursor;

const IMMUTABLE: &str = "field is immutable";

/// Reports what is wrong with the new job and, as the reference does, once more with its spec as a changed one.
pub(super) fn update(settings: &Settings, job: &Cursor<'_, '_>) {
    let old = job.before();
    let mut options = Options::for_template(settings, &job.at(TEMPLATE));
    let selector = old.at(&["spec", "selector"]).value().view::<LabelSelector>().unwrap_or_default();
    options.allow_invalid_label_value_in_selector |= selector.has_invalid_value();
    let labels = old.at(&["spec", "template", "metadata", "labels"]);
    let had_prefixed = labels.key(JOB_NAME).is_set() && labels.key(CONTROLLER_UID).is_set();
    metadata(job, true, object_meta::subdomain_name);
    let errors = job.error_count();
    validation::whole(job, &options, had_prefixed);
    let has_errors = job.error_count() > errors;
    metadata_update(job);
    let spec = job.field("spec");
    if has_errors {
        validation::with_selector(&spec, &options);
    }
    completions(&spec);
    spec.field("selector").immutable("*meta/v1.LabelSelector");
    template(&spec, &Mutable::of(settings, &old));
    spec.field("completionMode").immutable("*batch.CompletionMode");
    spec.field("podFailurePolicy").immutable("*batch.PodFailurePolicy");
    spec.field("backoffLimitPerIndex").immutable("*int32");
    spec.field("managedBy").immutable("*string");
    spec.field("successPolicy").immutable("*batch.SuccessPolicy");
}

/// Checks the number of completions, which an indexed job may change together with its parallelism.
fn completions(spec: &Cursor<'_, '_>) {
    let completions = spec.field("completions");
    if !validation::is_indexed(spec) {
        return completions.immutable("*int32");
    }
    let wanted = completions.optional_integer().filter(|_| completions.changed());
    if wanted.is_some_and(|wanted| wanted != spec.field("parallelism").integer()) {
        completions.invalid(completions.integer(), "can only be modified in tandem with spec.parallelism");
    }
}

/// Parts of the template that may change.
struct Mutable {
    is_suspended: bool,
    scheduling: bool,
    resources: bool,
}

impl Mutable {
    /// Returns the parts that a change of a stored job may touch: its pods may not exist.
    fn of(settings: &Settings, old: &Cursor<'_, '_>) -> Mutable {
        let is_suspended = old.at(&["spec", "suspend"]).flag();
        let is_started = old.at(&["status", "startTime"]).is_set();
        let state = old.field("status");
        let is_idle = is_suspended
            && (!is_started || status::has_condition(&state, "Suspended", "True"))
            && state.field("active").integer() == 0;
        let enabled = |feature| settings.features.enabled(feature);
        Mutable {
            is_suspended,
            scheduling: if enabled(Feature::MutableSchedulingDirectivesForSuspendedJobs) {
                is_idle
            } else {
                is_suspended && !is_started
            },
            resources: enabled(Feature::MutablePodResourcesForSuspendedJobs) && is_idle,
        }
    }
}

/// Checks that nothing else of the template changed.
fn template(spec: &Cursor<'_, '_>, mutable: &Mutable) {
    let template = spec.field("template");
    if !template.changed() {
        return;
    }
    let (new, mut allowed) = (template.value(), template.before().value().clone());
    if mutable.scheduling {
        allow_scheduling(&mut allowed, new);
    }
    if !mutable.is_suspended || !mutable.resources {
        if !is_same_as("core/v1.PodTemplateSpec", Some(new), Some(&allowed)) {
            template.invalid(template.printed_as("core.PodTemplateSpec"), IMMUTABLE);
        }
        return;
    }
    for list in ["containers", "initContainers"] {
        allow_resources(&mut allowed, new, list);
    }
    if !is_same_as("core/v1.PodSpec", new.get("spec"), allowed.get("spec")) {
        let pod = template.field("spec");
        pod.invalid(pod.printed_as("core.PodSpec"), IMMUTABLE);
    }
}

/// Takes over fields that decide where pods run.
fn allow_scheduling(allowed: &mut Value, new: &Value) {
    const AFFINITY: tree::Path = &["spec", "affinity"];
    const NODE_AFFINITY: tree::Path = &["spec", "affinity", "nodeAffinity"];
    match (new.at(AFFINITY), allowed.at(AFFINITY)) {
        (None, Some(_)) => {
            tree::remove(allowed, NODE_AFFINITY);
            if allowed.at(AFFINITY).and_then(Value::as_object).is_some_and(Object::is_empty) {
                tree::remove(allowed, AFFINITY);
            }
        }
        (Some(affinity), None) => {
            let mut affinity = affinity.clone();
            tree::remove(&mut affinity, &["podAffinity"]);
            tree::remove(&mut affinity, &["podAntiAffinity"]);
            tree::set(allowed, AFFINITY, affinity);
        }
        (Some(_), Some(_)) => tree::keep(allowed, new, NODE_AFFINITY),
        (None, None) => {}
    }
    const FREE: [tree::Path; 5] = [
        &["spec", "nodeSelector"],
        &["spec", "tolerations"],
        &["spec", "schedulingGates"],
        &["metadata", "annotations"],
        &["metadata", "labels"],
    ];
    for path in FREE {
        tree::keep(allowed, new, path);
    }
}

/// Takes over the resources of containers, where these have the same names in the same order.
fn allow_resources(allowed: &mut Value, new: &Value, list: &str) {
    let wanted = new.items_at(&["spec", list]);
    let Some(containers) = allowed.at_mut(&["spec", list]).and_then(Value::as_list_mut) else { return };
    if containers.len() != wanted.len() {
        return;
    }
    for (container, wanted) in containers.iter_mut().zip(wanted) {
        if container.text_at(&["name"]) == wanted.text_at(&["name"]) {
            tree::keep(container, wanted, &["resources"]);
        }
    }
}

#[cfg(test)]
mod tests;
