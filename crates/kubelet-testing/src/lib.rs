//! A kubelet for tests. It speaks the HTTPS API that an API server calls: `containerLogs`, `exec`, `attach`, `portForward`, over SPDY and
//! WebSocket, and `pods`. Containers are processes of this machine, and a terminal is a pseudo terminal.
//!
//! A kubelet that has joined an API server ([`Kubelet::join`]) keeps a node and its pods there, and asks it about requests that come
//! without a certificate.
//!
//! It shares the codec of SPDY frames with the server under test, but WebSockets are another library's.

#![allow(clippy::missing_panics_doc, reason = "tests")]

mod forward;
mod host;
mod node;
mod process;
mod reviews;
mod spdy;
mod terminal;
mod websocket;

use std::collections::HashMap;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use bytes::Bytes;
use futures_util::stream;
use http::header::{CONNECTION, UPGRADE};
use http::{HeaderMap, HeaderValue, Request, Response, StatusCode};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use pintle_outbound::Kubeconfig;
use pintle_outbound::testing::{Authority, HttpsOptions, server_config};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio_rustls::TlsAcceptor;

pub use terminal::Terminal;

use host::Host;

type Body = UnsyncBoxBody<Bytes, Infallible>;
type Upgraded = TokioIo<hyper::upgrade::Upgraded>;

/// The protocol of streams that this kubelet chooses.
const PROTOCOL: &str = "v4.channel.k8s.io";
const VERSION: &str = "x-stream-protocol-version";

/// A request that the kubelet has seen.
#[derive(Clone, Debug)]
pub struct Seen {
    pub method: String,
    /// With its query.
    pub path: String,
    pub headers: HeaderMap,
    /// Whether it came with a client certificate.
    pub certified: bool,
}

/// How a kubelet is set up.
#[derive(Default)]
pub struct Options {
    /// The authority of clients, which need a certificate then, or a token that the API server knows.
    pub clients: Option<Authority>,
    /// The address to listen on: by default a port of 127.0.0.1.
    pub address: Option<SocketAddr>,
    /// The addresses that ports of pods lead to; others lead to this machine's.
    pub ports: HashMap<u16, SocketAddr>,
}

/// A running kubelet. Ends with this value.
pub struct Kubelet {
    pub address: SocketAddr,
    pub authority: Authority,
    state: Arc<State>,
    task: tokio::task::JoinHandle<()>,
    /// Keeps the node.
    keeping: Option<tokio::task::JoinHandle<()>>,
}

struct State {
    /// Whether clients without a certificate are asked who they are.
    insists: bool,
    /// The API server, and the name of the node there.
    host: OnceLock<(Host, String)>,
    ports: HashMap<u16, SocketAddr>,
    seen: Mutex<Vec<Seen>>,
    /// The log of every container, and whether it has ended.
    log: watch::Sender<(Vec<u8>, bool)>,
    streaming: AtomicUsize,
}

impl Kubelet {
    pub async fn start(options: Options) -> Kubelet {
        let Options { clients, address, ports } = options;
        let insists = clients.is_some();
        let https = HttpsOptions { clients, allows_no_certificate: true, ..HttpsOptions::default() };
        let authority = Authority::new("kubelets");
        let listener = TcpListener::bind(address.unwrap_or(https.address)).await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let host = address.ip().to_string();
        let (certificate, key) = authority.issue(&["localhost", &host], |_| {});
        let acceptor = TlsAcceptor::from(Arc::new(server_config(&https, &certificate, &key)));
        let state = Arc::new(State {
            insists,
            host: OnceLock::new(),
            ports,
            seen: Mutex::default(),
            log: watch::Sender::default(),
            streaming: AtomicUsize::new(0),
        });
        let shared = state.clone();
        let task = tokio::spawn(async move {
            let mut connections = tokio::task::JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                let (acceptor, state) = (acceptor.clone(), shared.clone());
                connections.spawn(async move {
                    let Ok(stream) = acceptor.accept(stream).await else { return };
                    let (_, session) = stream.get_ref();
                    let certified = session.peer_certificates().is_some();
                    let http2 = session.alpn_protocol() == Some(b"h2");
                    let service = service_fn(move |request| {
                        let state = state.clone();
                        async move { Ok::<_, Infallible>(state.serve(request, certified).await) }
                    });
                    let io = TokioIo::new(stream);
                    let _ = if http2 {
                        hyper::server::conn::http2::Builder::new(TokioExecutor::new())
                            .serve_connection(io, service)
                            .await
                    } else {
                        hyper::server::conn::http1::Builder::new()
                            .serve_connection(io, service)
                            .with_upgrades()
                            .await
                    };
                });
            }
        });
        Kubelet { address, authority, state, task, keeping: None }
    }

    /// Joins an API server as a node of this name. It takes all pods, since it stands for a scheduler, too.
    pub fn join(&mut self, kubeconfig: &Kubeconfig, name: &str) {
        let host = (Host::new(kubeconfig), name.to_owned());
        assert!(self.state.host.set(host).is_ok(), "a kubelet joins once");
        let (state, address) = (self.state.clone(), self.address);
        self.keeping = Some(tokio::spawn(async move {
            if let Some((host, name)) = state.host.get() {
                node::keep(host, name, address).await;
            }
        }));
    }

    pub fn seen(&self) -> Vec<Seen> {
        self.state.seen.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Adds a line to the log of every container.
    pub fn log(&self, line: &str) {
        self.state.log.send_modify(|(log, _)| log.extend_from_slice(format!("{line}\n").as_bytes()));
    }

    /// Ends the containers, and with them their logs.
    pub fn end(&self) {
        self.state.log.send_modify(|(_, ended)| *ended = true);
    }

    /// Number of upgraded connections that are open.
    pub fn streaming(&self) -> usize {
        self.state.streaming.load(Ordering::SeqCst)
    }
}

impl Drop for Kubelet {
    fn drop(&mut self) {
        self.task.abort();
        if let Some(keeping) = &self.keeping {
            keeping.abort();
        }
    }
}

/// The parameters of a request.
#[derive(Clone, Debug)]
struct Query(Vec<(String, String)>);

impl Query {
    fn parse(query: &str) -> Query {
        let text = |text: &str| {
            let text = text.replace('+', " ");
            percent_encoding::percent_decode_str(&text).decode_utf8_lossy().into_owned()
        };
        let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
        Query(pairs.map(|(name, value)| (text(name), text(value))).collect())
    }

    fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.0.iter().filter(move |(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    fn is_on(&self, name: &str) -> bool {
        self.all(name).any(|value| matches!(value, "1" | "true"))
    }

    fn number(&self, name: &str) -> Option<usize> {
        self.all(name).find_map(|value| value.parse().ok())
    }
}

fn text(code: StatusCode, text: impl Into<Bytes>) -> Response<Body> {
    let mut response = Response::new(Full::new(text.into()).boxed_unsync());
    *response.status_mut() = code;
    response
}

impl State {
    async fn serve(self: Arc<State>, request: Request<Incoming>, certified: bool) -> Response<Body> {
        let path = request.uri().path_and_query().map(ToString::to_string).unwrap_or_default();
        let (method, headers) = (request.method().to_string(), request.headers().clone());
        let seen = Seen { method, path: path.clone(), headers, certified };
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).push(seen);
        let query = Query::parse(request.uri().query().unwrap_or_default());
        let path = request.uri().path().to_owned();
        if self.insists && !certified {
            let refusal = match self.host.get() {
                Some((host, node)) => {
                    reviews::refusal(host, node, request.method(), &path, request.headers()).await
                }
                None => Some((StatusCode::UNAUTHORIZED, "Unauthorized".to_owned())),
            };
            if let Some((code, why)) = refusal {
                return text(code, why);
            }
        }
        let what = path.split('/').nth(1).unwrap_or_default();
        match what {
            "containerLogs" => self.logs(&query),
            "exec" | "attach" | "portForward" => self.upgrade(request, what.to_owned(), query),
            "pods" => {
                text(StatusCode::OK, r#"{"kind":"PodList","apiVersion":"v1","metadata":{},"items":null}"#)
            }
            "echo" => {
                let head = format!("{} {}\n", request.method(), request.uri());
                let body = request.into_body().collect().await.map(http_body_util::Collected::to_bytes);
                text(StatusCode::OK, [head.as_bytes(), &body.unwrap_or_default()].concat())
            }
            "redirect" => {
                let mut response = text(StatusCode::FOUND, "");
                response.headers_mut().insert(http::header::LOCATION, HeaderValue::from_static("/elsewhere"));
                response
            }
            _ => text(StatusCode::NOT_FOUND, "404 page not found\n"),
        }
    }

    fn logs(self: Arc<State>, query: &Query) -> Response<Body> {
        let log = self.log.subscribe();
        let (bytes, _) = log.borrow().clone();
        let start = match query.number("tailLines") {
            Some(lines) => {
                let ends: Vec<usize> = bytes
                    .iter()
                    .enumerate()
                    .filter(|(_, byte)| **byte == b'\n')
                    .map(|(at, _)| at + 1)
                    .collect();
                match ends.len().checked_sub(lines + 1) {
                    Some(before) => ends[before],
                    None => 0,
                }
            }
            None => 0,
        };
        if !query.is_on("follow") {
            let rest = &bytes[start..];
            let limit = query.number("limitBytes").unwrap_or(usize::MAX).min(rest.len());
            return text(StatusCode::OK, rest[..limit].to_vec());
        }
        let frames = stream::unfold((start, log), async |(at, mut log)| {
            let (bytes, _) = log.wait_for(|(bytes, ended)| bytes.len() > at || *ended).await.ok()?.clone();
            let new = Bytes::copy_from_slice(bytes.get(at..).filter(|new| !new.is_empty())?);
            Some((Ok(Frame::data(new)), (bytes.len(), log)))
        });
        Response::new(StreamBody::new(frames).boxed_unsync())
    }

    /// Agrees to the protocol that is asked for, and serves it.
    fn upgrade(
        self: Arc<State>,
        mut request: Request<Incoming>,
        what: String,
        query: Query,
    ) -> Response<Body> {
        let asked = request.headers().get(UPGRADE).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let is_websocket = asked.eq_ignore_ascii_case("websocket");
        if !is_websocket && asked != "SPDY/3.1" {
            return text(StatusCode::BAD_REQUEST, "unable to upgrade: missing upgrade headers in request");
        }
        let mut response = text(StatusCode::SWITCHING_PROTOCOLS, "");
        let answer = response.headers_mut();
        answer.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
        if is_websocket {
            match websocket::handshake(request.headers()) {
                Ok(headers) => answer.extend(headers),
                Err(why) => return text(StatusCode::FORBIDDEN, why),
            }
        } else {
            answer.insert(UPGRADE, HeaderValue::from_static("SPDY/3.1"));
            let version = if what == "portForward" { "portforward.k8s.io" } else { PROTOCOL };
            let offered = request.headers().get_all(VERSION).iter().filter_map(|value| value.to_str().ok());
            if !offered
                .into_iter()
                .flat_map(|value| value.split(','))
                .any(|offered| offered.trim() == version)
            {
                return text(StatusCode::FORBIDDEN, "unable to negotiate protocol");
            }
            answer.insert(VERSION, HeaderValue::from_static(version));
        }
        let upgrade = hyper::upgrade::on(&mut request);
        let place: Vec<String> = request.uri().path().split('/').skip(2).map(str::to_owned).collect();
        tokio::spawn(async move {
            let Ok(stream) = upgrade.await else { return };
            self.streaming.fetch_add(1, Ordering::SeqCst);
            let stream = TokioIo::new(stream);
            match (&*what, is_websocket) {
                ("portForward", true) => websocket::forward(stream, &self, &query).await,
                ("portForward", false) => forward::serve(stream, &self).await,
                (_, true) => websocket::run(stream, &what, &query).await,
                (_, false) => {
                    let ended = process::serve(stream, &what, &query).await;
                    if let (Some(Ok(status)), "attach", Some((host, _)), [namespace, name, ..]) =
                        (ended, &*what, self.host.get(), &place[..])
                    {
                        let _ = node::end(host, namespace, name, status.code().unwrap_or(137)).await;
                    }
                }
            }
            self.streaming.fetch_sub(1, Ordering::SeqCst);
        });
        response
    }
}
