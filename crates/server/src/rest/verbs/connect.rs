//! Connections to what runs in pods.
//!
//! They do not lead anywhere yet. Who may have one is settled nevertheless: a WebSocket begins with a GET, and yet it runs
//! something in a pod, so that whoever opens one needs the permission to create as well.

use pintle_auth::Attributes;
use pintle_meta::Status;

use crate::rest::call::Call;
use crate::rest::{Result, unexpected};

/// Refuses a user who may do what the request says, but may not create.
pub(crate) async fn may_create(call: &Call<'_>) -> Result<()> {
    let info = &call.request.info;
    if info.verb == "create" {
        return Ok(());
    }
    let user = call.request.user.clone().unwrap_or_default();
    let selectors = info.selectors();
    let attributes = Attributes { verb: "create", ..info.attributes(&user, &selectors) };
    let verdict = call.shared.authorizer.authorize(&attributes).await;
    match verdict.error {
        _ if verdict.is_allowed() => Ok(()),
        Some(error) => Err(unexpected(error)),
        None => Err(Box::new(Status::forbidden(&info.group, &info.resource, &info.name, &verdict.reason))),
    }
}
