//! gRPC to a program on the same machine, over a unix socket.
//!
//! One connection, made when it is first needed and again whenever it is gone. Calls wait for it as long as their time
//! lasts, as the reference's do: a program that restarts costs its callers time and no errors. However many wait, one of
//! them at a time tries to connect, with growing pauses. Errors read as those of Go's gRPC, since clients see them.

use std::error::Error as StdError;
use std::fmt;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use http::Uri;
use http::uri::PathAndQuery;
use hyper::body::Incoming;
use hyper::client::conn::http2::{Builder, SendRequest};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use prost::Message;
use tokio::net::UnixStream;
use tokio::time::{Instant, timeout_at};
pub use tonic::Code;
use tonic::Status as RawStatus;
use tonic::body::Body;
use tonic::client::Grpc;
use tonic::codegen::{BoxFuture, Service};
use tonic_prost::ProstCodec;

/// The pauses between attempts to connect.
pub(crate) const FIRST_PAUSE: Duration = Duration::from_millis(20);
pub(crate) const LONGEST_PAUSE: Duration = Duration::from_secs(1);
/// One that accepts a connection and says nothing is tried again after this.
const HANDSHAKE: Duration = Duration::from_secs(20);
/// Nothing longer is read.
pub(crate) const LARGEST: usize = 4 << 20;

/// A method of a service, by its request.
pub trait Method: Message + Clone + 'static {
    /// `/package.Service/Method`.
    const PATH: &'static str;
    type Response: Message + Default + 'static;
}

/// The failure of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    pub code: Code,
    pub message: String,
}

impl Status {
    fn new(code: Code, message: impl Into<String>) -> Status {
        Status { code, message: message.into() }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rpc error: code = {} desc = {}", code_name(self.code), self.message)
    }
}

impl StdError for Status {}

/// As Go writes it.
pub fn code_name(code: Code) -> &'static str {
    match code {
        Code::Ok => "OK",
        Code::Cancelled => "Canceled",
        Code::Unknown => "Unknown",
        Code::InvalidArgument => "InvalidArgument",
        Code::DeadlineExceeded => "DeadlineExceeded",
        Code::NotFound => "NotFound",
        Code::AlreadyExists => "AlreadyExists",
        Code::PermissionDenied => "PermissionDenied",
        Code::ResourceExhausted => "ResourceExhausted",
        Code::FailedPrecondition => "FailedPrecondition",
        Code::Aborted => "Aborted",
        Code::OutOfRange => "OutOfRange",
        Code::Unimplemented => "Unimplemented",
        Code::Internal => "Internal",
        Code::Unavailable => "Unavailable",
        Code::DataLoss => "DataLoss",
        Code::Unauthenticated => "Unauthenticated",
    }
}

/// A program behind a socket.
pub struct UnixClient {
    address: String,
    /// Held while connecting.
    connection: tokio::sync::Mutex<Dialing>,
    /// The error of the last attempt to connect, for calls whose time is up.
    last: Mutex<Option<String>>,
}

#[derive(Default)]
struct Dialing {
    current: Option<SendRequest<Body>>,
    failures: u32,
    not_before: Option<Instant>,
}

impl UnixClient {
    /// The path of a socket, or `@name` in the abstract namespace. Nothing is done yet.
    pub fn new(address: impl Into<String>) -> UnixClient {
        UnixClient {
            address: address.into(),
            connection: tokio::sync::Mutex::default(),
            last: Mutex::default(),
        }
    }

    /// Sends a request and waits for the answer at most `limit`, including the time until a server listens. A request that
    /// was sent to a server that then went away is not sent again.
    pub async fn call<M: Method>(&self, request: M, limit: Duration) -> Result<M::Response, Status> {
        let deadline = Instant::now() + limit;
        loop {
            let connection = match timeout_at(deadline, self.connection()).await {
                Ok(connection) => connection,
                Err(_) => return Err(self.never_ready()),
            };
            let mut request = tonic::Request::new(request.clone());
            request.set_timeout(deadline.saturating_duration_since(Instant::now()));
            let status = match timeout_at(deadline, unary::<M>(connection, request)).await {
                Ok(Ok(response)) => return Ok(response),
                Ok(Err(status)) => status,
                Err(_) => return Err(Status::new(Code::DeadlineExceeded, "context deadline exceeded")),
            };
            if !never_sent(&status) {
                return Err(explain(&status));
            }
            // The connection went away just then, which shows a moment later.
            tokio::time::sleep(FIRST_PAUSE).await;
        }
    }

    fn never_ready(&self) -> Status {
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let message = match last {
            Some(why) => {
                format!("latest balancer error: connection error: desc = {}", pintle_meta::quote(&why))
            }
            None => "context deadline exceeded while waiting for connections to become ready".to_owned(),
        };
        Status::new(Code::DeadlineExceeded, message)
    }

    /// The connection that is there, or a new one however long it takes.
    async fn connection(&self) -> SendRequest<Body> {
        let mut dialing = self.connection.lock().await;
        loop {
            if let Some(current) = dialing.current.take_if(|current| current.is_closed()) {
                drop(current);
            }
            if let Some(current) = &dialing.current {
                return current.clone();
            }
            if let Some(not_before) = dialing.not_before {
                tokio::time::sleep_until(not_before).await;
            }
            let (current, why) = match connect(&self.address).await {
                Ok(connection) => {
                    dialing.failures = 0;
                    (Some(connection), None)
                }
                Err(why) => {
                    tracing::debug!(address = self.address, why, "cannot connect to a gRPC service");
                    dialing.failures += 1;
                    (None, Some(why))
                }
            };
            dialing.current = current;
            let pause = FIRST_PAUSE.saturating_mul(1 << dialing.failures.min(10)).min(LONGEST_PAUSE);
            dialing.not_before = Some(Instant::now() + pause);
            *self.last.lock().unwrap_or_else(PoisonError::into_inner) = why;
        }
    }
}

/// One HTTP/2 connection to a socket.
pub(crate) async fn connect(address: &str) -> Result<SendRequest<Body>, String> {
    let stream = dial_unix(address).await.map_err(|why| format!("transport: Error while dialing: {why}"))?;
    let mut builder = Builder::new(TokioExecutor::new());
    builder.timer(TokioTimer::new());
    let handshake = tokio::time::timeout(HANDSHAKE, builder.handshake(TokioIo::new(stream))).await;
    let (connection, driver) = handshake
        .map_err(|_| "context deadline exceeded".to_owned())?
        .map_err(|error| format!("transport: {error}"))?;
    tokio::spawn(async move {
        if let Err(error) = driver.await {
            tracing::debug!(%error, "the connection to a gRPC service ended");
        }
    });
    Ok(connection)
}

pub(crate) async fn dial_unix(address: &str) -> Result<UnixStream, String> {
    // As Go: the name of an abstract socket begins with a zero byte, for which `@` stands.
    let path = match address.strip_prefix('@') {
        Some(name) => PathBuf::from(format!("\0{name}")),
        None => PathBuf::from(address),
    };
    let stream = UnixStream::connect(path).await;
    stream.map_err(|error| format!("dial unix {address}: {}", dial_reason(&error)))
}

fn dial_reason(error: &std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::NotFound => "connect: no such file or directory".into(),
        std::io::ErrorKind::InvalidInput => "connect: invalid argument".into(),
        _ => crate::error::dial_reason(error),
    }
}

async fn unary<M: Method>(
    connection: SendRequest<Body>,
    request: tonic::Request<M>,
) -> Result<M::Response, RawStatus> {
    let origin = Uri::from_static("http://localhost");
    let mut grpc = Grpc::with_origin(Connection(connection), origin).max_decoding_message_size(LARGEST);
    grpc.ready().await.map_err(|error| RawStatus::from_error(error.into()))?;
    let codec = ProstCodec::<M, M::Response>::default();
    let response = grpc.unary(request, PathAndQuery::from_static(M::PATH), codec).await?;
    Ok(response.into_inner())
}

/// Whether the other side cannot have seen it.
fn never_sent(status: &RawStatus) -> bool {
    hyper_error(status).is_some_and(|error| error.is_canceled() || error.is_closed())
}

fn hyper_error(status: &RawStatus) -> Option<&hyper::Error> {
    let mut next = status.source();
    while let Some(error) = next {
        if let Some(error) = error.downcast_ref() {
            return Some(error);
        }
        next = error.source();
    }
    None
}

/// Returns the status of the other side, or of the failure of the connection.
fn explain(status: &RawStatus) -> Status {
    match hyper_error(status) {
        Some(_) if matches!(status.code(), Code::Unknown | Code::Unavailable) => {
            Status::new(Code::Unavailable, "error reading from server: EOF")
        }
        _ => Status::new(status.code(), status.message()),
    }
}

/// One HTTP/2 connection, as tonic wants it.
pub(crate) struct Connection(pub(crate) SendRequest<Body>);

impl Service<http::Request<Body>> for Connection {
    type Response = http::Response<Incoming>;
    type Error = hyper::Error;
    type Future = BoxFuture<Self::Response, hyper::Error>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), hyper::Error>> {
        self.0.poll_ready(context)
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        Box::pin(self.0.send_request(request))
    }
}

#[cfg(test)]
#[path = "grpc_tests.rs"]
mod tests;
