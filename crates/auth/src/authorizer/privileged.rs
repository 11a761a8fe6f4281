//! `system:masters` may do everything: the way back in when every other policy is broken.

use async_trait::async_trait;

use super::{Attributes, Authorizer, Verdict};
use crate::PRIVILEGED_GROUP;

pub struct PrivilegedGroup;

#[async_trait]
impl Authorizer for PrivilegedGroup {
    async fn authorize(&self, attributes: &Attributes<'_>) -> Verdict {
        if attributes.user.is_in(PRIVILEGED_GROUP) { Verdict::allow("") } else { Verdict::no_opinion("") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::User;

    #[tokio::test]
    async fn only_members_are_let_through() {
        let member = User { groups: vec![PRIVILEGED_GROUP.into()], ..User::default() };
        assert!(PrivilegedGroup.authorize(&Attributes::of_path(&member, "delete", "/x")).await.is_allowed());
        let other = User { name: PRIVILEGED_GROUP.into(), ..User::default() };
        assert!(!PrivilegedGroup.authorize(&Attributes::of_path(&other, "get", "/x")).await.is_allowed());
    }
}
