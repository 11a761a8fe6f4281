//! For tests: a real HTTPS server that answers as a test tells it to.

pub mod grpc;
mod names;
pub mod proxies;

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Response};
use http_body_util::{BodyExt, Full};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use rustls::ServerConfig;
use rustls::server::WebPkiClientVerifier;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

pub use names::Names;

/// A request that a server has seen.
#[derive(Clone, Debug)]
pub struct Seen {
    pub method: String,
    /// With its query.
    pub path: String,
    pub headers: HeaderMap,
    pub body: Bytes,
    /// Whether it came with a certificate.
    pub certified: bool,
    pub version: http::Version,
}

impl Seen {
    /// The body, which must be JSON.
    #[allow(clippy::missing_panics_doc, reason = "a test")]
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).expect("a body of JSON")
    }

    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }
}

/// The response to a request.
#[derive(Clone, Debug)]
pub struct Reply {
    pub status: u16,
    pub headers: Vec<(&'static str, String)>,
    pub body: Vec<u8>,
    /// How long the answer takes.
    pub delay: Duration,
}

impl Reply {
    pub fn json(value: &serde_json::Value) -> Reply {
        Reply {
            status: 200,
            headers: vec![("content-type", "application/json".into())],
            body: value.to_string().into_bytes(),
            delay: Duration::ZERO,
        }
    }

    pub fn text(status: u16, body: &str) -> Reply {
        Reply {
            status,
            headers: vec![("content-type", "text/plain".into())],
            body: body.as_bytes().to_vec(),
            delay: Duration::ZERO,
        }
    }

    #[must_use]
    pub fn after(self, delay: Duration) -> Reply {
        Reply { delay, ..self }
    }

    #[must_use]
    pub fn with(mut self, name: &'static str, value: &str) -> Reply {
        self.headers.push((name, value.into()));
        self
    }
}

/// An authority that makes certificates for tests.
pub struct Authority {
    pub pem: String,
    certificate: CertificateDer<'static>,
    issuer: Issuer<'static, KeyPair>,
}

#[allow(clippy::missing_panics_doc, reason = "tests")]
impl Authority {
    pub fn new(name: &str) -> Authority {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("a key");
        let certificate = params.self_signed(&key).expect("a certificate");
        Authority {
            pem: certificate.pem(),
            certificate: certificate.der().clone(),
            issuer: Issuer::new(params, key),
        }
    }

    /// A certificate and key, PEM, for a server of these names or a client of this one.
    pub fn issue(&self, names: &[&str], change: impl FnOnce(&mut CertificateParams)) -> (String, String) {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let mut params = CertificateParams::new(names).expect("names");
        change(&mut params);
        let key = KeyPair::generate().expect("a key");
        let certificate = params.signed_by(&key, &self.issuer).expect("a certificate");
        (certificate.pem(), key.serialize_pem())
    }
}

/// Listens until it is dropped.
pub struct HttpsServer {
    pub address: SocketAddr,
    pub authority: Authority,
    seen: Arc<Mutex<Vec<Seen>>>,
    connections: Arc<AtomicUsize>,
    task: tokio::task::JoinHandle<()>,
}

pub struct HttpsOptions {
    pub names: Vec<&'static str>,
    /// Where it listens: a free port of 127.0.0.1 if nothing else is said.
    pub address: SocketAddr,
    pub http2: bool,
    /// Asks clients for a certificate of this authority, and insists.
    pub clients: Option<Authority>,
    /// Does not insist.
    pub allows_no_certificate: bool,
    /// Its certificate says that it is an authority, as many do that were made by hand.
    pub is_authority: bool,
}

impl Default for HttpsOptions {
    fn default() -> HttpsOptions {
        let address = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0);
        HttpsOptions {
            names: vec!["localhost", "127.0.0.1"],
            address,
            http2: true,
            clients: None,
            allows_no_certificate: false,
            is_authority: false,
        }
    }
}

type Handler = dyn Fn(&Seen) -> Reply + Send + Sync;

#[allow(clippy::missing_panics_doc, reason = "tests")]
impl HttpsServer {
    pub async fn start(handler: impl Fn(&Seen) -> Reply + Send + Sync + 'static) -> HttpsServer {
        HttpsServer::start_with(HttpsOptions::default(), handler).await
    }

    pub async fn start_with(
        options: HttpsOptions,
        handler: impl Fn(&Seen) -> Reply + Send + Sync + 'static,
    ) -> HttpsServer {
        let authority = Authority::new("test authority");
        let (certificate, key) = authority.issue(&options.names, |params| {
            if options.is_authority {
                params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
            }
        });
        let listener = TcpListener::bind(options.address).await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let acceptor = TlsAcceptor::from(Arc::new(server_config(&options, &certificate, &key)));
        let seen = Arc::new(Mutex::new(Vec::new()));
        let (handler, log): (Arc<Handler>, _) = (Arc::new(handler), seen.clone());
        let connections = Arc::new(AtomicUsize::new(0));
        let count = connections.clone();
        let task = tokio::spawn(async move {
            let mut connections = tokio::task::JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                count.fetch_add(1, Ordering::SeqCst);
                let (acceptor, handler, log) = (acceptor.clone(), handler.clone(), log.clone());
                connections.spawn(async move {
                    let Ok(stream) = acceptor.accept(stream).await else { return };
                    let certified = stream.get_ref().1.peer_certificates().is_some();
                    let http2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
                    let service =
                        service_fn(move |request| answer(request, certified, handler.clone(), log.clone()));
                    let io = TokioIo::new(stream);
                    let _ = if http2 {
                        hyper::server::conn::http2::Builder::new(TokioExecutor::new())
                            .serve_connection(io, service)
                            .await
                    } else {
                        hyper::server::conn::http1::Builder::new().serve_connection(io, service).await
                    };
                });
            }
        });
        HttpsServer { address, authority, seen, connections, task }
    }

    /// Number of them so far.
    pub fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    pub fn url(&self, path: &str) -> String {
        format!("https://{}{path}", self.address)
    }

    pub fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// A kubeconfig that leads here.
    pub fn kubeconfig(&self, path: &str) -> String {
        use base64::Engine;
        let authority = base64::engine::general_purpose::STANDARD.encode(&self.authority.pem);
        format!(
            "apiVersion: v1\nkind: Config\ncurrent-context: c\ncontexts:\n- name: c\n  context: {{cluster: k, user: u}}\n\
             clusters:\n- name: k\n  cluster:\n    server: {}\n    certificate-authority-data: {authority}\n\
             users:\n- name: u\n  user: {{token: for-the-webhook}}\n",
            self.url(path)
        )
    }
}

impl Drop for HttpsServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

#[allow(clippy::missing_panics_doc, reason = "tests")]
pub fn server_config(options: &HttpsOptions, certificate: &str, key: &str) -> ServerConfig {
    use rustls_pki_types::pem::PemObject;
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let builder = ServerConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .expect("versions");
    let builder = match &options.clients {
        Some(authority) => {
            let mut roots = rustls::RootCertStore::empty();
            roots.add(authority.certificate.clone()).expect("an authority");
            let mut verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
            if options.allows_no_certificate {
                verifier = verifier.allow_unauthenticated();
            }
            builder.with_client_cert_verifier(verifier.build().expect("a verifier"))
        }
        None => builder.with_no_client_auth(),
    };
    let chain = vec![CertificateDer::from_pem_slice(certificate.as_bytes()).expect("a certificate")];
    let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).expect("a key");
    let mut config = builder.with_single_cert(chain, key).expect("a pair");
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    if options.http2 {
        config.alpn_protocols.insert(0, b"h2".to_vec());
    }
    config
}

async fn answer(
    request: http::Request<hyper::body::Incoming>,
    certified: bool,
    handler: Arc<Handler>,
    log: Arc<Mutex<Vec<Seen>>>,
) -> Result<Response<Full<Bytes>>, hyper::Error> {
    let (head, body) = request.into_parts();
    let seen = Seen {
        method: head.method.to_string(),
        path: head.uri.path_and_query().map(ToString::to_string).unwrap_or_default(),
        headers: head.headers,
        body: body.collect().await?.to_bytes(),
        certified,
        version: head.version,
    };
    let reply = handler(&seen);
    log.lock().unwrap_or_else(PoisonError::into_inner).push(seen);
    tokio::time::sleep(reply.delay).await;
    let mut response = Response::builder().status(reply.status);
    for (name, value) in reply.headers {
        response = response.header(name, value);
    }
    Ok(response.body(Full::new(reply.body.into())).expect("a reply"))
}
