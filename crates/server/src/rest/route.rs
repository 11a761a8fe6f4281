//! Which endpoint a request is for.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use async_trait::async_trait;
use http::Method;
use http::header::ACCEPT;
use pintle_audit::{AuditContext, Layer};
use pintle_meta::Status;

use super::bound::bounded;
use super::call::{Call, Shared};
use super::endpoint::{Endpoint, Implementation, StoredEndpoint};
use super::representation::{Representation, StatusRequest};
use super::verbs::{connect, create, delete, get, list, patch, update, watch};
use super::{Result, bad_request, computed, subresource};
use crate::delegation::Delegate;
use crate::filters::warn;
use crate::metrics::{self, RequestKind, ResponseMetrics};
use crate::request_info::RequestInfo;
use crate::{Request, Response, audit, respond};

/// The resources of a server: a table that may change while it serves.
pub struct Rest {
    shared: Shared,
    table: RwLock<Arc<Table>>,
}

/// Endpoints by group and version, then by resource and subresource.
type Table = HashMap<(String, String), Arc<HashMap<String, Arc<Endpoint>>>>;

impl Rest {
    pub fn new(shared: Shared) -> Rest {
        Rest { shared, table: RwLock::default() }
    }

    #[cfg(test)]
    pub(super) fn shared(&self) -> &Shared {
        &self.shared
    }

    /// Serves a version of a group from now on, in place of what was served of it before.
    pub fn register(&self, group: &str, version: &str, endpoints: Vec<Endpoint>) {
        let endpoints = endpoints.into_iter().map(|endpoint| (endpoint.name(), Arc::new(endpoint))).collect();
        self.change(|table| drop(table.insert((group.into(), version.into()), Arc::new(endpoints))));
    }

    /// Serves a version of a group no more.
    pub fn remove(&self, group: &str, version: &str) {
        self.change(|table| drop(table.remove(&(group.to_owned(), version.to_owned()))));
    }

    fn change(&self, change: impl FnOnce(&mut Table)) {
        let mut table = self.table.write().unwrap_or_else(PoisonError::into_inner);
        change(Arc::make_mut(&mut table));
    }

    fn table(&self) -> Arc<Table> {
        self.table.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    async fn serve(
        &self,
        endpoint: &Arc<Endpoint>,
        request: &mut Request,
        warnings: &mut Vec<String>,
    ) -> Result<Response> {
        let deprecation = endpoint.served.deprecation().map(str::to_owned);
        // A custom resource's deprecation comes before any other warning.
        let (first, later) = if endpoint.is_custom { (deprecation, None) } else { (None, deprecation) };
        warnings.extend(first);
        let verb = verb(endpoint, request)?;
        self.check_named(endpoint, request, verb)?;
        check_namespace(endpoint, request, verb)?;
        let representation = self.negotiate(endpoint, request, verb)?;
        warnings.extend(later);
        let mut call = Call {
            request,
            representation,
            shared: &self.shared,
            warnings: Vec::new(),
            notes: OnceLock::new(),
        };
        let running = self.run(endpoint, &mut call, verb);
        let answer = match &endpoint.implementation {
            // However long its target takes.
            Implementation::Connection { .. } => running.await,
            _ => bounded(verb, running).await,
        };
        warnings.append(&mut call.warnings);
        if let Some(notes) = call.notes.get() {
            warnings.extend(notes.take_warnings());
            if let Some(audit) = &call.request.audit {
                let times = notes.webhook_times();
                audit.took(Layer::MutatingWebhooks, times.mutating);
                audit.took(Layer::ValidatingWebhooks, times.validating);
            }
        }
        answer
    }

    /// Negotiates the representation of the answer.
    fn negotiate(&self, endpoint: &Endpoint, request: &Request, verb: &str) -> Result<Representation> {
        let Shared { encodings, clock, .. } = &self.shared;
        if let Implementation::Connection { .. } = endpoint.implementation {
            // The target of a connection negotiates, and takes any body.
            let accept = request.header(&ACCEPT).unwrap_or_default();
            let (user_agent, uri) = (&request.user_agent(), &request.parts.uri);
            return Ok(Representation::for_status(&StatusRequest { accept, user_agent, uri }, encodings));
        }
        if verb == "patch" {
            // A patch of an unknown type is refused as that, whatever answer was asked for.
            patch::kind_of(endpoint, request, encodings)?;
        }
        Representation::negotiate(endpoint, request, encodings, clock)
    }

    /// Runs a verb of an endpoint.
    async fn run(&self, endpoint: &Arc<Endpoint>, call: &mut Call<'_>, verb: &str) -> Result<Response> {
        match &endpoint.implementation {
            Implementation::Missing => Err(Box::new(not_implemented(endpoint, verb))),
            Implementation::Connection { connector, requires_create } => {
                connect::connect(endpoint, call, &**connector, *requires_create).await
            }
            Implementation::Stream(connector) => match verb {
                "get" => connect::stream(endpoint, call, &**connector).await,
                _ => Err(Box::new(not_implemented(endpoint, verb))),
            },
            _ if verb == "patch" => patch::patch(endpoint, call).await,
            _ if verb == "update" => update::update(endpoint, call).await,
            Implementation::Store(store) => {
                let serving = StoredEndpoint {
                    endpoint: endpoint.clone(),
                    store: store.clone(),
                    pool: self.shared.pool.clone(),
                    clock: self.shared.clock.clone(),
                    random: self.shared.random.clone(),
                };
                match verb {
                    "get" => get::get(&serving, call.request, call.representation).await,
                    "list" => list::list(&serving, call).await,
                    "watch" => watch::watch(&serving, call).await,
                    "create" => create::create(&serving, call).await,
                    "delete" => delete::delete(&serving, call).await,
                    "deletecollection" => delete::delete_collection(&serving, call).await,
                    _ => Err(Box::new(not_implemented(endpoint, verb))),
                }
            }
            Implementation::Computed(computed) => match verb {
                "get" => computed::get(endpoint, &**computed, call).await,
                "list" => computed::list(endpoint, &**computed, call).await,
                _ => Err(Box::new(not_implemented(endpoint, verb))),
            },
            Implementation::Subresource(subresource) => match verb {
                "get" => subresource::get(endpoint, &**subresource, call).await,
                "create" => subresource::create(endpoint, &**subresource, call).await,
                _ => Err(Box::new(not_implemented(endpoint, verb))),
            },
        }
    }
}

impl Rest {
    /// Refuses updates and patches of a collection, which only custom resources get: they have no router before them.
    fn check_named(&self, endpoint: &Endpoint, request: &Request, verb: &str) -> Result<()> {
        if !request.info.name.is_empty() || !matches!(verb, "update" | "patch") {
            return Ok(());
        }
        if verb == "patch" {
            patch::kind_of(endpoint, request, self.shared.encodings)?;
        }
        Err(bad_request("name must be provided"))
    }
}

/// The refusal of a verb that the reference has and this server does not yet.
fn not_implemented(endpoint: &Endpoint, verb: &str) -> Status {
    Status::not_implemented(format!("{verb} of {} is not implemented by this server yet", endpoint.name()))
}

#[async_trait]
impl Delegate for Rest {
    async fn offer(&self, request: Box<Request>) -> std::result::Result<Response, Box<Request>> {
        let info = &request.info;
        let table = self.table();
        let endpoints = table.get(&(info.group.clone(), info.version.clone()));
        match endpoints.and_then(|endpoints| endpoint(endpoints, info)) {
            Some(endpoint) => Ok(self.answer(endpoint, request).await),
            None => Err(request),
        }
    }

    fn owns_group(&self, group: &str) -> bool {
        self.table().keys().any(|(known, _)| known == group)
    }
}

impl Rest {
    /// Answers a request for an endpoint, whichever router found it.
    pub async fn answer(&self, endpoint: &Arc<Endpoint>, mut request: Box<Request>) -> Response {
        // A request that no route takes is not counted.
        let kind = verb(endpoint, &request).ok().map(|verb| request_kind(endpoint, &request, verb));
        let mut warnings = Vec::new();
        let answer = self.serve(endpoint, &mut request, &mut warnings).await;
        let mut response = answer.unwrap_or_else(|status| respond::status(&status));
        if let Some(kind) = kind {
            let served = &endpoint.served;
            let deprecated = served.deprecation().map(|_| served.removed_release().unwrap_or_default());
            if let Some(audit) = &request.audit {
                let is_object = !matches!(kind.verb, "WATCH" | "CONNECT");
                response = recorded(audit, response, is_object, deprecated).await;
            }
            let metrics =
                endpoint.metrics.for_kind(&self.shared.metrics, endpoint.labels(), kind, deprecated);
            response.extensions_mut().insert(ResponseMetrics(metrics));
        }
        warn(&mut response, warnings);
        response
    }
}

/// Has the audit of a request show its answer, and that its version is deprecated.
async fn recorded(
    audit: &AuditContext,
    response: Response,
    is_object: bool,
    deprecated: Option<&str>,
) -> Response {
    if let Some(removed) = deprecated {
        audit.annotate("k8s.io/deprecated", "true");
        if !removed.is_empty() {
            audit.annotate("k8s.io/removed-release", removed);
        }
    }
    if is_object && audit.wants_response() && response.extensions().get::<Status>().is_none() {
        return audit::record_answer(audit, response).await;
    }
    response
}

/// The endpoint of a path, if the path is one of its.
fn endpoint<'t>(
    endpoints: &'t HashMap<String, Arc<Endpoint>>,
    info: &RequestInfo,
) -> Option<&'t Arc<Endpoint>> {
    let [resource, rest @ ..] = &info.parts[..] else { return None };
    // Verbs before the resource: what proxied is gone, and only whole objects are watched.
    if info.verb == "proxy" || info.verb == "watch" && rest.len() > 1 {
        return None;
    }
    let endpoint = match rest {
        [] | [_] => endpoints.get(resource)?,
        [_, subresource] => endpoints.get(&format!("{resource}/{subresource}"))?,
        [_, subresource, ..] => {
            endpoints.get(&format!("{resource}/{subresource}")).filter(|_| subresource == "proxy")?
        }
    };
    // A namespace is in no namespace, although requests for one are authorized as if it were in itself.
    let before = if info.prefix == "api" { 2 } else { 3 };
    let in_namespace = segments(&info.path) >= before + 2 + info.parts.len();
    let fits = match (endpoint.namespaced, in_namespace) {
        (true, true) | (false, false) => true,
        // All namespaces at once.
        (true, false) => rest.is_empty(),
        (false, true) => false,
    };
    fits.then_some(endpoint)
}

fn segments(path: &str) -> usize {
    path.split('/').filter(|segment| !segment.is_empty()).count()
}

/// Returns the verb of a request, if the endpoint has it.
fn verb(endpoint: &Endpoint, request: &Request) -> Result<&'static str> {
    let info = &request.info;
    // Custom resources have no router that checks the method.
    if endpoint.is_custom {
        let known = endpoint.verbs.iter().copied().find(|verb| *verb == info.verb);
        return known.ok_or_else(|| {
            Box::new(Status::method_not_supported(&endpoint.group, &endpoint.resource, &info.verb))
        });
    }
    let named = info.parts.len() > 1;
    let watches = info.verb == "watch";
    let verb = match (&request.parts.method, named) {
        (&Method::GET, _) if watches => "watch",
        (&Method::GET, true) => "get",
        (&Method::GET, false) => "list",
        // The target of a proxy may know these methods. The reference has no verb for the second.
        (&Method::HEAD, true) if is_proxy(endpoint) => "get",
        (&Method::OPTIONS, true) if is_proxy(endpoint) => "",
        (&Method::POST, named) if named == endpoint.subresource.is_some() => "create",
        (&Method::PUT, true) => "update",
        (&Method::PATCH, true) => "patch",
        (&Method::DELETE, true) => "delete",
        (&Method::DELETE, false) => "deletecollection",
        _ => return Err(Box::new(Status::method_not_allowed())),
    };
    // The verb must be the authorized one: a path may say `watch` whatever the method is.
    if verb != info.verb {
        return Err(Box::new(Status::method_not_allowed()));
    }
    // A list that finds out that it should have been a watch.
    if verb == "watch" && endpoint.allows("list") && !endpoint.allows(verb) {
        let status = Status::method_not_supported(&endpoint.group, &endpoint.resource, verb);
        return Err(Box::new(status));
    }
    // Across namespaces there is only reading.
    let across = endpoint.namespaced && info.namespace.is_empty() && !matches!(verb, "list" | "watch");
    if across || !(endpoint.allows(verb) || verb.is_empty()) {
        return Err(Box::new(Status::method_not_allowed()));
    }
    Ok(verb)
}

fn is_proxy(endpoint: &Endpoint) -> bool {
    matches!(endpoint.implementation, Implementation::Connection { .. })
        && endpoint.subresource.as_deref() == Some("proxy")
}

/// Returns the labels that a request is counted under.
fn request_kind(endpoint: &Endpoint, request: &Request, verb: &str) -> RequestKind {
    let shown = match verb {
        _ if endpoint.subresource.as_deref().is_some_and(metrics::is_connection) => "CONNECT",
        "get" => "GET",
        "list" => "LIST",
        "watch" => "WATCH",
        "create" => "POST",
        "update" => "PUT",
        "patch" if metrics::is_apply(request) => "APPLY",
        "patch" => "PATCH",
        _ => "DELETE",
    };
    let query = request.parts.uri.query().unwrap_or_default();
    let dry_run = metrics::dry_run(&request.parts.uri);
    let sized = match shown {
        "GET" | "LIST" => true,
        // The old paths of watches are routes of their own.
        "WATCH" => query.contains("watch="),
        _ => false,
    };
    RequestKind { verb: shown, scope: scope(endpoint, &request.info, verb == "create"), dry_run, sized }
}

/// Returns the scope of a request, as metrics name it.
pub(crate) fn scope(endpoint: &Endpoint, info: &RequestInfo, creates: bool) -> &'static str {
    match (info.parts.len() > 1 || creates, endpoint.namespaced && !info.namespace.is_empty()) {
        (true, _) => "resource",
        (false, true) => "namespace",
        (false, false) => "cluster",
    }
}

/// A namespace that would lead somewhere else if keys were paths is refused where the reference makes a key of it. What is
/// created asks for its namespace first, which is not there.
fn check_namespace(endpoint: &Endpoint, request: &Request, verb: &str) -> Result<()> {
    let Implementation::Store(store) = &endpoint.implementation else { return Ok(()) };
    let info = &request.info;
    if !endpoint.namespaced || !matches!(info.namespace.as_str(), "." | "..") || verb == "create" {
        return Ok(());
    }
    let prefix = String::from_utf8_lossy(&store.config().prefix).into_owned();
    let path = prefix.trim_matches('/').split_once('/').map_or("", |(_, path)| path);
    let name = if info.name.is_empty() { String::new() } else { format!("/{}", info.name) };
    let key = format!("/{path}/{}{name}", info.namespace);
    Err(Box::new(Status::plain(format_args!("invalid key: {}", pintle_meta::quote(&key)))))
}
