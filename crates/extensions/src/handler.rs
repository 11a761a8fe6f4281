//! Requests for custom resources.

use std::sync::Arc;

use async_trait::async_trait;
use pintle_meta::Status;
use pintle_server::delegation::Delegate;
use pintle_server::filters::warn;
use pintle_server::rest::{Endpoint, Rest};
use pintle_server::{Request, Response, respond};

use crate::Definitions;
use crate::index::Definition;

/// The last delegate: a request that it does not take is answered with 404.
pub struct Extensions {
    definitions: Arc<Definitions>,
    rest: Arc<Rest>,
}

impl Extensions {
    pub fn new(definitions: Arc<Definitions>, rest: Arc<Rest>) -> Extensions {
        Extensions { definitions, rest }
    }

    /// Returns the definition that serves a request.
    async fn find(&self, request: &Request) -> Option<Arc<Definition>> {
        let info = &request.info;
        let resource = info.parts.first()?;
        let name = format!("{resource}.{}", info.group);
        let serves =
            |found: &Arc<Definition>| found.summary.is_served() && found.summary.serves(&info.version);
        match self.definitions.get(&name).filter(serves) {
            Some(found) => Some(found),
            None => self.definitions.get_current(&name).await.filter(serves),
        }
    }
}

/// The endpoint of a request, or its answer.
enum Found {
    Endpoint(Arc<Endpoint>),
    /// An error, and the warning that goes with it.
    Refusal(Box<Status>, Option<String>),
    Nothing,
}

async fn endpoint(definition: &Definition, request: &Request) -> Found {
    let info = &request.info;
    let summary = &definition.summary;
    let is_across = matches!(info.verb.as_str(), "list" | "watch");
    let fits = match (summary.namespaced, !info.namespace.is_empty()) {
        (true, true) | (false, false) => true,
        (true, false) => is_across,
        (false, true) => false,
    };
    if !fits {
        return Found::Nothing;
    }
    let refuse = |reason: String| {
        tracing::error!(reason, name = summary.name, "a definition cannot be served");
        Found::Refusal(Box::new(Status::internal("error resolving resource")), None)
    };
    let resource = match definition.resource() {
        Ok(resource) => resource,
        Err(reason) => return refuse(reason),
    };
    let version = match resource.version(&info.version).await {
        Some(Ok(version)) => version,
        Some(Err(reason)) => return refuse(reason),
        None => return Found::Nothing,
    };
    let found = match info.parts.get(2).map(String::as_str) {
        None => Some(&version.resource),
        Some("status") => version.status.as_ref(),
        Some("scale") => version.scale.as_ref(),
        Some(_) => None,
    };
    match found {
        Some(endpoint) => Found::Endpoint(endpoint.clone()),
        None => {
            let status = Status::not_found(&info.group, &summary.accepted.plural, &info.name);
            let warning = version.resource.served.deprecation().map(str::to_owned);
            Found::Refusal(Box::new(status), warning)
        }
    }
}

#[async_trait]
impl Delegate for Extensions {
    async fn offer(&self, request: Box<Request>) -> Result<Response, Box<Request>> {
        let Some(definition) = self.find(&request).await else { return Err(request) };
        match endpoint(&definition, &request).await {
            Found::Endpoint(endpoint) => {
                // The deletion of the definition waits for writes that are under way.
                let reads = matches!(request.info.verb.as_str(), "get" | "list" | "watch");
                let _writing = (!reads).then(|| definition.count_write());
                drop(definition);
                Ok(self.rest.answer(&endpoint, request).await)
            }
            Found::Refusal(status, warning) => {
                let mut response = respond::status(&status);
                warn(&mut response, warning.into_iter().collect());
                Ok(response)
            }
            Found::Nothing => Err(request),
        }
    }

    fn owns_group(&self, _: &str) -> bool {
        false
    }
}
