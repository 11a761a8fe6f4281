//! `AlwaysAllow` and `AlwaysDeny`.

use async_trait::async_trait;

use super::{Attributes, Authorizer, PathRule, ResourceRule, Rules, Verdict};
use crate::User;

/// Allows every request.
pub struct AlwaysAllow;

/// Denies every request.
pub struct AlwaysDeny;

#[async_trait]
impl Authorizer for AlwaysAllow {
    async fn authorize(&self, _: &Attributes<'_>) -> Verdict {
        Verdict::allow("")
    }

    async fn add_rules(&self, _: &User, _: &str, rules: &mut Rules) {
        let all = || vec!["*".into()];
        rules.resources.push(ResourceRule {
            verbs: all(),
            groups: all(),
            resources: all(),
            names: Vec::new(),
        });
        rules.paths.push(PathRule { verbs: all(), paths: all() });
    }
}

#[async_trait]
impl Authorizer for AlwaysDeny {
    /// No opinion rather than a denial: others in the list may allow it.
    async fn authorize(&self, _: &Attributes<'_>) -> Verdict {
        Verdict::no_opinion("Everything is forbidden.")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn one_allows_everything_and_the_other_leaves_it_to_others() {
        let user = User::anonymous();
        let attributes = Attributes::of_resource(&user, "delete", "", "nodes");
        assert!(AlwaysAllow.authorize(&attributes).await.is_allowed());
        assert_eq!(AlwaysDeny.authorize(&attributes).await, Verdict::no_opinion("Everything is forbidden."));
        let mut rules = Rules::default();
        AlwaysDeny.add_rules(&user, "n", &mut rules).await;
        assert_eq!(rules, Rules::default());
        AlwaysAllow.add_rules(&user, "n", &mut rules).await;
        assert_eq!((rules.resources.len(), rules.paths.len(), rules.incomplete), (1, 1, false));
    }
}
