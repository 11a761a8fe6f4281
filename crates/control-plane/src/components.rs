//! The health of the programs that `componentstatuses` lists.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::{Bytes, BytesMut};
use futures_util::future::BoxFuture;
use http::header::{ACCEPT, CONNECTION, HOST, USER_AGENT};
use http_body_util::{BodyExt, Empty};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use pintle_outbound::AnyCertificate;
use pintle_resources::component_status::{Component, ComponentStatuses, Health};
use pintle_storage::Backend;
use rustls::ClientConfig;
use rustls_pki_types::ServerName;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

use crate::Error;

/// How long a program may take to answer.
const PATIENCE: Duration = Duration::from_secs(20);
/// How much of an answer is read.
const MAX_BODY: usize = 10 << 10;

/// The default addresses of the other components; the API server has no flags for others.
const CONTROLLER_MANAGER: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 10257);
const SCHEDULER: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 10259);

/// Returns the statuses of the controller manager, the scheduler, and every server of the store.
pub(crate) fn statuses(stores: Vec<Arc<dyn Component>>) -> Result<ComponentStatuses, Error> {
    let tls = Arc::new(tls()?);
    let web = |address| Arc::new(Web { address, path: "/healthz", tls: tls.clone() }) as Arc<dyn Component>;
    let programs = [("controller-manager", CONTROLLER_MANAGER), ("scheduler", SCHEDULER)];
    let programs = programs.map(|(name, address)| (name.to_owned(), web(address)));
    let stores = stores.into_iter().enumerate().map(|(index, server)| (format!("etcd-{index}"), server));
    Ok(ComponentStatuses::new(programs.into_iter().chain(stores)))
}

/// One server of the store.
pub struct StoreServer(Box<dyn Fn() -> BoxFuture<'static, Result<(), String>> + Send + Sync>);

impl StoreServer {
    /// Returns a server that is asked by `ask`, which may take its time: a timeout is around it.
    pub fn new(
        ask: impl Fn() -> BoxFuture<'static, Result<(), String>> + Send + Sync + 'static,
    ) -> StoreServer {
        StoreServer(Box::new(ask))
    }

    /// Returns the server that a backend is.
    pub(crate) fn of(backend: Arc<dyn Backend>) -> StoreServer {
        StoreServer::new(move || {
            let backend = backend.clone();
            Box::pin(async move { StoreServer::ask(&*backend).await })
        })
    }

    /// Asks a backend whether it is healthy. The error is the one that `componentstatuses` shows.
    pub async fn ask(backend: &dyn Backend) -> Result<(), String> {
        backend.health().await.map_err(|error| format!("error getting data from etcd: {error}"))
    }
}

#[async_trait]
impl Component for StoreServer {
    async fn health(&self) -> Health {
        let late = || Err("error getting data from etcd: context deadline exceeded".to_owned());
        match timeout(PATIENCE, (self.0)()).await.unwrap_or_else(|_| late()) {
            Ok(()) => Health { is_healthy: Some(true), message: "ok".into(), error: String::new() },
            Err(error) => Health { is_healthy: Some(false), message: String::new(), error },
        }
    }
}

/// A component with a health endpoint over HTTPS. Its certificate is not verified, since nothing secret is exchanged.
struct Web {
    address: SocketAddr,
    path: &'static str,
    tls: Arc<ClientConfig>,
}

impl Web {
    /// Returns the status code and body of the answer.
    async fn ask(&self) -> Result<(http::StatusCode, String), String> {
        let address = self.address;
        let stream = TcpStream::connect(address).await.map_err(|error| {
            let why = match error.kind() {
                std::io::ErrorKind::ConnectionRefused => "connection refused".to_owned(),
                _ => error.to_string(),
            };
            format!("dial tcp {address}: connect: {why}")
        })?;
        let name = ServerName::IpAddress(address.ip().into());
        let text = |error: hyper::Error| error.to_string();
        let stream = TlsConnector::from(self.tls.clone()).connect(name, stream).await;
        let stream = TokioIo::new(stream.map_err(|error| error.to_string())?);
        let (mut sender, connection) = http1::handshake(stream).await.map_err(text)?;
        let driver = AbortOnDrop(tokio::spawn(connection));
        let request = http::Request::get(self.path)
            .header(HOST, address.to_string())
            .header(USER_AGENT, "kube-probe/1.36")
            .header(ACCEPT, "*/*")
            .header(CONNECTION, "close")
            .body(Empty::<Bytes>::new())
            .map_err(|error| error.to_string())?;
        let (head, mut body) = sender.send_request(request).await.map_err(text)?.into_parts();
        let mut read = BytesMut::new();
        while read.len() < MAX_BODY {
            let Some(frame) = body.frame().await else { break };
            if let Some(data) = frame.map_err(text)?.data_ref() {
                read.extend_from_slice(&data[..data.len().min(MAX_BODY - read.len())]);
            }
        }
        drop(driver);
        Ok((head.status, String::from_utf8_lossy(&read).into_owned()))
    }
}

#[async_trait]
impl Component for Web {
    async fn health(&self) -> Health {
        let answered = timeout(PATIENCE, self.ask()).await.unwrap_or_else(|_| {
            Err("context deadline exceeded (Client.Timeout exceeded while awaiting headers)".into())
        });
        let url = format!("https://{}{}", self.address, self.path);
        let (is_healthy, message) = match answered {
            Ok((code, body)) if code.is_success() => (Some(true), body),
            // Redirects are not followed.
            Ok((code, body)) if code.is_redirection() => {
                (None, format!("Probe terminated redirects, Response body: {body}"))
            }
            Ok((code, _)) => (Some(false), format!("HTTP probe failed with statuscode: {}", code.as_u16())),
            Err(why) => (Some(false), format!("Get {}: {why}", pintle_meta::quote(&url))),
        };
        Health { is_healthy, message, error: String::new() }
    }
}

/// Ends the connection with the request, also when the caller does not wait for the answer any more.
struct AbortOnDrop<T>(tokio::task::JoinHandle<T>);

impl<T> Drop for AbortOnDrop<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}

fn tls() -> Result<ClientConfig, Error> {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = ClientConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .map_err(Error::part)?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(AnyCertificate::new(provider)))
        .with_no_client_auth();
    Ok(config)
}

#[cfg(test)]
mod tests {
    use rustls::ServerConfig;
    use rustls_pki_types::PrivateKeyDer;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;
    use tokio_rustls::TlsAcceptor;

    use super::*;

    /// Answers one request with these bytes, with a certificate that no client trusts.
    async fn program(answer: Vec<u8>) -> Web {
        let made = rcgen::generate_simple_self_signed(["elsewhere".to_owned()]).expect("a certificate");
        let key = PrivateKeyDer::Pkcs8(made.signing_key.serialize_der().into());
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("versions")
            .with_no_client_auth()
            .with_single_cert(vec![made.cert.der().clone()], key)
            .expect("a configuration");
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        tokio::spawn(async move {
            let (stream, _) = listener.accept().await.expect("a connection");
            let mut stream = TlsAcceptor::from(Arc::new(config)).accept(stream).await.expect("a handshake");
            let mut request = vec![0; 4096];
            let read = stream.read(&mut request).await.expect("a request");
            let request = String::from_utf8_lossy(&request[..read]).to_lowercase();
            assert!(request.starts_with("get /healthz http/1.1\r\n"), "{request}");
            assert!(request.contains("user-agent: kube-probe/1.36\r\n"), "{request}");
            // A client that has read enough closes the connection.
            let _ = stream.write_all(&answer).await;
            let _ = stream.shutdown().await;
        });
        Web { address, path: "/healthz", tls: Arc::new(tls().expect("TLS")) }
    }

    async fn found(answer: &str) -> (Option<bool>, String) {
        let health = program(answer.as_bytes().to_vec()).await.health().await;
        assert_eq!(health.error, "");
        (health.is_healthy, health.message)
    }

    #[tokio::test]
    async fn the_health_of_a_component_is_that_of_its_answer() {
        let answer = |code: &str| format!("HTTP/1.1 {code}\r\nContent-Length: 2\r\nLocation: /x\r\n\r\nok");
        assert_eq!(found(&answer("200 OK")).await, (Some(true), "ok".into()));
        assert_eq!(
            found(&answer("500 Oh")).await,
            (Some(false), "HTTP probe failed with statuscode: 500".into())
        );
        assert_eq!(
            found(&answer("302 Found")).await,
            (None, "Probe terminated redirects, Response body: ok".into())
        );
    }

    #[tokio::test]
    async fn a_long_answer_is_read_up_to_a_limit() {
        let answer = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{}", 1 << 20, "x".repeat(1 << 20));
        let (is_healthy, message) = found(&answer).await;
        assert_eq!((is_healthy, message.len()), (Some(true), MAX_BODY));
    }

    #[tokio::test]
    async fn a_component_that_does_not_listen_is_not_healthy() {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        drop(listener);
        let web = Web { address, path: "/healthz", tls: Arc::new(tls().expect("TLS")) };
        let health = web.health().await;
        assert_eq!(health.is_healthy, Some(false));
        assert_eq!(
            health.message,
            format!("Get \"https://{address}/healthz\": dial tcp {address}: connect: connection refused")
        );
    }
}
