//! Requests for custom resources.

use std::sync::Arc;

use async_trait::async_trait;
use pintle_meta::Status;
use pintle_server::delegation::Delegate;
use pintle_server::filters::warn;
use pintle_server::rest::{Endpoint, Rest};
use pintle_server::{Request, Response, respond};

use crate::Definitions;
use crate::table::Registered;

/// The last server in the chain: who asks for what it does not know asks for nothing that is there.
pub struct Extensions {
    definitions: Arc<Definitions>,
    rest: Arc<Rest>,
}

impl Extensions {
    pub fn new(definitions: Arc<Definitions>, rest: Arc<Rest>) -> Extensions {
        Extensions { definitions, rest }
    }

    /// The definition that a request is about, if it is one that is served.
    async fn find(&self, request: &Request) -> Option<Arc<Registered>> {
        let info = &request.info;
        let resource = info.parts.first()?;
        let name = format!("{resource}.{}", info.group);
        let serves =
            |found: &Arc<Registered>| found.summary.is_served() && found.summary.serves(&info.version);
        match self.definitions.get(&name).filter(serves) {
            Some(found) => Some(found),
            None => self.definitions.get_current(&name).await.filter(serves),
        }
    }
}

/// What is to be answered.
enum Found {
    Endpoint(Arc<Endpoint>),
    /// With what the client is warned of.
    Refusal(Box<Status>, Option<String>),
    Nothing,
}

async fn endpoint(registered: &Registered, request: &Request) -> Found {
    let info = &request.info;
    let summary = &registered.summary;
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
    let serving = match registered.serving() {
        Ok(serving) => serving,
        Err(reason) => return refuse(reason),
    };
    let version = match serving.version(&info.version).await {
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
        let Some(registered) = self.find(&request).await else { return Err(request) };
        match endpoint(&registered, &request).await {
            Found::Endpoint(endpoint) => {
                // The deletion of the definition waits for those that may still write.
                let reads = matches!(request.info.verb.as_str(), "get" | "list" | "watch");
                let _writing = (!reads).then(|| registered.count_write());
                drop(registered);
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
