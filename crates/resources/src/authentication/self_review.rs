//! SelfSubjectReview: returns the user of the request.

use async_trait::async_trait;
use pintle_meta::Value;
use pintle_meta::time::Time;
use pintle_registry::{Admission, Context, Result, Subresource, WriteOptions};
use pintle_runtime::Clock;
use serde_json::json;

use crate::framework::review::{decoded, requesting_user, user_info};

pub struct SelfReview {
    pub clock: Clock,
}

#[async_trait]
impl Subresource for SelfReview {
    async fn create(
        &self,
        context: &mut Context,
        _: &str,
        object: Value,
        admission: &dyn Admission,
        _: WriteOptions,
    ) -> Result<Option<Value>> {
        admission.create(&object).await?;
        let answer = json!({
            "kind": object.kind(),
            "apiVersion": object.api_version(),
            "metadata": { "creationTimestamp": Time::from(self.clock.now()).to_string() },
            "status": { "userInfo": user_info(&requesting_user(context)) },
        });
        decoded("authentication/v1.SelfSubjectReview", &answer).map(Some)
    }
}
