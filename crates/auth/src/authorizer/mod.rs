//! The seam of authorization.

use std::sync::Arc;

use async_trait::async_trait;
use pintle_meta::selector::{field, label};
use smol_str::SmolStr;

use crate::User;

pub mod abac;
mod always;
pub mod node;
mod privileged;
pub mod rbac;
mod replaceable;
pub mod webhook;

pub use abac::Abac;
pub use always::{AlwaysAllow, AlwaysDeny};
pub use privileged::PrivilegedGroup;
pub use rbac::Rbac;
pub use replaceable::Replaceable;
pub use webhook::{WebhookAuthorizer, WebhookEvents, WebhookOptions};

/// The attributes of a request that authorizers decide by.
#[derive(Clone, Debug)]
pub struct Attributes<'a> {
    pub user: &'a User,
    /// `get`, `list`, `create`...; the method in lower case where there is no resource.
    pub verb: &'a str,
    /// Whether the fields from `group` on mean something.
    pub is_resource: bool,
    pub path: &'a str,
    pub group: &'a str,
    pub version: &'a str,
    pub resource: &'a str,
    pub subresource: &'a str,
    pub namespace: &'a str,
    pub name: &'a str,
    /// Selectors of list, watch and deletecollection, which authorizers may take into account.
    pub field_selector: Selector<'a, field::Requirement>,
    pub label_selector: Selector<'a, label::Requirement>,
}

/// The selector of a request for a collection.
#[derive(Debug, PartialEq, Eq)]
pub enum Selector<'a, R> {
    Absent,
    Requirements(&'a [R]),
    /// Something of it cannot be understood. What can be still narrows it down, since all of it would have to hold.
    Invalid {
        understood: &'a [R],
        error: &'a str,
    },
}

impl<R> Clone for Selector<'_, R> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<R> Copy for Selector<'_, R> {}

impl<'a, R> Selector<'a, R> {
    /// Returns requirements that hold for every selected object.
    pub fn requirements(self) -> &'a [R] {
        match self {
            Selector::Absent => &[],
            Selector::Requirements(requirements) => requirements,
            Selector::Invalid { understood, .. } => understood,
        }
    }

    pub fn error(self) -> Option<&'a str> {
        match self {
            Selector::Invalid { error, .. } => Some(error),
            _ => None,
        }
    }
}

impl<'a> Attributes<'a> {
    /// Returns the attributes of a request for a non-resource path.
    pub fn of_path(user: &'a User, verb: &'a str, path: &'a str) -> Attributes<'a> {
        Attributes { path, ..Attributes::of_resource(user, verb, "", "") }.not_a_resource()
    }

    /// Returns the attributes of a request for all objects of a resource. Callers fill in the rest.
    pub fn of_resource(user: &'a User, verb: &'a str, group: &'a str, resource: &'a str) -> Attributes<'a> {
        Attributes {
            user,
            verb,
            is_resource: true,
            path: "",
            group,
            version: "",
            resource,
            subresource: "",
            namespace: "",
            name: "",
            field_selector: Selector::Absent,
            label_selector: Selector::Absent,
        }
    }

    fn not_a_resource(self) -> Attributes<'a> {
        Attributes { is_resource: false, ..self }
    }

    /// Whether nothing would be changed.
    pub fn is_read_only(&self) -> bool {
        matches!(self.verb, "get" | "list" | "watch")
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    Allow,
    /// Ends the search.
    Deny,
    /// Another authorizer may allow it.
    NoOpinion,
}

/// A decision and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    pub decision: Decision,
    /// Shown to the client with a refusal, and in reviews; may be empty. Cheap to clone: make it once, not per request.
    pub reason: SmolStr,
    /// An error of the decision. A request that is not allowed is then answered with 500.
    pub error: Option<String>,
}

impl Verdict {
    pub fn allow(reason: impl Into<SmolStr>) -> Verdict {
        Verdict { decision: Decision::Allow, reason: reason.into(), error: None }
    }

    pub fn deny(reason: impl Into<SmolStr>) -> Verdict {
        Verdict { decision: Decision::Deny, reason: reason.into(), error: None }
    }

    pub fn no_opinion(reason: impl Into<SmolStr>) -> Verdict {
        Verdict { decision: Decision::NoOpinion, reason: reason.into(), error: None }
    }

    pub fn is_allowed(&self) -> bool {
        self.decision == Decision::Allow
    }
}

/// The permissions of a user in a namespace, as far as they can be listed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rules {
    pub resources: Vec<ResourceRule>,
    pub paths: Vec<PathRule>,
    /// Whether there may be more than these.
    pub incomplete: bool,
    pub errors: Vec<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResourceRule {
    pub verbs: Vec<SmolStr>,
    pub groups: Vec<SmolStr>,
    pub resources: Vec<SmolStr>,
    pub names: Vec<SmolStr>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PathRule {
    pub verbs: Vec<SmolStr>,
    pub paths: Vec<SmolStr>,
}

/// One source of decisions.
#[async_trait]
pub trait Authorizer: Send + Sync + 'static {
    /// Called once per request, after authentication and impersonation, and for access reviews.
    async fn authorize(&self, attributes: &Attributes<'_>) -> Verdict;

    /// Adds the permissions of a user in a namespace, for SelfSubjectRulesReview. An authorizer that cannot list them sets
    /// [`Rules::incomplete`] and adds to [`Rules::errors`]; one that the reference does not ask adds nothing.
    async fn add_rules(&self, _user: &User, _namespace: &str, _rules: &mut Rules) {}
}

/// Authorizers in order; the first with an opinion decides. No opinion is a denial with all their reasons.
pub struct Union(pub Vec<Arc<dyn Authorizer>>);

#[async_trait]
impl Authorizer for Union {
    async fn authorize(&self, attributes: &Attributes<'_>) -> Verdict {
        let (mut reasons, mut errors) = (Vec::new(), Vec::new());
        for authorizer in &self.0 {
            let verdict = authorizer.authorize(attributes).await;
            if verdict.decision != Decision::NoOpinion {
                return verdict;
            }
            if !verdict.reason.is_empty() {
                reasons.push(verdict.reason);
            }
            errors.extend(verdict.error);
        }
        let reason = match reasons.as_slice() {
            [one] => one.clone(),
            several => several.join("\n").into(),
        };
        let error = match errors.as_slice() {
            [] => None,
            [one] => Some(one.clone()),
            several => Some(format!("[{}]", several.join(", "))),
        };
        Verdict { decision: Decision::NoOpinion, reason, error }
    }

    async fn add_rules(&self, user: &User, namespace: &str, rules: &mut Rules) {
        for authorizer in &self.0 {
            authorizer.add_rules(user, namespace, rules).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Fixed(Verdict);

    #[async_trait]
    impl Authorizer for Fixed {
        async fn authorize(&self, _: &Attributes<'_>) -> Verdict {
            self.0.clone()
        }
    }

    async fn ask(members: Vec<Verdict>) -> Verdict {
        let members =
            members.into_iter().map(|member| Arc::new(Fixed(member)) as Arc<dyn Authorizer>).collect();
        Union(members).authorize(&Attributes::of_path(&User::default(), "get", "/")).await
    }

    #[tokio::test]
    async fn the_first_opinion_decides() {
        let (none, deny, allow) = (Verdict::no_opinion("a"), Verdict::deny("b"), Verdict::allow("c"));
        assert_eq!(ask(vec![none.clone(), allow.clone(), deny.clone()]).await, allow);
        assert_eq!(ask(vec![none, deny.clone(), allow]).await, deny);
    }

    #[tokio::test]
    async fn no_opinion_has_all_reasons_and_errors() {
        let failed = |error: &str| Verdict { error: Some(error.into()), ..Verdict::no_opinion("") };
        let members = ["a", "", "b"].map(Verdict::no_opinion).to_vec();
        assert_eq!(ask(members).await, Verdict::no_opinion("a\nb"));
        assert_eq!(ask(vec![failed("x"), failed("y")]).await, failed("[x, y]"));
    }
}
