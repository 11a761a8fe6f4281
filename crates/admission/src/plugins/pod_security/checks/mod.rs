//! The checks of the Pod Security Standards, one file each, and the table of them.
//!
//! A check has a rule for each version of Kubernetes that changed it. The baseline level has the baseline checks; the restricted
//! level has them too, except those that a stricter check replaces, and the restricted ones.

mod allow_privilege_escalation;
mod app_armor_profile;
mod capabilities_baseline;
mod capabilities_restricted;
mod host_namespaces;
mod host_path_volumes;
mod host_ports;
mod host_probes;
mod pod;
mod privileged;
mod proc_mount;
mod restricted_volumes;
mod run_as_non_root;
mod run_as_user;
mod se_linux_options;
mod seccomp_baseline;
mod seccomp_restricted;
mod sysctls;
mod windows_host_process;

use super::labels::Level;

pub(super) use pod::Pod;

/// A reason why a pod is not allowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Violation {
    /// The rule in a few words, which are the same for all pods.
    pub(super) reason: &'static str,
    /// The values and containers that violate it.
    pub(super) detail: String,
}

/// Returns why a pod violates a check; `None` if it does not.
pub(super) type Rule = fn(&Pod<'_>) -> Option<Violation>;

/// One check.
struct Check {
    level: Level,
    /// The rules, each with the minor version of Kubernetes 1 that introduced it, in ascending order.
    rules: &'static [(i64, Rule)],
    /// The minor version from which a check of the restricted level takes the place of this one there.
    replaced_since: Option<i64>,
}

impl Check {
    const fn baseline(rules: &'static [(i64, Rule)]) -> Check {
        Check { level: Level::Baseline, rules, replaced_since: None }
    }

    const fn restricted(rules: &'static [(i64, Rule)]) -> Check {
        Check { level: Level::Restricted, rules, replaced_since: None }
    }

    const fn replaced_since(mut self, minor: i64) -> Check {
        self.replaced_since = Some(minor);
        self
    }

    /// Returns the rule of a level in a version.
    fn rule(&self, level: Level, minor: i64) -> Option<Rule> {
        let is_replaced =
            level == Level::Restricted && self.replaced_since.is_some_and(|since| since <= minor);
        if level < self.level || is_replaced {
            return None;
        }
        self.rules.iter().rev().find(|(since, _)| *since <= minor).map(|(_, rule)| *rule)
    }
}

/// All checks in the order of messages: those of the baseline level, then those of the restricted level, each sorted by the
/// reference's names of them.
static CHECKS: &[Check] = &[
    app_armor_profile::CHECK,
    capabilities_baseline::CHECK,
    host_namespaces::CHECK,
    host_path_volumes::CHECK,
    host_ports::CHECK,
    host_probes::CHECK,
    privileged::CHECK,
    proc_mount::BASELINE,
    se_linux_options::CHECK,
    seccomp_baseline::CHECK,
    sysctls::CHECK,
    windows_host_process::CHECK,
    allow_privilege_escalation::CHECK,
    capabilities_restricted::CHECK,
    proc_mount::RESTRICTED,
    restricted_volumes::CHECK,
    run_as_non_root::CHECK,
    run_as_user::CHECK,
    seccomp_restricted::CHECK,
];

/// Returns the rules of a level in a version, in the order of messages.
pub(super) fn rules(level: Level, minor: i64) -> impl Iterator<Item = Rule> {
    CHECKS.iter().filter_map(move |check| check.rule(level, minor))
}

/// Returns `"a", "b"`, as the reference joins names: what is between the quotes is not escaped.
fn quoted<S: AsRef<str>>(items: impl IntoIterator<Item = S>) -> String {
    let mut text = String::new();
    for item in items {
        text.push_str(if text.is_empty() { "\"" } else { ", \"" });
        text.push_str(item.as_ref());
        text.push('"');
    }
    text
}

/// Returns the form of a noun or verb for a number of things.
fn plural(count: usize, one: &'static str, many: &'static str) -> &'static str {
    if count == 1 { one } else { many }
}

/// `container "a"`, or `containers "a", "b"`.
fn containers(names: &[&str]) -> String {
    format!("{} {}", plural(names.len(), "container", "containers"), quoted(names))
}

/// `pod and containers "a", "b"`, or one of the two; `None` if neither the pod nor a container sets a wrong value.
fn setters(pod: bool, names: &[&str]) -> Option<String> {
    match (pod, names.is_empty()) {
        (true, true) => Some("pod".into()),
        (true, false) => Some(format!("pod and {}", containers(names))),
        (false, false) => Some(containers(names)),
        (false, true) => None,
    }
}

#[cfg(test)]
mod tests;
