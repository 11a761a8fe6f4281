//! Opening connections: name lookup, TCP or a proxy, TLS, and the version of HTTP.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use hyper::client::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use rustls_pki_types::ServerName;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use crate::Failure;
use crate::body::RequestBody;
use crate::egress::{BoxedStream, Egress};
use crate::error::{broken, dial_reason};
use crate::hosts::Hosts;
use crate::services::Address;
use crate::tls::Tls;
use crate::url::Url;

/// Time limit of connecting to one address.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);
/// Time limit of a TLS handshake.
pub(crate) const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);
/// Size limit of a response's header, in bytes. hyper limits the number of header fields as well.
const LARGEST_HEADER: usize = 64 << 10;

/// Bytes of a response that a server may send ahead of its reader.
const STREAM_WINDOW: u32 = 256 << 10;
/// The same, of all responses of a connection: more than they can be together.
const CONNECTION_WINDOW: u32 = 1 << 30;

/// The sending half of an open connection.
pub(crate) enum Connection {
    Http1(http1::SendRequest<RequestBody>),
    Http2(http2::SendRequest<RequestBody>),
}

/// Versions of HTTP that a connection may speak.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Versions {
    /// The version that both sides prefer, as far as [`TlsOptions`](crate::TlsOptions) allow it.
    Negotiated,
    /// HTTP/1.1 alone: only such a connection can be upgraded.
    Http1,
}

/// Opens the connections of a client.
pub(crate) struct Dialer {
    pub(crate) tls: Tls,
    pub(crate) egress: Option<Egress>,
    pub(crate) hosts: Hosts,
}

impl Dialer {
    /// Opens a connection to `address`. The URL says whether TLS is spoken and which name the server must have.
    pub(crate) async fn dial(
        &self,
        address: &Address,
        url: &Url,
        versions: Versions,
    ) -> Result<Connection, Failure> {
        // One boxed type for all streams, so that hyper's code is compiled once.
        let stream: BoxedStream = match &self.egress {
            Some(egress) => egress.connect(address, &self.hosts).await?,
            None => Box::new(connect(address, &self.hosts).await?),
        };
        if !url.https {
            return http1(stream).await;
        }
        let tls = &self.tls;
        let name = tls.options.server_name.as_deref().unwrap_or(&url.host).to_owned();
        let name = ServerName::try_from(name.clone())
            .map_err(|_| Failure::Tls(format!("tls: {} is not a server name", pintle_meta::quote(&name))))?;
        let mut config = tls.current().map_err(|error| Failure::Setup(error.to_string()))?;
        if versions == Versions::Http1 {
            Arc::make_mut(&mut config).alpn_protocols = vec![b"http/1.1".to_vec()];
        }
        let handshake = TlsConnector::from(config).connect(name, stream);
        let stream = tokio::time::timeout(HANDSHAKE_TIMEOUT, handshake)
            .await
            .map_err(|_| Failure::Tls("net/http: TLS handshake timeout".into()))?
            .map_err(|error| broken(&error))?;
        match stream.get_ref().1.alpn_protocol() {
            Some(b"h2") => http2(Box::new(stream)).await,
            _ => http1(Box::new(stream)).await,
        }
    }
}

/// Looks the host up once and connects to the first of its addresses that accepts. The error is that of the first address.
pub(crate) async fn connect(to: &Address, hosts: &Hosts) -> Result<TcpStream, Failure> {
    let lookup = |reason: &str| Failure::Lookup { host: to.host.clone(), reason: reason.into() };
    let addresses = hosts.addresses(&to.host, to.port).await.map_err(|error| match error.kind() {
        io::ErrorKind::PermissionDenied => Failure::NotAllowed,
        _ => lookup("no such host"),
    })?;
    let mut failed = None;
    for address in addresses {
        let reason = match tokio::time::timeout(CONNECT_TIMEOUT, TcpStream::connect(address)).await {
            Ok(Ok(stream)) => {
                // Requests are small and wait for their response.
                let _ = stream.set_nodelay(true);
                return Ok(stream);
            }
            Ok(Err(error)) => dial_reason(&error),
            Err(_) => "i/o timeout".into(),
        };
        failed.get_or_insert(Failure::Dial { address: address.to_string(), reason });
    }
    Err(failed.unwrap_or_else(|| lookup("no such host")))
}

async fn http1(stream: BoxedStream) -> Result<Connection, Failure> {
    let (sender, connection) = http1::Builder::new()
        .max_buf_size(LARGEST_HEADER)
        .handshake(TokioIo::new(stream))
        .await
        .map_err(|error| broken(&error))?;
    tokio::spawn(async move {
        if let Err(error) = connection.with_upgrades().await {
            tracing::debug!(%error, "a connection to another server ended");
        }
    });
    Ok(Connection::Http1(sender))
}

async fn http2(stream: BoxedStream) -> Result<Connection, Failure> {
    let (sender, connection) = http2::Builder::new(TokioExecutor::new())
        .timer(TokioTimer::new())
        // A response that is not read holds up no other of its connection.
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .keep_alive_interval(Duration::from_secs(30))
        .keep_alive_timeout(Duration::from_secs(15))
        .max_header_list_size(LARGEST_HEADER as u32)
        .handshake(TokioIo::new(stream))
        .await
        .map_err(|error| broken(&error))?;
    tokio::spawn(async move {
        if let Err(error) = connection.await {
            tracing::debug!(%error, "a connection to another server ended");
        }
    });
    Ok(Connection::Http2(sender))
}
