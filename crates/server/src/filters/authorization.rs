//! Authorizes requests. A request that no authorizer allows is refused.

use std::sync::Arc;

use async_trait::async_trait;
use http::header::X_CONTENT_TYPE_OPTIONS;
use pintle_audit::Layer;
use pintle_auth::{Attributes, Authorizer};
use pintle_meta::{Status, quote};
use pintle_runtime::Stopwatch;

use crate::filter::{Filter, Next};
use crate::metrics::{MeasuredFilter, Metrics};
use crate::{Request, Response, respond};

/// The annotations of a request's audit event.
const DECISION: &str = "authorization.k8s.io/decision";
const REASON: &str = "authorization.k8s.io/reason";

pub struct Authorization {
    pub authorizer: Arc<dyn Authorizer>,
    pub metrics: Metrics,
}

#[async_trait]
impl Filter for Authorization {
    async fn handle(&self, request: Box<Request>, next: Next<'_>) -> Response {
        let Some(user) = request.user.clone() else {
            return respond::internal_error(&request.parts.uri, &"no user found in the request");
        };
        let info = &request.info;
        let selectors = info.selectors();
        let attributes = info.attributes(&user, &selectors);
        let start = Stopwatch::start();
        let verdict = self.authorizer.authorize(&attributes).await;
        let took = start.elapsed();
        self.metrics.auth().authorized(&verdict, took);
        if let Some(audit) = &request.audit {
            audit.took(Layer::Authorization, took);
            if verdict.is_allowed() || verdict.error.is_none() {
                audit.annotate(DECISION, if verdict.is_allowed() { "allow" } else { "forbid" });
                audit.annotate(REASON, &verdict.reason);
            } else {
                audit.annotate(REASON, "internal error");
            }
        }
        if verdict.is_allowed() {
            self.metrics.filtered(MeasuredFilter::Authorization, took);
            return next.run(request).await;
        }
        if let Some(error) = &verdict.error {
            return respond::internal_error(&request.parts.uri, error);
        }
        let reason = verdict.reason;
        tracing::debug!(path = info.path, %reason, "Forbidden");
        refusal(&forbidden(&attributes, &reason))
    }
}

/// A 403 as an answer.
pub(crate) fn refusal(status: &Status) -> Response {
    let mut response = respond::status(status);
    response.headers_mut().insert(X_CONTENT_TYPE_OPTIONS, respond::NOSNIFF);
    response
}

/// Returns the answer to a request that is not authorized; `reason` is the authorizer's, if it has any.
pub fn forbidden(attributes: &Attributes<'_>, reason: &str) -> Status {
    let mut why = respond::sanitize(&description(attributes));
    if !reason.is_empty() {
        why = format!("{why}: {reason}");
    }
    Status::forbidden(attributes.group, attributes.resource, attributes.name, &why)
}

fn description(attributes: &Attributes<'_>) -> String {
    let user = quote(&attributes.user.name);
    let verb = attributes.verb;
    if !attributes.is_resource {
        return format!("User {user} cannot {verb} path {}", quote(attributes.path));
    }
    let resource = match attributes.subresource {
        "" => quote(attributes.resource),
        subresource => quote(&format!("{}/{subresource}", attributes.resource)),
    };
    let group = quote(attributes.group);
    let scope = match attributes.namespace {
        "" => "at the cluster scope".to_owned(),
        namespace => format!("in the namespace {}", quote(namespace)),
    };
    format!("User {user} cannot {verb} resource {resource} in API group {group} {scope}")
}
