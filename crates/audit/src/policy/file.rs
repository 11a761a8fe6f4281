//! Policy files: decoded strictly, and leniently with a warning where that fails, then validated and compiled.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use pintle_meta::field_path::aggregate;
use pintle_outbound::configuration::{self, ConfigurationKind, LARGEST, null_is_default};
use serde::Deserialize;
use serde::de::IgnoredAny;

use super::names::Names;
use super::{Decision, Policy, Resources, Rule, Stages};
use crate::event::{Level, Stage};

const STRICT: ConfigurationKind = ConfigurationKind {
    kind: "Policy",
    versions: &["audit.k8s.io/v1"],
    scheme: "k8s.io/apiserver/pkg/audit/scheme.go:30",
    is_strict: true,
};
const LENIENT: ConfigurationKind = ConfigurationKind { is_strict: false, ..STRICT };
const STRICT_ERROR: &str = "strict decoding error: ";

/// The reason why a policy cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Error(String);

/// A policy as it is written.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Document {
    #[serde(deserialize_with = "null_is_default")]
    #[allow(dead_code, reason = "every object may have metadata, and nothing reads it")]
    metadata: Option<IgnoredAny>,
    #[serde(deserialize_with = "null_is_default")]
    pub(super) rules: Vec<RuleDocument>,
    #[serde(deserialize_with = "null_is_default")]
    pub(super) omit_stages: Vec<String>,
    #[serde(deserialize_with = "null_is_default")]
    omit_managed_fields: bool,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct RuleDocument {
    #[serde(deserialize_with = "null_is_default")]
    pub(super) level: String,
    #[serde(deserialize_with = "null_is_default")]
    users: Vec<String>,
    #[serde(deserialize_with = "null_is_default")]
    user_groups: Vec<String>,
    #[serde(deserialize_with = "null_is_default")]
    verbs: Vec<String>,
    #[serde(deserialize_with = "null_is_default")]
    pub(super) resources: Vec<ResourcesDocument>,
    #[serde(deserialize_with = "null_is_default")]
    pub(super) namespaces: Vec<String>,
    #[serde(rename = "nonResourceURLs", deserialize_with = "null_is_default")]
    pub(super) non_resource_urls: Vec<String>,
    #[serde(deserialize_with = "null_is_default")]
    pub(super) omit_stages: Vec<String>,
    #[serde(deserialize_with = "null_is_default")]
    omit_managed_fields: Option<bool>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct ResourcesDocument {
    #[serde(deserialize_with = "null_is_default")]
    pub(super) group: String,
    #[serde(deserialize_with = "null_is_default")]
    pub(super) resources: Vec<String>,
    #[serde(deserialize_with = "null_is_default")]
    pub(super) resource_names: Vec<String>,
}

impl Policy {
    /// Reads a policy file.
    pub fn load(path: &Path) -> Result<Policy, Error> {
        let text = read(path).map_err(|error| {
            let shown = pintle_meta::quote(&path.to_string_lossy());
            Error(format!("failed to read file path {shown}: {error}"))
        })?;
        Policy::parse(&text).map_err(|error| Error(format!("{error}: from file {}", path.display())))
    }

    /// Reads a policy in YAML or JSON.
    pub fn parse(text: &[u8]) -> Result<Policy, Error> {
        let document = match STRICT.decode::<Document>(text) {
            Ok(document) => document,
            Err(configuration::Error::Unusable(why)) if why.starts_with(STRICT_ERROR) => {
                let document = LENIENT
                    .decode(text)
                    .map_err(|error| Error(format!("failed lenient decoding: {error}")))?;
                tracing::warn!("Audit policy contains errors, falling back to lenient decoding: {why}");
                document
            }
            Err(error) => return Err(Error(format!("failed decoding: {error}"))),
        };
        let problems = document.validate();
        if !problems.is_empty() {
            return Err(Error(aggregate(&problems)));
        }
        if document.rules.is_empty() {
            return Err(Error("loaded illegal policy with 0 rules".into()));
        }
        Ok(document.compile())
    }
}

/// Reads a file up to the size at which it is refused.
fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    File::open(path)?.take(LARGEST as u64 + 1).read_to_end(&mut text)?;
    Ok(text)
}

fn stages(names: &[String]) -> Stages {
    names.iter().filter_map(|name| Stage::named(name)).fold(Stages::default(), Stages::with)
}

impl Document {
    fn compile(self) -> Policy {
        let omitted = stages(&self.omit_stages);
        let omits = self.omit_managed_fields;
        let otherwise = Decision { level: Level::None, omitted, omits_managed_fields: omits };
        let rules = self.rules.into_iter().map(|rule| rule.compile(otherwise)).collect();
        Policy { rules, otherwise }
    }
}

impl RuleDocument {
    fn compile(self, global: Decision) -> Rule {
        Rule {
            decision: Decision {
                level: Level::named(&self.level).unwrap_or_default(),
                omitted: global.omitted.and(stages(&self.omit_stages)),
                omits_managed_fields: self.omit_managed_fields.unwrap_or(global.omits_managed_fields),
            },
            users: self.users.into_iter().collect(),
            groups: self.user_groups.into_iter().collect(),
            verbs: self.verbs.into_iter().collect(),
            namespaces: self.namespaces.into_iter().collect(),
            resources: self.resources.into_iter().map(ResourcesDocument::compile).collect(),
            urls: self.non_resource_urls.into_iter().map(Into::into).collect(),
        }
    }
}

impl ResourcesDocument {
    fn compile(self) -> Resources {
        let all = self.resources.is_empty() || self.resources.iter().any(|resource| resource == "*");
        let part = |part: fn(&str) -> Option<&str>| -> Names {
            self.resources.iter().filter_map(|resource| part(resource)).collect()
        };
        Resources {
            subresources: part(|resource| resource.strip_prefix("*/")),
            with_subresources: part(|resource| resource.strip_suffix("/*")),
            group: (self.group != "*").then(|| self.group.into()),
            exact: self.resources.into_iter().collect(),
            names: self.resource_names.into_iter().collect(),
            all,
        }
    }
}
