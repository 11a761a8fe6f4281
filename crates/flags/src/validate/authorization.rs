//! Authorization modes and what each needs.

use super::Problems;
use crate::Parsed;
use crate::golang::{quote, quote_all};

const MODES: [&str; 6] = ["AlwaysAllow", "AlwaysDeny", "ABAC", "Webhook", "RBAC", "Node"];

pub(super) fn check(flags: &Parsed, problems: &mut Problems) {
    let modes = flags.strings("authorization-mode");
    if flags.non_empty("authorization-config").is_some() {
        let legacy = [
            "authorization-mode",
            "authorization-webhook-config-file",
            "authorization-webhook-version",
            "authorization-webhook-cache-authorized-ttl",
            "authorization-webhook-cache-unauthorized-ttl",
        ];
        if legacy.iter().any(|flag| flags.changed(flag)) {
            problems.push(
                "--authorization-config can not be specified when --authorization-mode or --authorization-webhook-* \
                 flags are defined"
                    .into(),
            );
        }
        return;
    }
    let policy = flags.non_empty("authorization-policy-file").is_some();
    let webhook = flags.non_empty("authorization-webhook-config-file").is_some();
    for mode in modes {
        match mode.as_str() {
            "ABAC" if !policy => {
                problems.push("authorization-mode ABAC's authorization policy file not passed".into());
            }
            "Webhook" if !webhook => {
                problems.push("authorization-mode Webhook's authorization config file not passed".into());
            }
            mode if !MODES.contains(&mode) => {
                problems.push(format!("authorization-mode {} is not a valid mode", quote(mode)));
            }
            _ => {}
        }
    }
    let has = |name: &str| modes.iter().any(|mode| mode == name);
    if policy && !has("ABAC") {
        problems.push("cannot specify --authorization-policy-file without mode ABAC".into());
    }
    if webhook && !has("Webhook") {
        problems.push("cannot specify --authorization-webhook-config-file without mode Webhook".into());
    }
    if modes.iter().enumerate().any(|(at, mode)| modes[..at].contains(mode)) {
        problems.push(format!("authorization-mode {} has mode specified more than once", quote_all(modes)));
    }
}
