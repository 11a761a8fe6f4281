//! One connection: TLS, then HTTP/1.1 or HTTP/2, with a bound on everything a client could let us wait for or keep.

use std::convert::Infallible;
use std::future::poll_fn;
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use http::header::{CONNECTION, CONTENT_LENGTH, EXPECT, HOST, HeaderName, HeaderValue, TRANSFER_ENCODING};
use http::request::Parts;
use http::{Method, Request as HttpRequest, StatusCode, Version};
use http_body::Body as _;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;

use crate::activity::{ActiveRequest, Activity, Overdue};
use crate::filter::Handler;
use crate::gather::GatheringStream;
use crate::lifecycle::Signal;
use crate::metrics::Metrics;
use crate::query::escapes_are_whole;
use crate::request::Connection;
use crate::streams::ParkedRequests;
use crate::tls::Tls;
use crate::{Body, Request, Response, respond, unread};

/// The limits on the time and memory that a client may take.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    pub handshake: Duration,
    /// Time from the first byte of an HTTP/1.1 request to the end of its headers.
    pub read_header: Duration,
    /// Time without any request.
    pub idle: Duration,
    /// Bytes of a request's line and headers.
    pub header_bytes: u32,
    /// Limit on the headers of an HTTP/1.1 request. An impersonator sends one for each group.
    pub headers: usize,
    pub http2_streams: u32,
    /// Bytes of a stream's body, or of one frame, that a client may send ahead.
    pub http2_stream_window: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            handshake: Duration::from_secs(10),
            read_header: Duration::from_secs(32),
            idle: Duration::from_secs(90),
            header_bytes: 1 << 20,
            headers: 1000,
            http2_streams: 100,
            http2_stream_window: 256 << 10,
        }
    }
}

/// Bytes of an answer that wait to be sent on a stream of HTTP/2.
const SEND_AHEAD: usize = 160 << 10;

/// Maximum size of all headers of a request together, a little above the limit on what is read of them.
const MAX_HEADERS: usize = (1 << 20) + 4096;

/// All that connections of one server have in common.
pub(crate) struct Connections {
    /// `None` on the port that serves plain HTTP/1.1.
    pub(crate) tls: Option<Arc<Tls>>,
    pub(crate) handler: Arc<dyn Handler>,
    pub(crate) metrics: Metrics,
    pub(crate) limits: Limits,
    /// Set: every connection is closed once its requests are answered.
    pub(crate) stop: Signal,
}

impl Connections {
    /// Serves a connection to its end. Whatever happens to it happens to it alone.
    pub(crate) async fn serve(&self, mut stream: TcpStream, remote: SocketAddr) {
        let local = stream.local_addr().unwrap_or(remote);
        let Some(tls) = &self.tls else {
            return self.serve_http(stream, false, Connection::new(remote, local, Vec::new())).await;
        };
        let acceptor = TlsAcceptor::from(tls.current(local.ip()));
        let handshake = async {
            if is_plain_http(&stream).await {
                refuse_plain_http(&mut stream).await;
                return Err("client sent an HTTP request to an HTTPS server".to_owned());
            }
            acceptor.accept(stream).await.map_err(|error| error.to_string())
        };
        let failure = match tokio::time::timeout(self.limits.handshake, handshake).await {
            Ok(Ok(stream)) => {
                let (_, session) = stream.get_ref();
                let http2 = session.alpn_protocol() == Some(b"h2");
                let certificates = session.peer_certificates().map(<[_]>::to_vec).unwrap_or_default();
                return self.serve_http(stream, http2, Connection::new(remote, local, certificates)).await;
            }
            Ok(Err(error)) => error,
            Err(_) => "timed out".to_owned(),
        };
        self.metrics.tls_handshake_failed();
        tracing::debug!(%remote, error = failure, "http: TLS handshake error");
    }

    async fn serve_http<S>(&self, stream: S, http2: bool, connection: Connection)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let connection = Arc::new(connection);
        let activity = Arc::new(Activity::new());
        let service = service_fn({
            let (connection, activity) = (connection.clone(), activity.clone());
            let handler = self.handler.clone();
            let streams = self.limits.http2_streams as usize;
            move |request| {
                connection.count_after_close(streams);
                answer(handler.clone(), connection.clone(), activity.begin(), request)
            }
        });
        let limits = &self.limits;
        let observed = |stream| TokioIo::new(ObservedStream { stream, activity: activity.clone() });
        let stream = GatheringStream::new(stream);
        let rest = stream.clone();
        let ended = if http2 {
            let sender = stream.sender();
            let (executor, mut parked) = ParkedRequests::new();
            let mut builder = http2::Builder::new(executor);
            builder
                .timer(TokioTimer::new())
                .max_concurrent_streams(limits.http2_streams)
                .max_header_list_size(limits.header_bytes)
                .initial_stream_window_size(limits.http2_stream_window)
                .initial_connection_window_size(
                    limits.http2_stream_window.saturating_mul(limits.http2_streams.min(100)),
                )
                .max_frame_size(limits.http2_stream_window)
                // A long answer is encoded as the client reads it, and many clients may ask for it at once.
                .max_send_buf_size(SEND_AHEAD)
                .keep_alive_interval(Duration::from_secs(30))
                .keep_alive_timeout(Duration::from_secs(15));
            let serving = pin!(builder.serve_connection(observed(stream), service));
            let before = |cx: &mut Context<'_>| parked.poll(cx);
            let after = |cx: &mut Context<'_>| sender.poll(cx);
            let shut_down = |serving: Pin<&mut _>| http2::Connection::graceful_shutdown(serving);
            self.drive(serving, before, after, shut_down, &connection, &activity, false).await
        } else {
            let mut builder = http1::Builder::new();
            builder
                .timer(TokioTimer::new())
                .header_read_timeout(None)
                .max_headers(limits.headers)
                .max_buf_size(limits.header_bytes as usize);
            let serving = pin!(builder.serve_connection(observed(stream), service).with_upgrades());
            let shut_down =
                |serving: Pin<&mut http1::UpgradeableConnection<_, _>>| serving.graceful_shutdown();
            self.drive(serving, |_| {}, |_| {}, shut_down, &connection, &activity, true).await
        };
        match ended {
            None => return,
            Some(Err(error)) => {
                tracing::trace!(remote = %connection.remote, %error, "connection ended");
                return;
            }
            Some(Ok(())) => {}
        }
        if let Some(upgraded) = connection.take_upgraded() {
            return upgraded.await;
        }
        tokio::select! {
            () = unread::discard_until_closed(rest) => {}
            () = self.stop.wait() => {}
        }
    }

    /// Runs a connection until it ends, with what runs before and after it in each turn, and asks it to end when the
    /// server stops, a filter says so, or it idles. `None`: it was cut off.
    #[allow(clippy::too_many_arguments, reason = "it is the one function of two protocols")]
    async fn drive<F: Future<Output = hyper::Result<()>>>(
        &self,
        mut serving: Pin<&mut F>,
        mut before: impl FnMut(&mut Context<'_>),
        after: impl Fn(&mut Context<'_>),
        shut_down: impl Fn(Pin<&mut F>),
        connection: &Connection,
        activity: &Activity,
        http1: bool,
    ) -> Option<hyper::Result<()>> {
        let mut stopping = false;
        loop {
            let overdue = activity.deadline(&self.limits, http1);
            tokio::select! {
                // The writes of the requests that run in this task go out in the same turn.
                result = poll_fn(|cx| {
                    before(cx);
                    let served = serving.as_mut().poll(cx);
                    after(cx);
                    served
                }) => return Some(result),
                () = connection.abort.notified() => return None,
                () = connection.close.notified(), if !stopping => {}
                () = self.stop.wait(), if !stopping => connection.close_when_idle(),
                () = tokio::time::sleep_until(overdue) => match activity.overdue(&self.limits, http1) {
                    Some(Overdue::Headers) => return None,
                    // Already asked to go and still there, with no request under way: it is not listening.
                    Some(Overdue::Idle) if stopping => return None,
                    Some(Overdue::Idle) => {}
                    None => continue,
                },
            }
            stopping = true;
            activity.touch();
            shut_down(serving.as_mut());
        }
    }
}

async fn answer(
    handler: Arc<dyn Handler>,
    connection: Arc<Connection>,
    active: ActiveRequest,
    request: HttpRequest<Incoming>,
) -> Result<Response, Infallible> {
    let (parts, body) = request.into_parts();
    let (version, is_head) = (parts.version, parts.method == Method::HEAD);
    // A client that expects `100 Continue` sends its body only once a handler reads it.
    let reads_rest = version == Version::HTTP_2 || !parts.headers.contains_key(EXPECT);
    let (body, rest) = unread::lend(body);
    let body = body.map_err(Into::into).boxed();
    let mut response = match malformed(&parts) {
        Some((code, reason)) => respond::refused(code, reason),
        None => handler.handle(Request::new(parts, body, connection.clone())).await,
    };
    if reads_rest {
        rest.discard().await;
    }
    // HTTP/2 has no such header; what it means there is GOAWAY.
    let closing = response.headers().get(CONNECTION).is_some_and(|value| value == "close");
    if is_head {
        response = without_body(response);
    }
    match version {
        Version::HTTP_2 if closing => {
            response.headers_mut().remove(CONNECTION);
            connection.close_when_idle();
        }
        Version::HTTP_2 => {}
        _ if connection.is_closing() => {
            response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        }
        _ => {}
    }
    Ok(response.map(|body| body.holding(active)))
}

/// Returns the code and the end of the answer for a request that the reference's HTTP server refuses before any handler sees it.
fn malformed(parts: &Parts) -> Option<(StatusCode, &'static str)> {
    let bad = |reason| Some((StatusCode::BAD_REQUEST, reason));
    if !escapes_are_whole(parts.uri.path()) {
        return bad("");
    }
    match parts.headers.get_all(HOST).iter().count() {
        0 if parts.version == Version::HTTP_11 && parts.method != Method::CONNECT => {
            return bad(": missing required Host header");
        }
        0 | 1 => {}
        _ => return bad(": too many Host headers"),
    }
    let header = |name: HeaderName| parts.headers.get_all(name).iter();
    // A body is sent in chunks in one way. A client that repeats or combines the encoding hopes that a proxy reads it otherwise.
    let once = |value: &HeaderValue| value.as_bytes().trim_ascii().eq_ignore_ascii_case(b"chunked");
    if header(TRANSFER_ENCODING).count() > 1 || !header(TRANSFER_ENCODING).all(once) {
        return Some((StatusCode::NOT_IMPLEMENTED, "Unsupported transfer encoding"));
    }
    let known = |value: &HeaderValue| value.as_bytes().trim_ascii().eq_ignore_ascii_case(b"100-continue");
    let expects = parts.version != Version::HTTP_2;
    if expects && !header(EXPECT).all(|value| value.is_empty() || known(value)) {
        return Some((StatusCode::EXPECTATION_FAILED, ""));
    }
    let length = |(name, value): (&HeaderName, &HeaderValue)| name.as_str().len() + value.len() + 4;
    if parts.headers.iter().map(length).sum::<usize>() > MAX_HEADERS {
        return Some((StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE, ""));
    }
    None
}

/// The answer to HEAD: all of the answer to GET but its body. hyper does this for HTTP/1.1 only.
fn without_body(response: Response) -> Response {
    let length = response.body().size_hint().exact();
    let mut response = response.map(|body| Body::empty().holding(body));
    if let Some(length) = length {
        response.headers_mut().entry(CONTENT_LENGTH).or_insert_with(|| length.into());
    }
    response
}

/// TLS begins with the byte 22; an HTTP method begins with a letter.
async fn is_plain_http(stream: &TcpStream) -> bool {
    let mut first = [0; 1];
    matches!(stream.peek(&mut first).await, Ok(1)) && first[0].is_ascii_alphabetic()
}

async fn refuse_plain_http(stream: &mut TcpStream) {
    let answer = "HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n";
    // Reading first keeps the kernel from resetting the connection before the client has read our answer.
    let mut ignored = [0; 4096];
    let _ = stream.read(&mut ignored).await;
    let _ = stream.write_all(answer.as_bytes()).await;
    let _ = stream.shutdown().await;
}

/// A stream that records when bytes arrive.
struct ObservedStream<S> {
    stream: GatheringStream<S>,
    activity: Arc<Activity>,
}

impl<S: AsyncRead + Unpin> AsyncRead for ObservedStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        let before = buf.filled().len();
        let result = Pin::new(&mut self.stream).poll_read(cx, buf);
        if buf.filled().len() > before {
            self.activity.received();
        }
        result
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for ObservedStream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<std::io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[std::io::IoSlice<'_>],
    ) -> Poll<std::io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}
