//! Jobs.
//!
//! ```text
//! mod          rows, generated labels and selectors, warnings
//! validation   the spec, of a job or of the template of a CronJob
//! policies     pod failure policies and success policies
//! indexes      lists of indexes: `1,3-5,7`
//! update       fields that may change, and when
//! status       conditions, counts and times, and how they may change
//! ```

mod indexes;
mod policies;
mod status;
mod update;
mod validation;

use pintle_meta::value::Key;
use pintle_meta::{Object, Value};
use pintle_registry::{DeleteOptions, GarbageCollection};
use pintle_schema::normal;

pub(super) use self::validation::job_spec;
use super::strategy::WORKLOADS;
use crate::apps::workload::{is_counted, name_of_pods};
use crate::core::pod;
use crate::framework::strategy::{MetadataRecheck, Rules, Settings, tree};

pub(super) const JOBS: Rules = Rules {
    // Updates check it amid the rest.
    recheck: MetadataRecheck::None,
    // Clients of the first version expect its pods to stay.
    garbage_collection: GarbageCollection::Orphan,
    on_create: |settings, _, job| {
        generate_selector(job);
        pod::drop_disabled_template(&settings.features, job, None, TEMPLATE);
    },
    on_update: |settings, _, job, old| {
        pod::drop_disabled_template(&settings.features, job, Some(old), TEMPLATE);
    },
    validate: validation::create,
    validate_update: update::update,
    warnings,
    delete_warnings,
    ..WORKLOADS
};

pub(super) const JOB_STATUS: Rules =
    Rules { validate_update: |_, job| status::update(job), ..JOBS.of_status() };

const TEMPLATE: tree::Path = &["spec", "template"];
const TEMPLATE_LABELS: tree::Path = &["spec", "template", "metadata", "labels"];
const CONTROLLER_UID: &str = "batch.kubernetes.io/controller-uid";
const JOB_NAME: &str = "batch.kubernetes.io/job-name";
const LEGACY_CONTROLLER_UID: &str = "controller-uid";
const LEGACY_JOB_NAME: &str = "job-name";

/// Makes a job select its pods by its own identity, unless it has a selector of its own.
fn generate_selector(job: &mut Value) {
    if job.at(&["spec", "manualSelector"]).and_then(Value::as_bool) == Some(true) {
        return;
    }
    // Labels that defaulting took from the template are the template's in the reference, one map in two places: what is
    // generated shows in both. Equal ones of a client's own are not.
    let own = job.at(&["metadata", "labels"]);
    let is_shared = own.zip(job.at(TEMPLATE_LABELS)).is_some_and(|(own, template)| own.is_same(template));
    let (name, uid) = (job.name().to_owned(), job.uid().to_owned());
    let labels =
        [(LEGACY_JOB_NAME, &name), (JOB_NAME, &name), (LEGACY_CONTROLLER_UID, &uid), (CONTROLLER_UID, &uid)];
    for (label, value) in labels {
        add_to(job, TEMPLATE_LABELS, label, value);
    }
    if let Some(labels) = job.at(TEMPLATE_LABELS).filter(|_| is_shared).cloned() {
        tree::set(job, &["metadata", "labels"], labels);
    }
    if job.at(&["spec", "selector"]).is_none() {
        let of = pintle_schema::find("meta/v1.LabelSelector").and_then(|found| found.structure());
        tree::set(job, &["spec", "selector"], of.map(normal::zero_struct).unwrap_or_default());
    }
    add_to(job, &["spec", "selector", "matchLabels"], CONTROLLER_UID, &uid);
}

/// Adds an entry to a map that has none with this key. Validation rejects wrong ones.
fn add_to(job: &mut Value, path: tree::Path, key: &'static str, value: &str) {
    if job.at(path).is_none_or(Value::is_null) {
        tree::set(job, path, Object::new());
    }
    if let Some(map) = job.at_mut(path).and_then(Value::as_object_mut)
        && !map.contains(key)
    {
        map.insert(Key::new_static(key), value);
    }
}

fn warnings(_: &Settings, job: &Value, old: Option<&Value>) -> Vec<String> {
    let mut warnings = name_of_pods(job, old);
    if is_counted(job, old) {
        warnings.extend(spec_warnings("spec", job.get("spec")));
        warnings.extend(pod::warnings::of_template(job, TEMPLATE));
    }
    warnings
}

/// Returns the warning about more indexes than their list can name.
pub(super) fn spec_warnings(path: &str, spec: Option<&Value>) -> Vec<String> {
    let Some(spec) = spec else { return Vec::new() };
    let number = |field: &str| spec.get(field).and_then(Value::as_i64).unwrap_or_default();
    let indexed = spec.text_at(&["completionMode"]) == "Indexed";
    if !indexed || number("completions") <= 100_000 || number("parallelism") <= 10_000 {
        return Vec::new();
    }
    vec![format!(
        "{path}: In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher than 10^4, Kubernetes \
         might not be able to track completedIndexes when a big number of indexes fail"
    )]
}

fn delete_warnings(options: &DeleteOptions) -> Vec<String> {
    if options.propagation.is_some() || options.orphan_dependents.is_some() {
        return Vec::new();
    }
    let why = "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or \
               set propagationPolicy=Orphan to suppress this warning";
    vec![why.into()]
}

#[cfg(test)]
mod tests;
