//! Writes of roles and bindings may only grant permissions that their user has.

use std::sync::Arc;

use async_trait::async_trait;
use pintle_auth::authorizer::rbac::{Escalation, Refusal, Write};
use pintle_meta::{Status, Value};
use pintle_registry::{Context, Guard, Result, key};
use pintle_resources::reviews::requesting_user;

use super::rbac::Roles;

const GROUP: &str = "rbac.authorization.k8s.io";

/// Guards the writes of one RBAC resource.
pub(crate) struct NoEscalation {
    pub(crate) resource: String,
    pub(crate) escalation: Arc<Escalation<Roles>>,
}

#[async_trait]
impl Guard for NoEscalation {
    async fn check(&self, context: &Context, name: &str, new: &Value, old: Option<&Value>) -> Result<()> {
        let user = requesting_user(context);
        let resource = &self.resource;
        let write = Write { user: &user, resource, namespace: &context.namespace, name, new, old };
        let refusal = match self.escalation.check(&write).await {
            Ok(()) => return Ok(()),
            Err(refusal) => refusal,
        };
        Err(Box::new(match refusal {
            Refusal::Forbidden(why) => Status::forbidden(GROUP, resource, new.name(), &why),
            // The reference names the role, and calls it what was to be written.
            Refusal::NotFound { namespaced, name } => {
                // A name that is not valid is refused first, as in a get of the role.
                key::own(namespaced, &context.namespace, &name)?;
                Status::not_found(GROUP, resource, &name)
            }
            Refusal::Failed(why) => Status::plain(why),
        }))
    }
}
