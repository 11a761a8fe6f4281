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
use super::resources::{COMPONENT, Kind};
use crate::request_info::RequestInfo;
use crate::{Request, query};

/// Maximum number of combinations of labels.
const MOST: usize = 2000;

/// Subresources that are connected to, rather than read or written.
const CONNECTED: [&str; 5] = ["log", "exec", "portforward", "attach", "proxy"];

/// The method and target of a request. Cheap to keep while a request is worked on; parsed only when it has to be counted.
pub(crate) struct Asked {
    method: Method,
    uri: Uri,
    applies: bool,
}

impl Asked {
    pub(crate) fn of(request: &Request) -> Asked {
        let (method, uri) = (request.parts.method.clone(), request.parts.uri.clone());
        Asked { applies: method == Method::PATCH && is_apply(request), method, uri }
    }

    fn named(&self) -> Named {
        let info = RequestInfo::parse(&self.method, &self.uri).unwrap_or_default();
        let scope = scope(&info);
        Named { verb: self.verb(&info, scope), dry_run: dry_run(&self.uri), scope, info }
    }

    fn verb(&self, info: &RequestInfo, scope: &str) -> &'static str {
        let watch = || query::first(self.uri.query().unwrap_or_default(), "watch");
        if info.is_resource && is_connected(&info.subresource) {
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

/// The same, as labels say it.
struct Named {
    verb: &'static str,
    dry_run: &'static str,
    scope: &'static str,
    info: RequestInfo,
}

impl Named {
    /// Without all that the client chose freely.
    fn forget(&mut self) {
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

/// Whether metrics know requests for this subresource as connections.
pub(crate) fn is_connected(subresource: &str) -> bool {
    CONNECTED.contains(&subresource)
}

/// Whether metrics know a patch as an apply.
pub(crate) fn is_apply(request: &Request) -> bool {
    request.header(&CONTENT_TYPE) == Some("application/apply-patch+yaml")
}

/// As what metrics know a request for a page of the server's own that is an object, too.
pub(crate) fn kind_of_page(request: &Request) -> Kind {
    let Named { verb, dry_run, .. } = Asked::of(request).named();
    Kind { verb, scope: "", dry_run, sized: true }
}

/// `All`, empty, or `invalid`.
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

    /// Returns the names in a request, without those that there is no room for.
    fn named(&self, asked: &Asked) -> Named {
        let mut named = asked.named();
        let Named { info, .. } = &named;
        let place = if info.is_resource { "" } else { info.path.as_str() };
        let hash = self.hasher.hash_one((
            (named.verb, named.dry_run, named.scope, place),
            (&info.group, &info.version, &info.resource, &info.subresource),
        ));
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if !known.contains(&hash) {
            if known.len() < MOST {
                known.insert(hash);
            } else {
                named.forget();
            }
        }
        named
    }
}

impl Metrics {
    /// Counts a request that the server ended to protect itself.
    pub(crate) fn terminated(&self, asked: &Asked, code: u16) {
        let Named { verb, scope, info, .. } = &self.0.unserved.named(asked);
        let subresource = if info.is_resource { &info.subresource } else { &info.path };
        let code = code.to_string();
        let labels = [&code, COMPONENT, &info.group, &info.resource, scope, subresource, verb, &info.version];
        self.0.unserved.terminations.with(&labels).inc();
    }

    /// Counts a request for which there was no room as one that was answered: no route will.
    pub(crate) fn dropped(&self, asked: &Asked) {
        let Named { verb, dry_run, scope, info } = &self.0.unserved.named(asked);
        let RequestInfo { group, version, resource, subresource, .. } = info;
        let labels = ["429", COMPONENT, dry_run, group, resource, scope, subresource, verb, version];
        self.0.requests.with(&labels).inc();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(request: &str) -> Asked {
        let (method, uri) = request.split_once(' ').unwrap();
        let (applies, method) = (method == "APPLY", method.replace("APPLY", "PATCH"));
        Asked { method: method.parse().unwrap(), uri: uri.parse().unwrap(), applies }
    }

    #[test]
    fn requests_are_named_as_routes_would_name_them() {
        let check = |request: &str, expect: &str| {
            let Named { verb, dry_run, scope, info } = asked(request).named();
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
    fn what_is_ended_is_counted_by_what_it_names() {
        let metrics = Metrics::alone();
        let shows = |line: &str| {
            let text = String::from_utf8(metrics.registry().render().unwrap()).unwrap();
            assert!(text.lines().any(|known| known == line), "{line}: {text}");
        };
        metrics.terminated(&asked("POST /api/v1/namespaces/a/pods"), 429);
        metrics.dropped(&asked("POST /api/v1/namespaces/a/pods?dryRun=All"));
        metrics.terminated(&asked("GET /livez"), 504);
        metrics.dropped(&asked("GET /livez"));
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
    fn strangers_cannot_make_up_labels_without_end() {
        let metrics = Metrics::alone();
        for number in 0..MOST + 10 {
            metrics.terminated(&asked(&format!("GET /apis/made/up/things{number}")), 429);
        }
        metrics.terminated(&asked("GET /apis/made/up/things7"), 429);
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
