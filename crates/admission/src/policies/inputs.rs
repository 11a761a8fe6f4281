//! The inputs of policies' expressions for one request. Parts that no expression uses are not prepared.

use std::sync::Arc;

use pintle_auth::Authorizer;
use pintle_meta::{Reason, Status, Value};
use pintle_registry::{Context, Store};

use super::validating::namespace_object;
use crate::Result;
use crate::attributes::Attributes;
use crate::expressions::RequestAuthorizer;
use crate::expressions::{self, Checks};
use crate::matching::Match;

/// The inputs of one request.
pub(crate) struct RequestInputs {
    pub(crate) checks: Arc<Checks>,
    pub(crate) authorizer: RequestAuthorizer,
    /// The variable `request`, for each way in which policies saw it.
    requests: Vec<(Match, Arc<Value>)>,
    /// The variable `namespaceObject`.
    pub(crate) namespace: Option<Value>,
}

impl RequestInputs {
    pub(crate) fn new(attributes: &Attributes<'_>, authorizer: Arc<dyn Authorizer>) -> RequestInputs {
        let checks = Arc::new(Checks::new(attributes.request.user.clone(), authorizer));
        let resource = expressions::request_resource(attributes);
        RequestInputs {
            authorizer: RequestAuthorizer { authorizer: checks.clone(), resource },
            checks,
            requests: Vec::new(),
            namespace: None,
        }
    }

    /// Returns the variable `request` as a policy sees it that matched it as `found`.
    pub(crate) fn request(
        &mut self,
        attributes: &Attributes<'_>,
        found: &Match,
        is_used: bool,
    ) -> Arc<Value> {
        if !is_used {
            return Arc::default();
        }
        if let Some((_, request)) = self.requests.iter().find(|(known, _)| known == found) {
            return request.clone();
        }
        let request = Arc::new(expressions::request(attributes, &found.kind, &found.resource));
        self.requests.push((found.clone(), request.clone()));
        request
    }

    /// Reads the namespace of the request if expressions use it. Errors if it does not exist, also if none uses it.
    pub(crate) async fn load_namespace(
        &mut self,
        attributes: &Attributes<'_>,
        namespaces: Option<&Store>,
        is_used: bool,
    ) -> Result<()> {
        let (name, target) = (attributes.namespace(), attributes.target());
        let is_namespace = target.is_namespace() && target.kind.version == "v1";
        if name.is_empty() || is_namespace || self.namespace.is_some() {
            return Ok(());
        }
        let missing = || Box::new(Status::not_found("", "namespaces", name));
        let store = namespaces.ok_or_else(missing)?;
        let entry = store.cached_entry(&Context::default(), name).await;
        let entry =
            entry.map_err(|status| if status.reason == Reason::NotFound { missing() } else { status })?;
        if is_used {
            self.namespace = Some(namespace_object(&store.object(&entry)?));
        }
        Ok(())
    }
}
