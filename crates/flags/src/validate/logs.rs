//! Log format and its options.

use pintle_features::Feature;

use super::Problems;
use crate::Parsed;
use crate::golang::{format_duration, quote};

pub(super) fn check(flags: &Parsed, problems: &mut Problems) {
    let features = flags.features();
    let format = flags.string("logging-format");
    match format {
        "text" => {}
        "json" if features.enabled(Feature::LoggingBetaOptions) => {}
        "json" => {
            problems.push("--logging-format=json is disabled, see LoggingBetaOptions feature".into());
        }
        other => {
            problems.push(format!("--logging-format {} is not supported, use text or json", quote(other)));
        }
    }
    let flush = flags.duration_nanos("log-flush-frequency");
    if flush <= 0 {
        problems.push(format!("--log-flush-frequency {} must be greater than zero", format_duration(flush)));
    }
    if !flags.vmodule("vmodule").is_empty() && format != "text" {
        problems.push("--vmodule is only supported for text log format".into());
    }
    let alpha = [
        ("log-text-split-stream", flags.bool("log-text-split-stream")),
        ("log-text-info-buffer-size", flags.quantity("log-text-info-buffer-size") != 0),
        ("log-json-split-stream", flags.bool("log-json-split-stream")),
        ("log-json-info-buffer-size", flags.quantity("log-json-info-buffer-size") != 0),
    ];
    for (flag, used) in alpha {
        if used && !features.enabled(Feature::LoggingAlphaOptions) {
            problems.push(format!("--{flag}: Feature LoggingAlphaOptions is disabled"));
        }
    }
}
