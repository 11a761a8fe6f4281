//! Permission to create by update: where an update or apply turns out to be a creation, the user must be allowed to create
//! as well.

use std::sync::Arc;

use async_trait::async_trait;
use pintle_auth::{Attributes, Authorizer, User};
use pintle_meta::Value;
use pintle_registry::{Admission, DeleteOptions, MutatingAdmission};

use super::Result;
use super::call::Call;
use crate::filters::forbidden;
use crate::request_info::{RequestInfo, Selectors};

/// Admission of a write that may create, with the user's permission before it.
pub(crate) struct MayCreate<'a> {
    authorizer: Arc<dyn Authorizer>,
    user: Arc<User>,
    info: &'a RequestInfo,
    admission: &'a dyn MutatingAdmission,
}

impl<'a> MayCreate<'a> {
    pub(crate) fn new(call: &'a Call<'_>, admission: &'a dyn MutatingAdmission) -> MayCreate<'a> {
        MayCreate {
            authorizer: call.shared.authorizer.clone(),
            user: call.request.user.clone().unwrap_or_default(),
            info: &call.request.info,
            admission,
        }
    }
}

#[async_trait]
impl Admission for MayCreate<'_> {
    async fn create(&self, object: &Value) -> Result<()> {
        let selectors = Selectors::default();
        let attributes = Attributes { verb: "create", ..self.info.attributes(&self.user, &selectors) };
        let verdict = self.authorizer.authorize(&attributes).await;
        if verdict.is_allowed() {
            self.admission.create(object).await
        } else {
            Err(Box::new(forbidden(&attributes, &verdict.reason)))
        }
    }

    async fn update(&self, new: &Value, old: &Value) -> Result<()> {
        self.admission.update(new, old).await
    }

    async fn delete(&self, old: &Value, options: &DeleteOptions) -> Result<()> {
        self.admission.delete(old, options).await
    }
}

#[async_trait]
impl MutatingAdmission for MayCreate<'_> {
    async fn on_create(&self, object: Value) -> Result<Value> {
        self.admission.on_create(object).await
    }

    async fn on_update(&self, new: Value, old: &Value) -> Result<Value> {
        self.admission.on_update(new, old).await
    }
}

#[cfg(test)]
mod tests {
    use pintle_auth::Verdict;
    use pintle_registry::AdmitAll;

    use super::*;

    /// Allows one verb.
    struct Only(&'static str);

    #[async_trait]
    impl Authorizer for Only {
        async fn authorize(&self, attributes: &Attributes<'_>) -> Verdict {
            if attributes.verb == self.0 { Verdict::allow("") } else { Verdict::no_opinion("why") }
        }
    }

    async fn create_by(verb: &'static str) -> Result<()> {
        let info = RequestInfo {
            verb: "patch".into(),
            resource: "configmaps".into(),
            namespace: "n".into(),
            name: "a".into(),
            is_resource: true,
            ..RequestInfo::default()
        };
        let user = Arc::new(User { name: "alice".into(), ..User::default() });
        let may = MayCreate { authorizer: Arc::new(Only(verb)), user, info: &info, admission: &AdmitAll };
        may.update(&Value::NULL, &Value::NULL).await?;
        may.create(&Value::NULL).await
    }

    #[tokio::test]
    async fn a_user_without_the_permission_to_create_does_not_create_by_patch() {
        assert!(create_by("create").await.is_ok());
        let refused = create_by("patch").await.unwrap_err();
        assert_eq!(
            (refused.code, refused.message.as_str()),
            (
                403,
                "configmaps \"a\" is forbidden: User \"alice\" cannot create resource \"configmaps\" in API group \"\" \
                 in the namespace \"n\": why"
            )
        );
    }
}
