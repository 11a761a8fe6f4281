//! CronJobs.

mod schedule;
mod time_zones;

use pintle_meta::Value;
use pintle_meta::field_path::Value as Printed;
use pintle_meta::validation::{DNS1035_LABEL_MAX_LENGTH, max_length_error};

use super::job;
use super::strategy::WORKLOADS;
use crate::apps::workload::{is_counted, name_of_pods};
use crate::core::pod;
use crate::core::pod::validation::Options;
use crate::framework::strategy::{MetadataRecheck, Rules, Settings, tree};
use crate::framework::validation::Cursor;

pub(super) const CRON_JOBS: Rules = Rules {
    on_create: |settings, _, job| {
        pod::drop_disabled_template(&settings.features, job, None, TEMPLATE);
    },
    on_update: |settings, _, job, old| {
        pod::drop_disabled_template(&settings.features, job, Some(old), TEMPLATE);
    },
    validate: |settings, job| {
        spec(settings, job);
        short_name(&job.at(&["metadata", "name"]));
    },
    // Long names were valid once.
    validate_update: spec,
    warnings,
    ..WORKLOADS
};

pub(super) const CRON_JOB_STATUS: Rules = Rules { recheck: MetadataRecheck::None, ..CRON_JOBS.of_status() };

const TEMPLATE: tree::Path = &["spec", "jobTemplate", "spec", "template"];

/// Checks that a name leaves room for the time in the names of its jobs, which are labels of their pods.
fn short_name(name: &Cursor<'_, '_>) {
    const MAX: usize = DNS1035_LABEL_MAX_LENGTH - 11;
    if name.text().len() > MAX {
        name.invalid(name.text(), max_length_error(MAX));
    }
}

fn spec(settings: &Settings, job: &Cursor<'_, '_>) {
    let options = Options::for_template(settings, &job.at(TEMPLATE));
    let spec = job.field("spec");
    let schedule = spec.field("schedule");
    let zone = spec.field("timeZone");
    if schedule.is_empty() {
        schedule.required("");
    } else {
        format(&schedule, zone.is_set());
    }
    spec.field("startingDeadlineSeconds").non_negative();
    if zone.changed() {
        time_zone(&zone);
    }
    spec.field("concurrencyPolicy").one_of(&["Allow", "Forbid", "Replace"]);
    let template = spec.at(&["jobTemplate", "spec"]);
    job::job_spec(&template, &options);
    let selector = template.field("selector");
    if selector.is_set() {
        let printed = selector.printed_as("*meta/v1.LabelSelector");
        selector.invalid(printed, "`selector` will be auto-generated");
    }
    let manual = template.field("manualSelector");
    if manual.flag() {
        manual.not_supported(true, &["nil", "false"]);
    }
    for limit in ["successfulJobsHistoryLimit", "failedJobsHistoryLimit"] {
        spec.field(limit).non_negative();
    }
}

/// Checks a schedule. A time zone has its own field; only schedules that had one may keep it.
fn format(schedule: &Cursor<'_, '_>, has_zone: bool) {
    let text = schedule.text();
    if let Err(why) = schedule::check(text) {
        schedule.invalid(text, why);
    }
    if !text.contains("TZ") {
        return;
    }
    if !schedule.before().text().contains("TZ") {
        schedule.invalid(text, "cannot use TZ or CRON_TZ in schedule, use timeZone field instead");
    } else if has_zone {
        schedule.invalid(text, "cannot use both timeZone field and TZ or CRON_TZ in schedule");
    }
}

fn time_zone(zone: &Cursor<'_, '_>) {
    let Some(name) = zone.optional_text() else { return };
    let refuse = |why: &str| zone.invalid(Printed::json(name), why);
    if name.is_empty() {
        return refuse("timeZone must be nil or non-empty string");
    }
    if !name.split('/').all(time_zones::is_part_of_name) {
        return refuse(&time_zones::unknown(name));
    }
    if name.eq_ignore_ascii_case("Local") {
        refuse("timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones");
    }
    if let Err(why) = time_zones::find(name) {
        refuse(&why);
    }
}

fn warnings(_: &Settings, job: &Value, old: Option<&Value>) -> Vec<String> {
    let mut warnings = name_of_pods(job, old);
    if is_counted(job, old) {
        let spec = job.at(&["spec", "jobTemplate", "spec"]);
        warnings.extend(job::spec_warnings("spec.jobTemplate.spec", spec));
        warnings.extend(pod::warnings::of_template(job, TEMPLATE));
    }
    if old.is_some() && job.text_at(&["spec", "schedule"]).contains("TZ") {
        let why = "cannot use TZ or CRON_TZ in spec.spec.schedule, use timeZone instead, see \
                   https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details";
        warnings.push(why.into());
    }
    warnings
}

#[cfg(test)]
mod tests;
