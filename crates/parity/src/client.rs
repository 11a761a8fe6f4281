//! The HTTP client: one connection that stays open, HTTP/1.1 over TLS, any certificate accepted. A request is tried once more on
//! a new connection when the old one was closed meanwhile.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use bytes::Bytes;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HOST, USER_AGENT, WARNING};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use pintle_outbound::AnyCertificate;
use rustls::ClientConfig;
use rustls_pki_types::ServerName;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

/// How long an answer that is no watch may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// A request of a case.
#[derive(Clone, Debug, Default)]
pub struct Call<'a> {
    pub method: &'a str,
    pub path: &'a str,
    pub body: Option<String>,
    pub headers: Vec<(&'a str, &'a str)>,
    /// The name of a token; one that is not known sends none.
    pub user: &'a str,
    /// For how long events are collected.
    pub watch: Option<Duration>,
}

#[derive(Clone, Debug)]
pub struct Answer {
    pub status: u16,
    pub headers: HeaderMap,
    pub body: Vec<u8>,
}

impl Answer {
    pub fn content_type(&self) -> String {
        self.headers.get(CONTENT_TYPE).map(latin1).unwrap_or_default()
    }

    pub fn warnings(&self) -> Vec<String> {
        self.headers.get_all(WARNING).iter().map(latin1).collect()
    }
}

/// Header values are Latin-1 to the recorder.
fn latin1(value: &HeaderValue) -> String {
    value.as_bytes().iter().map(|byte| char::from(*byte)).collect()
}

/// Names of users and their tokens.
pub type Tokens = Vec<(String, String)>;

pub struct Client {
    host: String,
    port: u16,
    tokens: Tokens,
    tls: TlsConnector,
    connection: Option<SendRequest<Full<Bytes>>>,
}

impl Client {
    /// `server` is a URL such as `https://127.0.0.1:6443`.
    pub fn new(server: &str, tokens: Tokens) -> anyhow::Result<Client> {
        let server: http::Uri = server.parse().with_context(|| format!("{server} is no URL"))?;
        if server.scheme_str() != Some("https") {
            bail!("the server must be an https:// URL");
        }
        let host = server.host().context("the URL names no host")?.trim_matches(['[', ']']).to_owned();
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let config = ClientConfig::builder_with_provider(provider.clone())
            .with_safe_default_protocol_versions()?
            .dangerous()
            // Servers under test make their own certificates, and nothing that is replayed is secret.
            .with_custom_certificate_verifier(Arc::new(AnyCertificate::new(provider)))
            .with_no_client_auth();
        let port = server.port_u16().unwrap_or(443);
        Ok(Client { host, port, tokens, tls: Arc::new(config).into(), connection: None })
    }

    pub async fn call(&mut self, call: &Call<'_>) -> anyhow::Result<Answer> {
        match self.try_call(call).await {
            Ok(answer) => Ok(answer),
            Err(_) => {
                self.connection = None;
                self.try_call(call).await
            }
        }
    }

    async fn try_call(&mut self, call: &Call<'_>) -> anyhow::Result<Answer> {
        let request = self.request(call)?;
        let mut connection = match self.connection.take().filter(|_| call.watch.is_none()) {
            Some(open) => open,
            None => self.connect().await?,
        };
        let begun = async {
            connection.ready().await?;
            connection.send_request(request).await
        };
        let (head, body) = timeout(PATIENCE, begun).await??.into_parts();
        let body = match call.watch {
            Some(watch) if head.status == 200 => lines(body, watch).await,
            _ => timeout(PATIENCE, body.collect()).await??.to_bytes().to_vec(),
        };
        if call.watch.is_none() {
            self.connection = Some(connection);
        }
        Ok(Answer { status: head.status.as_u16(), headers: head.headers, body })
    }

    fn request(&self, call: &Call<'_>) -> anyhow::Result<Request<Full<Bytes>>> {
        let body = Bytes::from(call.body.clone().unwrap_or_default());
        let mut request = Request::new(Full::new(body));
        *request.method_mut() = Method::from_bytes(call.method.as_bytes())?;
        *request.uri_mut() = call.path.parse()?;
        let headers = request.headers_mut();
        headers.insert(HOST, HeaderValue::from_str(&format!("{}:{}", self.host, self.port))?);
        headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        headers.insert(USER_AGENT, HeaderValue::from_static("parity"));
        if let Some((_, token)) = self.tokens.iter().find(|(name, _)| name == call.user) {
            headers.insert(AUTHORIZATION, HeaderValue::from_str(&format!("Bearer {token}"))?);
        }
        for (name, value) in &call.headers {
            headers
                .insert(HeaderName::from_bytes(name.as_bytes())?, HeaderValue::from_bytes(value.as_bytes())?);
        }
        Ok(request)
    }

    async fn connect(&self) -> anyhow::Result<SendRequest<Full<Bytes>>> {
        let stream = TcpStream::connect((self.host.as_str(), self.port)).await?;
        stream.set_nodelay(true)?;
        let name = ServerName::try_from(self.host.clone())?;
        let stream = self.tls.connect(name, stream).await?;
        let (sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
        tokio::spawn(connection);
        Ok(sender)
    }
}

/// The whole lines of a watch: until its time is over and one more line has come, or nothing comes for that time.
async fn lines(mut body: Incoming, watch: Duration) -> Vec<u8> {
    let (end, mut read) = (Instant::now() + watch, Vec::new());
    let whole = |read: &[u8]| read.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
    while Instant::now() < end {
        match timeout(watch, body.frame()).await {
            Ok(Some(Ok(frame))) => read.extend_from_slice(frame.data_ref().map_or(&[], |data| data)),
            // The end: what is left is a line without its end.
            Ok(None) => return read,
            Ok(Some(Err(_))) | Err(_) => break,
        }
    }
    read.truncate(whole(&read));
    read
}
