//! The verdict of a level and version on a pod.

use super::checks::{self, Pod, Violation};
use super::labels::{Level, LevelVersion, Version};

/// The violations of a pod, in the order of checks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Verdict(Vec<Violation>);

impl Verdict {
    pub(super) fn is_allowed(&self) -> bool {
        self.0.is_empty()
    }

    /// `hostPort, privileged`: the text for many pods at once.
    pub(super) fn reasons(&self) -> String {
        let reasons: Vec<&str> = self.0.iter().map(|violation| violation.reason).collect();
        reasons.join(", ")
    }

    /// `hostPort (container "a" uses hostPort 80), privileged (...)`: the text for one pod.
    pub(super) fn details(&self) -> String {
        let mut text = String::new();
        for Violation { reason, detail } in &self.0 {
            if !text.is_empty() {
                text.push_str(", ");
            }
            text.push_str(reason);
            if !detail.is_empty() {
                text.push_str(" (");
                text.push_str(detail);
                text.push(')');
            }
        }
        text
    }
}

/// Runs the checks of a level and version. Versions that are newer than all checks have the newest ones.
pub(super) fn evaluate(policy: LevelVersion, pod: &Pod<'_>) -> Verdict {
    let LevelVersion { level, version } = policy;
    if level == Level::Privileged {
        return Verdict(Vec::new());
    }
    let minor = match version {
        Version::Minor(minor) => minor,
        Version::Latest => i64::MAX,
    };
    Verdict(checks::rules(level, minor).filter_map(|rule| rule(pod)).collect())
}

/// The verdicts of one request, each level and version evaluated once: the modes mostly ask for the same.
pub(super) struct Verdicts<'p> {
    pod: &'p Pod<'p>,
    known: Vec<(LevelVersion, Verdict)>,
}

impl<'p> Verdicts<'p> {
    pub(super) fn of(pod: &'p Pod<'p>) -> Verdicts<'p> {
        Verdicts { pod, known: Vec::new() }
    }

    /// Returns the details of violations; `None` if the pod is allowed.
    pub(super) fn violations(&mut self, policy: LevelVersion) -> Option<String> {
        let place = self.known.iter().position(|(known, _)| *known == policy).unwrap_or_else(|| {
            self.known.push((policy, evaluate(policy, self.pod)));
            self.known.len() - 1
        });
        let (_, verdict) = self.known.get(place)?;
        (!verdict.is_allowed()).then(|| verdict.details())
    }
}
