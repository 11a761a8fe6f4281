//! HTTP/2 over TLS, with as little work per request as there can be: the client shares the machine with what it measures.

use std::io;
use std::net::Shutdown;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use anyhow::{Context as _, bail};
use bytes::Bytes;
use futures_util::task::AtomicWaker;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderValue, USER_AGENT};
use http::{Method, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo};
use pintle_outbound::AnyCertificate;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::ServerCertVerifier;
use rustls::{ClientConfig, RootCertStore};
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpSocket, TcpStream};
use tokio_rustls::TlsConnector;

use super::kubeconfig::Access;

pub(crate) const JSON: &str = "application/json";
pub(crate) const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";

/// How much of a refusal is worth showing.
const MAX_SHOWN: usize = 300;
/// Flow-control windows of Go's clients, by stream and by connection.
const WINDOWS: (u32, u32) = (4 << 20, 1 << 30);
/// The least that HTTP/2 begins with.
const SMALL_WINDOWS: (u32, u32) = (65_535, 65_535);

/// Address and credentials of a server.
pub(crate) struct Client {
    address: String,
    base: String,
    name: ServerName<'static>,
    tls: TlsConnector,
    token: Option<HeaderValue>,
}

/// One request. A GET of JSON unless said otherwise.
pub(crate) struct Request {
    method: Method,
    path: String,
    accept: &'static str,
    content_type: &'static str,
    body: Bytes,
    /// The user to act as, if not the one of the credentials.
    user: Option<&'static str>,
}

impl Request {
    pub(crate) fn get(path: impl Into<String>) -> Request {
        Request {
            method: Method::GET,
            path: path.into(),
            accept: JSON,
            content_type: "",
            body: Bytes::new(),
            user: None,
        }
    }

    pub(crate) fn delete(path: impl Into<String>) -> Request {
        Request { method: Method::DELETE, ..Request::get(path) }
    }

    pub(crate) fn post(path: impl Into<String>, body: impl Into<Bytes>) -> Request {
        Request { method: Method::POST, content_type: JSON, body: body.into(), ..Request::get(path) }
    }

    pub(crate) fn put(path: impl Into<String>, body: impl Into<Bytes>) -> Request {
        Request { method: Method::PUT, ..Request::post(path, body) }
    }

    pub(crate) fn patch(
        path: impl Into<String>,
        content_type: &'static str,
        body: impl Into<Bytes>,
    ) -> Request {
        Request { method: Method::PATCH, content_type, ..Request::post(path, body) }
    }

    pub(crate) fn acting_as(mut self, user: &'static str) -> Request {
        self.user = Some(user);
        self
    }

    pub(crate) fn accept(mut self, accept: &'static str) -> Request {
        self.accept = accept;
        self
    }
}

/// An answer that was read to its end.
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) body: Bytes,
}

/// How a connection treats what it is sent.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) enum Reading {
    /// As fast as it comes.
    #[default]
    Eager,
    /// With small buffers, so that a reader that stops is soon felt at the other end.
    Small,
}

impl Client {
    pub(crate) fn new(access: Access) -> anyhow::Result<Client> {
        let tls = TlsConnector::from(Arc::new(tls(&access)?));
        let token = match &access.token {
            Some(token) => {
                let mut header = HeaderValue::try_from(format!("Bearer {token}"))
                    .context("the kubeconfig's token has characters that no header may have")?;
                header.set_sensitive(true);
                Some(header)
            }
            None => None,
        };
        let name = ServerName::try_from(access.server_name.clone())
            .with_context(|| format!("{:?} is not the name of a server", access.server_name))?;
        let base = format!("https://{}{}", access.address, access.prefix);
        Ok(Client { address: access.address, base, name, tls, token })
    }

    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    pub(crate) async fn connect(self: &Arc<Self>) -> anyhow::Result<Connection> {
        self.connect_reading(Reading::Eager).await
    }

    pub(crate) async fn connect_reading(self: &Arc<Self>, reading: Reading) -> anyhow::Result<Connection> {
        let unreachable = || format!("cannot reach the server at {}", self.address);
        let address = tokio::net::lookup_host(&self.address)
            .await
            .with_context(unreachable)?
            .next()
            .with_context(unreachable)?;
        let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
        if reading == Reading::Small {
            socket.set_recv_buffer_size(4096)?;
        }
        let stream = socket.connect(address).await.with_context(unreachable)?;
        stream.set_nodelay(true)?;
        let stream = stream.into_std()?;
        let tap = Arc::new(Tap {
            socket: stream.try_clone()?,
            stopped: AtomicBool::new(false),
            reader: AtomicWaker::new(),
        });
        let stream = TcpStream::from_std(stream)?;
        let stream = self.tls.connect(self.name.clone(), stream).await.with_context(unreachable)?;
        if stream.get_ref().1.alpn_protocol() != Some(b"h2") {
            bail!("the server at {} does not speak HTTP/2", self.address);
        }
        let stream = Tapped { stream, tap: tap.clone() };
        let mut builder = http2::Builder::new(TokioExecutor::new());
        let (stream_window, connection_window) = match reading {
            Reading::Eager => WINDOWS,
            Reading::Small => SMALL_WINDOWS,
        };
        builder.initial_stream_window_size(stream_window).initial_connection_window_size(connection_window);
        let (sender, connection) =
            builder.handshake::<_, Full<Bytes>>(TokioIo::new(stream)).await.with_context(unreachable)?;
        let tap = Arc::new(Closing(tap));
        tokio::spawn(connection);
        Ok(Connection { client: self.clone(), sender, tap })
    }
}

/// A connection's socket, as far as its owner can reach it: what hyper spawned has the rest.
struct Tap {
    socket: std::net::TcpStream,
    stopped: AtomicBool,
    reader: AtomicWaker,
}

impl Drop for Closing {
    fn drop(&mut self) {
        let _ = self.0.socket.shutdown(Shutdown::Both);
        self.0.stopped.store(false, Ordering::Relaxed);
        self.0.reader.wake();
    }
}

/// Closes the connection, whatever is still open on it.
struct Closing(Arc<Tap>);

/// A connection whose reads can be paused.
struct Tapped<S> {
    stream: S,
    tap: Arc<Tap>,
}

impl<S: AsyncRead + Unpin> AsyncRead for Tapped<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.tap.stopped.load(Ordering::Relaxed) {
            self.tap.reader.register(context.waker());
            return Poll::Pending;
        }
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Tapped<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, buffer)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

/// Many requests at once go over it. Clones are the same connection; it is closed with the last.
#[derive(Clone)]
pub(crate) struct Connection {
    client: Arc<Client>,
    sender: http2::SendRequest<Full<Bytes>>,
    tap: Arc<Closing>,
}

impl Connection {
    /// Streams an answer of any status.
    async fn begin(&self, request: Request) -> anyhow::Result<http::Response<Incoming>> {
        let lost = || format!("the server at {} ended the connection", self.client.address);
        let mut builder = http::Request::builder()
            .method(request.method)
            .uri(format!("{}{}", self.client.base, request.path))
            .header(ACCEPT, request.accept)
            .header(USER_AGENT, "pintle-bench/1");
        if !request.content_type.is_empty() {
            builder = builder.header(CONTENT_TYPE, request.content_type);
        }
        if let Some(token) = &self.client.token {
            builder = builder.header(AUTHORIZATION, token);
        }
        if let Some(user) = request.user {
            builder = builder.header("impersonate-user", user);
        }
        let mut sender = self.sender.clone();
        sender.ready().await.with_context(lost)?;
        sender.send_request(builder.body(Full::new(request.body))?).await.with_context(lost)
    }

    /// Reads a whole answer of any status.
    pub(crate) async fn ask(&self, request: Request) -> anyhow::Result<Answer> {
        let (head, body) = self.begin(request).await?.into_parts();
        let body = body.collect().await.context("an answer broke off")?.to_bytes();
        Ok(Answer { status: head.status, body })
    }

    /// The body of a success.
    pub(crate) async fn expect(&self, request: Request) -> anyhow::Result<Bytes> {
        let what = format!("{} {}", request.method, request.path);
        let answer = self.ask(request).await?;
        if !answer.status.is_success() {
            bail!("{what} was answered {}: {}", answer.status, shortened(&answer.body));
        }
        Ok(answer.body)
    }

    /// How long the body of a success was; nothing of it is kept.
    pub(crate) async fn drain(&self, request: Request) -> anyhow::Result<u64> {
        let mut body = self.stream(request).await?;
        let mut length = 0;
        while let Some(frame) = body.frame().await {
            length += frame.context("an answer broke off")?.data_ref().map_or(0, |data| data.len() as u64);
        }
        Ok(length)
    }

    /// The body of a success, as it comes.
    pub(crate) async fn stream(&self, request: Request) -> anyhow::Result<Incoming> {
        let what = format!("{} {}", request.method, request.path);
        let (head, body) = self.begin(request).await?.into_parts();
        if head.status.is_success() {
            return Ok(body);
        }
        let body = body.collect().await.context("an answer broke off")?.to_bytes();
        bail!("{what} was answered {}: {}", head.status, shortened(&body));
    }

    /// Reads nothing any more, but stays open.
    pub(crate) fn stop_reading(&self) {
        self.tap.0.stopped.store(true, Ordering::Relaxed);
    }
}

/// Returns the message of a Status, or the beginning of another body.
fn shortened(body: &[u8]) -> String {
    let status: Option<serde_json::Value> = serde_json::from_slice(body).ok();
    let message = status.as_ref().and_then(|status| status["message"].as_str());
    let text = message.map_or_else(|| String::from_utf8_lossy(body), Into::into);
    text.trim().chars().take(MAX_SHOWN).collect()
}

fn tls(access: &Access) -> anyhow::Result<ClientConfig> {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let verifier: Arc<dyn ServerCertVerifier> = match &access.authority {
        None => Arc::new(AnyCertificate::new(provider.clone())),
        Some(authority) => {
            let mut roots = RootCertStore::empty();
            for certificate in CertificateDer::pem_slice_iter(authority) {
                roots.add(certificate.context("the kubeconfig's authority is damaged")?)?;
            }
            WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider.clone())
                .build()
                .context("the kubeconfig's authority is damaged")?
        }
    };
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .dangerous()
        .with_custom_certificate_verifier(verifier);
    let mut config = match &access.certificate {
        None => builder.with_no_client_auth(),
        Some((certificate, key)) => {
            let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(certificate).collect();
            let key =
                PrivateKeyDer::from_pem_slice(key).ok().context("the kubeconfig's client key is damaged")?;
            builder
                .with_client_auth_cert(chain.context("the kubeconfig's client certificate is damaged")?, key)
                .context("the kubeconfig's client certificate and key do not fit")?
        }
    };
    config.alpn_protocols = vec![b"h2".to_vec()];
    Ok(config)
}
