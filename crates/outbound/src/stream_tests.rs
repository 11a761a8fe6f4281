//! Streams and upgrades against real servers on loopback.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::num::NonZeroU64;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http::header::{CONNECTION, HeaderValue, LOCATION, UPGRADE};
use http::{HeaderMap, Method, Request, Response, StatusCode};
use http_body::Frame;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Empty, StreamBody};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;

use crate::body::BoxError;
use crate::testing::{Authority, HttpsOptions, server_config};
use crate::{
    Client, ClientOptions, Material, RequestBody, Roots, StreamLimits, Streamed, TlsOptions, TunnelEnd,
    Tunneled, Upgraded, Url,
};

type Body = UnsyncBoxBody<Bytes, BoxError>;

/// A server whose handler sees requests before their bodies were read.
struct StreamServer {
    address: SocketAddr,
    connections: Arc<AtomicUsize>,
    authority: Authority,
    task: tokio::task::JoinHandle<()>,
}

impl Drop for StreamServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl StreamServer {
    async fn start<F, R>(http2: bool, handler: F) -> StreamServer
    where
        F: Fn(Request<Incoming>) -> R + Clone + Send + Sync + 'static,
        R: Future<Output = Response<Body>> + Send + 'static,
    {
        let options = HttpsOptions { http2, ..HttpsOptions::default() };
        let authority = Authority::new("streams");
        let (certificate, key) = authority.issue(&options.names, |_| {});
        let acceptor = tokio_rustls::TlsAcceptor::from(Arc::new(server_config(&options, &certificate, &key)));
        let listener = TcpListener::bind(options.address).await.unwrap();
        let address = listener.local_addr().unwrap();
        let connections = Arc::new(AtomicUsize::new(0));
        let count = connections.clone();
        let task = tokio::spawn(async move {
            let mut tasks = tokio::task::JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                count.fetch_add(1, Ordering::SeqCst);
                let (acceptor, handler) = (acceptor.clone(), handler.clone());
                tasks.spawn(async move {
                    let Ok(stream) = acceptor.accept(stream).await else { return };
                    let is_http2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
                    let service = service_fn(move |request| {
                        let response = handler(request);
                        async move { Ok::<_, Infallible>(response.await) }
                    });
                    let io = TokioIo::new(stream);
                    let _ = if is_http2 {
                        hyper::server::conn::http2::Builder::new(TokioExecutor::new())
                            .serve_connection(io, service)
                            .await
                    } else {
                        hyper::server::conn::http1::Builder::new()
                            .serve_connection(io, service)
                            .with_upgrades()
                            .await
                    };
                });
            }
        });
        StreamServer { address, connections, authority, task }
    }

    fn url(&self, path: &str) -> Url {
        Url::parse(&format!("https://{}{path}", self.address)).unwrap()
    }

    fn client(&self) -> Client {
        let roots = Roots::Bundle(Material::Text(self.authority.pem.clone().into()));
        let tls = TlsOptions { roots, ..TlsOptions::default() };
        Client::new(&self.url("/"), ClientOptions { tls, ..ClientOptions::default() }).unwrap()
    }
}

fn empty() -> Body {
    Empty::new().map_err(|error: Infallible| match error {}).boxed_unsync()
}

fn respond(status: StatusCode, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    response
}

/// A body whose chunks come from a channel.
fn channel()
-> (mpsc::Sender<Bytes>, StreamBody<impl futures_core::Stream<Item = Result<Frame<Bytes>, BoxError>>>) {
    let (sender, receiver) = mpsc::channel(1);
    let frames = tokio_stream::StreamExt::map(ReceiverStream::new(receiver), |chunk| Ok(Frame::data(chunk)));
    (sender, StreamBody::new(frames))
}

async fn response(
    client: &Client,
    method: Method,
    url: &Url,
    body: RequestBody,
    limits: StreamLimits,
) -> Response<crate::ResponseBody> {
    match client.stream(method, url, HeaderMap::new(), body, limits).await.unwrap() {
        Streamed::Response(response) => response,
        Streamed::Upgraded(_) => panic!("an upgrade that was not asked for"),
    }
}

fn upgrade_headers(protocol: &'static str) -> HeaderMap {
    let fields = [(CONNECTION, "Upgrade"), (UPGRADE, protocol)];
    fields.into_iter().map(|(name, value)| (name, HeaderValue::from_static(value))).collect()
}

/// Accepts any upgrade and hands the connection to `speak`.
async fn upgrading<F, R>(speak: F) -> StreamServer
where
    F: Fn(TokioIo<hyper::upgrade::Upgraded>) -> R + Clone + Send + Sync + 'static,
    R: Future<Output = ()> + Send + 'static,
{
    // It prefers HTTP/2, which cannot be upgraded: the client has to ask for HTTP/1.1.
    StreamServer::start(true, move |mut request: Request<Incoming>| {
        let speak = speak.clone();
        async move {
            let protocol = request.headers()[UPGRADE].clone();
            tokio::spawn(async move {
                speak(TokioIo::new(hyper::upgrade::on(&mut request).await.unwrap())).await;
            });
            let mut response = respond(StatusCode::SWITCHING_PROTOCOLS, empty());
            response.headers_mut().insert(CONNECTION, HeaderValue::from_static("upgrade"));
            response.headers_mut().insert(UPGRADE, protocol);
            response
        }
    })
    .await
}

async fn upgrade(server: &StreamServer, protocol: &'static str, limits: StreamLimits) -> Upgraded {
    let (url, headers) = (server.url("/exec"), upgrade_headers(protocol));
    match server.client().stream(Method::GET, &url, headers, RequestBody::empty(), limits).await.unwrap() {
        Streamed::Upgraded(upgraded) => upgraded,
        Streamed::Response(response) => panic!("no upgrade but {}", response.status()),
    }
}

/// Starts a tunnel; returns the client's end of it and its outcome.
async fn tunnel(
    server: &StreamServer,
    limits: StreamLimits,
) -> (DuplexStream, tokio::task::JoinHandle<Tunneled>) {
    let upgraded = upgrade(server, "SPDY/3.1", limits).await;
    let (near, far) = duplex(1 << 10);
    (near, tokio::spawn(upgraded.tunnel(far)))
}

async fn echo(mut io: TokioIo<hyper::upgrade::Upgraded>) {
    let mut buffer = [0; 4096];
    while let Ok(read @ 1..) = io.read(&mut buffer).await {
        if io.write_all(&buffer[..read]).await.is_err() || io.flush().await.is_err() {
            return;
        }
    }
    let _ = io.write_all(b"bye").await;
    let _ = io.shutdown().await;
}

#[tokio::test]
async fn an_upgraded_connection_echoes_and_closes_half_by_half() {
    for protocol in ["websocket", "SPDY/3.1"] {
        let server = upgrading(echo).await;
        let upgraded = upgrade(&server, protocol, StreamLimits::default()).await;
        assert_eq!(upgraded.response.headers[UPGRADE], protocol);
        assert_eq!(upgraded.response.headers[CONNECTION], "Upgrade");
        let (mut near, far) = duplex(64);
        let tunnel = tokio::spawn(upgraded.tunnel(far));
        for _ in 0..3 {
            near.write_all(b"hello").await.unwrap();
            let mut answer = [0; 5];
            near.read_exact(&mut answer).await.unwrap();
            assert_eq!(&answer, b"hello");
        }
        // The client has no more to send and still receives.
        near.shutdown().await.unwrap();
        let mut rest = String::new();
        near.read_to_string(&mut rest).await.unwrap();
        assert_eq!(rest, "bye");
        let expect = Tunneled { to_server: 15, to_client: 18, end: TunnelEnd::Closed };
        assert_eq!(tunnel.await.unwrap(), expect);
    }
}

#[tokio::test]
async fn an_idle_tunnel_ends_on_both_sides() {
    let (ended, mut server_ended) = mpsc::channel(1);
    let server = upgrading(move |mut io| {
        let ended = ended.clone();
        async move {
            let mut buffer = [0; 16];
            while let Ok(1..) = io.read(&mut buffer).await {}
            ended.send(()).await.unwrap();
        }
    })
    .await;
    let limits = StreamLimits { idle: Duration::from_millis(200), ..StreamLimits::default() };
    let (mut near, tunnel) = tunnel(&server, limits).await;
    for _ in 0..4 {
        tokio::time::sleep(Duration::from_millis(80)).await;
        near.write_all(b"x").await.unwrap();
    }
    let tunneled = tunnel.await.unwrap();
    assert_eq!((tunneled.end, tunneled.to_server), (TunnelEnd::Idle, 4), "bytes prolong it");
    server_ended.recv().await.unwrap();
    assert_eq!(near.read(&mut [0; 1]).await.unwrap(), 0);
}

#[tokio::test]
async fn a_peer_that_disappears_ends_the_other_side() {
    // The server goes away with bytes on their way.
    let server = upgrading(|mut io: TokioIo<hyper::upgrade::Upgraded>| async move {
        let _ = io.read(&mut [0; 1]).await;
    })
    .await;
    let (mut near, ended) = tunnel(&server, StreamLimits::default()).await;
    near.write_all(b"x").await.unwrap();
    // Without a close_notify the end of the connection is no end of the stream.
    assert!(matches!(ended.await.unwrap().end, TunnelEnd::Lost(_)));
    let _ = near.write_all(b"x").await;
    assert_eq!(near.read(&mut [0; 1]).await.unwrap_or(0), 0);
    // The client goes away: the server sees the end.
    let (ended, mut server_ended) = mpsc::channel(1);
    let server = upgrading(move |mut io| {
        let ended = ended.clone();
        async move {
            let read = io.read(&mut [0; 1]).await;
            ended.send(matches!(read, Ok(0) | Err(_))).await.unwrap();
        }
    })
    .await;
    let (near, ended) = tunnel(&server, StreamLimits::default()).await;
    drop(near);
    assert!(server_ended.recv().await.unwrap());
    ended.await.unwrap();
}

#[tokio::test]
async fn what_was_sent_before_a_peer_disappeared_arrives() {
    /// Fails once it was read to its end.
    struct Torn(&'static [u8]);

    impl tokio::io::AsyncRead for Torn {
        fn poll_read(
            mut self: std::pin::Pin<&mut Self>,
            _: &mut std::task::Context<'_>,
            buffer: &mut tokio::io::ReadBuf<'_>,
        ) -> std::task::Poll<std::io::Result<()>> {
            if self.0.is_empty() {
                return std::task::Poll::Ready(Err(std::io::ErrorKind::UnexpectedEof.into()));
            }
            buffer.put_slice(std::mem::take(&mut self.0));
            std::task::Poll::Ready(Ok(()))
        }
    }

    let server = tokio::io::join(Torn(b"last words"), tokio::io::sink());
    // The client takes a few bytes at a time.
    let (mut near, far) = duplex(3);
    let tunnel =
        tokio::spawn(async move { crate::upgrade::tunnel(far, server, &StreamLimits::default()).await });
    let mut all = String::new();
    near.read_to_string(&mut all).await.unwrap();
    assert_eq!(all, "last words");
    assert_eq!(tunnel.await.unwrap().end, TunnelEnd::Lost(std::io::ErrorKind::UnexpectedEof));
}

#[tokio::test]
async fn a_tunnel_has_limits_on_size_and_rate() {
    let server = upgrading(echo).await;
    let limits = StreamLimits { size: Some(8), ..StreamLimits::default() };
    let (mut near, ended) = tunnel(&server, limits).await;
    near.write_all(b"123456789").await.unwrap();
    assert_eq!(ended.await.unwrap().end, TunnelEnd::TooLarge);
    let rate = NonZeroU64::new(10_000);
    let (near, ended) = tunnel(&server, StreamLimits { rate, ..StreamLimits::default() }).await;
    let start = std::time::Instant::now();
    let (mut from, mut to) = tokio::io::split(near);
    let writing = tokio::spawn(async move {
        to.write_all(&[0; 4000]).await.unwrap();
        to.shutdown().await.unwrap();
    });
    let mut all = Vec::new();
    from.read_to_end(&mut all).await.unwrap();
    writing.await.unwrap();
    assert_eq!(all.len(), 4003);
    assert!(start.elapsed() >= Duration::from_millis(250), "{:?}", start.elapsed());
    assert_eq!(ended.await.unwrap().end, TunnelEnd::Closed);
}

#[tokio::test]
async fn a_refused_upgrade_is_a_response() {
    let server = StreamServer::start(false, |_| async { respond(StatusCode::FORBIDDEN, empty()) }).await;
    let (url, headers) = (server.url("/exec"), upgrade_headers("websocket"));
    let client = server.client();
    let streamed = client.stream(Method::GET, &url, headers, RequestBody::empty(), StreamLimits::default());
    let Streamed::Response(response) = streamed.await.unwrap() else { panic!("an upgrade") };
    assert_eq!(response.status(), StatusCode::FORBIDDEN);
    // A protocol that was not asked for is an error.
    let server = upgrading(echo).await;
    let limits = StreamLimits::default();
    let mut other = upgrade_headers("websocket");
    other.remove(CONNECTION);
    let url = server.url("/");
    assert!(server.client().stream(Method::GET, &url, other, RequestBody::empty(), limits).await.is_err());
}

#[tokio::test]
async fn redirects_are_returned_and_headers_of_the_connection_removed() {
    let server = StreamServer::start(false, |request: Request<Incoming>| async move {
        assert!(request.headers().get("x-private").is_none());
        let mut response = respond(StatusCode::FOUND, empty());
        response.headers_mut().insert(LOCATION, HeaderValue::from_static("https://elsewhere.example/"));
        response.headers_mut().insert("keep-alive", HeaderValue::from_static("timeout=1"));
        response
    })
    .await;
    let mut headers = HeaderMap::new();
    headers.insert(CONNECTION, HeaderValue::from_static("x-private"));
    headers.insert("x-private", HeaderValue::from_static("1"));
    let (client, url) = (server.client(), server.url("/"));
    for _ in 0..3 {
        let streamed =
            client.stream(Method::GET, &url, headers.clone(), RequestBody::empty(), StreamLimits::default());
        let Streamed::Response(response) = streamed.await.unwrap() else { panic!("an upgrade") };
        assert_eq!(response.status(), StatusCode::FOUND);
        assert_eq!(response.headers()[LOCATION], "https://elsewhere.example/");
        assert!(response.headers().get("keep-alive").is_none());
        response.into_body().collect().await.unwrap();
    }
    assert_eq!(server.connections.load(Ordering::SeqCst), 1, "the connection is used again");
}

#[tokio::test]
async fn bodies_stream_both_ways_at_once() {
    for http2 in [true, false] {
        let server = StreamServer::start(http2, |request: Request<Incoming>| async move {
            respond(StatusCode::OK, request.into_body().map_err(Into::into).boxed_unsync())
        })
        .await;
        let client = server.client();
        for _ in 0..2 {
            let (sender, body) = channel();
            let body = RequestBody::stream(body);
            let url = server.url("/");
            sender.send(Bytes::from_static(b"first")).await.unwrap();
            let response = response(&client, Method::POST, &url, body, StreamLimits::default()).await;
            let mut body = response.into_body();
            for chunk in ["second", "third"] {
                let got = body.frame().await.unwrap().unwrap().into_data().unwrap();
                assert!(!got.is_empty());
                sender.send(chunk.into()).await.unwrap();
            }
            drop(sender);
            body.collect().await.unwrap();
        }
        assert_eq!(server.connections.load(Ordering::SeqCst), 1, "HTTP/2: {http2}");
    }
}

#[tokio::test]
async fn a_large_body_waits_for_its_reader() {
    const CHUNK: usize = 64 << 10;
    for http2 in [true, false] {
        let produced = Arc::new(AtomicU64::new(0));
        let count = produced.clone();
        let (stop, mut stopped) = mpsc::channel(1);
        let server = StreamServer::start(http2, move |_| {
            let (count, stop) = (count.clone(), stop.clone());
            async move {
                let (sender, body) = channel();
                tokio::spawn(async move {
                    while sender.send(Bytes::from(vec![0; CHUNK])).await.is_ok() {
                        count.fetch_add(CHUNK as u64, Ordering::SeqCst);
                    }
                    stop.send(()).await.unwrap();
                });
                respond(StatusCode::OK, body.boxed_unsync())
            }
        })
        .await;
        let client = server.client();
        let url = server.url("/");
        let response =
            response(&client, Method::GET, &url, RequestBody::empty(), StreamLimits::default()).await;
        let mut body = response.into_body();
        let mut read = 0;
        while read < 32 << 20 {
            read += body.frame().await.unwrap().unwrap().into_data().unwrap().len() as u64;
        }
        // Without a reader, production stops once the buffers of both ends are full.
        let mut before = 0;
        while before != produced.load(Ordering::SeqCst) {
            before = produced.load(Ordering::SeqCst);
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
        assert!(before - read < 16 << 20, "HTTP/2: {http2}: {} bytes ahead", before - read);
        // The client goes away: the server's body ends.
        drop(body);
        tokio::time::timeout(Duration::from_secs(10), stopped.recv()).await.unwrap().unwrap();
    }
}

#[tokio::test]
async fn responses_that_are_not_read_hold_up_no_other() {
    let server = StreamServer::start(true, async |request: Request<Incoming>| {
        if request.uri().path() == "/short" {
            return respond(StatusCode::OK, empty());
        }
        let frames = tokio_stream::iter((0..).map(|_| Ok(Frame::data(Bytes::from(vec![b'x'; 64 << 10])))));
        respond(StatusCode::OK, StreamBody::new(frames).boxed_unsync())
    })
    .await;
    let client = server.client();
    let limits = || StreamLimits { header: Duration::from_secs(5), ..StreamLimits::default() };
    let mut unread = Vec::new();
    for _ in 0..50 {
        let endless = server.url("/endless");
        unread.push(response(&client, Method::GET, &endless, RequestBody::empty(), limits()).await);
    }
    tokio::time::sleep(Duration::from_millis(200)).await;
    let short = response(&client, Method::GET, &server.url("/short"), RequestBody::empty(), limits()).await;
    assert_eq!((short.status(), server.connections.load(Ordering::SeqCst)), (StatusCode::OK, 1));
}

#[tokio::test]
async fn dropping_a_response_ends_the_request_body() {
    for http2 in [true, false] {
        let (seen, mut upload) = mpsc::channel(1);
        let server = StreamServer::start(http2, move |request: Request<Incoming>| {
            let seen = seen.clone();
            async move {
                tokio::spawn(async move {
                    let ended = request.into_body().collect().await;
                    seen.send(ended.is_err()).await.unwrap();
                });
                let (sender, body) = channel();
                sender.send(Bytes::from_static(b"x")).await.unwrap();
                // The response stays open until the connection or stream ends.
                tokio::spawn(async move { sender.closed().await });
                respond(StatusCode::OK, body.boxed_unsync())
            }
        })
        .await;
        let (sender, body) = channel();
        let client = server.client();
        let body = RequestBody::stream(body);
        let response = response(&client, Method::POST, &server.url("/"), body, StreamLimits::default()).await;
        drop(response);
        let broken = tokio::time::timeout(Duration::from_secs(10), upload.recv()).await;
        assert!(broken.unwrap().unwrap(), "HTTP/2: {http2}");
        tokio::time::timeout(Duration::from_secs(10), sender.closed()).await.unwrap();
    }
}

#[tokio::test]
async fn bodies_have_limits_on_idle_time_and_size() {
    let server = StreamServer::start(true, |request: Request<Incoming>| async move {
        let (sender, body) = channel();
        sender.send(Bytes::from_static(b"12345")).await.unwrap();
        tokio::spawn(async move {
            let _request = request;
            sender.closed().await;
        });
        respond(StatusCode::OK, body.boxed_unsync())
    })
    .await;
    let client = server.client();
    let url = server.url("/");
    let read = async |limits: StreamLimits| {
        let response = response(&client, Method::GET, &url, RequestBody::empty(), limits).await;
        response.into_body().collect().await.map(drop).unwrap_err().to_string()
    };
    let idle = Duration::from_millis(100);
    assert_eq!(read(StreamLimits { idle, ..StreamLimits::default() }).await, "no bytes for too long");
    let too_large = read(StreamLimits { size: Some(4), ..StreamLimits::default() }).await;
    assert_eq!(too_large, "the answer is longer than 4 bytes");
}

#[tokio::test]
async fn a_server_that_sends_no_header_is_given_up() {
    let server = StreamServer::start(true, |_| std::future::pending()).await;
    let limits = StreamLimits { header: Duration::from_millis(100), ..StreamLimits::default() };
    let (client, url) = (server.client(), server.url("/x"));
    let streamed = client.stream(Method::GET, &url, HeaderMap::new(), RequestBody::empty(), limits);
    let error = streamed.await.err().unwrap().to_string();
    assert!(error.starts_with("Get \"https://127.0.0.1:") && error.contains("deadline exceeded"), "{error}");
}
