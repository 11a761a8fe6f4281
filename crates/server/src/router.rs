//! Paths that are not resources, and their handlers.

use std::collections::HashMap;
use std::sync::Arc;

use async_trait::async_trait;
use http::StatusCode;
use http_body::Body as _;
use pintle_runtime::Stopwatch;

use crate::documents::{Documents, ROUTE_NAMES, RouteName};
use crate::filter::Handler;
use crate::metrics::{Metrics, RouteMetrics};
use crate::{Request, Response, audit, respond};

/// Exact paths only: the server's own endpoints have no wildcards.
pub(crate) struct Router {
    metrics: Metrics,
    routes: HashMap<String, Route>,
    /// Answers for what is served and what is not: discovery, OpenAPI, and all below a group version that is not there.
    documents: Arc<Documents>,
    /// Metrics by the name of the route.
    document_metrics: HashMap<&'static str, RouteMetrics>,
    /// Owns what is below `/api` and `/apis` in group versions that are there.
    resources: Arc<dyn Handler>,
}

struct Route {
    handler: Arc<dyn Handler>,
    metrics: Option<RouteMetrics>,
}

impl Router {
    pub(crate) fn new(metrics: Metrics, documents: Arc<Documents>, resources: Arc<dyn Handler>) -> Router {
        let counted = |name: &'static str| (name, metrics.route("GET", name));
        let document_metrics = ROUTE_NAMES.into_iter().map(counted).collect();
        Router { metrics, routes: HashMap::new(), documents, document_metrics, resources }
    }

    /// A path whose requests are counted.
    pub(crate) fn route(&mut self, path: &str, handler: impl Handler) {
        let metrics = Some(self.metrics.route("GET", path));
        self.routes.insert(path.into(), Route { handler: Arc::new(handler), metrics });
    }

    /// A path whose requests are not.
    pub(crate) fn uncounted(&mut self, path: &str, handler: impl Handler) {
        self.routes.insert(path.into(), Route { handler: Arc::new(handler), metrics: None });
    }

    /// The paths of its own.
    pub(crate) fn paths(&self) -> Vec<String> {
        self.routes.keys().cloned().collect()
    }
}

#[async_trait]
impl Handler for Router {
    async fn handle(&self, request: Box<Request>) -> Response {
        let path = request.info.path.as_str();
        if let Some(route) = self.routes.get(path) {
            let start = Stopwatch::start();
            let response = route.handler.handle(request).await;
            count(route.metrics.as_ref(), &response, start);
            return response;
        }
        if self.documents.owns(path) && !self.documents.is_remote(path) {
            let start = Stopwatch::start();
            // OpenAPI documents are no objects.
            let audit = request.audit.clone().filter(|audit| audit.wants_response() && is_discovery(path));
            let mut response = self.documents.handle(request).await;
            if let Some(audit) = audit.filter(|_| response.status() == StatusCode::OK) {
                response = audit::record_answer(&audit, response).await;
            }
            let name = response.extensions().get::<RouteName>();
            count(name.and_then(|name| self.document_metrics.get(name.0)), &response, start);
            return response;
        }
        if ["/api", "/apis"].iter().any(|root| is_below(path, root)) {
            return self.resources.handle(request).await;
        }
        respond::not_found()
    }
}

fn count(metrics: Option<&RouteMetrics>, response: &Response, start: Stopwatch) {
    if let Some(metrics) = metrics {
        metrics.answered(response.status().as_u16(), response.body().size_hint().exact(), start.elapsed());
    }
}

fn is_discovery(path: &str) -> bool {
    ["/api", "/apis"].iter().any(|root| is_below(path, root))
}

fn is_below(path: &str, root: &str) -> bool {
    path.strip_prefix(root).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}
