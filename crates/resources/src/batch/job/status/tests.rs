//! Cases of statuses of jobs.

use crate::framework::validation::testing::{Base, Case, Change};

const SPEC: &str = r#""template":{"spec":{"restartPolicy":"Never","containers":[{"name":"c","image":"i"}]}}"#;
const START: Change<'_> = ("/status/startTime", r#""2026-01-01T00:00:00Z""#);
const END: Change<'_> = ("/status/completionTime", r#""2026-01-01T01:00:00Z""#);

fn base(spec: &str) -> Base {
    let job = format!(r#"{{"metadata":{{"name":"j","namespace":"n","uid":"u"}},"spec":{{{spec}{SPEC}}}}}"#);
    Base::new("batch", "jobs/status", &job)
}

/// Conditions that are true.
fn conditions(types: &[&str]) -> String {
    let items: Vec<String> = types.iter().map(|of| format!(r#"{{"type":"{of}","status":"True"}}"#)).collect();
    format!("[{}]", items.join(","))
}

#[track_caller]
fn refuses(before: &[Change<'_>], cases: &[Case<'_>]) {
    base("").refuses_update_of(before, cases);
}

#[test]
fn numbers_and_uncounted_pods() {
    refuses(
        &[],
        &[
            (
                &[("/status/active", "-1"), ("/status/terminating", "-1")],
                &[
                    "status.active: Invalid value: -1: must be greater than or equal to 0",
                    "status.terminating: Invalid value: -1: must be greater than or equal to 0",
                ],
            ),
            (
                &[("/status/uncountedTerminatedPods", r#"{"succeeded":["a",""],"failed":["b","a",""]}"#)],
                &[
                    r#"status.uncountedTerminatedPods.succeeded[1]: Invalid value: "": must not be empty"#,
                    r#"status.uncountedTerminatedPods.failed[1]: Duplicate value: "a""#,
                    r#"status.uncountedTerminatedPods.failed[2]: Invalid value: "": must not be empty"#,
                ],
            ),
            (
                &[("/status/ready", "2"), ("/status/active", "1")],
                &["status.ready: Invalid value: 2: cannot set more ready pods than active"],
            ),
        ],
    );
    base("").accepts_update(&[&[("/status/ready", "1"), ("/status/active", "1"), START]]);
}

#[test]
fn conditions_exclude_each_other() {
    let all = |types: &[&str]| conditions(types);
    refuses(
        &[],
        &[
            (
                &[
                    (
                        "/status/conditions",
                        &all(&["Complete", "Failed", "FailureTarget", "SuccessCriteriaMet"]),
                    ),
                    START,
                    END,
                ],
                &[
                    "status.conditions: Invalid value: cannot set Complete=True and Failed=true conditions",
                    "status.conditions: Invalid value: cannot set Complete=True and FailureTarget=true conditions",
                    "status.conditions: Invalid value: cannot set SuccessCriteriaMet=True and Failed=true conditions",
                    "status.conditions: Invalid value: cannot set SuccessCriteriaMet=True and FailureTarget=true conditions",
                ],
            ),
            (
                &[("/status/conditions", &all(&["Complete"])), START, END],
                &[
                    "status.conditions: Invalid value: cannot set Complete=True condition without the SuccessCriteriaMet=true \
                     condition",
                ],
            ),
            (
                &[("/status/conditions", &all(&["Failed"])), START],
                &[
                    "status.conditions: Invalid value: cannot set Failed=True condition without the FailureTarget=true condition",
                ],
            ),
        ],
    );
    let complete = conditions(&["Complete", "SuccessCriteriaMet"]);
    let failed = conditions(&["Failed", "FailureTarget"]);
    base("").accepts_update(&[
        &[("/status/conditions", &complete), START, END],
        &[("/status/conditions", &failed), START],
        // A condition that is not true is none.
        &[("/status/conditions", r#"[{"type":"Complete","status":"False"}]"#)],
    ]);
    base(r#""completionMode":"Indexed","completions":2,"parallelism":1,"successPolicy":{"rules":[{"succeededCount":1}]},"#)
        .refuses_update(&[(
            &[("/status/conditions", &all(&["Complete"])), START, END],
            &[
                "status.conditions: Invalid value: cannot set Complete=True condition without the SuccessCriteriaMet=true condition",
                "status.conditions: Invalid value: cannot set Complete=True for Job with SuccessPolicy unless \
                 SuccessCriteriaMet=True",
            ],
        )]);
}

#[test]
fn terminal_conditions_stay() {
    let complete = conditions(&["Complete", "SuccessCriteriaMet"]);
    let disabled = |of: &str| {
        format!("status.conditions: Invalid value: cannot disable the terminal {of}=True condition")
    };
    refuses(
        &[("/status/conditions", &complete), START, END],
        &[(
            &[("/status/conditions", "[]"), ("/status/completionTime", "")],
            &[
                &disabled("Complete"),
                "status.conditions: Invalid value: cannot disable the SuccessCriteriaMet=True condition",
            ],
        )],
    );
    refuses(
        &[("/status/conditions", &conditions(&["Failed", "FailureTarget"])), START],
        &[(&[("/status/conditions", "[]")], &[&disabled("Failed"), &disabled("FailureTarget")])],
    );
    refuses(
        &[("/status/conditions", &conditions(&["Complete"])), START, END],
        &[(
            &[("/status/conditions", &complete)],
            &[
                "status.conditions: Invalid value: cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions",
            ],
        )],
    );
}

#[test]
fn finished_jobs_have_nothing_left() {
    let complete = conditions(&["Complete", "SuccessCriteriaMet"]);
    refuses(
        &[],
        &[
            (
                &[
                    ("/status/conditions", &complete),
                    END,
                    ("/status/active", "1"),
                    ("/status/terminating", "2"),
                    ("/status/uncountedTerminatedPods", r#"{"succeeded":["a"]}"#),
                ],
                &[
                    "status.active: Invalid value: 1: active>0 is invalid for finished job",
                    "status.startTime: Required value: startTime is required for finished job",
                    r#"status.uncountedTerminatedPods: Invalid value: {"Succeeded":["a"],"Failed":null}: must be empty for finished job"#,
                    "status.terminating: Invalid value: 2: terminating>0 is invalid for finished job",
                ],
            ),
            (
                &[("/status/conditions", &complete), START],
                &["status.completionTime: Required value: completionTime is required for Complete jobs"],
            ),
            (
                &[START, END],
                &[
                    r#"status.completionTime: Invalid value: "2026-01-01T01:00:00Z": cannot set completionTime when there is no Complete=True condition"#,
                ],
            ),
            (
                &[
                    ("/status/conditions", &complete),
                    START,
                    ("/status/completionTime", r#""2025-12-31T23:00:00Z""#),
                ],
                &[
                    r#"status.completionTime: Invalid value: "2025-12-31T23:00:00Z": must be equal to or after `startTime`"#,
                ],
            ),
        ],
    );
    // A job that needs no pods may end while it is suspended, and so never start.
    base(r#""suspend":true,"completions":0,"#).accepts_update(&[&[("/status/conditions", &complete), END]]);
    // Rules about fields that did not change don't apply.
    let before: &[Change<'_>] = &[("/status/conditions", &complete), END, ("/status/active", "1")];
    base("").accepts_update_of(before, &[&[("/status/failed", "1")]]);
}

#[test]
fn times_and_counters_do_not_go_back() {
    let complete = conditions(&["Complete", "SuccessCriteriaMet"]);
    refuses(
        &[("/status/conditions", &complete), START, END, ("/status/failed", "2"), ("/status/succeeded", "3")],
        &[
            (
                &[("/status/failed", "1"), ("/status/succeeded", "2")],
                &[
                    "status.failed: Invalid value: 1: cannot decrease the failed counter",
                    "status.succeeded: Invalid value: 2: cannot decrease the succeeded counter",
                ],
            ),
            (
                &[("/status/completionTime", r#""2026-01-01T02:00:00Z""#)],
                &[r#"status.completionTime: Invalid value: "2026-01-01T02:00:00Z": field is immutable"#],
            ),
            (
                &[("/status/startTime", r#""2026-01-01T00:30:00Z""#)],
                &[
                    r#"status.startTime: Invalid value: "2026-01-01T00:30:00Z": field is immutable for unsuspended job once set"#,
                ],
            ),
        ],
    );
    refuses(
        &[START],
        &[(
            &[("/status/startTime", "")],
            &["status.startTime: Invalid value: null: field is immutable for unsuspended job once set"],
        )],
    );
    let again: Change<'_> = ("/status/startTime", r#""2026-01-02T00:00:00Z""#);
    base(r#""suspend":true,"#).accepts_update_of(&[START], &[&[again]]);
    base("").accepts_update_of(
        &[START, ("/status/conditions", &conditions(&["Suspended"]))],
        &[&[again, ("/status/conditions", r#"[{"type":"Suspended","status":"False"}]"#)]],
    );
    // An indexed job that can be scaled down forgets successes.
    base(r#""completionMode":"Indexed","completions":2,"parallelism":2,"#)
        .accepts_update_of(&[("/status/succeeded", "3")], &[&[("/status/succeeded", "2")]]);
}

#[test]
fn lists_of_indexes() {
    let indexed = r#""completionMode":"Indexed","completions":5,"parallelism":1,"#;
    let limited = r#""completionMode":"Indexed","completions":5,"parallelism":1,"backoffLimitPerIndex":1,"#;
    base(indexed).refuses_update(&[
        (
            &[("/status/completedIndexes", r#""1,5""#)],
            &[
                r#"status.completedIndexes: Invalid value: "1,5": error parsing completedIndexes: too large index: "5""#,
            ],
        ),
        (
            &[("/status/failedIndexes", r#""1""#)],
            &[
                r#"status.failedIndexes: Invalid value: "1": cannot set non-null failedIndexes when backoffLimitPerIndex is null"#,
            ],
        ),
    ]);
    base("").refuses_update(&[(
        &[("/status/completedIndexes", r#""0""#)],
        &[
            r#"status.completedIndexes: Invalid value: "0": cannot set non-empty completedIndexes when non-indexed completion mode"#,
        ],
    )]);
    let overlap = |at: usize| format!("failedIndexes and completedIndexes overlap at index: {at}");
    base(limited).refuses_update(&[
        (
            &[("/status/failedIndexes", r#""x""#)],
            &[
                r#"status.failedIndexes: Invalid value: "x": error parsing failedIndexes: cannot convert string to integer for index: "x""#,
            ],
        ),
        (
            &[("/status/completedIndexes", r#""0,2-3""#), ("/status/failedIndexes", r#""1,3-4""#)],
            &[&format!(r#"status.failedIndexes: Invalid value: "1,3-4": {}"#, overlap(3))],
        ),
        (
            &[("/status/completedIndexes", r#""x,4""#), ("/status/failedIndexes", r#""0,4""#)],
            &[
                r#"status.completedIndexes: Invalid value: "x,4": error parsing completedIndexes: cannot convert string to integer for index: "x""#,
                &format!(r#"status.failedIndexes: Invalid value: "0,4": {}"#, overlap(4)),
            ],
        ),
    ]);
    base(limited).accepts_update(&[&[
        ("/status/completedIndexes", r#""0,2-3""#),
        ("/status/failedIndexes", r#""1,4""#),
    ]]);
    // Indexes of a job that was scaled down stay until the controller writes them anew.
    base(limited)
        .accepts_update_of(&[("/status/completedIndexes", r#""7""#)], &[&[("/status/succeeded", "1")]]);
}
