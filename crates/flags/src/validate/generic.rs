//! Server-wide limits, timeouts and headers.

use super::Problems;
use crate::Parsed;

pub(super) fn check(flags: &Parsed, problems: &mut Problems) {
    let durations = [
        ("--livez-grace-period can not be a negative value", "livez-grace-period"),
        ("--request-timeout can not be negative value", "request-timeout"),
        ("--storage-initialization-timeout can not be negative value", "storage-initialization-timeout"),
        ("--shutdown-delay-duration can not be negative value", "shutdown-delay-duration"),
        (
            "--shutdown-watch-termination-grace-period, if provided, can not be a negative value",
            "shutdown-watch-termination-grace-period",
        ),
    ];
    for (text, flag) in durations {
        if flags.duration_nanos(flag) < 0 {
            problems.push(text.into());
        }
    }
    for flag in ["max-requests-inflight", "max-mutating-requests-inflight", "min-request-timeout"] {
        if flags.int(flag) < 0 {
            problems.push(format!("--{flag} can not be negative value"));
        }
    }
    let (reads, writes) = (flags.int("max-requests-inflight"), flags.int("max-mutating-requests-inflight"));
    if flags.bool("enable-priority-and-fairness") && reads == 0 && writes == 0 {
        problems.push(
            "--max-requests-inflight and --max-mutating-requests-inflight must add up to something positive with \
             --enable-priority-and-fairness"
                .into(),
        );
    }
    if !(0.0..=0.02).contains(&flags.float("goaway-chance")) {
        problems.push("--goaway-chance can not be less than 0 or greater than 0.02".into());
    }
    check_transport_security(flags.strings("strict-transport-security-directives"), problems);
    check_origins(flags.strings("cors-allowed-origins"), problems);
}

fn check_transport_security(directives: &[String], problems: &mut Problems) {
    for directive in directives {
        if directive.trim().is_empty() {
            problems.push("empty value in --strict-transport-security-directives".into());
            continue;
        }
        let max_age = matches!(directive.split('=').collect::<Vec<_>>()[..], ["max-age", _]);
        if !max_age && directive != "includeSubDomains" && directive != "preload" {
            problems.push(
                "--strict-transport-security-directives invalid, allowed values: max-age=expireTime, \
                 includeSubDomains, preload. see https://tools.ietf.org/html/rfc6797#section-6.1 for more information"
                    .into(),
            );
        }
    }
}

/// An expression that does not pin both ends of the host would let `evil-example.com` pass for `example.com`.
fn check_origins(origins: &[String], problems: &mut Problems) {
    for origin in origins {
        if origin.is_empty() {
            problems.push("empty value in --cors-allowed-origins".into());
            continue;
        }
        let reason = match pintle_regex::Regex::new(origin) {
            Err(error) => error.to_string(),
            Ok(_) => {
                let start = origin.contains('^') || origin.contains("//");
                let end = origin.contains(['$', ':']);
                if start && end {
                    continue;
                }
                "regular expression does not pin to start/end of host in the origin header".into()
            }
        };
        problems.push(format!("--cors-allowed-origins has an invalid regular expression: {reason}"));
    }
}
