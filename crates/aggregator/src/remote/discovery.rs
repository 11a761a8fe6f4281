//! The resources of remote group versions: fetched when an APIService changes, and every minute.
//!
//! A server that has an aggregated document is asked once for all its group versions, any other for each of them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use http::StatusCode;
use http::header::{CONTENT_TYPE, ETAG, HeaderMap};
use pintle_auth::{PRIVILEGED_GROUP, User};
use pintle_controllers::{Controller, RateLimits, Requeue, Source};
use pintle_discovery::Resource;
use pintle_meta::Status;
use pintle_registry::Result;
use pintle_runtime::Clock;

use super::RemoteVersions;
use super::decode::{self, Versions};
use crate::api_services::{ApiServices, RemoteService};
use crate::registration::{Subscribers, subscribe};
use crate::server::{Fetch, ServiceReference};

/// Interval of fetches, and the longest delay of a retry.
const INTERVAL: Duration = Duration::from_secs(60);

/// Time limit of a document.
const LIMIT: Duration = Duration::from_secs(5);

/// How old the document of a server may be for another group version of the same server.
const SHARED: Duration = Duration::from_secs(1);

const ACCEPT: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,\
                      application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList";

/// Fetches the resources of remote group versions.
pub(crate) struct DiscoveryController {
    services: Arc<ApiServices>,
    versions: Arc<RemoteVersions>,
    subscribers: Arc<Subscribers>,
    clock: Clock,
    /// The aggregated documents of servers.
    fetched: Mutex<HashMap<ServiceReference, Fetched>>,
}

/// An aggregated document.
struct Fetched {
    versions: Arc<Versions>,
    etag: Option<String>,
    /// When it was asked for.
    at: Instant,
}

impl DiscoveryController {
    pub(crate) fn new(
        services: Arc<ApiServices>,
        versions: Arc<RemoteVersions>,
        subscribers: Arc<Subscribers>,
        clock: Clock,
    ) -> DiscoveryController {
        DiscoveryController { services, versions, subscribers, clock, fetched: Mutex::default() }
    }

    fn fetched(&self) -> MutexGuard<'_, HashMap<ServiceReference, Fetched>> {
        self.fetched.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the resources of a group version as its server has them.
    async fn resources(&self, remote: &RemoteService) -> std::result::Result<Vec<Resource>, String> {
        let key = (remote.group.clone(), remote.version.clone());
        match self.aggregated(remote).await? {
            // A server that does not list the group version has nothing in it.
            Some(versions) => Ok(versions.get(&key).cloned().unwrap_or_default()),
            None => self.legacy(remote).await,
        }
    }

    /// Returns the aggregated document of a server; `None` if it has none.
    async fn aggregated(&self, remote: &RemoteService) -> std::result::Result<Option<Arc<Versions>>, String> {
        let (service, begun) = (&remote.server.service, self.clock.instant());
        let known = self.fetched().get(service).map(|known| {
            (known.versions.clone(), known.etag.clone(), begun.saturating_duration_since(known.at))
        });
        if let Some((versions, _, age)) = &known
            && *age < SHARED
        {
            return Ok(Some(versions.clone()));
        }
        // May list everything of a server that trusts this one.
        let groups = vec![PRIVILEGED_GROUP.to_owned()];
        let user = User { name: "system:kube-aggregator".into(), groups, ..User::default() };
        let etag = known.as_ref().and_then(|(_, etag, _)| etag.as_deref());
        let fetch = Fetch { path: "/apis", user: &user, accept: ACCEPT, etag, limit: LIMIT };
        let (_, answer) = remote.server.fetch(fetch).await.map_err(|unanswered| unanswered.reason)?;
        let (versions, etag) = match (answer.status, known) {
            (StatusCode::NOT_MODIFIED, Some((versions, etag, _))) => (versions, etag),
            (StatusCode::SERVICE_UNAVAILABLE, _) => {
                let ServiceReference { namespace, name, port } = service;
                return Err(format!(
                    "service {namespace}/{name}:{port} returned non-success response code: 503"
                ));
            }
            (StatusCode::OK, _) if is_aggregated(&answer.headers) => {
                let versions = Arc::new(decode::aggregated(&answer.body)?);
                (versions, text(&answer.headers, ETAG))
            }
            _ => return Ok(None),
        };
        self.fetched().insert(service.clone(), Fetched { versions: versions.clone(), etag, at: begun });
        Ok(Some(versions))
    }

    async fn legacy(&self, remote: &RemoteService) -> std::result::Result<Vec<Resource>, String> {
        let path = remote.path();
        let user = User { name: "system:kube-aggregator".into(), ..User::default() };
        let fetch = Fetch { path: &path, user: &user, accept: "application/json", etag: None, limit: LIMIT };
        let (_, answer) = remote.server.fetch(fetch).await.map_err(|unanswered| unanswered.reason)?;
        if answer.status != StatusCode::OK {
            let code = answer.status.as_u16();
            return Err(format!("failed to download legacy discovery for {path}: response code {code}"));
        }
        decode::legacy(&answer.body, &remote.group, &remote.version)
    }

    /// Forgets the documents of servers that no APIService is behind.
    fn forget_unused(&self) {
        let used = self.services.all_remote();
        self.fetched().retain(|service, _| used.iter().any(|remote| remote.server.service == *service));
    }
}

fn text(headers: &HeaderMap, name: http::HeaderName) -> Option<String> {
    Some(headers.get(name)?.to_str().ok()?.to_owned())
}

/// Returns whether an answer is an aggregated document of a known version.
fn is_aggregated(headers: &HeaderMap) -> bool {
    let Some(content_type) = text(headers, CONTENT_TYPE) else { return false };
    let mut parameters = content_type.split(';').map(str::trim);
    let is_json = parameters.next() == Some("application/json");
    let parameters: Vec<&str> = parameters.collect();
    let has = |parameter: &str| parameters.contains(&parameter);
    is_json
        && has("g=apidiscovery.k8s.io")
        && has("as=APIGroupDiscoveryList")
        && (has("v=v2") || has("v=v2beta1"))
}

#[async_trait]
impl Controller for DiscoveryController {
    fn name(&self) -> &'static str {
        "discovery-manager"
    }

    fn sources(&self) -> Vec<Source> {
        vec![subscribe(&self.subscribers.discovery, &self.services)]
    }

    async fn reconcile(&self, name: &str) -> Result<Requeue> {
        let Some(remote) = self.services.named(name) else {
            self.forget_unused();
            return Ok(Requeue::Never);
        };
        let resources = self.resources(&remote).await;
        // Another server has it now, whose event is queued.
        if !self.services.named(name).is_some_and(|now| Arc::ptr_eq(&now.server, &remote.server)) {
            return Ok(Requeue::Never);
        }
        match resources {
            Ok(resources) => {
                self.versions.set_resources(name, Some(resources));
                Ok(Requeue::After(INTERVAL))
            }
            Err(reason) => {
                self.versions.set_resources(name, None);
                Err(Box::new(Status::plain(reason)))
            }
        }
    }

    fn failed(&self, name: &str, status: &Status) {
        tracing::debug!("discovery of {name} failed: {}", status.message);
    }

    fn workers(&self) -> usize {
        crate::WAITERS
    }

    fn rate_limits(&self) -> RateLimits {
        RateLimits {
            base_delay: Duration::from_millis(500),
            max_delay: INTERVAL,
            per_second: 1000.0,
            burst: 1000.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[test]
    fn an_aggregated_document_says_what_it_is() {
        let check = |content_type: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
            is_aggregated(&headers)
        };
        assert!(check("application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"));
        assert!(check("application/json; v=v2beta1; g=apidiscovery.k8s.io; as=APIGroupDiscoveryList"));
        assert!(!check("application/json"));
        assert!(!check("application/json;g=apidiscovery.k8s.io;v=v3;as=APIGroupDiscoveryList"));
        assert!(!check("text/html;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"));
    }
}
