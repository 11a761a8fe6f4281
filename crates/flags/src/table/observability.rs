//! Profiling, metrics, logs, traces, and the flags every Kubernetes program has.

use super::{Flag, flag};
use crate::kind::Kind::{Bool, Duration, Level, Quantity, QuotedPairs, String, Strings, VModule, Version};

pub(super) const FEATURES: &[Flag] = &[
    flag("contention-profiling", Bool, "", "Also profile lock contention, when --profiling is on."),
    flag("debug-socket-path", String, "", "Unix socket to serve profiles on without any access control."),
    flag(
        "enable-priority-and-fairness",
        Bool,
        "true",
        "Queue requests by priority and share the server fairly.",
    )
    .active(),
    flag("profiling", Bool, "true", "Serve profiles under /debug/pprof/."),
];

pub(super) const METRICS: &[Flag] = &[
    flag(
        "allow-metric-labels",
        QuotedPairs,
        "",
        "Label values a metric may have, as metric,label=value,value in quotes; others are counted as unexpected.",
    )
    .active(),
    flag("allow-metric-labels-manifest", String, "", "File with the same content as --allow-metric-labels.")
        .active(),
    flag("disabled-metrics", Strings, "", "Full names of metrics to leave out, comma separated.")
        .active(),
    flag(
        "show-hidden-metrics-for-version",
        String,
        "",
        "Show metrics that were hidden since this release; only the previous minor one (1.35) is allowed.",
    )
    .active(),
];

pub(super) const LOGS: &[Flag] = &[
    flag("log-flush-frequency", Duration, "5s", "Longest time a buffered log line waits.").active(),
    flag(
        "log-json-info-buffer-size",
        Quantity,
        "",
        "Bytes of info lines to buffer in JSON format with split streams, for example 64Ki; 0 for none. Alpha, needs \
         the gate LoggingAlphaOptions.",
    )
    .active(),
    flag(
        "log-json-split-stream",
        Bool,
        "",
        "In JSON format, errors to standard error and the rest to standard output. Alpha, needs the gate \
         LoggingAlphaOptions.",
    )
    .active(),
    flag(
        "log-text-info-buffer-size",
        Quantity,
        "",
        "Bytes of info lines to buffer in text format with split streams, for example 64Ki; 0 for none. Alpha, needs \
         the gate LoggingAlphaOptions.",
    )
    .active(),
    flag(
        "log-text-split-stream",
        Bool,
        "",
        "In text format, errors to standard error and the rest to standard output. Alpha, needs the gate \
         LoggingAlphaOptions.",
    )
    .active(),
    flag("logging-format", String, "text", "How log lines look: text or json.").active(),
    flag("v", Level, "0", "How much to log: 0 the usual, 2 debugging, 4 tracing, from 8 also the libraries.")
        .short('v')
        .active(),
    flag(
        "vmodule",
        VModule,
        "",
        "Another -v for single source files, as file=N, comma separated, where file may have wildcards; text format \
         only.",
    )
    .active(),
];

pub(super) const TRACES: &[Flag] =
    &[flag("tracing-config-file", String, "", "File that says where to send OpenTelemetry traces.")];

pub(super) const GLOBAL: &[Flag] = &[
    flag("help", Bool, "", "Print this text.").short('h').active(),
    flag(
        "version",
        Version,
        "",
        "Print the version and exit, with =raw all that is known of the build; =vX.Y.Z... makes the server report that.",
    )
    .active(),
];
