//! Policies from a file (attribute-based access control), one JSON object per line.
//!
//! ```text
//! # Members of the group may read pods everywhere.
//! {"apiVersion":"abac.authorization.kubernetes.io/v1beta1","kind":"Policy",
//!  "spec":{"group":"devs","namespace":"*","resource":"pods","readonly":true}}     (on one line)
//! {"user":"bob"}
//! ```
//!
//! The second is of the oldest version, which has no name: what it leaves out stands for everything.

use std::fs;
use std::path::{Path, PathBuf};

use async_trait::async_trait;
use pintle_codec::{json, yaml};
use pintle_meta::{Value, quote};
use smol_str::SmolStr;

use super::{Attributes, Authorizer, PathRule, ResourceRule, Rules, Verdict};
use crate::{ALL_AUTHENTICATED, User};

const GROUP: &str = "abac.authorization.kubernetes.io";
const ALL: &str = "*";
/// A longer line is refused, so that a file that is no policy is not taken for one.
const LONGEST_LINE: usize = 64 << 10;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("open {}: {error}", path.display())]
    Unreadable { path: PathBuf, error: std::io::Error },
    #[error("error reading policy file {}: bufio.Scanner: token too long", .0.display())]
    TooLong(PathBuf),
    #[error("error reading policy file {}, line {line}: {text}: {error}", path.display())]
    Line { path: PathBuf, line: usize, text: String, error: String },
}

/// All policies of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Abac {
    policies: Vec<Policy>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Policy {
    user: SmolStr,
    group: SmolStr,
    read_only: bool,
    api_group: SmolStr,
    resource: SmolStr,
    namespace: SmolStr,
    path: SmolStr,
}

impl Abac {
    pub fn load(path: &Path) -> Result<Abac, Error> {
        let file = || path.to_owned();
        let text = fs::read(path).map_err(|error| Error::Unreadable { path: file(), error })?;
        let mut policies = Vec::new();
        let mut unversioned = false;
        for (line, text) in (1..).zip(text.split(|byte| *byte == b'\n')) {
            if text.len() >= LONGEST_LINE {
                return Err(Error::TooLong(file()));
            }
            let trimmed = text.trim_ascii();
            if trimmed.is_empty() || trimmed.starts_with(b"#") {
                continue;
            }
            let (policy, versioned) = Policy::read(trimmed).map_err(|error| {
                let text = text.strip_suffix(b"\r").unwrap_or(text);
                Error::Line { path: file(), line, text: String::from_utf8_lossy(text).into_owned(), error }
            })?;
            unversioned |= !versioned;
            policies.push(policy);
        }
        if unversioned {
            tracing::warn!(
                "Policy file {} contained unversioned rules. See docs/admin/authorization.md#abac-mode for ABAC file \
                 format details.",
                path.display()
            );
        }
        Ok(Abac { policies })
    }
}

impl Policy {
    /// A policy, and whether it says which version it is of.
    fn read(text: &[u8]) -> Result<(Policy, bool), String> {
        let parse = |json: &[u8]| {
            json::decode_untyped(json)
                .map_err(|error| format!("couldn't get version/kind; json parse error: {error}"))
        };
        let object = if text.starts_with(b"{") {
            parse(text)?.value
        } else {
            parse(&yaml::to_json(text).map_err(|error| error.to_string())?)?.value
        };
        if object.as_object().is_none() {
            return Err("couldn't get version/kind; json parse error: a policy is an object".into());
        }
        let text = |field: &str| string(&object, field);
        let (version, kind) = (text("apiVersion")?, text("kind")?);
        let (group, version) = version.split_once('/').unwrap_or(("", &version));
        match (group, version, kind.as_str()) {
            (GROUP, "v1beta1", "Policy") => Ok((Policy::of_spec(&object)?, true)),
            (GROUP, "v0", "Policy") => Ok((Policy::unversioned(&object)?, true)),
            ("", "", "" | "Policy") => Ok((Policy::unversioned(&object)?, false)),
            (_, _, "") => {
                Err(format!("Object 'Kind' is missing in '{}'", String::from_utf8_lossy(&encoded(&object))))
            }
            _ => {
                let version = quote(&text("apiVersion")?);
                Err(format!("no kind {} is registered for version {version}", quote(&kind)))
            }
        }
    }

    fn of_spec(object: &Value) -> Result<Policy, String> {
        const NOTHING: &Value = &Value::NULL;
        let spec = object.get("spec").unwrap_or(NOTHING);
        if spec.as_object().is_none() && !spec.is_null() {
            return Err("json: cannot unmarshal a value into field spec of type v1beta1.PolicySpec".into());
        }
        let mut policy = Policy {
            user: string(spec, "user")?,
            group: string(spec, "group")?,
            read_only: boolean(spec, "readonly")?,
            api_group: string(spec, "apiGroup")?,
            resource: string(spec, "resource")?,
            namespace: string(spec, "namespace")?,
            path: string(spec, "nonResourcePath")?,
        };
        policy.spread_subject();
        Ok(policy)
    }

    /// Of the version before there were versions: what is left out is everything.
    fn unversioned(object: &Value) -> Result<Policy, String> {
        let or_all = |field: &str| {
            string(object, field).map(|text| if text.is_empty() { SmolStr::new_static(ALL) } else { text })
        };
        let mut policy = Policy {
            user: string(object, "user")?,
            group: string(object, "group")?,
            read_only: boolean(object, "readonly")?,
            api_group: SmolStr::new_static(ALL),
            resource: or_all("resource")?,
            namespace: or_all("namespace")?,
            path: SmolStr::default(),
        };
        if policy.user.is_empty() && policy.group.is_empty() {
            policy.group = SmolStr::new_static(ALL_AUTHENTICATED);
        }
        if string(object, "resource")?.is_empty() && string(object, "namespace")?.is_empty() {
            policy.path = SmolStr::new_static(ALL);
        }
        policy.spread_subject();
        Ok(policy)
    }

    /// `*` means every authenticated user.
    fn spread_subject(&mut self) {
        if self.user == ALL || self.group == ALL {
            self.group = SmolStr::new_static(ALL_AUTHENTICATED);
            self.user = SmolStr::default();
        }
    }

    /// A policy without user and group matches no user.
    fn is_of(&self, user: &User) -> bool {
        (self.user.is_empty() || self.user == user.name)
            && (self.group.is_empty() || user.is_in(&self.group))
            && !(self.user.is_empty() && self.group.is_empty())
    }

    fn allows(&self, attributes: &Attributes<'_>) -> bool {
        self.is_of(attributes.user)
            && (!self.read_only || attributes.is_read_only())
            && if attributes.is_resource {
                is_or_all(&self.namespace, attributes.namespace)
                    && is_or_all(&self.resource, attributes.resource)
                    && is_or_all(&self.api_group, attributes.group)
            } else {
                self.path == attributes.path
                    || (self.path.ends_with('*')
                        && attributes.path.starts_with(self.path.trim_end_matches('*')))
            }
    }

    fn verbs(&self) -> Vec<SmolStr> {
        let verbs: &[&'static str] = if self.read_only { &["get", "list", "watch"] } else { &[ALL] };
        verbs.iter().map(|verb| SmolStr::new_static(verb)).collect()
    }
}

fn is_or_all(pattern: &str, value: &str) -> bool {
    pattern == ALL || pattern == value
}

fn string(object: &Value, field: &str) -> Result<SmolStr, String> {
    match object.get(field).filter(|value| !value.is_null()) {
        None => Ok(SmolStr::default()),
        Some(value) => match value.as_str() {
            Some(text) => Ok(text.into()),
            None => Err(format!("json: cannot unmarshal a value into field {field} of type string")),
        },
    }
}

fn boolean(object: &Value, field: &str) -> Result<bool, String> {
    match object.get(field).filter(|value| !value.is_null()) {
        None => Ok(false),
        Some(value) => value
            .as_bool()
            .ok_or_else(|| format!("json: cannot unmarshal a value into field {field} of type bool")),
    }
}

fn encoded(value: &Value) -> Vec<u8> {
    let mut out = Vec::new();
    json::encode(value, &mut out);
    out
}

#[async_trait]
impl Authorizer for Abac {
    async fn authorize(&self, attributes: &Attributes<'_>) -> Verdict {
        if self.policies.iter().any(|policy| policy.allows(attributes)) {
            Verdict::allow("")
        } else {
            Verdict::no_opinion(SmolStr::new_static("No policy matched."))
        }
    }

    async fn add_rules(&self, user: &User, namespace: &str, rules: &mut Rules) {
        let matching = self
            .policies
            .iter()
            .filter(|policy| policy.is_of(user) && is_or_all(&policy.namespace, namespace));
        for policy in matching {
            if !policy.resource.is_empty() {
                rules.resources.push(ResourceRule {
                    verbs: policy.verbs(),
                    groups: vec![policy.api_group.clone()],
                    resources: vec![policy.resource.clone()],
                    names: Vec::new(),
                });
            }
            if !policy.path.is_empty() {
                rules.paths.push(PathRule { verbs: policy.verbs(), paths: vec![policy.path.clone()] });
            }
        }
    }
}

#[cfg(test)]
#[path = "abac_tests.rs"]
mod tests;
