//! A request on its way through the filters, and the connection it came on.

use std::borrow::Cow;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use http::header::HeaderValue;
use http::request::Parts;
use pintle_audit::AuditContext;
use pintle_auth::authenticator::Notes;
use pintle_auth::{PeerCertificates, User};
use pintle_flow_control::WatchRegistration;
use rustls_pki_types::CertificateDer;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::overload::{ReservedBytes, Slot};
use crate::query;
use crate::request_info::RequestInfo;

pub type Response = http::Response<crate::Body>;

/// Filters fill in the fields below `connection` in the order of the chain.
pub struct Request {
    pub parts: Parts,
    pub body: RequestBody,
    pub connection: Arc<Connection>,
    pub received: Instant,
    /// Names the request in logs, audit and the `Audit-Id` header.
    pub audit_id: String,
    pub info: RequestInfo,
    /// The time by which the answer must have begun; `None` for long-running requests.
    pub deadline: Option<Instant>,
    pub user: Option<Arc<User>>,
    /// Warnings and audit annotations of authentication.
    pub(crate) identity_notes: Option<Arc<Notes>>,
    /// How long authentication took.
    pub(crate) authentication_took: Duration,
    /// The record of the request; `None` if the audit policy leaves it out.
    pub audit: Option<Arc<AuditContext>>,
    /// Whether it comes from this process, without a socket.
    pub is_in_process: bool,
    /// The permission to execute it; `None` where requests are not limited.
    pub(crate) slot: Option<Slot>,
    /// Its registration as a watch; `None` where watches are not counted.
    pub(crate) watch: Option<Arc<WatchRegistration>>,
    /// The server's memory that its body takes; `None` where that is not limited.
    pub(crate) reserved: Option<ReservedBytes>,
}

/// The body of a request. Tests and in-process callers make one from bytes.
pub type RequestBody = http_body_util::combinators::BoxBody<bytes::Bytes, crate::body::Error>;

impl Request {
    pub fn new(parts: Parts, body: RequestBody, connection: Arc<Connection>) -> Box<Request> {
        Box::new(Request {
            parts,
            body,
            connection,
            received: Instant::now(),
            audit_id: String::new(),
            info: RequestInfo::default(),
            deadline: None,
            user: None,
            identity_notes: None,
            authentication_took: Duration::ZERO,
            audit: None,
            is_in_process: false,
            slot: None,
            watch: None,
            reserved: None,
        })
    }

    /// A request of this process in the name of a user, whom nothing has to authenticate.
    pub fn in_process(
        parts: Parts,
        body: RequestBody,
        connection: Arc<Connection>,
        user: Arc<User>,
    ) -> Box<Request> {
        let mut request = Request::new(parts, body, connection);
        request.user = Some(user);
        request.is_in_process = true;
        request
    }

    /// The values of a query parameter, decoded, in order.
    pub fn query<'a>(&'a self, name: &'a str) -> impl Iterator<Item = String> + 'a {
        let query = self.parts.uri.query().unwrap_or_default();
        query::pairs(query).filter(move |(key, _)| key == name).map(|(_, value)| value.into_owned())
    }

    /// The parameters of the query, decoded, in order.
    pub fn query_pairs(&self) -> Vec<(Cow<'_, str>, Cow<'_, str>)> {
        query::pairs(self.parts.uri.query().unwrap_or_default()).collect()
    }

    pub fn header(&self, name: &http::header::HeaderName) -> Option<&str> {
        self.parts.headers.get(name)?.to_str().ok()
    }

    /// The `User-Agent`, empty if there is none.
    pub fn user_agent(&self) -> Cow<'_, str> {
        self.parts.headers.get(http::header::USER_AGENT).map(text_of).unwrap_or_default()
    }
}

/// A header's text as Go reads it: mostly UTF-8, and each byte that is not becomes a replacement character of its own.
pub(crate) fn text_of(header: &HeaderValue) -> Cow<'_, str> {
    let bytes = header.as_bytes();
    std::str::from_utf8(bytes).map_or_else(
        |_| {
            let mut text = String::with_capacity(bytes.len());
            for chunk in bytes.utf8_chunks() {
                text.push_str(chunk.valid());
                text.extend(chunk.invalid().iter().map(|_| char::REPLACEMENT_CHARACTER));
            }
            Cow::Owned(text)
        },
        Cow::Borrowed,
    )
}

/// One client connection. Shared by its requests and the task that serves it.
pub struct Connection {
    pub remote: SocketAddr,
    pub local: SocketAddr,
    pub certificates: PeerCertificates,
    closing: AtomicBool,
    pub(crate) close: Notify,
    pub(crate) abort: Notify,
    after_close: AtomicUsize,
    upgraded: Mutex<Option<UpgradedConnection>>,
}

/// The future that runs a connection after its upgrade from HTTP.
pub(crate) type UpgradedConnection = Pin<Box<dyn Future<Output = ()> + Send>>;

impl Connection {
    pub fn new(
        remote: SocketAddr,
        local: SocketAddr,
        certificates: Vec<CertificateDer<'static>>,
    ) -> Connection {
        Connection {
            remote,
            local,
            certificates: PeerCertificates::new(certificates),
            closing: AtomicBool::new(false),
            close: Notify::new(),
            abort: Notify::new(),
            after_close: AtomicUsize::new(0),
            upgraded: Mutex::default(),
        }
    }

    /// Has the connection do something else once HTTP is over, which the answer to this request makes it. It stays one
    /// connection: counted, and waited for when the server stops.
    pub(crate) fn continue_with(&self, upgraded: UpgradedConnection) {
        *self.upgraded.lock().unwrap_or_else(PoisonError::into_inner) = Some(upgraded);
    }

    pub(crate) fn take_upgraded(&self) -> Option<UpgradedConnection> {
        self.upgraded.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Ends the connection once its requests are answered (GOAWAY on HTTP/2, no keep-alive on HTTP/1.1).
    pub fn close_when_idle(&self) {
        if !self.closing.swap(true, Ordering::AcqRel) {
            self.close.notify_one();
        }
    }

    /// Counts a request. HTTP/2 lets a client that ignores GOAWAY go on asking; one that does so is cut off.
    pub(crate) fn count_after_close(&self, limit: usize) {
        if self.is_closing() && self.after_close.fetch_add(1, Ordering::AcqRel) >= limit {
            self.abort.notify_one();
        }
    }

    pub(crate) fn is_closing(&self) -> bool {
        self.closing.load(Ordering::Acquire)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_may_be_of_any_bytes() {
        let read = |bytes: &[u8]| text_of(&HeaderValue::from_bytes(bytes).unwrap()).into_owned();
        assert_eq!(read(b"kubectl/v1.36.0"), "kubectl/v1.36.0");
        assert_eq!(read("café-op/1.0".as_bytes()), "café-op/1.0");
        assert_eq!(read(b"caf\xe9/1.0 \xe2\x82"), "caf\u{fffd}/1.0 \u{fffd}\u{fffd}");
    }
}
