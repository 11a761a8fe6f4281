//! An authorizer that can be exchanged for another while it is in use.

use std::sync::{Arc, PoisonError, RwLock};

use async_trait::async_trait;

use super::{Attributes, Authorizer, Rules, Verdict};
use crate::User;

pub struct Replaceable(RwLock<Arc<dyn Authorizer>>);

impl Replaceable {
    pub fn new(authorizer: Arc<dyn Authorizer>) -> Replaceable {
        Replaceable(RwLock::new(authorizer))
    }

    /// Decides from the next question on.
    pub fn replace(&self, authorizer: Arc<dyn Authorizer>) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = authorizer;
    }

    fn current(&self) -> Arc<dyn Authorizer> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

#[async_trait]
impl Authorizer for Replaceable {
    async fn authorize(&self, attributes: &Attributes<'_>) -> Verdict {
        self.current().authorize(attributes).await
    }

    async fn add_rules(&self, user: &User, namespace: &str, rules: &mut Rules) {
        self.current().add_rules(user, namespace, rules).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::authorizer::{AlwaysAllow, AlwaysDeny};

    #[tokio::test]
    async fn the_next_question_is_for_the_new_one() {
        let user = User::default();
        let attributes = Attributes::of_path(&user, "get", "/");
        let replaceable = Replaceable::new(Arc::new(AlwaysDeny));
        assert!(!replaceable.authorize(&attributes).await.is_allowed());
        replaceable.replace(Arc::new(AlwaysAllow));
        assert!(replaceable.authorize(&attributes).await.is_allowed());
    }
}
