//! `system:masters` may do everything: the way back in when every other policy is broken.

use async_trait::async_trait;

use super::{Attributes, Authorizer, Decision};
use crate::PRIVILEGED_GROUP;

pub struct PrivilegedGroup;

#[async_trait]
impl Authorizer for PrivilegedGroup {
    async fn authorize(&self, attributes: &Attributes<'_>) -> Decision {
        if attributes.user.is_in(PRIVILEGED_GROUP) {
            Decision::Allow
        } else {
            Decision::NoOpinion(String::new())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::request;
    use super::*;
    use crate::User;

    #[tokio::test]
    async fn only_members_are_let_through() {
        let member = User { groups: vec![PRIVILEGED_GROUP.into()], ..User::default() };
        assert_eq!(PrivilegedGroup.authorize(&request(&member, "delete", "/x")).await, Decision::Allow);
        let other = User { name: PRIVILEGED_GROUP.into(), ..User::default() };
        assert_ne!(PrivilegedGroup.authorize(&request(&other, "get", "/x")).await, Decision::Allow);
    }
}
