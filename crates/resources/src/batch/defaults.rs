//! Defaults of jobs. A job in the template of a CronJob gets its own when it is made of it.

use crate::defaults::Fill::Text;
use crate::defaults::{Place, Rule};

pub(crate) const RULES: &[Rule] = &[
    Rule::code(&["batch/v1.Job"], job),
    Rule::code(&["batch/v1.CronJob", "batch/v1beta1.CronJob"], cron_job),
    Rule::table(&["batch/v1.PodFailurePolicyOnPodConditionsPattern"], &[("status", Text("True"))]),
];

fn job(job: &mut Place<'_>) {
    job.within("spec", |spec| {
        // Without parallelism, a number of completions is how many pods run after another; without both, one pod runs.
        if spec.unset("completions") && spec.unset("parallelism") {
            spec.set("completions", 1);
        }
        spec.default("parallelism", 1);
        if spec.unset("backoffLimit") {
            // Where failures are counted per index, those of the whole job don't end it.
            let limit = if spec.unset("backoffLimitPerIndex") { 6 } else { i32::MAX };
            spec.set("backoffLimit", limit);
        }
        spec.default("completionMode", "NonIndexed");
        spec.default("suspend", false);
        if spec.unset("podReplacementPolicy") {
            let policy = if spec.unset("podFailurePolicy") { "TerminatingOrFailed" } else { "Failed" };
            spec.set("podReplacementPolicy", policy);
        }
        spec.default("manualSelector", false);
    });
    let labels = job.get("spec").and_then(|spec| spec.at(&["template", "metadata", "labels"])).cloned();
    if let Some(labels) = labels {
        job.within("metadata", |metadata| metadata.default("labels", labels.clone()));
    }
}

fn cron_job(job: &mut Place<'_>) {
    job.within("spec", |spec| {
        spec.default("concurrencyPolicy", "Allow");
        spec.default("suspend", false);
        spec.default("successfulJobsHistoryLimit", 3);
        spec.default("failedJobsHistoryLimit", 1);
    });
}
