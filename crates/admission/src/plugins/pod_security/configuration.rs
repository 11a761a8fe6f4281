//! `PodSecurityConfiguration`: the policy of namespaces without labels, and the requests that no policy applies to.

use std::collections::HashSet;

use pintle_meta::field_path::{Error, Path, aggregate};
use pintle_meta::validation::{dns1123_label, dns1123_subdomain};
use pintle_outbound::configuration::{ConfigurationKind, null_is_default};
use serde::Deserialize;

use super::labels::{Level, LevelVersion, Policy, Version};
use crate::plugin::InitError;

const KIND: ConfigurationKind = ConfigurationKind {
    kind: "PodSecurityConfiguration",
    versions: &[
        "pod-security.admission.config.k8s.io/v1",
        "pod-security.admission.config.k8s.io/v1beta1",
        "pod-security.admission.config.k8s.io/v1alpha1",
    ],
    scheme: "k8s.io/pod-security-admission/admission/api/scheme/scheme.go:31",
    is_strict: true,
};

/// The configuration of the plugin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Configuration {
    /// The policy where a namespace has no labels.
    pub(super) defaults: Policy,
    pub(super) exemptions: Exemptions,
}

/// Requests that are not evaluated.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Exemptions {
    usernames: HashSet<String>,
    namespaces: HashSet<String>,
    runtime_classes: HashSet<String>,
}

impl Exemptions {
    pub(super) fn has_user(&self, name: &str) -> bool {
        self.usernames.contains(name)
    }

    pub(super) fn has_namespace(&self, name: &str) -> bool {
        self.namespaces.contains(name)
    }

    /// Returns whether pods of a runtime class are exempt. An empty name, which is of none, never is.
    pub(super) fn has_runtime_class(&self, name: &str) -> bool {
        self.runtime_classes.contains(name)
    }

    /// Returns whether pods are exempt by their runtime class at all.
    pub(super) fn has_runtime_classes(&self) -> bool {
        !self.runtime_classes.is_empty()
    }
}

/// The document.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Document {
    #[serde(deserialize_with = "null_is_default")]
    defaults: Defaults,
    #[serde(deserialize_with = "null_is_default")]
    exemptions: Lists,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
struct Defaults {
    #[serde(deserialize_with = "null_is_default")]
    enforce: String,
    #[serde(deserialize_with = "null_is_default")]
    enforce_version: String,
    #[serde(deserialize_with = "null_is_default")]
    audit: String,
    #[serde(deserialize_with = "null_is_default")]
    audit_version: String,
    #[serde(deserialize_with = "null_is_default")]
    warn: String,
    #[serde(deserialize_with = "null_is_default")]
    warn_version: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
struct Lists {
    #[serde(deserialize_with = "null_is_default")]
    usernames: Vec<String>,
    #[serde(deserialize_with = "null_is_default")]
    namespaces: Vec<String>,
    #[serde(deserialize_with = "null_is_default")]
    runtime_classes: Vec<String>,
}

impl Configuration {
    /// Reads the configuration. Without one, or with an empty one, everything is allowed unless labels of a namespace forbid it.
    pub(super) fn read(text: Option<&[u8]>) -> Result<Configuration, InitError> {
        let document = match text {
            None | Some([]) => Document::default(),
            Some(text) => KIND.decode(text).map_err(|error| error.to_string())?,
        };
        let unusable =
            |what: &str, why: String| InitError::Initialization(format!("PodSecurity {what}: {why}"));
        let defaults = document.defaults.policy().map_err(|why| unusable("configuration error", why))?;
        let exemptions = document.exemptions.valid().map_err(|why| unusable("invalid", why))?;
        Ok(Configuration { defaults, exemptions })
    }
}

impl Defaults {
    fn policy(&self) -> Result<Policy, String> {
        let mut errors = Vec::new();
        let mut mode = |name: &str, level: &str, version: &str| {
            let level = or_default(level, "privileged");
            let version = or_default(version, "latest");
            let parsed = Level::parse(level);
            if parsed.is_none() {
                errors.push(format!("{name}: {}", Level::WRONG));
            }
            let parsed_version = Version::parse(version);
            if parsed_version.is_none() {
                errors.push(format!("{name}-version: {}", Version::WRONG));
            }
            LevelVersion {
                level: parsed.unwrap_or(Level::Restricted),
                version: parsed_version.unwrap_or(Version::Latest),
            }
        };
        let policy = Policy {
            enforce: mode("enforce", &self.enforce, &self.enforce_version),
            audit: mode("audit", &self.audit, &self.audit_version),
            warn: mode("warn", &self.warn, &self.warn_version),
        };
        if errors.is_empty() { Ok(policy) } else { Err(aggregate(&errors)) }
    }
}

fn or_default<'a>(text: &'a str, default: &'a str) -> &'a str {
    if text.is_empty() { default } else { text }
}

impl Lists {
    fn valid(self) -> Result<Exemptions, String> {
        let mut errors = Vec::new();
        let user = |name: &str| {
            if name.is_empty() { vec!["username must not be empty".to_owned()] } else { Vec::new() }
        };
        let namespaces = valid_names("namespaces", self.namespaces, dns1123_label, &mut errors);
        let runtime_classes =
            valid_names("runtimeClasses", self.runtime_classes, dns1123_subdomain, &mut errors);
        let usernames = valid_names("usernames", self.usernames, user, &mut errors);
        if errors.is_empty() {
            Ok(Exemptions { usernames, namespaces, runtime_classes })
        } else {
            Err(aggregate(&errors))
        }
    }
}

/// Returns the names of a list. Each must be valid and there once.
fn valid_names(
    field: &str,
    names: Vec<String>,
    wrong: impl Fn(&str) -> Vec<String>,
    errors: &mut Vec<Error>,
) -> HashSet<String> {
    let root = Path::new("exemptions");
    let path = root.child(field);
    let mut valid = HashSet::new();
    for (index, name) in names.into_iter().enumerate() {
        let why = wrong(&name);
        if !why.is_empty() {
            errors.push(Error::invalid(&path.index(index), name, why.join(", ")));
        } else if valid.contains(&name) {
            errors.push(Error::duplicate(&path.index(index), name));
        } else {
            valid.insert(name);
        }
    }
    valid
}

#[cfg(test)]
#[path = "configuration_tests.rs"]
mod tests;
