//! The seam of authorization.

use std::sync::Arc;

use async_trait::async_trait;

use crate::User;

mod privileged;
mod public_info;

pub use privileged::PrivilegedGroup;
pub use public_info::PublicInfo;

/// What somebody wants to do.
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
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    Allow,
    /// Ends the search; the reason, which may be empty, is shown to the client.
    Deny(String),
    /// Somebody else may allow it.
    NoOpinion(String),
}

/// One source of decisions.
#[async_trait]
pub trait Authorizer: Send + Sync + 'static {
    /// Called once per request, after authentication.
    async fn authorize(&self, attributes: &Attributes<'_>) -> Decision;
}

/// Asks several in order; the first with an opinion decides, and none is a denial with all their reasons.
pub struct Union(pub Vec<Arc<dyn Authorizer>>);

#[async_trait]
impl Authorizer for Union {
    async fn authorize(&self, attributes: &Attributes<'_>) -> Decision {
        let mut reasons = Vec::new();
        for authorizer in &self.0 {
            match authorizer.authorize(attributes).await {
                Decision::NoOpinion(reason) if reason.is_empty() => {}
                Decision::NoOpinion(reason) => reasons.push(reason),
                decision => return decision,
            }
        }
        Decision::NoOpinion(reasons.join("\n"))
    }
}

#[cfg(test)]
pub(crate) fn request<'a>(user: &'a User, verb: &'a str, path: &'a str) -> Attributes<'a> {
    Attributes {
        user,
        verb,
        is_resource: false,
        path,
        group: "",
        version: "",
        resource: "",
        subresource: "",
        namespace: "",
        name: "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Fixed(Decision);

    #[async_trait]
    impl Authorizer for Fixed {
        async fn authorize(&self, _: &Attributes<'_>) -> Decision {
            self.0.clone()
        }
    }

    async fn ask(members: Vec<Decision>) -> Decision {
        let members =
            members.into_iter().map(|member| Arc::new(Fixed(member)) as Arc<dyn Authorizer>).collect();
        Union(members).authorize(&request(&User::default(), "get", "/")).await
    }

    #[tokio::test]
    async fn the_first_opinion_decides() {
        let (none, deny) = (Decision::NoOpinion("a".into()), Decision::Deny("b".into()));
        assert_eq!(ask(vec![none.clone(), Decision::Allow, deny.clone()]).await, Decision::Allow);
        assert_eq!(ask(vec![none, deny.clone(), Decision::Allow]).await, deny);
    }

    #[tokio::test]
    async fn nobody_s_opinion_carries_all_reasons() {
        let members = ["a", "", "b"].map(|reason| Decision::NoOpinion(reason.into())).to_vec();
        assert_eq!(ask(members).await, Decision::NoOpinion("a\nb".into()));
    }
}
