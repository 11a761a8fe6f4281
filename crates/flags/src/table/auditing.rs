//! Audit policy and the two audit backends, which have the same batching and truncation settings.

use super::{Flag, flag};
use crate::kind::Kind::{Bool, Duration, Float32, Int, String};

pub(super) const FLAGS: &[Flag] = &[
    flag(
        "audit-log-batch-buffer-size",
        Int,
        "10000",
        "Events the log backend holds back at most, in batch mode.",
    )
    .active(),
    flag("audit-log-batch-max-size", Int, "1", "Events per batch of the log backend.").active(),
    flag(
        "audit-log-batch-max-wait",
        Duration,
        "",
        "Time after which the log backend writes an unfilled batch.",
    )
    .active(),
    flag(
        "audit-log-batch-throttle-burst",
        Int,
        "",
        "Batches the log backend may write at once before the limit.",
    )
    .active(),
    flag("audit-log-batch-throttle-enable", Bool, "", "Limit how fast the log backend writes batches.")
        .active(),
    flag(
        "audit-log-batch-throttle-qps",
        Float32,
        "",
        "Batches per second the log backend may write on average.",
    )
    .active(),
    flag("audit-log-compress", Bool, "", "Compress rotated log files with gzip.").active(),
    flag(
        "audit-log-format",
        String,
        "json",
        "How events are written to the log: json or legacy (one line of text).",
    )
    .active(),
    flag("audit-log-maxage", Int, "366", "Days to keep rotated log files; 0 for ever.").active(),
    flag("audit-log-maxbackup", Int, "100", "Rotated log files to keep; 0 for all.").active(),
    flag("audit-log-maxsize", Int, "100", "Megabytes at which the log file is rotated; 0 for never.")
        .active(),
    flag(
        "audit-log-mode",
        String,
        "blocking",
        "When the log is written: batch, blocking or blocking-strict.",
    )
    .active(),
    flag("audit-log-path", String, "", "File to write audit events to, '-' for standard output.").active(),
    flag(
        "audit-log-truncate-enabled",
        Bool,
        "",
        "Shorten events and split batches that are too large for the log.",
    )
    .active(),
    flag("audit-log-truncate-max-batch-size", Int, "10485760", "Bytes per batch written to the log.")
        .active(),
    flag("audit-log-truncate-max-event-size", Int, "102400", "Bytes per event written to the log.").active(),
    flag("audit-log-version", String, "audit.k8s.io/v1", "API version of the events in the log.").active(),
    flag("audit-policy-file", String, "", "File with the audit policy.").active(),
    flag("audit-webhook-batch-buffer-size", Int, "10000", "Events the webhook backend holds back at most.")
        .active(),
    flag("audit-webhook-batch-max-size", Int, "400", "Events per batch of the webhook backend.").active(),
    flag(
        "audit-webhook-batch-max-wait",
        Duration,
        "30s",
        "Time after which the webhook gets an unfilled batch.",
    )
    .active(),
    flag(
        "audit-webhook-batch-throttle-burst",
        Int,
        "15",
        "Batches the webhook may get at once before the limit.",
    )
    .active(),
    flag("audit-webhook-batch-throttle-enable", Bool, "true", "Limit how fast batches go to the webhook.")
        .active(),
    flag(
        "audit-webhook-batch-throttle-qps",
        Float32,
        "10",
        "Batches per second the webhook gets on average.",
    )
    .active(),
    flag("audit-webhook-config-file", String, "", "kubeconfig of the webhook to send audit events to.")
        .active(),
    flag(
        "audit-webhook-initial-backoff",
        Duration,
        "10s",
        "Wait before a failed call of the webhook is repeated.",
    )
    .active(),
    flag(
        "audit-webhook-mode",
        String,
        "batch",
        "When the webhook is called: batch, blocking or blocking-strict.",
    )
    .active(),
    flag(
        "audit-webhook-truncate-enabled",
        Bool,
        "",
        "Shorten events and split batches too large for the webhook.",
    )
    .active(),
    flag("audit-webhook-truncate-max-batch-size", Int, "10485760", "Bytes per batch sent to the webhook.")
        .active(),
    flag("audit-webhook-truncate-max-event-size", Int, "102400", "Bytes per event sent to the webhook.")
        .active(),
    flag("audit-webhook-version", String, "audit.k8s.io/v1", "API version of the events the webhook gets.")
        .active(),
];
