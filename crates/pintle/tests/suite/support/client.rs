//! An HTTPS client that says exactly what a test wants said: which HTTP, which TLS, which credentials.

use std::net::SocketAddr;
use std::sync::Arc;

use bytes::Bytes;
use http::header::AUTHORIZATION;
use http::{HeaderMap, Method, Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::{ClientConfig, ProtocolVersion, RootCertStore, SupportedCipherSuite, SupportedProtocolVersion};
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use serde_json::Value;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::certs::Identity;
use super::server::PATIENCE;

pub(crate) type Failure = Box<dyn std::error::Error + Send + Sync>;

#[derive(Clone)]
pub(crate) struct Client {
    address: SocketAddr,
    name: String,
    authority: String,
    identity: Option<Identity>,
    token: Option<String>,
    protocols: Vec<&'static str>,
    versions: &'static [&'static SupportedProtocolVersion],
    suites: Option<Vec<SupportedCipherSuite>>,
}

impl Client {
    /// No credentials, HTTP/1.1, and trust in this authority (PEM).
    pub(crate) fn new(port: u16, authority: &str) -> Client {
        Client {
            address: SocketAddr::from(([127, 0, 0, 1], port)),
            name: "127.0.0.1".into(),
            authority: authority.into(),
            identity: None,
            token: None,
            protocols: vec!["http/1.1"],
            versions: rustls::ALL_VERSIONS,
            suites: None,
        }
    }

    pub(crate) fn identity(mut self, identity: &Identity) -> Client {
        self.identity = Some(identity.clone());
        self
    }

    pub(crate) fn token(mut self, token: &str) -> Client {
        self.token = Some(token.into());
        self
    }

    /// The name to ask for, and to find in the certificate.
    pub(crate) fn named(mut self, name: &str) -> Client {
        self.name = name.into();
        self
    }

    pub(crate) fn on_port(&self, port: u16) -> Client {
        Client { address: SocketAddr::new(self.address.ip(), port), ..self.clone() }
    }

    pub(crate) fn trusting(mut self, authority: &str) -> Client {
        self.authority = authority.into();
        self
    }

    pub(crate) fn http2(self) -> Client {
        self.offering(&["h2"])
    }

    pub(crate) fn offering(mut self, protocols: &[&'static str]) -> Client {
        self.protocols = protocols.to_vec();
        self
    }

    pub(crate) fn only_tls(mut self, version: ProtocolVersion) -> Client {
        static TLS12: [&SupportedProtocolVersion; 1] = [&rustls::version::TLS12];
        static TLS13: [&SupportedProtocolVersion; 1] = [&rustls::version::TLS13];
        self.versions = if version == ProtocolVersion::TLSv1_2 { &TLS12 } else { &TLS13 };
        self
    }

    pub(crate) fn only_suite(mut self, suite: SupportedCipherSuite) -> Client {
        self.suites = Some(vec![suite]);
        self
    }

    /// A TLS stream and nothing on it.
    pub(crate) async fn tls(&self) -> Result<TlsStream<TcpStream>, Failure> {
        let mut roots = RootCertStore::empty();
        for authority in CertificateDer::pem_slice_iter(self.authority.as_bytes()) {
            roots.add(authority?)?;
        }
        let mut provider = aws_lc_rs::default_provider();
        if let Some(suites) = &self.suites {
            provider = CryptoProvider { cipher_suites: suites.clone(), ..provider };
        }
        let builder = ClientConfig::builder_with_provider(Arc::new(provider))
            .with_protocol_versions(self.versions)?
            .with_root_certificates(roots);
        let mut config = match &self.identity {
            None => builder.with_no_client_auth(),
            Some(identity) => {
                let chain: Result<Vec<_>, _> =
                    CertificateDer::pem_slice_iter(identity.certificate.as_bytes()).collect();
                builder
                    .with_client_auth_cert(chain?, PrivateKeyDer::from_pem_slice(identity.key.as_bytes())?)?
            }
        };
        config.alpn_protocols = self.protocols.iter().map(|name| name.as_bytes().to_vec()).collect();
        let stream = TcpStream::connect(self.address).await?;
        stream.set_nodelay(true)?;
        let name = ServerName::try_from(self.name.clone())?;
        Ok(TlsConnector::from(Arc::new(config)).connect(name, stream).await?)
    }

    pub(crate) async fn connect(&self) -> Result<Connection, Failure> {
        let stream = self.tls().await?;
        let sender = if stream.get_ref().1.alpn_protocol() == Some(b"h2") {
            let (sender, connection) = http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await?;
            tokio::spawn(connection);
            Sender::Http2(sender)
        } else {
            let (sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
            tokio::spawn(connection);
            Sender::Http1(sender)
        };
        Ok(Connection {
            sender,
            host: format!("{}:{}", self.name, self.address.port()),
            token: self.token.clone(),
        })
    }

    pub(crate) async fn try_get(&self, path: &str) -> Result<Answer, Failure> {
        self.connect().await?.send(Method::GET, path, &[], "").await
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.request(Method::GET, path, &[], "").await
    }

    /// Begins to follow something.
    pub(crate) async fn follow(&self, path: &str, headers: &[(&str, &str)]) -> Following {
        let mut connection = self.connect().await.unwrap_or_else(|error| panic!("{path}: {error}"));
        let answer = connection.begin(Method::GET, path, headers, "").await;
        let (head, body) = answer.unwrap_or_else(|error| panic!("{path}: {error}")).into_parts();
        assert_eq!(head.status.as_u16(), 200, "{path}");
        Following { body, read: Vec::new(), _connection: connection }
    }

    pub(crate) async fn request(
        &self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: impl Into<Bytes>,
    ) -> Answer {
        let answer = self.try_request(method, path, headers, body).await;
        answer.unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    pub(crate) async fn try_request(
        &self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: impl Into<Bytes>,
    ) -> Result<Answer, Failure> {
        self.connect().await?.send(method, path, headers, body).await
    }
}

enum Sender {
    Http1(http1::SendRequest<Full<Bytes>>),
    Http2(http2::SendRequest<Full<Bytes>>),
}

/// A connection that stays open between requests.
pub(crate) struct Connection {
    sender: Sender,
    host: String,
    token: Option<String>,
}

impl Connection {
    pub(crate) async fn send(
        &mut self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: impl Into<Bytes>,
    ) -> Result<Answer, Failure> {
        let response = self.begin(method, path, headers, body).await?;
        let (head, body) = response.into_parts();
        let bytes = body.collect().await?.to_bytes();
        let body = String::from_utf8_lossy(&bytes).into_owned();
        Ok(Answer { code: head.status.as_u16(), headers: head.headers, body, bytes })
    }

    /// Sends a request and returns once its answer begins.
    pub(crate) async fn begin(
        &mut self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: impl Into<Bytes>,
    ) -> Result<Response<Incoming>, Failure> {
        let mut request = Request::builder().method(method);
        request = match &self.sender {
            Sender::Http1(_) => request.uri(path).header("host", &self.host),
            Sender::Http2(_) => request.uri(format!("https://{}{path}", self.host)),
        };
        if let Some(token) = &self.token {
            request = request.header(AUTHORIZATION, format!("Bearer {token}"));
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(Full::new(body.into()))?;
        match &mut self.sender {
            Sender::Http1(sender) => {
                sender.ready().await?;
                Ok(sender.send_request(request).await?)
            }
            Sender::Http2(sender) => {
                sender.ready().await?;
                Ok(sender.send_request(request).await?)
            }
        }
    }

    pub(crate) async fn get(&mut self, path: &str) -> Result<Answer, Failure> {
        self.send(Method::GET, path, &[], "").await
    }
}

/// An answer that goes on.
pub(crate) struct Following {
    body: Incoming,
    read: Vec<u8>,
    _connection: Connection,
}

impl Following {
    /// Reads on until something can be taken from the front of what has come; `None` at the end.
    async fn take(&mut self, length: impl Fn(&[u8]) -> Option<usize>) -> Option<Vec<u8>> {
        loop {
            if let Some(length) = length(&self.read).filter(|length| *length <= self.read.len()) {
                let rest = self.read.split_off(length);
                return Some(std::mem::replace(&mut self.read, rest));
            }
            let frame = tokio::time::timeout(PATIENCE, self.body.frame()).await.expect("more in time")?;
            self.read.extend(frame.expect("a frame").into_data().expect("data"));
        }
    }

    /// The next event of a watch in JSON.
    pub(crate) async fn line(&mut self) -> Option<Value> {
        let end = |read: &[u8]| Some(read.iter().position(|byte| *byte == b'\n')? + 1);
        let line = self.take(end).await?;
        Some(serde_json::from_slice(&line).expect("JSON"))
    }

    /// The next event of a watch in protobuf, which has its length before it.
    pub(crate) async fn frame(&mut self) -> Option<Vec<u8>> {
        let end = |read: &[u8]| Some(4 + u32::from_be_bytes(read.get(..4)?.try_into().ok()?) as usize);
        self.take(end).await.map(|frame| frame[4..].to_vec())
    }
}

#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) code: u16,
    pub(crate) headers: HeaderMap,
    /// Text, as far as it is.
    pub(crate) body: String,
    pub(crate) bytes: Bytes,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("not JSON ({error}): {}", self.body))
    }

    /// A header's text, empty if there is none.
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map(|value| value.to_str().expect("text")).unwrap_or_default()
    }

    /// Asserts a code alone, where the body is long or not JSON.
    #[track_caller]
    pub(crate) fn code_is(&self, code: u16) {
        assert_eq!(self.code, code, "{}", &self.body.chars().take(1000).collect::<String>());
    }

    /// Asserts a code, and gives what the body says.
    #[track_caller]
    pub(crate) fn gives(&self, code: u16) -> Value {
        assert_eq!(self.code, code, "{self:?}");
        self.json()
    }

    /// Asserts a code and the whole body.
    #[track_caller]
    pub(crate) fn is(&self, code: u16, body: &str) {
        assert_eq!((self.code, self.body.as_str()), (code, body), "{self:?}");
    }

    /// Asserts a `Status` with this code and message, in the shape every client expects.
    #[track_caller]
    pub(crate) fn is_status(&self, code: u16, reason: &str, message: &str) {
        assert_eq!(self.code, code, "{self:?}");
        assert_eq!(self.header("content-type"), "application/json", "{self:?}");
        let status = self.json();
        assert_eq!(status["message"], message);
        assert_eq!(status["reason"], reason);
        assert_eq!(status["code"], code);
        for (field, expect) in [("kind", "Status"), ("apiVersion", "v1"), ("status", "Failure")] {
            assert_eq!(status[field], expect, "{self:?}");
        }
        assert!(status["metadata"].is_object(), "{self:?}");
    }
}
