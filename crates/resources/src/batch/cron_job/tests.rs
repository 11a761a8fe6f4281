//! Cases of CronJobs.

use pintle_registry::{DeleteOptions, GarbageCollection};

use super::time_zones;
use crate::framework::strategy::testing::{of, warnings};
use crate::framework::validation::testing::Base;

const CRON_JOB: &str = r#"{"metadata":{"name":"c","namespace":"n"},"spec":{"schedule":"*/5 * * * *","jobTemplate":{"spec":{
    "template":{"spec":{"restartPolicy":"Never","containers":[{"name":"c","image":"i"}]}}}}}}"#;

#[test]
fn specs() {
    let base = Base::new("batch", "cronjobs", CRON_JOB);
    base.refuses(&[
        (&[("/spec/schedule", r#""""#)], &["spec.schedule: Required value"]),
        (
            &[("/spec/schedule", r#""* * *""#), ("/spec/startingDeadlineSeconds", "-1")],
            &[
                r#"spec.schedule: Invalid value: "* * *": expected exactly 5 fields, found 3: [* * *]"#,
                "spec.startingDeadlineSeconds: Invalid value: -1: must be greater than or equal to 0",
            ],
        ),
        (
            &[("/spec/concurrencyPolicy", r#""Other""#)],
            &[
                r#"spec.concurrencyPolicy: Unsupported value: "Other": supported values: "Allow", "Forbid", "Replace""#,
            ],
        ),
        (
            &[
                ("/spec/jobTemplate/spec/parallelism", "-1"),
                ("/spec/jobTemplate/spec/selector", "{}"),
                ("/spec/jobTemplate/spec/manualSelector", "true"),
                ("/spec/successfulJobsHistoryLimit", "-1"),
                ("/spec/failedJobsHistoryLimit", "-1"),
            ],
            &[
                "spec.jobTemplate.spec.parallelism: Invalid value: -1: must be greater than or equal to 0",
                "spec.jobTemplate.spec.selector: Invalid value: {}: `selector` will be auto-generated",
                r#"spec.jobTemplate.spec.manualSelector: Unsupported value: true: supported values: "nil", "false""#,
                "spec.successfulJobsHistoryLimit: Invalid value: -1: must be greater than or equal to 0",
                "spec.failedJobsHistoryLimit: Invalid value: -1: must be greater than or equal to 0",
            ],
        ),
        (
            &[("/spec/jobTemplate/spec/backoffLimitPerIndex", "1")],
            &["spec.jobTemplate.spec.backoffLimitPerIndex: Invalid value: 1: requires indexed completion mode"],
        ),
        (
            &[("/spec/jobTemplate/spec/template/spec/restartPolicy", r#""Always""#)],
            &[
                r#"spec.jobTemplate.spec.template.spec.restartPolicy: Required value: valid values: "OnFailure", "Never""#,
            ],
        ),
    ]);
    base.accepts(&[&[("/spec/jobTemplate/spec/manualSelector", "false")]]);
    base.refuses_update(&[(&[("/spec/schedule", r#""""#)], &["spec.schedule: Required value"])]);
}

#[test]
fn names_leave_room_for_a_time() {
    let base = Base::new("batch", "cronjobs", CRON_JOB);
    let (right, wrong) = (format!("{:?}", "j".repeat(52)), "j".repeat(53));
    base.accepts(&[&[("/metadata/name", &right)]]);
    let shown = format!("{wrong:?}");
    base.refuses(&[(
        &[("/metadata/name", &shown)],
        &[&format!("metadata.name: Invalid value: {shown}: must be no more than 52 characters")],
    )]);
    base.accepts_update_of(&[("/metadata/name", &shown)], &[&[("/spec/suspend", "true")]]);
}

#[test]
fn time_zones_have_their_own_field() {
    let base = Base::new("batch", "cronjobs", CRON_JOB);
    let zone = |name: &str, why: &str| format!("spec.timeZone: Invalid value: {name:?}: {why}");
    let explicit = "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones";
    base.refuses(&[
        (&[("/spec/timeZone", r#""""#)], &[&zone("", "timeZone must be nil or non-empty string")]),
        (&[("/spec/timeZone", r#""Local""#)], &[&zone("Local", explicit)]),
        (
            &[("/spec/timeZone", r#""local""#)],
            &[&zone("local", explicit), &zone("local", "unknown time zone local")],
        ),
        (&[("/spec/timeZone", r#""../x""#)], &[&zone("../x", "unknown time zone ../x")]),
        (&[("/spec/timeZone", r#""A//B""#)], &[&zone("A//B", "unknown time zone A//B")]),
        (&[("/spec/timeZone", r#""-x""#)], &[&zone("-x", "unknown time zone -x")]),
        (
            &[("/spec/timeZone", r#""Mars/Olympus""#)],
            &[&zone("Mars/Olympus", "unknown time zone Mars/Olympus")],
        ),
        (&[("/spec/timeZone", r#""a...b""#)], &[&zone("a...b", "time: invalid location name")]),
    ]);
    base.accepts(&[
        &[("/spec/timeZone", r#""Europe/Paris""#)],
        &[("/spec/timeZone", r#""America/Argentina/Buenos_Aires""#)],
        &[("/spec/timeZone", r#""Etc/GMT+5""#)],
        &[("/spec/timeZone", r#""UTC""#)],
    ]);
    // A zone of the past may stay.
    base.accepts_update_of(&[("/spec/timeZone", r#""Mars/Olympus""#)], &[&[("/spec/suspend", "true")]]);
    let zoned = r#""TZ=UTC * * * * *""#;
    base.refuses(&[(
        &[("/spec/schedule", zoned)],
        &[
            r#"spec.schedule: Invalid value: "TZ=UTC * * * * *": cannot use TZ or CRON_TZ in schedule, use timeZone field instead"#,
        ],
    )]);
    base.accepts_update_of(&[("/spec/schedule", zoned)], &[&[("/spec/suspend", "true")]]);
    base.refuses_update_of(
        &[("/spec/schedule", zoned)],
        &[(
            &[("/spec/timeZone", r#""UTC""#)],
            &[
                r#"spec.schedule: Invalid value: "TZ=UTC * * * * *": cannot use both timeZone field and TZ or CRON_TZ in schedule"#,
            ],
        )],
    );
}

#[test]
fn time_zones_are_known_by_their_exact_names() {
    for name in ["", "Asia/Tokyo", "America/Indiana/Knox", "GMT0", "US/Pacific", "Local"] {
        assert_eq!(time_zones::find(name), Ok(()), "{name}");
    }
    for name in ["Asia", "Asia/", "asia/tokyo", "Mars/", "America/Indiana", "Tokyo"] {
        assert_eq!(time_zones::find(name), Err(format!("unknown time zone {name}")), "{name}");
    }
}

#[test]
fn templates_and_zones_in_schedules_are_warned_of() {
    let job = |spec: &str| format!(r#"{{"metadata":{{"name":"j","namespace":"n"}},"spec":{{{spec}}}}}"#);
    let template = r#""template":{"spec":{"containers":[],"hostAliases":[{"ip":"01.1.1.1"}]}}"#;
    let nested = job(&format!(r#""jobTemplate":{{"spec":{{{template}}}}}"#));
    let found = warnings(&of("batch", "cronjobs"), &nested, None);
    let place = "spec.jobTemplate.spec.template.spec.hostAliases[0].ip: ";
    assert!(found.len() == 1 && found[0].starts_with(place), "{found:?}");
    let zoned = job(r#""schedule":"TZ=UTC * * * * *","jobTemplate":{}"#);
    assert!(warnings(&of("batch", "cronjobs"), &zoned, None).is_empty());
    assert_eq!(warnings(&of("batch", "cronjobs"), &zoned, Some(&zoned)).len(), 1);
}

#[test]
fn jobs_go_with_their_cron_job() {
    let cron_jobs = of("batch", "cronjobs").strategy;
    assert_eq!(cron_jobs.garbage_collection(), GarbageCollection::Background);
    assert!(cron_jobs.warnings_on_delete(&DeleteOptions::default()).is_empty());
}
