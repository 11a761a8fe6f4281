//! Validation of jobs, and of the specs in the templates of CronJobs.

use pintle_meta::field_path::Value as Printed;
use pintle_meta::selector::label::Selector;
use pintle_meta::selector::{LabelSelector, ValidationOptions};
use pintle_meta::validation::{dns1123_label, domain_prefixed_path};

use super::{CONTROLLER_UID, JOB_NAME, LEGACY_CONTROLLER_UID, LEGACY_JOB_NAME, TEMPLATE, policies};
use crate::apps::workload::{non_negative, selects};
use crate::core::pod;
use crate::core::pod::validation::Options;
use crate::framework::strategy::Settings;
use crate::framework::validation::Cursor;

/// Limits that bound the lists of indexes in a status.
const MAX_PARALLELISM: i64 = 100_000;
const MAX_FAILED_INDEXES: i64 = 100_000;
/// More completions than this are "high", and some other limits are lower then.
const HIGH_COMPLETIONS: i64 = 100_000;
const MAX_PARALLELISM_IF_HIGH: i64 = 10_000;
const MAX_FAILED_INDEXES_IF_HIGH: i64 = 10_000;
const MAX_MANAGED_BY: usize = 63;

pub(super) fn create(settings: &Settings, job: &Cursor<'_, '_>) {
    let options = Options::for_template(settings, &job.at(TEMPLATE));
    whole(job, &options, true);
}

/// Checks a job beside its metadata; `needs_prefixed` asks for labels with a domain, which old jobs lack.
pub(super) fn whole(job: &Cursor<'_, '_>, options: &Options, needs_prefixed: bool) {
    generated_selector(job, needs_prefixed);
    let spec = job.field("spec");
    with_selector(&spec, options);
    let completions = spec.field("completions").integer();
    if is_indexed(&spec) && completions > 0 {
        // The name of the last pod.
        let name = job.at(&["metadata", "name"]);
        let hostname = format!("{}-{}", name.text(), completions - 1);
        if !dns1123_label(&hostname).is_empty() {
            let why = format!("will not able to create pod with invalid DNS label: {hostname}");
            name.invalid(name.text(), why);
        }
    }
}

pub(super) fn is_indexed(spec: &Cursor<'_, '_>) -> bool {
    spec.field("completionMode").text() == "Indexed"
}

/// Returns a selector; one that selects nothing where none is set, and none if it is wrong.
fn read(selector: &Cursor<'_, '_>) -> Option<Selector> {
    if !selector.is_set() {
        return Some(Selector::nothing());
    }
    selector.value().view::<LabelSelector>().ok()?.selector().ok()
}

/// Checks that the labels of the template and the selector are those that a create generates.
fn generated_selector(job: &Cursor<'_, '_>, needs_prefixed: bool) {
    let selector = job.at(&["spec", "selector"]);
    if job.at(&["spec", "manualSelector"]).flag() || !selector.is_set() {
        return;
    }
    let (uid, name) = (job.at(&["metadata", "uid"]), job.at(&["metadata", "name"]).text());
    if uid.is_empty() {
        uid.required("");
    }
    let uid = uid.text();
    let expected =
        [(LEGACY_CONTROLLER_UID, uid), (LEGACY_JOB_NAME, name), (CONTROLLER_UID, uid), (JOB_NAME, name)];
    let expected = if needs_prefixed { &expected[..] } else { &expected[..2] };
    let labels = job.at(&["spec", "template", "metadata", "labels"]);
    for (key, value) in expected {
        let label = labels.key(key);
        if !label.is_set() {
            label.required(format!("must be '{value}'"));
        } else if label.text() != *value {
            label.invalid(labels.printed_as("map[string]string"), format!("must be '{value}'"));
        }
    }
    let of = |key: &str| expected.iter().find(|(known, _)| *known == key).map(|(_, value)| *value);
    if read(&selector).is_some_and(|read| !read.matches(of)) {
        selector.invalid(selector.printed_as("*meta/v1.LabelSelector"), "`selector` not auto-generated");
    }
}

/// Checks the spec of a job, which has a selector of its pods.
pub(super) fn with_selector(spec: &Cursor<'_, '_>, options: &Options) {
    job_spec(spec, options);
    let selector = spec.field("selector");
    if selector.is_set() {
        let allow_invalid_values = options.allow_invalid_label_value_in_selector;
        selector.label_selector(ValidationOptions { allow_invalid_values, ..ValidationOptions::default() });
    } else {
        selector.required("");
    }
    if let Some(read) = read(&selector) {
        selects(&read, &spec.field("template"));
    }
}

/// Checks the spec of a job, or of the template of a CronJob.
pub(in crate::batch) fn job_spec(spec: &Cursor<'_, '_>, options: &Options) {
    non_negative(
        spec,
        &[
            "parallelism",
            "completions",
            "activeDeadlineSeconds",
            "backoffLimit",
            "ttlSecondsAfterFinished",
            "backoffLimitPerIndex",
            "maxFailedIndexes",
        ],
    );
    let (per_index, failed) = (spec.field("backoffLimitPerIndex"), spec.field("maxFailedIndexes"));
    if failed.is_set() && !per_index.is_set() {
        per_index.required("when maxFailedIndexes is specified");
    }
    let manager = spec.field("managedBy");
    if manager.is_set() {
        manager.text_check(domain_prefixed_path);
        if manager.text().len() > MAX_MANAGED_BY {
            manager.too_long(MAX_MANAGED_BY);
        }
    }
    let mode = spec.field("completionMode");
    match mode.text() {
        "Indexed" => indexed(spec),
        "NonIndexed" => not_indexed(spec),
        _ if mode.is_set() => mode.one_of(&["NonIndexed", "Indexed"]),
        _ => not_indexed(spec),
    }
    let failure_policy = spec.field("podFailurePolicy");
    if failure_policy.is_set() {
        policies::pod_failure_policy(&failure_policy, spec);
    }
    let success_policy = spec.field("successPolicy");
    if success_policy.is_set() {
        if is_indexed(spec) {
            policies::success_policy(&success_policy, spec);
        } else {
            let printed = success_policy.printed_as("batch.SuccessPolicy");
            success_policy.invalid(printed, "requires indexed completion mode");
        }
    }
    let replacement = spec.field("podReplacementPolicy");
    if replacement.is_set() {
        let supported: &[&str] =
            if failure_policy.is_set() { &["Failed"] } else { &["Failed", "TerminatingOrFailed"] };
        replacement.one_of(supported);
    }
    pod::validation::template(&spec.field("template"), options);
    restart_policy(&spec.at(&["template", "spec", "restartPolicy"]), failure_policy.is_set());
}

fn indexed(spec: &Cursor<'_, '_>) {
    let (completions, parallelism) = (spec.field("completions"), spec.field("parallelism"));
    let failed = spec.field("maxFailedIndexes");
    if !completions.is_set() {
        completions.required("when completion mode is Indexed");
    }
    let at_most = |count: &Cursor<'_, '_>, limit: i64, when: &str| {
        if count.integer() > limit {
            count.invalid(count.integer(), format!("must be less than or equal to {limit}{when}"));
        }
    };
    at_most(&parallelism, MAX_PARALLELISM, " when completion mode is Indexed");
    if completions.is_set() && failed.is_set() && failed.integer() > completions.integer() {
        failed.invalid(failed.integer(), "must be less than or equal to completions");
    }
    at_most(&failed, MAX_FAILED_INDEXES, "");
    if completions.integer() > HIGH_COMPLETIONS && spec.field("backoffLimitPerIndex").is_set() {
        if !failed.is_set() {
            failed.required(format!("must be specified when completions is above {HIGH_COMPLETIONS}"));
        }
        let when = " when completions are above 100000 and used with backoff limit per index";
        at_most(&parallelism, MAX_PARALLELISM_IF_HIGH, when);
        at_most(&failed, MAX_FAILED_INDEXES_IF_HIGH, when);
    }
}

fn not_indexed(spec: &Cursor<'_, '_>) {
    for name in ["backoffLimitPerIndex", "maxFailedIndexes"] {
        let field = spec.field(name);
        if let Some(value) = field.optional_integer() {
            field.invalid(value, "requires indexed completion mode");
        }
    }
}

/// Checks that pods end. A policy about failed pods needs each of them to fail for good.
fn restart_policy(policy: &Cursor<'_, '_>, has_failure_policy: bool) {
    match policy.text() {
        // The default of all pods, so most likely the client has set none.
        "" | "Always" => policy.required(r#"valid values: "OnFailure", "Never""#),
        "Never" => {}
        "OnFailure" => {
            if has_failure_policy {
                let why = r#"only "Never" is supported when podFailurePolicy is specified"#;
                policy.invalid(Printed::json(policy.text()), why);
            }
        }
        _ => policy.one_of(&["OnFailure", "Never"]),
    }
}

#[cfg(test)]
mod tests;
