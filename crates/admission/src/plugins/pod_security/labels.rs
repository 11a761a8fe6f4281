//! Levels and versions of the Pod Security Standards, and the policy that the labels of a namespace ask for.

use std::fmt;

use pintle_meta::field_path::{Error, Path};

/// The prefix of the labels, and of the audit annotations.
const PREFIX: &str = "pod-security.kubernetes.io/";

/// The path of labels in messages.
const PATH: Path<'static> = Path::new("metadata.labels");

/// A level, by strictness.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Level {
    Privileged,
    Baseline,
    Restricted,
}

impl Level {
    pub(super) const WRONG: &'static str = "must be one of privileged, baseline, restricted";

    pub(super) fn as_str(self) -> &'static str {
        match self {
            Level::Privileged => "privileged",
            Level::Baseline => "baseline",
            Level::Restricted => "restricted",
        }
    }

    pub(super) fn parse(text: &str) -> Option<Level> {
        [Level::Privileged, Level::Baseline, Level::Restricted]
            .into_iter()
            .find(|level| level.as_str() == text)
    }
}

/// The version of a policy: that of a minor release of Kubernetes 1, or the latest one, which is newer than all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Version {
    Minor(i64),
    Latest,
}

impl Version {
    pub(super) const WRONG: &'static str = r#"must be "latest" or "v1.x""#;

    /// Reads `latest` or `v1.22`. Numbers have no leading zeros.
    pub(super) fn parse(text: &str) -> Option<Version> {
        if text == "latest" {
            return Some(Version::Latest);
        }
        let minor = text.strip_prefix("v1.")?;
        let is_number = minor.bytes().all(|byte| byte.is_ascii_digit());
        let has_leading_zero = minor.len() > 1 && minor.starts_with('0');
        if !is_number || has_leading_zero {
            return None;
        }
        minor.parse().ok().map(Version::Minor)
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Version::Minor(minor) => write!(f, "v1.{minor}"),
            Version::Latest => f.write_str("latest"),
        }
    }
}

/// A level of a version: `baseline:v1.30`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct LevelVersion {
    pub(super) level: Level,
    pub(super) version: Version,
}

impl LevelVersion {
    pub(super) const PRIVILEGED: LevelVersion =
        LevelVersion { level: Level::Privileged, version: Version::Latest };

    pub(super) fn is_privileged(self) -> bool {
        self.level == Level::Privileged
    }

    /// Returns whether both allow the same pods: the version of the privileged level means nothing.
    fn is_equivalent(self, other: LevelVersion) -> bool {
        self == other || self.is_privileged() && other.is_privileged()
    }
}

impl fmt::Display for LevelVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.level.as_str(), self.version)
    }
}

/// The policy of a namespace: the level that pods must have, that whose violation is audited, and that whose violation is
/// answered with a warning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Policy {
    pub(super) enforce: LevelVersion,
    pub(super) audit: LevelVersion,
    pub(super) warn: LevelVersion,
}

impl Policy {
    /// Returns whether no pod violates the policy in any mode.
    pub(super) fn is_privileged(&self) -> bool {
        self.enforce.is_privileged() && self.audit.is_privileged() && self.warn.is_privileged()
    }

    pub(super) fn is_equivalent(&self, other: &Policy) -> bool {
        self.enforce.is_equivalent(other.enforce)
            && self.audit.is_equivalent(other.audit)
            && self.warn.is_equivalent(other.warn)
    }
}

/// The values of the labels that choose the policy of a namespace; `None` where it does not have the label.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Labels<'a> {
    pub(super) enforce: Option<&'a str>,
    pub(super) enforce_version: Option<&'a str>,
    pub(super) audit: Option<&'a str>,
    pub(super) audit_version: Option<&'a str>,
    pub(super) warn: Option<&'a str>,
    pub(super) warn_version: Option<&'a str>,
}

impl<'a> Labels<'a> {
    /// Takes the labels of pod security out of all labels of a namespace.
    pub(super) fn of(all: impl Iterator<Item = (&'a str, &'a str)>) -> Labels<'a> {
        let mut labels = Labels::default();
        for (key, value) in all {
            let Some(name) = key.strip_prefix(PREFIX) else { continue };
            let place = match name {
                "enforce" => &mut labels.enforce,
                "enforce-version" => &mut labels.enforce_version,
                "audit" => &mut labels.audit,
                "audit-version" => &mut labels.audit_version,
                "warn" => &mut labels.warn,
                "warn-version" => &mut labels.warn_version,
                _ => continue,
            };
            *place = Some(value);
        }
        labels
    }

    /// Returns the policy that the labels ask for, with defaults in place of labels that are missing, and the errors of labels.
    ///
    /// A wrong level to enforce counts as restricted; wrong levels to audit or to warn about count as privileged; wrong
    /// versions count as the latest. Where a level to enforce is stricter than that to warn about, and the latter has no
    /// label, it is raised: workloads are then warned about, whose pods would be rejected.
    pub(super) fn policy(&self, defaults: &Policy) -> (Policy, Vec<Error>) {
        let (mut policy, mut errors) = (*defaults, Vec::new());
        if *self == Labels::default() {
            return (policy, errors);
        }
        let enforced = self.enforce.map(|text| level(text, "enforce", Level::Restricted, &mut errors));
        if let Some((level, _)) = enforced {
            policy.enforce.level = level;
        }
        if let Some(text) = self.enforce_version {
            policy.enforce.version = version(text, "enforce-version", &mut errors);
        }
        if let Some(text) = self.audit {
            policy.audit.level = level(text, "audit", Level::Privileged, &mut errors).0;
        }
        if let Some(text) = self.audit_version {
            policy.audit.version = version(text, "audit-version", &mut errors);
        }
        if let Some(text) = self.warn {
            policy.warn.level = level(text, "warn", Level::Privileged, &mut errors).0;
        }
        if let Some(text) = self.warn_version {
            policy.warn.version = version(text, "warn-version", &mut errors);
        }
        let is_enforced = enforced.is_some_and(|(_, is_valid)| is_valid);
        if self.warn.is_none() && is_enforced && policy.enforce.level > policy.warn.level {
            policy.warn.level = policy.enforce.level;
            if self.warn_version.is_none() {
                policy.warn.version = policy.enforce.version;
            }
        }
        (policy, errors)
    }
}

/// Reads a level, and returns whether it is one; else `otherwise` takes its place.
fn level(text: &str, label: &str, otherwise: Level, errors: &mut Vec<Error>) -> (Level, bool) {
    match Level::parse(text) {
        Some(level) => (level, true),
        None => {
            errors.push(wrong(label, text, Level::WRONG));
            (otherwise, false)
        }
    }
}

fn version(text: &str, label: &str, errors: &mut Vec<Error>) -> Version {
    Version::parse(text).unwrap_or_else(|| {
        errors.push(wrong(label, text, Version::WRONG));
        Version::Latest
    })
}

fn wrong(label: &str, value: &str, why: &str) -> Error {
    Error::invalid(&PATH.key(&format!("{PREFIX}{label}")), value, why)
}

#[cfg(test)]
#[path = "labels_tests.rs"]
mod tests;
