//! `--audit-*`.

use std::path::PathBuf;
use std::time::Duration;

use pintle_audit::backend::{
    BatchConfig, Delivery, Format, Mode, RotationConfig, ThrottleConfig, TruncateConfig,
};
use pintle_flags::Parsed;

const BACKOFF: &str = "audit-webhook-initial-backoff";
const EARLIER_BACKOFF: &str = "audit-webhook-batch-initial-backoff";
const MEGABYTE: u64 = 1 << 20;

pub(crate) struct AuditOptions {
    pub(crate) policy_file: Option<PathBuf>,
    pub(crate) log: Option<AuditLogOptions>,
    pub(crate) webhook: Option<AuditWebhookOptions>,
}

pub(crate) struct AuditLogOptions {
    pub(crate) target: AuditLogTarget,
    pub(crate) format: Format,
    pub(crate) delivery: Delivery,
}

pub(crate) enum AuditLogTarget {
    Stdout,
    File(PathBuf),
    Rotating(RotationConfig),
}

pub(crate) struct AuditWebhookOptions {
    pub(crate) kubeconfig: PathBuf,
    pub(crate) initial_backoff: Duration,
    pub(crate) delivery: Delivery,
}

impl AuditOptions {
    pub(crate) fn from_flags(flags: &Parsed) -> AuditOptions {
        AuditOptions {
            policy_file: flags.non_empty("audit-policy-file").map(PathBuf::from),
            log: flags.non_empty("audit-log-path").map(|path| AuditLogOptions {
                target: target(flags, path),
                format: match flags.string("audit-log-format") {
                    "legacy" => Format::Legacy,
                    _ => Format::Json,
                },
                delivery: delivery(flags, "log", false),
            }),
            webhook: flags.non_empty("audit-webhook-config-file").map(|path| AuditWebhookOptions {
                kubeconfig: path.into(),
                initial_backoff: flags.duration(match flags.changed(EARLIER_BACKOFF) {
                    true if !flags.changed(BACKOFF) => EARLIER_BACKOFF,
                    _ => BACKOFF,
                }),
                delivery: delivery(flags, "webhook", true),
            }),
        }
    }
}

fn target(flags: &Parsed, path: &str) -> AuditLogTarget {
    let number = |name: &str| u64::try_from(flags.int(name)).unwrap_or(0);
    match number("audit-log-maxsize") {
        _ if path == "-" => AuditLogTarget::Stdout,
        0 => AuditLogTarget::File(path.into()),
        megabytes => AuditLogTarget::Rotating(RotationConfig {
            path: path.into(),
            max_size: megabytes.saturating_mul(MEGABYTE),
            max_age_days: number("audit-log-maxage"),
            max_backups: usize::try_from(number("audit-log-maxbackup")).unwrap_or(usize::MAX),
            compress: flags.bool("audit-log-compress"),
        }),
    }
}

/// Reads the flags that both backends have.
fn delivery(flags: &Parsed, backend: &str, side_by_side: bool) -> Delivery {
    let name = |suffix: &str| format!("audit-{backend}-{suffix}");
    let size = |suffix: &str| usize::try_from(flags.int(&name(suffix))).unwrap_or(0);
    let throttle = || ThrottleConfig {
        qps: flags.float(&name("batch-throttle-qps")),
        burst: u32::try_from(flags.int(&name("batch-throttle-burst"))).unwrap_or(u32::MAX),
    };
    let mode = match flags.string(&name("mode")) {
        "blocking" => Mode::Blocking,
        "blocking-strict" => Mode::BlockingStrict,
        _ => Mode::Batch(BatchConfig {
            buffer_size: size("batch-buffer-size"),
            max_size: size("batch-max-size"),
            max_wait: flags.duration(&name("batch-max-wait")),
            throttle: flags.bool(&name("batch-throttle-enable")).then(throttle),
            side_by_side,
        }),
    };
    let truncate = flags.bool(&name("truncate-enabled")).then(|| TruncateConfig {
        max_event_size: size("truncate-max-event-size"),
        max_batch_size: size("truncate-max-batch-size"),
    });
    Delivery { mode, truncate }
}
