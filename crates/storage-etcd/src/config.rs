//! How to reach etcd.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use hyper_util::rt::TokioIo;
use pintle_storage::lease::Window;
use tokio::io::{AsyncRead, AsyncWrite};
use tonic::codegen::Service;
use tonic::transport::{Certificate, ClientTlsConfig, Endpoint, Identity, Uri};

use crate::classify::chain;

/// Settings of a [`crate::Store`]. The defaults are kube-apiserver's.
#[derive(Clone, Debug)]
pub struct Config {
    /// `http://host:port` or `https://host:port`, one per member (`--etcd-servers`). Without a scheme, TLS is used when
    /// `tls` names any file.
    pub endpoints: Vec<String>,
    pub tls: Tls,
    /// Where Pintle's keys live (`--etcd-prefix`). Callers pass whole keys; this only names the key that health checks
    /// read.
    pub prefix: String,
    /// How far leases are shared (`--lease-reuse-duration-seconds`).
    pub lease_window: Window,
    /// A connection must be up within this.
    pub dial_timeout: Duration,
    /// A quiet connection is probed after this ...
    pub keepalive_time: Duration,
    /// ... and given up when the probe is not answered within this.
    pub keepalive_timeout: Duration,
    /// A call, with all its attempts, must be answered within this. Callers mostly have a shorter deadline:
    /// an etcd that recovers before it was only slow.
    pub request_timeout: Duration,
    /// One attempt of what can be tried again must be answered within this. etcd itself gives up after 7 seconds.
    pub attempt_timeout: Duration,
    /// The largest answer to take. Ranges are read in pages, so that even the largest list stays far below.
    pub max_message_bytes: usize,
    pub progress: Progress,
    /// Makes connections to members, where they are not reached straight away.
    pub dialer: Option<Dialer>,
}

/// A byte stream to a member.
pub trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}

impl<S: AsyncRead + AsyncWrite + Unpin + Send> Stream for S {}

type Dialing = Pin<Box<dyn Future<Output = io::Result<Box<dyn Stream>>> + Send>>;

/// Makes a connection to a host, which may be a name, and a port.
#[derive(Clone)]
pub struct Dialer(Arc<dyn Fn(String, u16) -> Dialing + Send + Sync>);

impl Dialer {
    pub fn new(dial: impl Fn(String, u16) -> Dialing + Send + Sync + 'static) -> Dialer {
        Dialer(Arc::new(dial))
    }
}

impl fmt::Debug for Dialer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Dialer")
    }
}

/// As tonic asks for connections.
impl Service<Uri> for Dialer {
    type Response = TokioIo<Box<dyn Stream>>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Self::Response>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, member: Uri) -> Self::Future {
        let host = member.host().unwrap_or_default();
        // Brackets are of URLs.
        let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
        let port = member.port_u16().unwrap_or(if member.scheme_str() == Some("https") { 443 } else { 80 });
        let dialing = (self.0)(host, port);
        Box::pin(async move { dialing.await.map(TokioIo::new) })
    }
}

/// TLS files. They are read at every new connection, so that rotated ones are taken up.
#[derive(Clone, Debug, Default)]
pub struct Tls {
    /// `--etcd-cafile`; the system's own when there is none.
    pub ca: Option<PathBuf>,
    /// `--etcd-certfile`
    pub cert: Option<PathBuf>,
    /// `--etcd-keyfile`
    pub key: Option<PathBuf>,
}

/// Whether requested watch progress is trusted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Progress {
    /// If the members' versions are known to get it right: 3.4.31 and later in 3.4, 3.5.13 and later.
    #[default]
    ByVersion,
    Always,
    Never,
}

/// Why there is no store.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    #[error("no etcd endpoint is given")]
    NoEndpoints,
    #[error("etcd endpoint {endpoint:?} is not valid: {reason}")]
    BadEndpoint { endpoint: String, reason: String },
    #[error("cannot read {}: {source}", path.display())]
    File { path: PathBuf, source: io::Error },
    #[error("etcd client certificate and key must be given together")]
    HalfIdentity,
    #[error("no CA certificates for etcd: none given, and the system has none")]
    NoCa,
    #[error("the TLS files for etcd are not usable: {0}")]
    BadTls(String),
    #[error("no etcd endpoint answered within {} s: {last}", after.as_secs_f32())]
    Unreachable { after: Duration, last: String },
}

impl Default for Config {
    fn default() -> Self {
        Config {
            endpoints: Vec::new(),
            tls: Tls::default(),
            prefix: "/registry".to_owned(),
            lease_window: Window::default(),
            dial_timeout: Duration::from_secs(20),
            keepalive_time: Duration::from_secs(30),
            keepalive_timeout: Duration::from_secs(10),
            request_timeout: Duration::from_secs(60),
            attempt_timeout: Duration::from_secs(10),
            max_message_bytes: 256 << 20,
            progress: Progress::default(),
            dialer: None,
        }
    }
}

/// Flow-control window of a stream. It bounds the memory of a slow watcher.
const STREAM_WINDOW: u32 = 1 << 20;
/// Flow-control window of a connection, practically unbounded: a few slow watchers that fill it would block every other
/// call on the connection.
const CONNECTION_WINDOW: u32 = (1 << 31) - 1;

impl Config {
    pub(crate) fn health_key(&self) -> String {
        format!("/{}/health", self.prefix.trim_matches('/'))
    }

    /// A member to dial, with its TLS files freshly read.
    pub(crate) fn endpoint(&self, address: &str) -> Result<Endpoint, Error> {
        let bad = |reason: &dyn fmt::Display| Error::BadEndpoint {
            endpoint: address.to_owned(),
            reason: reason.to_string(),
        };
        let url = match address.split_once("://") {
            Some(("http" | "https", _)) => address.to_owned(),
            Some((scheme, _)) => {
                return Err(bad(&format_args!("scheme {scheme:?} is neither http nor https")));
            }
            None if self.tls.any() => format!("https://{address}"),
            None => format!("http://{address}"),
        };
        let uri: Uri = url.parse().map_err(|error| bad(&error))?;
        let secure = uri.scheme_str() == Some("https");
        if uri.host().is_none_or(str::is_empty) {
            return Err(bad(&"it names no host"));
        }
        let endpoint = Endpoint::from(uri)
            .connect_timeout(self.dial_timeout)
            .http2_keep_alive_interval(self.keepalive_time)
            .keep_alive_timeout(self.keepalive_timeout)
            .keep_alive_while_idle(true)
            .tcp_nodelay(true)
            .initial_stream_window_size(STREAM_WINDOW)
            .initial_connection_window_size(CONNECTION_WINDOW);
        if !secure {
            return Ok(endpoint);
        }
        endpoint.tls_config(self.tls.load()?).map_err(|error| Error::BadTls(chain(&error)))
    }
}

impl Tls {
    fn any(&self) -> bool {
        self.ca.is_some() || self.cert.is_some() || self.key.is_some()
    }

    fn load(&self) -> Result<ClientTlsConfig, Error> {
        let ca = match &self.ca {
            Some(path) => read(path)?,
            None => system_ca()?,
        };
        let config = ClientTlsConfig::new().ca_certificate(Certificate::from_pem(ca));
        match (&self.cert, &self.key) {
            (Some(cert), Some(key)) => Ok(config.identity(Identity::from_pem(read(cert)?, read(key)?))),
            (None, None) => Ok(config),
            _ => Err(Error::HalfIdentity),
        }
    }
}

fn read(path: &Path) -> Result<Vec<u8>, Error> {
    std::fs::read(path).map_err(|source| Error::File { path: path.to_owned(), source })
}

/// The certificates that the distributions keep for everybody.
fn system_ca() -> Result<Vec<u8>, Error> {
    let bundles = [
        "/etc/ssl/certs/ca-certificates.crt",
        "/etc/pki/tls/certs/ca-bundle.crt",
        "/etc/ssl/ca-bundle.pem",
        "/etc/ssl/cert.pem",
    ];
    bundles.iter().find_map(|path| std::fs::read(path).ok()).ok_or(Error::NoCa)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(address: &str, config: &Config) -> String {
        config.endpoint(address).unwrap_err().to_string()
    }

    #[test]
    fn endpoints_need_a_known_scheme_and_a_host() {
        let config = Config::default();
        assert!(config.endpoint("http://127.0.0.1:2379").is_ok());
        assert_eq!(config.endpoint("127.0.0.1:2379").unwrap().uri().scheme_str(), Some("http"));
        assert!(refused("unix:///tmp/etcd.sock", &config).contains("neither http nor https"));
        assert!(refused("http://", &config).contains("is not valid"));
    }

    #[test]
    fn unusable_tls_files_are_named() {
        let tls = Tls { ca: Some("/nowhere/ca.pem".into()), ..Tls::default() };
        let config = Config { tls, ..Config::default() };
        assert!(refused("localhost:2379", &config).starts_with("cannot read /nowhere/ca.pem"));
        let folder = tempfile::tempdir().unwrap();
        let ca = folder.path().join("ca.pem");
        std::fs::write(&ca, "").unwrap();
        let tls = Tls { ca: Some(ca), cert: Some("/nowhere/cert.pem".into()), key: None };
        let config = Config { tls, ..Config::default() };
        assert!(refused("https://localhost:2379", &config).contains("must be given together"));
    }

    #[test]
    fn the_health_key_is_the_references() {
        assert_eq!(Config::default().health_key(), "/registry/health");
        let config = Config { prefix: "registry/x/".into(), ..Config::default() };
        assert_eq!(config.health_key(), "/registry/x/health");
    }
}
