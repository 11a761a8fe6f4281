//! Role-based access control: roles have permissions, bindings give roles to subjects.
//!
//! The [`Policy`] is the index that requests are looked up in; a [`Source`] keeps one that is as current as the cluster.

pub mod bootstrap;
mod covers;
mod escalation;
mod policy;
#[cfg(test)]
mod policy_tests;
mod rule;

use async_trait::async_trait;

pub use covers::{compacted, uncovered};
pub use escalation::{Escalation, Refusal, Write};
pub use policy::Policy;
pub use rule::{ALL, List, Rule};

use super::{Authorizer, PathRule, ResourceRule, Rules};
use crate::{Attributes, User, Verdict};

/// The cluster's roles and bindings.
pub trait Source: Send + Sync + 'static {
    /// Called before every decision: waits until the policy has been loaded. `false` if that failed; no user has roles then.
    fn ready(&self) -> impl Future<Output = bool> + Send;

    /// Called before a denial: waits until the policy has every write that this server has answered.
    fn catch_up(&self) -> impl Future<Output = ()> + Send;

    /// Called before a user may grant permissions: waits until the policy has every write of any server. `false` if that
    /// cannot be found out.
    fn current(&self) -> impl Future<Output = bool> + Send;

    /// Shows the policy as it is now.
    fn read<R>(&self, read: impl FnOnce(&Policy) -> R) -> R;
}

/// Allows what some role of the user allows.
pub struct Rbac<S> {
    source: S,
}

impl<S: Source> Rbac<S> {
    pub fn new(source: S) -> Rbac<S> {
        Rbac { source }
    }
}

#[async_trait]
impl<S: Source> Authorizer for Rbac<S> {
    async fn authorize(&self, attributes: &Attributes<'_>) -> Verdict {
        if !self.source.ready().await {
            return Verdict::no_opinion("");
        }
        let (verdict, seen) = self.source.read(|policy| (policy.authorize(attributes), policy.changes()));
        if verdict.is_allowed() {
            return verdict;
        }
        // A binding must count once its creation was answered.
        self.source.catch_up().await;
        self.source
            .read(|policy| if policy.changes() == seen { verdict } else { policy.authorize(attributes) })
    }

    async fn add_rules(&self, user: &User, namespace: &str, rules: &mut Rules) {
        if !self.source.ready().await {
            return;
        }
        self.source.catch_up().await;
        self.source.read(|policy| {
            let (found, failure) = policy.rules_of(user, namespace, None);
            for rule in found {
                if !rule.resources.is_empty() {
                    rules.resources.push(ResourceRule {
                        verbs: rule.verbs.to_vec(),
                        groups: rule.groups.to_vec(),
                        resources: rule.resources.to_vec(),
                        names: rule.names.to_vec(),
                    });
                }
                if !rule.paths.is_empty() {
                    rules.paths.push(PathRule { verbs: rule.verbs.to_vec(), paths: rule.paths.to_vec() });
                }
            }
            rules.errors.extend(failure);
        });
    }
}
