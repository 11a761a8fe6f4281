//! Defaults of jobs. A job in the template of a CronJob gets its own when it is made of it.

use crate::framework::defaults::Fill::Text;
use crate::framework::defaults::{Place, Rule};

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

#[cfg(test)]
mod tests {
    use crate::framework::defaults::tests::check;

    const TEMPLATE: &str = r#""template":{"metadata":{},"spec":{"containers":null,"restartPolicy":"Always",
        "terminationGracePeriodSeconds":30,"dnsPolicy":"ClusterFirst","securityContext":{},
        "schedulerName":"default-scheduler"}}"#;

    #[track_caller]
    fn check_job(input: &str, expected: &str) {
        let expected = format!(
            r#"{{"metadata":{{}},"spec":{{{TEMPLATE},"suspend":false,"manualSelector":false,{expected}}},"status":{{}}}}"#
        );
        check("batch/v1.Job", &format!(r#"{{"spec":{{{input}}}}}"#), &expected);
    }

    #[test]
    fn a_job_runs_one_pod_if_nothing_is_said() {
        let rest =
            r#""backoffLimit":6,"completionMode":"NonIndexed","podReplacementPolicy":"TerminatingOrFailed""#;
        for (input, expected) in [
            ("", r#""completions":1,"parallelism":1"#),
            (r#""completions":3"#, r#""completions":3,"parallelism":1"#),
            // A queue of work, which ends when one pod says so.
            (r#""parallelism":2"#, r#""parallelism":2"#),
            (r#""parallelism":0"#, r#""parallelism":0"#),
        ] {
            check_job(input, &format!("{expected},{rest}"));
        }
    }

    #[test]
    fn failures_are_counted_where_they_are_asked_for() {
        check_job(
            r#""completionMode":"Indexed","completions":2,"backoffLimitPerIndex":1"#,
            r#""completionMode":"Indexed","completions":2,"parallelism":1,"backoffLimitPerIndex":1,
                "backoffLimit":2147483647,"podReplacementPolicy":"TerminatingOrFailed""#,
        );
        check_job(
            r#""backoffLimit":0,"podFailurePolicy":{"rules":[{"action":"Ignore","onPodConditions":[
                {"type":"a"},{"type":"b","status":"False"}]}]}"#,
            r#""backoffLimit":0,"completions":1,"parallelism":1,"completionMode":"NonIndexed",
                "podReplacementPolicy":"Failed","podFailurePolicy":{"rules":[{"action":"Ignore","onPodConditions":[
                {"type":"a","status":"True"},{"type":"b","status":"False"}]}]}"#,
        );
    }

    #[test]
    fn a_job_takes_the_labels_of_its_pods() {
        let template = TEMPLATE.replace(r#""metadata":{}"#, r#""metadata":{"labels":{"a":"b"}}"#);
        for (given, labels) in [("", r#""a":"b""#), (r#""c":"d""#, r#""c":"d""#)] {
            check(
                "batch/v1.Job",
                &format!(
                    r#"{{"metadata":{{"labels":{{{given}}}}},"spec":{{"template":{{"metadata":{{"labels":{{"a":"b"}}}}}}}}}}"#
                ),
                &format!(
                    r#"{{"metadata":{{"labels":{{{labels}}}}},"spec":{{{template},"suspend":false,"manualSelector":false,
                        "completions":1,"parallelism":1,"backoffLimit":6,"completionMode":"NonIndexed",
                        "podReplacementPolicy":"TerminatingOrFailed"}},"status":{{}}}}"#
                ),
            );
        }
    }

    #[test]
    fn a_cron_job_is_completed_but_for_its_jobs() {
        for kind in ["batch/v1.CronJob", "batch/v1beta1.CronJob"] {
            check(
                kind,
                "{}",
                &format!(
                    r#"{{"metadata":{{}},"spec":{{"schedule":"","concurrencyPolicy":"Allow","suspend":false,
                        "successfulJobsHistoryLimit":3,"failedJobsHistoryLimit":1,
                        "jobTemplate":{{"metadata":{{}},"spec":{{{TEMPLATE}}}}}}},"status":{{}}}}"#
                ),
            );
        }
        check(
            "batch/v1.CronJob",
            r#"{"spec":{"concurrencyPolicy":"Forbid","suspend":true,"successfulJobsHistoryLimit":0,
                "failedJobsHistoryLimit":0}}"#,
            &format!(
                r#"{{"metadata":{{}},"spec":{{"schedule":"","concurrencyPolicy":"Forbid","suspend":true,
                    "successfulJobsHistoryLimit":0,"failedJobsHistoryLimit":0,
                    "jobTemplate":{{"metadata":{{}},"spec":{{{TEMPLATE}}}}}}},"status":{{}}}}"#
            ),
        );
    }
}
