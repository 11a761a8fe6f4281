//! Admission plugins, and which APIs are on.

use super::Problems;
use crate::Parsed;
use crate::golang::{parse_bool, quote};
use crate::plugins;

/// Every built-in API group; the core group has no name.
const GROUPS: [&str; 26] = [
    "",
    "admission.k8s.io",
    "admissionregistration.k8s.io",
    "apiextensions.k8s.io",
    "apiregistration.k8s.io",
    "apps",
    "authentication.k8s.io",
    "authorization.k8s.io",
    "autoscaling",
    "batch",
    "certificates.k8s.io",
    "coordination.k8s.io",
    "discovery.k8s.io",
    "events.k8s.io",
    "extensions",
    "flowcontrol.apiserver.k8s.io",
    "imagepolicy.k8s.io",
    "internal.apiserver.k8s.io",
    "networking.k8s.io",
    "node.k8s.io",
    "policy",
    "rbac.authorization.k8s.io",
    "resource.k8s.io",
    "scheduling.k8s.io",
    "storage.k8s.io",
    "storagemigration.k8s.io",
];

pub(super) fn check(flags: &Parsed, problems: &mut Problems) {
    check_plugins(flags, problems);
    check_runtime_config(flags, problems);
}

fn check_plugins(flags: &Parsed, problems: &mut Problems) {
    let enabled = flags.strings("enable-admission-plugins");
    let disabled = flags.strings("disable-admission-plugins");
    let either = flags.changed("enable-admission-plugins") || flags.changed("disable-admission-plugins");
    if flags.changed("admission-control") && either {
        problems.push(
            "admission-control and enable-admission-plugins/disable-admission-plugins flags are mutually exclusive"
                .into(),
        );
    }
    for flag in ["admission-control", "enable-admission-plugins", "disable-admission-plugins"] {
        for name in flags.strings(flag).iter().filter(|name| plugins::find(name).is_none()) {
            problems.push(format!("{flag} plugin {} is unknown", quote(name)));
        }
    }
    let mut both: Vec<&str> =
        enabled.iter().filter(|name| disabled.contains(name)).map(String::as_str).collect();
    both.sort_unstable();
    both.dedup();
    if !both.is_empty() {
        let both = both.join(" ");
        problems
            .push(format!("[{both}] in enable-admission-plugins and disable-admission-plugins overlapped"));
    }
}

fn check_runtime_config(flags: &Parsed, problems: &mut Problems) {
    let config = flags.pairs("runtime-config");
    if config.len() == 1 && config.get("api/all").is_some_and(|value| value == "false") {
        problems.push("invalid runtime-config with only api/all=false".into());
        return;
    }
    let mut unknown = Vec::new();
    for (key, value) in config {
        let broad = matches!(key.as_str(), "api/all" | "api/ga" | "api/beta" | "api/alpha");
        // These are earlier spellings: of the core group, and of something that does nothing any more.
        let core = [key.as_str(), key.strip_prefix("api/").unwrap_or(key)]
            .iter()
            .any(|key| *key == "v1" || key.starts_with("v1/"));
        if broad && !matches!(value.as_str(), "true" | "false") {
            problems.push(format!("--runtime-config: invalid value {key}={value}"));
        }
        // An empty value means true.
        if !broad
            && !value.is_empty()
            && key != "api/legacy"
            && let Err(reason) = parse_bool(value)
        {
            problems.push(format!("--runtime-config: invalid value of {key}: {value}, err: {reason}"));
        }
        if broad || core || key == "api/legacy" {
            continue;
        }
        match key.split('/').collect::<Vec<_>>()[..] {
            [group, version] | [group, version, _] => {
                if !GROUPS.contains(&group) {
                    unknown.push(format!("{group}/{version}"));
                }
            }
            _ => problems.push(format!("runtime-config invalid key {key}")),
        }
    }
    if !unknown.is_empty() {
        problems.push(format!("--runtime-config: unknown api groups {}", unknown.join(",")));
    }
    check_fairness_api(flags, problems);
}

/// Priority and fairness reads its own API, so it cannot be on while that is off.
fn check_fairness_api(flags: &Parsed, problems: &mut Problems) {
    if !flags.bool("enable-priority-and-fairness") {
        return;
    }
    let config = flags.pairs("runtime-config");
    for key in ["flowcontrol.apiserver.k8s.io/v1", "api/ga", "api/all"] {
        match config.get(key).map(String::as_str) {
            Some("false") => {
                problems.push(format!(
                    "--runtime-config={key}=false conflicts with --enable-priority-and-fairness=true"
                ));
                return;
            }
            Some("true") => return,
            _ => {}
        }
    }
}
