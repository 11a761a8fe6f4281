//! Metrics of requests that no route has taken. Their labels are the names in the request, whether or not they exist.
//!
//! Clients choose these labels, so only a limited number of combinations is kept. Beyond that, the names are left out.

use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Mutex, PoisonError};

use http::header::CONTENT_TYPE;
use http::{Method, Uri};
use pintle_metrics::{Counters, Error, Registry};

use super::Metrics;
use super::resources::{COMPONENT, RequestKind};
use crate::request_info::RequestInfo;
use crate::{Request, query};

/// Maximum number of combinations of labels.
const MOST: usize = 2000;

/// Subresources that are counted as connections, rather than as read or written.
const CONNECTIONS: [&str; 5] = ["log", "exec", "portforward", "attach", "proxy"];

/// The method and target of a request. Cheap to keep while a request is worked on; parsed only when it has to be counted.
pub(crate) struct RequestTarget {
    method: Method,
    uri: Uri,
    applies: bool,
}

impl RequestTarget {
    pub(crate) fn new(request: &Request) -> RequestTarget {
        let (method, uri) = (request.parts.method.clone(), request.parts.uri.clone());
        RequestTarget { applies: method == Method::PATCH && is_apply(request), method, uri }
    }

    fn labels(&self) -> RequestLabels {
        let info = RequestInfo::parse(&self.method, &self.uri).unwrap_or_default();
        let scope = scope(&info);
        RequestLabels { verb: self.verb(&info, scope), dry_run: dry_run(&self.uri), scope, info }
    }

    fn verb(&self, info: &RequestInfo, scope: &str) -> &'static str {
        let watch = || query::first(self.uri.query().unwrap_or_default(), "watch");
        if info.is_resource && is_connection(&info.subresource) {
            return "CONNECT";
        }
        match self.method {
            Method::GET if watch().is_some_and(|value| !is_false(&value)) => "WATCH",
            Method::GET | Method::HEAD if matches!(scope, "namespace" | "cluster") => "LIST",
            Method::GET | Method::HEAD => "GET",
            Method::PATCH if self.applies => "APPLY",
            Method::PATCH => "PATCH",
            Method::POST => "POST",
            Method::PUT => "PUT",
            Method::DELETE => "DELETE",
            Method::CONNECT => "CONNECT",
            _ => "other",
        }
    }
}

/// The labels of a request.
struct RequestLabels {
    verb: &'static str,
    dry_run: &'static str,
    scope: &'static str,
    info: RequestInfo,
}

impl RequestLabels {
    /// Removes all labels that the client chooses freely.
    fn clear_names(&mut self) {
        self.info = RequestInfo { is_resource: self.info.is_resource, ..RequestInfo::default() };
    }
}

fn is_false(value: &str) -> bool {
    matches!(value.to_ascii_lowercase().as_str(), "false" | "0")
}

fn scope(info: &RequestInfo) -> &'static str {
    match info {
        _ if !info.name.is_empty() || info.verb == "create" => "resource",
        _ if !info.namespace.is_empty() => "namespace",
        _ if info.is_resource => "cluster",
        _ => "",
    }
}

/// Returns whether requests for this subresource are counted as connections.
pub(crate) fn is_connection(subresource: &str) -> bool {
    CONNECTIONS.contains(&subresource)
}

/// Returns whether a patch is counted as an apply.
pub(crate) fn is_apply(request: &Request) -> bool {
    request.header(&CONTENT_TYPE) == Some("application/apply-patch+yaml")
}

/// Returns the kind under which a request for `/statusz` or `/flagz` is counted.
pub(crate) fn page_request_kind(request: &Request) -> RequestKind {
    let RequestLabels { verb, dry_run, .. } = RequestTarget::new(request).labels();
    RequestKind { verb, scope: "", dry_run, sized: true }
}

/// Returns the `dry_run` label: `All`, empty, or `invalid`.
pub(crate) fn dry_run(uri: &Uri) -> &'static str {
    let query = uri.query().unwrap_or_default();
    if !query.contains("dryRun") {
        return "";
    }
    let mut found = "";
    for (_, value) in query::pairs(query).filter(|(key, _)| key == "dryRun") {
        if value != "All" {
            return "invalid";
        }
        found = "All";
    }
    found
}

/// The metrics of requests that no route has taken.
pub(super) struct Unserved {
    terminations: Counters,
    /// Hashes of the combinations of labels seen so far.
    known: Mutex<HashSet<u64>>,
    hasher: RandomState,
}

impl Unserved {
    pub(super) fn new(registry: &Registry) -> Result<Unserved, Error> {
        Ok(Unserved {
            terminations: registry.counters(
                "apiserver_request_terminations_total",
                "Requests ended by the server to protect itself.",
                &["code", "component", "group", "resource", "scope", "subresource", "verb", "version"],
            )?,
            known: Mutex::default(),
            hasher: RandomState::new(),
        })
    }

    /// Returns the labels of a request, without its names once there are too many combinations.
    fn labels(&self, target: &RequestTarget) -> RequestLabels {
        let mut labels = target.labels();
        let RequestLabels { info, .. } = &labels;
        let path = if info.is_resource { "" } else { info.path.as_str() };
        let hash = self.hasher.hash_one((
            (labels.verb, labels.dry_run, labels.scope, path),
            (&info.group, &info.version, &info.resource, &info.subresource),
        ));
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if !known.contains(&hash) {
            if known.len() < MOST {
                known.insert(hash);
            } else {
                labels.clear_names();
            }
        }
        labels
    }
}

impl Metrics {
    /// Counts a request that the server ended to protect itself.
    pub(crate) fn terminated(&self, target: &RequestTarget, code: u16) {
        let RequestLabels { verb, scope, info, .. } = &self.0.unserved.labels(target);
        let subresource = if info.is_resource { &info.subresource } else { &info.path };
        let code = code.to_string();
        let labels = [&code, COMPONENT, &info.group, &info.resource, scope, subresource, verb, &info.version];
        self.0.unserved.terminations.with(&labels).inc();
    }

    /// Counts a request that got no slot as answered: no route will.
    pub(crate) fn dropped(&self, target: &RequestTarget) {
        let RequestLabels { verb, dry_run, scope, info } = &self.0.unserved.labels(target);
        let RequestInfo { group, version, resource, subresource, .. } = info;
        let labels = ["429", COMPONENT, dry_run, group, resource, scope, subresource, verb, version];
        self.0.requests.with(&labels).inc();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(request: &str) -> RequestTarget {
        let (method, uri) = request.split_once(' ').unwrap();
        let (applies, method) = (method == "APPLY", method.replace("APPLY", "PATCH"));
        RequestTarget { method: method.parse().unwrap(), uri: uri.parse().unwrap(), applies }
    }

    #[test]
    fn requests_have_the_labels_of_their_routes() {
        let check = |request: &str, expect: &str| {
            let RequestLabels { verb, dry_run, scope, info } = target(request).labels();
            let RequestInfo { group, version, resource, subresource, .. } = info;
            let shown = format!("{verb}[{dry_run}] {scope} {group}/{version} {resource}/{subresource}");
            assert_eq!(shown, expect, "{request}");
        };
        check("POST /api/v1/namespaces/a/pods", "POST[] resource /v1 pods/");
        check("GET /api/v1/namespaces/a/pods", "LIST[] namespace /v1 pods/");
        check("HEAD /apis/apps/v1/deployments", "LIST[] cluster apps/v1 deployments/");
        check("GET /api/v1/namespaces/a/pods/p/status?watch=1", "WATCH[] resource /v1 pods/status");
        check("GET /api/v1/namespaces/a/pods/p?watch=False", "GET[] resource /v1 pods/");
        check("PUT /api/v1/nodes/n?dryRun=All&dryRun=All", "PUT[All] resource /v1 nodes/");
        check("DELETE /api/v1/nodes?dryRun=all", "DELETE[invalid] cluster /v1 nodes/");
        check("PATCH /api/v1/nodes/n", "PATCH[] resource /v1 nodes/");
        check("APPLY /api/v1/nodes/n?notdryRun=x", "APPLY[] resource /v1 nodes/");
        check("POST /api/v1/namespaces/a/pods/p/exec", "CONNECT[] resource /v1 pods/exec");
        check("GET /healthz", "GET[]  / /");
        check("OPTIONS /healthz", "other[]  / /");
    }

    #[test]
    fn terminated_requests_are_counted_by_their_labels() {
        let metrics = Metrics::for_tests();
        let shows = |line: &str| {
            let text = String::from_utf8(metrics.registry().render().unwrap()).unwrap();
            assert!(text.lines().any(|known| known == line), "{line}: {text}");
        };
        metrics.terminated(&target("POST /api/v1/namespaces/a/pods"), 429);
        metrics.dropped(&target("POST /api/v1/namespaces/a/pods?dryRun=All"));
        metrics.terminated(&target("GET /livez"), 504);
        metrics.dropped(&target("GET /livez"));
        let pods = "group=\"\",resource=\"pods\",scope=\"resource\",subresource=\"\",verb=\"POST\",version=\"v1\"} 1";
        shows(&format!("apiserver_request_terminations_total{{code=\"429\",component=\"apiserver\",{pods}"));
        shows(&format!(
            "apiserver_request_total{{code=\"429\",component=\"apiserver\",dry_run=\"All\",{pods}"
        ));
        shows(
            "apiserver_request_terminations_total{code=\"504\",component=\"apiserver\",group=\"\",resource=\"\",scope=\"\",\
             subresource=\"/livez\",verb=\"GET\",version=\"\"} 1",
        );
        shows(
            "apiserver_request_total{code=\"429\",component=\"apiserver\",dry_run=\"\",group=\"\",resource=\"\",scope=\"\",\
             subresource=\"\",verb=\"GET\",version=\"\"} 1",
        );
    }

    #[test]
    fn clients_cannot_make_up_labels_without_end() {
        let metrics = Metrics::for_tests();
        for number in 0..MOST + 10 {
            metrics.terminated(&target(&format!("GET /apis/made/up/things{number}")), 429);
        }
        metrics.terminated(&target("GET /apis/made/up/things7"), 429);
        let text = String::from_utf8(metrics.registry().render().unwrap()).unwrap();
        let lines = text.lines().filter(|line| line.starts_with("apiserver_request_terminations_total{"));
        assert_eq!(lines.count(), MOST + 1);
        assert!(text.contains(
            "resource=\"things7\",scope=\"cluster\",subresource=\"\",verb=\"LIST\",version=\"up\"} 2"
        ));
        assert!(
            text.contains("resource=\"\",scope=\"cluster\",subresource=\"\",verb=\"LIST\",version=\"\"} 10")
        );
    }
}
