//! A small extension API server, as operators write them: one resource in memory, its own discovery and OpenAPI, watches, and access that it
//! asks the host cluster about.
//!
//! It takes the user from the headers of a front proxy whose certificate is of the authority in
//! `kube-system/extension-apiserver-authentication`, or from a token that the host reviews, and asks the host whether the user may.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use bytes::Bytes;
use http::header::{AUTHORIZATION, CONNECTION, CONTENT_TYPE, ETAG, IF_NONE_MATCH, UPGRADE};
use http::{HeaderMap, HeaderName, Method, Request, Response, StatusCode};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::RootCertStore;
use rustls::server::WebPkiClientVerifier;
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::sync::broadcast;
use tokio_rustls::TlsAcceptor;

use crate::support::{Authority, Client};

type Body = UnsyncBoxBody<Bytes, Infallible>;
type Answer = Response<Body>;

const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

/// The way an extension server is set up.
#[derive(Clone)]
pub(super) struct Setup {
    /// The name of its service.
    pub(super) service: &'static str,
    pub(super) group: &'static str,
    pub(super) version: &'static str,
    pub(super) resource: &'static str,
    pub(super) kind: &'static str,
    pub(super) namespaced: bool,
    /// Whether it has the aggregated discovery document.
    pub(super) aggregated: bool,
    /// Whether it has OpenAPI documents.
    pub(super) openapi: bool,
    /// The host that knows users and their permissions; `None`: everyone may do everything.
    pub(super) host: Option<Host>,
    /// How long each answer takes.
    pub(super) delay: Duration,
}

impl Setup {
    /// Boats, for everyone.
    pub(super) fn boats() -> Setup {
        Setup {
            service: "boats",
            group: "boats.example.com",
            version: "v1",
            resource: "boats",
            kind: "Boat",
            namespaced: true,
            aggregated: true,
            openapi: true,
            host: None,
            delay: Duration::ZERO,
        }
    }

    fn group_version(&self) -> String {
        format!("{}/{}", self.group, self.version)
    }

    fn path(&self) -> String {
        format!("/apis/{}", self.group_version())
    }
}

/// The host cluster, as an extension server sees it.
#[derive(Clone)]
pub(super) struct Host {
    pub(super) client: Client,
    /// The authority of front proxies, PEM.
    pub(super) front_proxies: String,
}

impl Host {
    /// Reads what the host publishes for its extension servers.
    pub(super) async fn read(client: Client) -> Host {
        let path = "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication";
        let published = client.get(path).await.gives(200);
        let front_proxies = published["data"]["requestheader-client-ca-file"].as_str();
        Host { client, front_proxies: front_proxies.expect("an authority of front proxies").to_owned() }
    }
}

/// A request that was answered.
#[derive(Clone, Debug)]
pub(super) struct Seen {
    pub(super) method: Method,
    pub(super) path: String,
    pub(super) query: String,
    pub(super) headers: HeaderMap,
    /// Whether it came with a certificate of a front proxy.
    pub(super) certified: bool,
}

impl Seen {
    pub(super) fn all(&self, name: &str) -> Vec<&str> {
        self.headers.get_all(name).iter().map(|value| value.to_str().expect("text")).collect()
    }
}

/// Listens until it is dropped.
pub(super) struct ExtensionServer {
    pub(super) address: SocketAddr,
    /// The authority of its certificate, PEM.
    pub(super) authority: String,
    pub(super) setup: Setup,
    state: Arc<State>,
    task: tokio::task::JoinHandle<()>,
}

struct State {
    setup: Setup,
    objects: Mutex<Objects>,
    events: broadcast::Sender<Value>,
    seen: Mutex<Vec<Seen>>,
}

#[derive(Default)]
struct Objects {
    revision: u64,
    /// By namespace and name.
    all: BTreeMap<(String, String), Value>,
}

impl ExtensionServer {
    pub(super) async fn start(setup: Setup) -> ExtensionServer {
        let authority = Authority::new("extension servers");
        let name = format!("{}.default.svc", setup.service);
        let identity = authority.server(&[&name]);
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let builder = rustls::ServerConfig::builder_with_provider(provider.clone())
            .with_safe_default_protocol_versions()
            .expect("versions");
        let builder = match &setup.host {
            Some(host) => {
                let mut roots = RootCertStore::empty();
                for root in CertificateDer::pem_slice_iter(host.front_proxies.as_bytes()) {
                    roots.add(root.expect("PEM")).expect("an authority");
                }
                let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider)
                    .allow_unauthenticated();
                builder.with_client_cert_verifier(verifier.build().expect("a verifier"))
            }
            None => builder.with_no_client_auth(),
        };
        let chain = vec![CertificateDer::from_pem_slice(identity.certificate.as_bytes()).expect("PEM")];
        let key = PrivateKeyDer::from_pem_slice(identity.key.as_bytes()).expect("PEM");
        let mut config = builder.with_single_cert(chain, key).expect("a pair");
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        let acceptor = TlsAcceptor::from(Arc::new(config));
        // At every address of this machine, so that any can be the service's.
        let listener = TcpListener::bind("0.0.0.0:0").await.expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let address = SocketAddr::from(([127, 0, 0, 1], port));
        let state = Arc::new(State {
            setup: setup.clone(),
            objects: Mutex::default(),
            events: broadcast::Sender::new(64),
            seen: Mutex::default(),
        });
        let served = state.clone();
        let task = tokio::spawn(async move {
            let mut connections = tokio::task::JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                let (acceptor, state) = (acceptor.clone(), served.clone());
                connections.spawn(async move {
                    let Ok(stream) = acceptor.accept(stream).await else { return };
                    let certified = stream.get_ref().1.peer_certificates().is_some();
                    let is_http2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
                    let service = service_fn(move |request| {
                        let state = state.clone();
                        async move { Ok::<_, Infallible>(state.answer(request, certified).await) }
                    });
                    let io = TokioIo::new(stream);
                    // A client that goes away is no failure.
                    if is_http2 {
                        let builder = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
                        let _ = builder.serve_connection(io, service).await;
                    } else {
                        let builder = hyper::server::conn::http1::Builder::new();
                        let _ = builder.serve_connection(io, service).with_upgrades().await;
                    }
                });
            }
        });
        ExtensionServer { address, authority: authority.pem, setup, state, task }
    }

    /// Returns the requests that were answered.
    pub(super) fn seen(&self) -> Vec<Seen> {
        self.state.seen.lock().expect("no panic while held").clone()
    }

    /// Returns the last request for a path.
    pub(super) fn last(&self, path: &str) -> Seen {
        let found = self.seen().into_iter().rev().find(|seen| seen.path == path);
        found.unwrap_or_else(|| panic!("no request for {path}"))
    }

    /// Puts an object in without a request.
    pub(super) fn put(&self, namespace: &str, object: Value) {
        self.state.store("ADDED", namespace, object);
    }
}

impl Drop for ExtensionServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn body(text: impl Into<Bytes>) -> Body {
    Full::new(text.into()).boxed_unsync()
}

fn reply(code: StatusCode, value: &Value) -> Answer {
    let answer = Response::builder().status(code).header(CONTENT_TYPE, "application/json");
    answer.body(body(value.to_string())).expect("an answer")
}

fn failure(code: StatusCode, reason: &str, message: &str) -> Answer {
    let status = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": message, "reason": reason, "code": code.as_u16()});
    reply(code, &status)
}

fn text<'a>(headers: &'a HeaderMap, name: &HeaderName) -> &'a str {
    headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
}

/// The user of a request.
struct User {
    name: String,
    groups: Vec<String>,
}

impl State {
    fn objects(&self) -> MutexGuard<'_, Objects> {
        self.objects.lock().expect("no panic while held")
    }

    /// Stores an object and tells watches.
    fn store(&self, event: &str, namespace: &str, mut object: Value) -> Value {
        let mut objects = self.objects();
        objects.revision += 1;
        object["apiVersion"] = self.setup.group_version().into();
        object["kind"] = self.setup.kind.into();
        object["metadata"]["resourceVersion"] = objects.revision.to_string().into();
        object["metadata"]["creationTimestamp"] = "2026-01-01T00:00:00Z".into();
        if self.setup.namespaced {
            object["metadata"]["namespace"] = namespace.into();
        }
        let name = object["metadata"]["name"].as_str().expect("a name").to_owned();
        object["metadata"]["uid"] = format!("uid-{namespace}-{name}").into();
        objects.all.insert((namespace.to_owned(), name), object.clone());
        // There may be no watch.
        let _ = self.events.send(json!({"type": event, "object": object}));
        object
    }

    async fn answer(&self, request: Request<Incoming>, certified: bool) -> Answer {
        tokio::time::sleep(self.setup.delay).await;
        let seen = Seen {
            method: request.method().clone(),
            path: request.uri().path().to_owned(),
            query: request.uri().query().unwrap_or_default().to_owned(),
            headers: request.headers().clone(),
            certified,
        };
        self.seen.lock().expect("no panic while held").push(seen.clone());
        if let Some(host) = &self.setup.host {
            let Some(user) = self.user(host, &seen).await else {
                return failure(StatusCode::UNAUTHORIZED, "Unauthorized", "Unauthorized");
            };
            if !self.allows(host, &user, &seen).await {
                let message = format!("{} may not {} {}", user.name, seen.method, seen.path);
                return failure(StatusCode::FORBIDDEN, "Forbidden", &message);
            }
        }
        match self.document(&seen) {
            Some(answer) => answer,
            None => self.object(request, &seen).await,
        }
    }

    /// Returns the user: as a trusted front proxy says, or as the host says of a token.
    async fn user(&self, host: &Host, seen: &Seen) -> Option<User> {
        if seen.certified {
            let name = seen.all("x-remote-user").first()?.to_string();
            let mut groups: Vec<String> = seen.all("x-remote-group").into_iter().map(str::to_owned).collect();
            groups.push("system:authenticated".into());
            return Some(User { name, groups });
        }
        let token = text(&seen.headers, &AUTHORIZATION).strip_prefix("Bearer ")?;
        let review = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": token}});
        let path = "/apis/authentication.k8s.io/v1/tokenreviews";
        let headers = [("content-type", "application/json")];
        let review = host.client.request(Method::POST, path, &headers, review.to_string()).await.gives(201);
        let user = &review["status"]["user"];
        let groups = user["groups"].as_array().into_iter().flatten();
        Some(User {
            name: user["username"].as_str()?.to_owned(),
            groups: groups.filter_map(|group| group.as_str().map(str::to_owned)).collect(),
        })
    }

    /// Asks the host whether a user may.
    async fn allows(&self, host: &Host, user: &User, seen: &Seen) -> bool {
        if user.groups.iter().any(|group| group == "system:masters") {
            return true;
        }
        let verb = seen.method.as_str().to_lowercase();
        let mut spec = json!({"user": user.name, "groups": user.groups});
        let place = self.place(&seen.path);
        if let Some((namespace, name)) = place {
            let verb = match (seen.method.as_str(), name.is_empty()) {
                ("GET", true) => "list",
                ("GET", false) => "get",
                ("POST", _) => "create",
                ("PUT", _) => "update",
                _ => &verb,
            };
            spec["resourceAttributes"] = json!({"group": self.setup.group, "version": self.setup.version,
                "resource": self.setup.resource, "namespace": namespace, "name": name, "verb": verb});
        } else {
            spec["nonResourceAttributes"] = json!({"path": seen.path, "verb": verb});
        }
        let review =
            json!({"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": spec});
        let path = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
        let headers = [("content-type", "application/json")];
        let review = host.client.request(Method::POST, path, &headers, review.to_string()).await.gives(201);
        review["status"]["allowed"] == true
    }

    /// Returns the namespace and name that a path is about; empty where it has none.
    fn place<'p>(&self, path: &'p str) -> Option<(&'p str, &'p str)> {
        let rest = path.strip_prefix(&self.setup.path())?.strip_prefix('/')?;
        let (namespace, rest) = match rest.strip_prefix("namespaces/") {
            Some(rest) => rest.split_once('/')?,
            None => ("", rest),
        };
        let rest = rest.strip_prefix(self.setup.resource)?;
        Some((namespace, rest.trim_start_matches('/').split('/').next().unwrap_or_default()))
    }

    fn document(&self, seen: &Seen) -> Option<Answer> {
        let setup = &self.setup;
        let (group_version, kind) = (setup.group_version(), setup.kind);
        let verbs =
            json!(["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"]);
        let singular = kind.to_lowercase();
        if seen.path == "/apis"
            && setup.aggregated
            && text(&seen.headers, &http::header::ACCEPT).contains("v=v2;")
        {
            if text(&seen.headers, &IF_NONE_MATCH) == "\"one\"" {
                return Some(Response::builder().status(304).body(body("")).expect("an answer"));
            }
            let kind = json!({"group": setup.group, "version": setup.version, "kind": kind});
            let resource = json!({"resource": setup.resource, "responseKind": kind, "verbs": verbs,
                "scope": if setup.namespaced { "Namespaced" } else { "Cluster" },
                "singularResource": singular, "shortNames": ["xb"]});
            let versions =
                json!([{"version": setup.version, "resources": [resource], "freshness": "Current"}]);
            let list = json!({"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2",
                "metadata": {}, "items": [{"metadata": {"name": setup.group}, "versions": versions}]});
            let mut answer = reply(StatusCode::OK, &list);
            answer.headers_mut().insert(CONTENT_TYPE, AGGREGATED.parse().expect("a header"));
            answer.headers_mut().insert(ETAG, "\"one\"".parse().expect("a header"));
            return Some(answer);
        }
        if seen.path == setup.path() {
            return Some(reply(
                StatusCode::OK,
                &json!({"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": group_version, "resources": [
                    {"name": setup.resource, "singularName": singular, "namespaced": setup.namespaced, "kind": kind,
                     "verbs": verbs, "shortNames": ["xb"]}]}),
            ));
        }
        let name = format!("com.example.{kind}");
        let gvk = json!([{"group": setup.group, "version": setup.version, "kind": kind}]);
        let schema = json!({"type": "object", "description": "A vessel of an extension server.",
            "properties": {"spec": {"type": "object", "description": "How it is built.",
                "properties": {"length": {"type": "integer", "description": "In metres."}}}},
            "x-kubernetes-group-version-kind": gvk});
        let at = format!("{}/namespaces/{{namespace}}/{}", setup.path(), setup.resource);
        let get = |reference: &str| {
            json!({"operationId": format!("list{kind}"), "x-kubernetes-action": "list",
                "x-kubernetes-group-version-kind": gvk[0],
                "responses": {"200": {"description": "OK", "schema": {"$ref": reference}}}})
        };
        match seen.path.as_str() {
            "/openapi/v2" if setup.openapi => Some(reply(
                StatusCode::OK,
                &json!({"swagger": "2.0", "info": {"title": "extension", "version": "1"},
                    "paths": {at: {"get": get(&format!("#/definitions/{name}"))}},
                    "definitions": {name: schema}}),
            )),
            "/openapi/v3" if setup.openapi => {
                let url = format!("/openapi/v3{}?hash=ABC123", setup.path());
                let index = json!({"paths": {format!("apis/{group_version}"): {"serverRelativeURL": url}}});
                Some(reply(StatusCode::OK, &index))
            }
            path if setup.openapi && path == format!("/openapi/v3{}", setup.path()) => Some(reply(
                StatusCode::OK,
                &json!({"openapi": "3.0.0", "info": {"title": "extension", "version": "1"},
                    "paths": {at: {"get": {"operationId": "list", "x-kubernetes-action": "list",
                        "x-kubernetes-group-version-kind": gvk[0], "responses": {}}}},
                    "components": {"schemas": {name: schema}}}),
            )),
            _ => None,
        }
    }

    async fn object(&self, request: Request<Incoming>, seen: &Seen) -> Answer {
        let Some((namespace, name)) = self.place(&seen.path) else {
            return failure(
                StatusCode::NOT_FOUND,
                "NotFound",
                "the server could not find the requested resource",
            );
        };
        if seen.path.ends_with("/echo") {
            return echo(request);
        }
        let key = (namespace.to_owned(), name.to_owned());
        let found = self.objects().all.get(&key).cloned();
        let missing = || failure(StatusCode::NOT_FOUND, "NotFound", &format!("boats \"{name}\" not found"));
        match (seen.method.as_str(), name.is_empty()) {
            ("GET", true) if seen.query.contains("watch=") => self.watch(),
            ("GET", true) => reply(StatusCode::OK, &self.list(namespace)),
            ("GET", false) => found.map_or_else(missing, |object| reply(StatusCode::OK, &object)),
            ("POST", true) => {
                let sent = read(request).await;
                reply(StatusCode::CREATED, &self.store("ADDED", namespace, sent))
            }
            ("PUT", false) => {
                let sent = read(request).await;
                reply(StatusCode::OK, &self.store("MODIFIED", namespace, sent))
            }
            ("PATCH", false) => {
                let Some(mut object) = found else { return missing() };
                merge(&mut object, &read(request).await);
                reply(StatusCode::OK, &self.store("MODIFIED", namespace, object))
            }
            ("DELETE", _) => {
                let mut objects = self.objects();
                let before = objects.all.len();
                objects.all.retain(|(of, known), _| !(of == namespace && (name.is_empty() || known == name)));
                match !name.is_empty() && objects.all.len() == before {
                    true => missing(),
                    false => reply(
                        StatusCode::OK,
                        &json!({"kind": "Status", "apiVersion": "v1", "status": "Success"}),
                    ),
                }
            }
            _ => failure(StatusCode::METHOD_NOT_ALLOWED, "MethodNotAllowed", "not allowed"),
        }
    }

    fn list(&self, namespace: &str) -> Value {
        let objects = self.objects();
        let items = objects.all.iter().filter(|((of, _), _)| namespace.is_empty() || of == namespace);
        let items: Vec<&Value> = items.map(|(_, object)| object).collect();
        json!({"apiVersion": self.setup.group_version(), "kind": format!("{}List", self.setup.kind),
            "metadata": {"resourceVersion": objects.revision.to_string()}, "items": items})
    }

    fn watch(&self) -> Answer {
        let events = self.events.subscribe();
        let frames = futures_util::stream::unfold(events, |mut events| async move {
            let event = events.recv().await.ok()?;
            Some((Ok(Frame::data(Bytes::from(format!("{event}\n")))), events))
        });
        let answer = Response::builder().header(CONTENT_TYPE, "application/json");
        answer.body(StreamBody::new(frames).boxed_unsync()).expect("an answer")
    }
}

async fn read(request: Request<Incoming>) -> Value {
    let bytes = request.into_body().collect().await.expect("a body").to_bytes();
    serde_json::from_slice(&bytes).expect("JSON")
}

fn merge(object: &mut Value, patch: &Value) {
    let Some(fields) = patch.as_object() else {
        *object = patch.clone();
        return;
    };
    if !object.is_object() {
        *object = json!({});
    }
    for (name, value) in fields {
        match value {
            Value::Null => drop(object.as_object_mut().map(|object| object.remove(name))),
            value => merge(&mut object[name], value),
        }
    }
}

/// Switches to a protocol that sends everything back.
fn echo(mut request: Request<Incoming>) -> Answer {
    let protocol = request.headers().get(UPGRADE).cloned();
    let Some(protocol) = protocol else {
        return failure(StatusCode::BAD_REQUEST, "BadRequest", "Upgrade request required");
    };
    let upgrade = hyper::upgrade::on(&mut request);
    tokio::spawn(async move {
        let Ok(upgraded) = upgrade.await else { return };
        let (mut reader, mut writer) = tokio::io::split(TokioIo::new(upgraded));
        let mut buffer = vec![0; 16 << 10];
        while let Ok(count) = reader.read(&mut buffer).await {
            if count == 0 || writer.write_all(&buffer[..count]).await.is_err() {
                break;
            }
        }
        let _ = writer.shutdown().await;
    });
    let answer = Response::builder().status(StatusCode::SWITCHING_PROTOCOLS);
    answer.header(CONNECTION, "Upgrade").header(UPGRADE, protocol).body(body("")).expect("an answer")
}
