//! The columns of jobs and cron jobs.

use pintle_meta::Value;
use pintle_meta::time::human_duration;

use crate::framework::columns::descriptions as doc;
use crate::framework::columns::{
    AGE, CONTAINERS, Columns, Context, IMAGES, NAME, boolean, cell, integer, text, wide,
};

pub(crate) fn of(kind: &str) -> Option<&'static Columns> {
    Some(match kind {
        "CronJob" => &CRON_JOB,
        "Job" => &JOB,
        _ => return None,
    })
}

static JOB: Columns = Columns::new(
    "batch/v1.Job",
    &[
        NAME,
        text("Status", "Status of the job."),
        text("Completions", doc::JOB_STATUS_SUCCEEDED),
        text("Duration", "Time required to complete the job."),
        AGE,
        CONTAINERS,
        IMAGES,
        wide(text("Selector", doc::JOB_SPEC_SELECTOR)),
    ],
    |object, context, cells| {
        cells.extend([
            cell::name(object),
            Value::literal(status(object)),
            completions(object).into(),
            duration(object, context).into(),
            context.age(object),
        ]);
        cells.extend(cell::containers(object, &["spec", "template", "spec"]));
        cells.push(cell::selector(object, &["spec", "selector"]));
    },
);

static CRON_JOB: Columns = Columns::new(
    "batch/v1.CronJob",
    &[
        NAME,
        text("Schedule", doc::CRON_JOB_SPEC_SCHEDULE),
        text("Timezone", doc::CRON_JOB_SPEC_TIME_ZONE),
        boolean("Suspend", doc::CRON_JOB_SPEC_SUSPEND),
        integer("Active", doc::CRON_JOB_STATUS_ACTIVE),
        text("Last Schedule", doc::CRON_JOB_STATUS_LAST_SCHEDULE_TIME),
        AGE,
        CONTAINERS,
        IMAGES,
        wide(text("Selector", doc::JOB_SPEC_SELECTOR)),
    ],
    |object, context, cells| {
        let last = match object.at(&["status", "lastScheduleTime"]).filter(|time| !time.is_null()) {
            None => cell::NONE.into(),
            last => context.since(last),
        };
        let suspend = match object.at(&["spec", "suspend"]).and_then(Value::as_bool) {
            None => cell::UNSET,
            Some(true) => "True",
            Some(false) => "False",
        };
        cells.extend([
            cell::name(object),
            cell::text(object, &["spec", "schedule"]),
            cell::text_or(object, &["spec", "timeZone"], cell::NONE),
            Value::literal(suspend),
            cell::count(object, &["status", "active"]).into(),
            last.into(),
            context.age(object),
        ]);
        cells.extend(cell::containers(object, &["spec", "jobTemplate", "spec", "template", "spec"]));
        cells.push(cell::selector(object, &["spec", "jobTemplate", "spec", "selector"]));
    },
);

fn status(object: &Value) -> &'static str {
    let conditions = object.items_at(&["status", "conditions"]);
    let has = |kind| cell::has_condition(conditions, kind, "True");
    match () {
        () if has("Complete") => "Complete",
        () if has("Failed") => "Failed",
        () if object.deletion_timestamp().is_some() => "Terminating",
        () if has("Suspended") => "Suspended",
        () if has("FailureTarget") => "FailureTarget",
        () if has("SuccessCriteriaMet") => "SuccessCriteriaMet",
        () => "Running",
    }
}

fn completions(object: &Value) -> String {
    let succeeded = cell::int(object, &["status", "succeeded"]);
    match object.at(&["spec", "completions"]).and_then(Value::as_i64) {
        Some(wanted) => format!("{succeeded}/{wanted}"),
        None => match cell::int(object, &["spec", "parallelism"]) {
            parallel if parallel > 1 => format!("{succeeded}/1 of {parallel}"),
            _ => format!("{succeeded}/1"),
        },
    }
}

fn duration(object: &Value, context: &Context) -> String {
    let time = |field| object.at(&["status", field]).filter(|time| !time.is_null());
    let Some(started) = time("startTime") else { return String::new() };
    let ended = time("completionTime").map_or(context.now, |ended| cell::time(Some(ended)));
    human_duration(ended.nanos_since(&cell::time(Some(started))))
}

#[cfg(test)]
mod tests {
    use crate::framework::columns::testing::check;

    #[test]
    fn a_job_shows_how_far_it_is() {
        for (spec, status, shown) in [
            (r#""completions":2"#, r#""succeeded":1"#, r#""Running","1/2","""#),
            (r#""parallelism":1"#, "", r#""Running","0/1","""#),
            (r#""parallelism":3"#, r#""succeeded":2"#, r#""Running","2/1 of 3","""#),
            ("", r#""startTime":"2026-01-10T23:00:00Z""#, r#""Running","0/1","60m""#),
            (
                "",
                r#""startTime":"2026-01-01T00:00:00Z","completionTime":"2026-01-01T00:01:05Z",
                    "conditions":[{"type":"Complete","status":"True"}]"#,
                r#""Complete","0/1","65s""#,
            ),
            (
                "",
                r#""conditions":[{"type":"Complete","status":"False"},{"type":"Failed","status":"True"}]"#,
                r#""Failed","0/1","""#,
            ),
            ("", r#""conditions":[{"type":"Suspended","status":"True"}]"#, r#""Suspended","0/1","""#),
            ("", r#""conditions":[{"type":"FailureTarget","status":"True"}]"#, r#""FailureTarget","0/1","""#),
            (
                "",
                r#""conditions":[{"type":"SuccessCriteriaMet","status":"True"}]"#,
                r#""SuccessCriteriaMet","0/1","""#,
            ),
        ] {
            let object = format!(r#"{{"metadata":{{"name":"j"}},"spec":{{{spec}}},"status":{{{status}}}}}"#);
            check("batch/v1.Job", &object, &format!(r#"["j",{shown},"<unknown>","","","<none>"]"#));
        }
    }

    #[test]
    fn a_job_that_is_being_deleted_is_terminating_unless_it_has_ended() {
        let object = |status: &str| {
            format!(
                r#"{{"metadata":{{"name":"j","deletionTimestamp":"2026-01-01T00:00:00Z"}},
                    "status":{{"conditions":[{{"type":"{status}","status":"True"}}]}}}}"#
            )
        };
        for (condition, shown) in [("Suspended", "Terminating"), ("Complete", "Complete")] {
            let cells = format!(r#"["j",{shown:?},"0/1","","<unknown>","","","<none>"]"#);
            check("batch/v1.Job", &object(condition), &cells);
        }
    }

    #[test]
    fn cron_jobs_say_when_they_last_ran() {
        let kind = "batch/v1.CronJob";
        let object = r#"{"metadata":{"name":"c"},"spec":{"schedule":"0 * * * *"}}"#;
        let cells = r#"["c","0 * * * *","<none>","<unset>",0,"<none>","<unknown>","","","<none>"]"#;
        check(kind, object, cells);
        let object = r#"{"metadata":{"name":"c"},"spec":{"schedule":"@daily","timeZone":"Asia/Tokyo","suspend":false,
            "jobTemplate":{"spec":{"selector":{"matchLabels":{"a":"b"}},
                "template":{"spec":{"containers":[{"name":"x","image":"y"}]}}}}},
            "status":{"active":[{"name":"p"}],"lastScheduleTime":"2026-01-10T23:59:50Z"}}"#;
        check(kind, object, r#"["c","@daily","Asia/Tokyo","False",1,"10s","<unknown>","x","y","a=b"]"#);
    }
}
