//! Endpoints that only members of `system:masters` may use.

use async_trait::async_trait;
use pintle_auth::PRIVILEGED_GROUP;

use crate::filter::Handler;
use crate::filters::{forbidden, refusal};
use crate::{Request, Response, respond};

/// The reason for refusing the endpoint to a caller that an authorizer allowed.
const REASON: &str = "only members of the group system:masters may do this";

/// Answers requests of members of `system:masters` with the handler inside, and all others with 403.
///
/// It stands behind the authorization filter and does not rely on it: a role with the URL `*`, a webhook, a policy file or
/// `--authorization-mode=AlwaysAllow` may allow the path, and none of them means the whole database by it. The group is the
/// one of the user that the request acts as, so that a caller that may impersonate `system:masters` is let through.
pub struct Privileged<H>(pub H);

#[async_trait]
impl<H: Handler> Handler for Privileged<H> {
    async fn handle(&self, request: Box<Request>) -> Response {
        let Some(user) = request.user.clone() else {
            return respond::internal_error(&request.parts.uri, &"no user found in the request");
        };
        if user.is_in(PRIVILEGED_GROUP) {
            return self.0.handle(request).await;
        }
        let selectors = request.info.selectors();
        refusal(&forbidden(&request.info.attributes(&user, &selectors), REASON))
    }
}
