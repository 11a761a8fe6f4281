//! Failures of requests to other servers, in the words of Go's HTTP client.

use std::fmt;
use std::io;

use crate::url::Url;

/// A request that got no usable answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// As Go writes it: `Post`.
    method: String,
    url: String,
    pub failure: Failure,
}

/// The reason of a failed request.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Failure {
    /// A service of the cluster that is nowhere.
    #[error("{0}")]
    Unresolved(String),
    #[error("dial tcp: lookup {host}: {reason}")]
    Lookup { host: String, reason: String },
    /// The host is one that clients must not reach through this server.
    #[error("address not allowed")]
    NotAllowed,
    #[error("dial tcp {address}: {reason}")]
    Dial { address: String, reason: String },
    /// A proxy could not be reached, or could not reach the other server.
    #[error("{0}")]
    Proxy(String),
    /// The handshake failed, or what was presented in it.
    #[error("{0}")]
    Tls(String),
    #[error("http: server gave HTTP response to HTTPS client")]
    NotTls,
    #[error("context deadline exceeded (Client.Timeout exceeded while awaiting headers)")]
    Timeout,
    #[error("context deadline exceeded (Client.Timeout or context cancellation while reading body)")]
    TimeoutInBody,
    /// The limit of one call, where it is shorter than the client's.
    #[error("context deadline exceeded")]
    DeadlineExceeded,
    #[error("read: connection reset by peer")]
    Reset,
    #[error("http2: client connection lost")]
    ConnectionLost,
    #[error("EOF")]
    Closed,
    #[error("the answer is longer than {limit} bytes")]
    TooLarge { limit: usize },
    #[error("no bytes for too long")]
    Idle,
    #[error("{0}")]
    Redirect(String),
    #[error("{0}")]
    Protocol(String),
    /// Our own side is not set up for it: a certificate or token file that cannot be read.
    #[error("{0}")]
    Setup(String),
}

impl Failure {
    /// Whether the same request may well succeed in a moment: the reference's choice, which has no refused connection in it.
    pub fn is_transient(&self) -> bool {
        matches!(self, Failure::Reset | Failure::ConnectionLost)
    }

    pub fn is_timeout(&self) -> bool {
        match self {
            Failure::Timeout | Failure::TimeoutInBody | Failure::DeadlineExceeded => true,
            Failure::Dial { reason, .. } => reason == "i/o timeout",
            _ => false,
        }
    }

    pub(crate) fn at(self, method: &http::Method, url: &Url) -> Error {
        let mut name = method.as_str().to_ascii_lowercase();
        if let Some(first) = name.get_mut(..1) {
            first.make_ascii_uppercase();
        }
        Error { method: name, url: url.to_string(), failure: self }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}: {}", self.method, pintle_meta::quote(&self.url), self.failure)
    }
}

impl std::error::Error for Error {}

/// Returns Go's words for a connection that could not be opened.
pub(crate) fn dial_reason(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::ConnectionRefused => "connect: connection refused".into(),
        io::ErrorKind::ConnectionReset => "connect: connection reset by peer".into(),
        io::ErrorKind::HostUnreachable => "connect: no route to host".into(),
        io::ErrorKind::NetworkUnreachable => "connect: network is unreachable".into(),
        io::ErrorKind::AddrNotAvailable => "connect: cannot assign requested address".into(),
        io::ErrorKind::PermissionDenied => "connect: permission denied".into(),
        io::ErrorKind::TimedOut => "connect: connection timed out".into(),
        _ => format!("connect: {error}"),
    }
}

/// Returns the failure of an open connection, from the error underneath hyper's.
pub(crate) fn broken(error: &(dyn std::error::Error + 'static)) -> Failure {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(error) = error.downcast_ref::<io::Error>() {
            if let Some(tls) = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
                return crate::tls::failure(tls);
            }
            match error.kind() {
                io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe => return Failure::Reset,
                io::ErrorKind::UnexpectedEof => return Failure::Closed,
                io::ErrorKind::TimedOut => return Failure::ConnectionLost,
                _ => {}
            }
        }
        if let Some(error) = error.downcast_ref::<hyper::Error>() {
            if error.is_incomplete_message() || error.is_closed() {
                return Failure::Closed;
            }
            if error.is_timeout() {
                return Failure::ConnectionLost;
            }
        }
        next = error.source();
    }
    // Underneath HTTP/2, only the text is left of it.
    let text = innermost(error);
    let lower = text.to_ascii_lowercase();
    if let Some(alert) = text.strip_prefix("received fatal alert: ") {
        return Failure::Tls(format!("remote error: tls: {}", crate::tls::alert_text(alert)));
    }
    if lower.contains("connection reset") || lower.contains("broken pipe") {
        return Failure::Reset;
    }
    if lower.contains("keep-alive timed out") {
        return Failure::ConnectionLost;
    }
    Failure::Protocol(text)
}

fn innermost(error: &(dyn std::error::Error + 'static)) -> String {
    let mut error = error;
    while let Some(source) = error.source() {
        error = source;
    }
    error.to_string()
}
