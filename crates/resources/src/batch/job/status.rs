//! Validation of the status of a job, which controllers outside of Kubernetes may write too.
//!
//! A rule about some fields applies when one of them changed, so that other parts of a status that is wrong already
//! can still be written.

use std::collections::HashSet;

use pintle_meta::field_path::Value as Printed;
use pintle_meta::time::Time;

use super::{indexes, validation};
use crate::apps::workload::non_negative;
use crate::framework::validation::Cursor;

/// Whether a status has a condition.
pub(super) fn has_condition(status: &Cursor<'_, '_>, of: &str, is: &str) -> bool {
    let conditions = status.field("conditions").values();
    conditions.iter().any(|found| found.text_at(&["type"]) == of && found.text_at(&["status"]) == is)
}

/// The conditions of a status that are true.
struct Conditions {
    complete: bool,
    failed: bool,
    failure_target: bool,
    success_criteria_met: bool,
}

impl Conditions {
    fn of(status: &Cursor<'_, '_>) -> Conditions {
        let is_true = |of| has_condition(status, of, "True");
        Conditions {
            complete: is_true("Complete"),
            failed: is_true("Failed"),
            failure_target: is_true("FailureTarget"),
            success_criteria_met: is_true("SuccessCriteriaMet"),
        }
    }

    fn is_finished(&self) -> bool {
        self.complete || self.failed
    }
}

pub(super) fn update(job: &Cursor<'_, '_>) {
    let (status, spec) = (job.field("status"), job.field("spec"));
    let old = status.before();
    let (now, was) = (Conditions::of(&status), Conditions::of(&old));
    non_negative(&status, &["active", "succeeded", "failed", "ready", "terminating"]);
    uncounted_pods(&status.field("uncountedTerminatedPods"));
    outcome(&status, &now, &was);
    finished(&status, &spec, &now, &was);
    index_lists(&status, &spec);
    pods_that_remain(&status, &now, &was);
    let conditions = status.field("conditions");
    let refuse = |is_wrong: bool, why: &str| {
        if is_wrong {
            conditions.invalid(Printed::Omitted, why);
        }
    };
    refuse(
        now.success_criteria_met && now.failed,
        "cannot set SuccessCriteriaMet=True and Failed=true conditions",
    );
    refuse(
        now.success_criteria_met && now.failure_target,
        "cannot set SuccessCriteriaMet=True and FailureTarget=true conditions",
    );
    refuse(
        spec.field("successPolicy").is_set() && !now.success_criteria_met && now.complete,
        "cannot set Complete=True for Job with SuccessPolicy unless SuccessCriteriaMet=True",
    );
    refuse(was.failed && !now.failed, "cannot disable the terminal Failed=True condition");
    refuse(was.complete && !now.complete, "cannot disable the terminal Complete=True condition");
    refuse(
        was.failure_target && !now.failure_target,
        "cannot disable the terminal FailureTarget=True condition",
    );
    counters(&status, &spec);
    times(&status, &spec);
    refuse(
        was.success_criteria_met && !now.success_criteria_met,
        "cannot disable the SuccessCriteriaMet=True condition",
    );
    refuse(
        was.complete && !was.success_criteria_met && now.success_criteria_met,
        "cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions",
    );
}

/// Checks the pods that are to be counted: each is named once.
fn uncounted_pods(pods: &Cursor<'_, '_>) {
    let mut seen = HashSet::new();
    for list in ["succeeded", "failed"] {
        for uid in pods.field(list).items() {
            if uid.is_empty() {
                uid.invalid(Printed::json(uid.text()), "must not be empty");
            } else if !seen.insert(uid.text()) {
                uid.duplicate(Printed::json(uid.text()));
            }
        }
    }
}

/// Checks that conditions about the outcome fit together, and the time of completion to them.
fn outcome(status: &Cursor<'_, '_>, now: &Conditions, was: &Conditions) {
    let (start, end) = (status.field("startTime"), status.field("completionTime"));
    let conditions = status.field("conditions");
    let is_newly_complete = now.complete != was.complete;
    if now.complete && now.failed && (is_newly_complete || now.failed != was.failed) {
        conditions.invalid(Printed::Omitted, "cannot set Complete=True and Failed=true conditions");
    }
    let is_new_target = now.failure_target != was.failure_target;
    if now.complete && now.failure_target && (is_newly_complete || is_new_target) {
        conditions.invalid(Printed::Omitted, "cannot set Complete=True and FailureTarget=true conditions");
    }
    if is_newly_complete || end.changed() {
        if end.is_set() && !now.complete {
            let why = "cannot set completionTime when there is no Complete=True condition";
            end.invalid(printed_time(&end), why);
        }
        if !end.is_set() && now.complete {
            end.required("completionTime is required for Complete jobs");
        }
    }
    let is_before = |end: Time| read_time(&start).is_some_and(|start| end < start);
    if (start.changed() || end.changed()) && read_time(&end).is_some_and(is_before) {
        end.invalid(printed_time(&end), "must be equal to or after `startTime`");
    }
    let has_failed = now.failed && (now.failed != was.failed || status.field("failedIndexes").changed());
    if has_failed && !now.failure_target {
        let why = "cannot set Failed=True condition without the FailureTarget=true condition";
        conditions.invalid(Printed::Omitted, why);
    }
    let are_criteria_new = now.success_criteria_met != was.success_criteria_met;
    if now.complete && !now.success_criteria_met && (is_newly_complete || are_criteria_new) {
        let why = "cannot set Complete=True condition without the SuccessCriteriaMet=true condition";
        conditions.invalid(Printed::Omitted, why);
    }
}

/// Checks that a finished job has started, and has no pods left to run or to count.
fn finished(status: &Cursor<'_, '_>, spec: &Cursor<'_, '_>, now: &Conditions, was: &Conditions) {
    if !now.is_finished() {
        return;
    }
    let is_new = now.is_finished() != was.is_finished();
    let active = status.field("active");
    if (is_new || active.changed()) && active.integer() > 0 {
        active.invalid(active.integer(), "active>0 is invalid for finished job");
    }
    let start = status.field("startTime");
    let needs_no_start =
        spec.field("suspend").flag() && spec.field("completions").optional_integer() == Some(0);
    if (is_new || start.changed()) && !needs_no_start && !start.is_set() {
        start.required("startTime is required for finished job");
    }
    let uncounted = status.field("uncountedTerminatedPods");
    let has_uncounted = ["failed", "succeeded"].iter().any(|list| !uncounted.field(list).is_empty());
    if (is_new || uncounted.changed()) && has_uncounted {
        let printed = uncounted.printed_as("batch.UncountedTerminatedPods");
        uncounted.invalid(printed, "must be empty for finished job");
    }
}

/// Checks the lists of indexes that have completed and that have failed.
fn index_lists(status: &Cursor<'_, '_>, spec: &Cursor<'_, '_>) {
    let (completed, failed) = (status.field("completedIndexes"), status.field("failedIndexes"));
    let completions = spec.field("completions").optional_integer();
    let has_limit_per_index = spec.field("backoffLimitPerIndex").is_set();
    let wrong =
        |list: &Cursor<'_, '_>| completions.and_then(|limit| indexes::count(list.text(), limit).err());
    if let Some(why) = wrong(&completed).filter(|_| completed.changed()) {
        completed.invalid(completed.text(), format!("error parsing completedIndexes: {why}"));
    }
    if failed.is_set()
        && failed.changed()
        && has_limit_per_index
        && let Some(why) = wrong(&failed)
    {
        failed.invalid(Printed::json(failed.text()), format!("error parsing failedIndexes: {why}"));
    }
    if completed.changed() && !completed.is_empty() && !validation::is_indexed(spec) {
        let why = "cannot set non-empty completedIndexes when non-indexed completion mode";
        completed.invalid(completed.text(), why);
    }
    if failed.changed() && failed.is_set() && !has_limit_per_index {
        failed.invalid(failed.text(), "cannot set non-null failedIndexes when backoffLimitPerIndex is null");
    }
    if failed.changed() || completed.changed() {
        let common = completions.and_then(|limit| indexes::overlap(completed.text(), failed.text(), limit));
        if let Some(index) = common {
            let why = format!("failedIndexes and completedIndexes overlap at index: {index}");
            failed.invalid(failed.text(), why);
        }
    }
}

/// Checks that a finished job has no pods that end, and that pods that are ready are active.
fn pods_that_remain(status: &Cursor<'_, '_>, now: &Conditions, was: &Conditions) {
    let (active, ready) = (status.field("active"), status.field("ready"));
    let terminating = status.field("terminating");
    let is_new = now.is_finished() != was.is_finished();
    if now.is_finished() && (is_new || terminating.changed()) && terminating.integer() > 0 {
        terminating.invalid(terminating.integer(), "terminating>0 is invalid for finished job");
    }
    let is_changed = ready.changed() || active.changed();
    if is_changed && ready.is_set() && ready.integer() > active.integer() {
        ready.invalid(ready.integer(), "cannot set more ready pods than active");
    }
}

/// Checks that numbers of finished pods only grow. An indexed job that is scaled down forgets successes.
fn counters(status: &Cursor<'_, '_>, spec: &Cursor<'_, '_>) {
    let failed = status.field("failed");
    if failed.integer() < failed.before().integer() {
        failed.invalid(failed.integer(), "cannot decrease the failed counter");
    }
    let number = |field: &str| spec.field(field).optional_integer();
    let is_scalable = validation::is_indexed(spec) && number("completions") == number("parallelism");
    let succeeded = status.field("succeeded");
    if !is_scalable && succeeded.integer() < succeeded.before().integer() {
        succeeded.invalid(succeeded.integer(), "cannot decrease the succeeded counter");
    }
}

/// Checks that times stay once they are set. A job that is resumed starts again.
fn times(status: &Cursor<'_, '_>, spec: &Cursor<'_, '_>) {
    let (start, end) = (status.field("startTime"), status.field("completionTime"));
    if end.is_set() && end.before().is_set() && end.changed() {
        end.invalid(printed_time(&end), "field is immutable");
    }
    let is_resuming =
        has_condition(&status.before(), "Suspended", "True") && has_condition(status, "Suspended", "False");
    if start.before().is_set() && start.changed() && !is_resuming && !spec.field("suspend").flag() {
        start.invalid(printed_time(&start), "field is immutable for unsuspended job once set");
    }
}

fn read_time(time: &Cursor<'_, '_>) -> Option<Time> {
    Time::parse(time.optional_text()?).ok()
}

fn printed_time(time: &Cursor<'_, '_>) -> Printed {
    time.optional_text().map_or_else(Printed::null, Printed::json)
}

#[cfg(test)]
mod tests;
