//! The audit policy: which requests are recorded, at which level and stages. The first rule that matches decides; a request that
//! none matches is not recorded.
//!
//! A policy is compiled when it is read, so that a request that is left out pays for a few comparisons.

mod file;
mod names;
#[cfg(test)]
mod tests;
mod validation;

use pintle_auth::User;

pub use self::file::Error;
use self::names::Names;
use crate::event::{Level, Stage};

/// A request, as rules see it.
#[derive(Clone, Copy, Debug)]
pub struct Attributes<'a> {
    /// `None` before authentication, or without.
    pub user: Option<&'a User>,
    pub verb: &'a str,
    /// Whether it is about a resource; else only its path says something.
    pub is_resource: bool,
    pub path: &'a str,
    pub group: &'a str,
    pub resource: &'a str,
    pub subresource: &'a str,
    pub namespace: &'a str,
    pub name: &'a str,
}

/// How a request is recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Decision {
    pub level: Level,
    pub omitted: Stages,
    pub omits_managed_fields: bool,
}

/// A set of stages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stages(u8);

impl Stages {
    pub fn contains(self, stage: Stage) -> bool {
        self.0 & (1 << stage as u8) != 0
    }

    fn with(self, stage: Stage) -> Stages {
        Stages(self.0 | 1 << stage as u8)
    }

    fn and(self, others: Stages) -> Stages {
        Stages(self.0 | others.0)
    }
}

/// A policy that was read, validated and compiled.
#[derive(Debug)]
pub struct Policy {
    rules: Vec<Rule>,
    /// For requests that no rule matches.
    otherwise: Decision,
}

#[derive(Debug)]
struct Rule {
    decision: Decision,
    users: Names,
    groups: Names,
    verbs: Names,
    namespaces: Names,
    resources: Vec<Resources>,
    /// Paths; those that end in `*` match what begins so.
    urls: Vec<Box<str>>,
}

/// Resources of one group, or of all.
#[derive(Debug, Default)]
struct Resources {
    /// `None`: of every group.
    group: Option<Box<str>>,
    /// Whether every resource and subresource matches: none are listed, or `*` is.
    all: bool,
    /// `pods`, `pods/status`.
    exact: Names,
    /// The subresources of `*/status`.
    subresources: Names,
    /// The resources of `pods/*`, which match themselves too.
    with_subresources: Names,
    /// Names of objects; empty for all.
    names: Names,
}

impl Policy {
    /// Returns how a request is recorded.
    pub fn evaluate(&self, request: &Attributes<'_>) -> Decision {
        self.rules.iter().find(|rule| rule.matches(request)).map_or(self.otherwise, |rule| rule.decision)
    }
}

impl Rule {
    fn matches(&self, request: &Attributes<'_>) -> bool {
        if !self.verbs.is_empty() && !self.verbs.contains(request.verb) {
            return false;
        }
        if !self.users.is_empty() && !request.user.is_some_and(|user| self.users.contains(&user.name)) {
            return false;
        }
        let is_member = |user: &User| user.groups.iter().any(|group| self.groups.contains(group));
        if !self.groups.is_empty() && !request.user.is_some_and(is_member) {
            return false;
        }
        if !self.namespaces.is_empty() || !self.resources.is_empty() {
            return request.is_resource
                && (self.namespaces.is_empty() || self.namespaces.contains(request.namespace))
                && (self.resources.is_empty() || self.resources.iter().any(|those| those.matches(request)));
        }
        self.urls.is_empty()
            || !request.is_resource && self.urls.iter().any(|url| path_matches(request.path, url))
    }
}

impl Resources {
    fn matches(&self, request: &Attributes<'_>) -> bool {
        if self.group.as_deref().is_some_and(|group| group != request.group) {
            return false;
        }
        if !self.names.is_empty() && !self.names.contains(request.name) {
            return false;
        }
        self.all
            || self.exact.contains_pair(request.resource, request.subresource)
            || !request.subresource.is_empty() && self.subresources.contains(request.subresource)
            || self.with_subresources.contains(request.resource)
    }
}

fn path_matches(path: &str, spec: &str) -> bool {
    spec == "*" || spec == path || spec.ends_with('*') && path.starts_with(spec.trim_end_matches('*'))
}
