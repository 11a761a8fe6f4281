//! The two audit backends. What concerns a backend that is off is not checked.

use super::Problems;
use crate::Parsed;
use crate::golang::quote;

const MODES: [&str; 3] = ["batch", "blocking", "blocking-strict"];

pub(super) fn check(flags: &Parsed, problems: &mut Problems) {
    if flags.non_empty("audit-log-path").is_some() {
        check_backend(flags, "log", problems);
        let format = flags.string("audit-log-format");
        if !matches!(format, "legacy" | "json") {
            problems.push(format!("invalid audit log format {format}, allowed formats are \"legacy,json\""));
        }
        for flag in ["audit-log-maxage", "audit-log-maxbackup", "audit-log-maxsize"] {
            let value = flags.int(flag);
            if value < 0 {
                problems.push(format!("--{flag} {value} can't be a negative number"));
            }
        }
    }
    if flags.non_empty("audit-webhook-config-file").is_some() {
        check_backend(flags, "webhook", problems);
    }
}

fn check_backend(flags: &Parsed, backend: &str, problems: &mut Problems) {
    problems.extend(batch_problem(flags, backend));
    problems.extend(truncate_problem(flags, backend));
    let version = flags.string(&format!("audit-{backend}-version"));
    if version != "audit.k8s.io/v1" {
        problems.push(format!(
            "--audit-{backend}-version {}: invalid group version, allowed versions are [\"audit.k8s.io/v1\"]",
            quote(version)
        ));
    }
}

fn batch_problem(flags: &Parsed, backend: &str) -> Option<String> {
    let name = |suffix: &str| format!("audit-{backend}-{suffix}");
    let mode = flags.string(&name("mode"));
    if !MODES.contains(&mode) {
        let allowed = quote(&MODES.join(","));
        return Some(format!("invalid audit {backend} mode {mode}, allowed modes are {allowed}"));
    }
    if mode != "batch" {
        return None;
    }
    let throttled = flags.bool(&name("batch-throttle-enable"));
    let qps = flags.float(&name("batch-throttle-qps"));
    let limits = [
        ("buffer size", flags.int(&name("batch-buffer-size")), true),
        ("max batch size", flags.int(&name("batch-max-size")), true),
        ("throttle burst", flags.int(&name("batch-throttle-burst")), throttled),
    ];
    if throttled && (qps <= 0.0 || qps.is_nan()) {
        return Some(format!("invalid audit batch {backend} throttle QPS {qps}, must be a positive number"));
    }
    let (what, value, _) = limits.into_iter().find(|(_, value, used)| *used && *value <= 0)?;
    Some(format!("invalid audit batch {backend} {what} {value}, must be a positive number"))
}

fn truncate_problem(flags: &Parsed, backend: &str) -> Option<String> {
    let event = flags.int(&format!("audit-{backend}-truncate-max-event-size"));
    let batch = flags.int(&format!("audit-{backend}-truncate-max-batch-size"));
    if event <= 0 {
        Some(format!("invalid audit truncate {backend} max event size {event}, must be a positive number"))
    } else if batch < event {
        Some(format!(
            "invalid audit truncate {backend} max batch size {batch}, must be greater than max event size ({event})"
        ))
    } else {
        None
    }
}
