//! The proxy against real servers on loopback.

use std::convert::Infallible;
use std::time::Duration;

use bytes::Bytes;
use http::header::{CONNECTION, HeaderName, HeaderValue, LOCATION, TRAILER, UPGRADE};
use http::{HeaderMap, Method, StatusCode, Version};
use http_body::Frame;
use http_body_util::{BodyExt, StreamBody};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::time::timeout;

use super::*;
use crate::testing::{HttpsServer, Reply};
use crate::{ClientOptions, Material, Roots, TlsOptions, TunnelEnd};

fn client_of(server: &HttpsServer) -> (Client, Url) {
    let roots = Roots::Bundle(Material::Text(server.authority.pem.clone().into()));
    let tls = TlsOptions { roots, ..TlsOptions::default() };
    let client = Client::of_any(ClientOptions { tls, ..ClientOptions::default() }).unwrap();
    (client, Url::parse(&server.url("/a/b?c=d%20e")).unwrap())
}

fn headers(fields: &[(&str, &str)]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, value) in fields {
        headers.append(HeaderName::try_from(*name).unwrap(), HeaderValue::from_str(value).unwrap());
    }
    headers
}

fn field(headers: &HeaderMap, name: impl http::header::AsHeaderName) -> &str {
    headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
}

fn request(method: Method, fields: &[(&str, &str)]) -> Request {
    Request {
        method,
        headers: headers(fields),
        host: Some(HeaderValue::from_static("api.example:6443")),
        body: RequestBody::empty(),
        remote: Some("192.0.2.1".parse().unwrap()),
        can_upgrade: true,
    }
}

fn response(proxied: Result<Proxied, Error>) -> Response<ProxiedBody> {
    match proxied.unwrap() {
        Proxied::Response(response) => response,
        Proxied::Tunnel(..) => panic!("an upgrade that was not asked for"),
    }
}

/// Accepts one connection, reads a request's head, and answers with raw bytes.
async fn raw_server(
    answer: impl AsyncFnOnce(&mut TcpStream) + Send + 'static,
) -> (Url, tokio::task::JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = Url::parse(&format!("http://{}/exec", listener.local_addr().unwrap())).unwrap();
    let (sender, receiver) = tokio::sync::oneshot::channel();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let listener = listener.into_std().unwrap();
        runtime.block_on(async move {
            let listener = TcpListener::from_std(listener).unwrap();
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                head.push(stream.read_u8().await.unwrap());
            }
            answer(&mut stream).await;
            let mut rest = Vec::new();
            let _ = timeout(Duration::from_secs(5), stream.read_to_end(&mut rest)).await;
            let text = [head, rest].concat();
            let _ = sender.send(String::from_utf8_lossy(&text).into_owned());
        });
    });
    (url, tokio::spawn(async move { receiver.await.unwrap() }))
}

#[tokio::test]
async fn a_request_is_passed_on_with_the_headers_that_are_its_own() {
    let server = HttpsServer::start(|_| Reply::text(200, "hello").with("x-answer", "1")).await;
    let (client, url) = client_of(&server);
    let mut sent = request(
        Method::POST,
        &[
            ("accept", "text/html"),
            ("connection", "keep-alive, X-Remote-User, x-private"),
            ("x-private", "1"),
            ("x-remote-user", "mallory"),
            ("x-remote-extra-a", "b"),
            ("x-forwarded-for", "198.51.100.7"),
            ("content-length", "4"),
            ("transfer-encoding", "chunked"),
        ],
    );
    sent.body = RequestBody::whole(Bytes::from_static(b"body"));
    let proxy = Proxy {
        hidden: &|name| name.as_str().starts_with("x-remote-"),
        identity: headers(&[("x-remote-user", "alice"), ("x-remote-group", "a"), ("x-remote-group", "b")]),
        ..Proxy::new(&client, url)
    };
    let answer = response(proxy.forward(sent).await);
    assert_eq!((answer.status(), field(answer.headers(), "x-answer")), (StatusCode::OK, "1"));
    assert_eq!(answer.into_body().collect().await.unwrap().to_bytes(), "hello");
    let seen = &server.seen()[0];
    assert_eq!((seen.method.as_str(), seen.path.as_str()), ("POST", "/a/b?c=d%20e"));
    assert_eq!((&*seen.body, seen.version), (&b"body"[..], Version::HTTP_2));
    let names: Vec<_> = seen.headers.iter().map(|(n, v)| format!("{n}={}", v.to_str().unwrap())).collect();
    let mut names: Vec<_> = names.iter().map(String::as_str).collect();
    names.sort_unstable();
    assert_eq!(
        names,
        [
            "accept=text/html",
            "content-length=4",
            "x-forwarded-for=198.51.100.7, 192.0.2.1",
            "x-remote-group=a",
            "x-remote-group=b",
            "x-remote-user=alice",
        ]
    );
}

#[tokio::test]
async fn the_host_is_that_of_the_client_or_of_the_target() {
    for http2 in [true, false] {
        let options = crate::testing::HttpsOptions { http2, ..Default::default() };
        let server = HttpsServer::start_with(options, |_| Reply::text(200, "")).await;
        let (client, url) = client_of(&server);
        for host in [Host::Client, Host::Target] {
            let proxy = Proxy { host, ..Proxy::new(&client, url.clone()) };
            response(proxy.forward(request(Method::GET, &[])).await);
        }
        // In HTTP/2 the host is part of the target, which the test server does not keep.
        if !http2 {
            let hosts: Vec<String> =
                server.seen().iter().map(|seen| seen.header("host").to_owned()).collect();
            assert_eq!(hosts, ["api.example:6443".to_owned(), server.address.to_string()]);
        }
    }
}

#[tokio::test]
async fn redirects_pass_are_rewritten_or_refused() {
    let server = HttpsServer::start(|_| {
        Reply::text(302, "secret").with("location", "/login?x").with("access-control-allow-origin", "*")
    })
    .await;
    let (client, url) = client_of(&server);
    let forward = async |proxy: Proxy<'_>| response(proxy.forward(request(Method::GET, &[])).await);
    let passed = forward(Proxy::new(&client, url.clone())).await;
    assert_eq!((passed.status(), field(passed.headers(), LOCATION)), (StatusCode::FOUND, "/login?x"));
    let rewriting = Some(Rewriting { prefix: "/proxy".into(), ..Rewriting::default() });
    let rewritten = forward(Proxy { rewriting, ..Proxy::new(&client, url.clone()) }).await;
    assert_eq!(
        (rewritten.status(), field(rewritten.headers(), LOCATION)),
        (StatusCode::FOUND, "/proxy/login?x")
    );
    assert!(!rewritten.headers().contains_key("access-control-allow-origin"));
    assert_eq!(server.seen()[1].header("x-forwarded-uri"), "/proxy/a/b");
    let refused = forward(Proxy { redirects: Redirects::Refused, ..Proxy::new(&client, url) }).await;
    assert_eq!((refused.status(), refused.headers().len()), (StatusCode::BAD_GATEWAY, 0));
    assert_eq!(refused.into_body().collect().await.unwrap().to_bytes(), REDIRECT_REFUSED);
}

#[tokio::test]
async fn bodies_stream_both_ways_with_their_trailers() {
    // Echoes body and trailers.
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = Url::parse(&format!("http://{}/", listener.local_addr().unwrap())).unwrap();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let echo = service_fn(async |request: http::Request<Incoming>| {
                let announced = request.headers().get(TRAILER).cloned();
                let mut response = Response::new(request.into_body());
                response.headers_mut().extend(announced.map(|names| (TRAILER, names)));
                Ok::<_, Infallible>(response)
            });
            let io = TokioIo::new(stream);
            tokio::spawn(hyper::server::conn::http1::Builder::new().serve_connection(io, echo));
        }
    });
    let client = Client::of_any(ClientOptions::default()).unwrap();
    let (sender, receiver) = mpsc::channel::<Result<Frame<Bytes>, Infallible>>(1);
    let mut sent = request(Method::POST, &[("te", "trailers"), ("trailer", "x-sum")]);
    let frames = tokio_stream::wrappers::ReceiverStream::new(receiver);
    sent.body = RequestBody::stream(StreamBody::new(frames));
    let proxy = Proxy::new(&client, url);
    let forward = proxy.forward(sent);
    sender.send(Ok(Frame::data(Bytes::from_static(b"one")))).await.unwrap();
    let mut body = response(forward.await).into_body();
    assert_eq!(body.frame().await.unwrap().unwrap().into_data().unwrap(), "one");
    sender.send(Ok(Frame::data(Bytes::from_static(b"two")))).await.unwrap();
    assert_eq!(body.frame().await.unwrap().unwrap().into_data().unwrap(), "two");
    sender.send(Ok(Frame::trailers(headers(&[("x-sum", "6")])))).await.unwrap();
    drop(sender);
    let trailers = body.frame().await.unwrap().unwrap().into_trailers().unwrap();
    assert_eq!(trailers["x-sum"], "6");
}

#[tokio::test]
async fn an_agreed_upgrade_is_a_tunnel() {
    let (url, seen) = raw_server(async |stream: &mut TcpStream| {
        let head = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\nX-Y: z\r\n\r\nhi";
        stream.write_all(head.as_bytes()).await.unwrap();
    })
    .await;
    let client = Client::of_any(ClientOptions::default()).unwrap();
    let proxy = Proxy { requires_upgrade: true, ..Proxy::new(&client, url) };
    let fields = [("connection", "Upgrade"), ("upgrade", "SPDY/3.1"), ("x-stream-protocol-version", "v4")];
    let Proxied::Tunnel(head, upgraded) = proxy.forward(request(Method::POST, &fields)).await.unwrap() else {
        panic!("no tunnel")
    };
    assert_eq!((head.status().as_u16(), field(head.headers(), "x-y")), (101, "z"));
    assert_eq!((field(head.headers(), UPGRADE), field(head.headers(), CONNECTION)), ("SPDY/3.1", "Upgrade"));
    let (mut near, far) = duplex(64);
    let tunnel = tokio::spawn(upgraded.tunnel(far));
    let mut hi = [0; 2];
    near.read_exact(&mut hi).await.unwrap();
    assert_eq!(&hi, b"hi");
    near.write_all(b"to the server").await.unwrap();
    near.shutdown().await.unwrap();
    assert_eq!(tunnel.await.unwrap().end, TunnelEnd::Closed);
    let seen = seen.await.unwrap();
    assert!(seen.starts_with("POST /exec HTTP/1.1\r\n") && seen.ends_with("\r\n\r\nto the server"), "{seen}");
    for field in ["host: api.example:6443", "x-forwarded-for: 192.0.2.1", "x-stream-protocol-version: v4"] {
        assert!(seen.contains(field), "{seen}");
    }
}

#[tokio::test]
async fn a_refused_upgrade_ends_the_connection_and_what_follows_is_not_passed_on() {
    let (url, seen) = raw_server(async |stream: &mut TcpStream| {
        let answer = "HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nnoHTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nsecret";
        stream.write_all(answer.as_bytes()).await.unwrap();
    })
    .await;
    let client = Client::of_any(ClientOptions::default()).unwrap();
    let fields = [("connection", "Upgrade"), ("upgrade", "websocket")];
    let mut sent = request(Method::GET, &fields);
    sent.body = RequestBody::whole(Bytes::from_static(b"GET /pods HTTP/1.1\r\n\r\n"));
    let answer = response(Proxy::new(&client, url).forward(sent).await);
    assert_eq!((answer.status(), field(answer.headers(), CONNECTION)), (StatusCode::FORBIDDEN, "close"));
    assert_eq!(answer.into_body().collect().await.unwrap().to_bytes(), "no");
    let seen = seen.await.unwrap();
    assert!(seen.ends_with("\r\n\r\n") && !seen.contains("/pods"), "{seen}");
}

#[tokio::test]
async fn other_answers_to_an_upgrade_are_errors() {
    let fields = [("connection", "Upgrade"), ("upgrade", "websocket")];
    let client = Client::of_any(ClientOptions::default()).unwrap();
    for (answer, expect) in [
        (
            "HTTP/1.1 302 Found\r\nLocation: http://169.254.169.254/\r\nContent-Length: 0\r\n\r\n",
            "invalid upgrade response: status code 302",
        ),
        ("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", "invalid upgrade response: status code 200"),
        (
            "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: other\r\n\r\n",
            "error dialing backend: the server switched to a protocol that was not asked for",
        ),
        ("", "error dialing backend: EOF"),
    ] {
        let (url, _seen) = raw_server(async move |stream: &mut TcpStream| {
            stream.write_all(answer.as_bytes()).await.unwrap();
            stream.shutdown().await.unwrap();
        })
        .await;
        match Proxy::new(&client, url).forward(request(Method::GET, &fields)).await {
            Err(error) => assert_eq!(error.to_string(), expect),
            Ok(_) => panic!("{answer}"),
        }
    }
    let proxy =
        Proxy { requires_upgrade: true, ..Proxy::new(&client, Url::parse("http://127.0.0.1:1/").unwrap()) };
    let refused = proxy.forward(request(Method::GET, &[])).await;
    assert!(matches!(refused, Err(Error::UpgradeRequired)));
    let mut sent = request(Method::GET, &fields);
    sent.can_upgrade = false;
    assert!(matches!(proxy.forward(sent).await, Err(Error::UpgradeRequired)));
    let unreachable = proxy.forward(request(Method::GET, &fields)).await.err().unwrap().to_string();
    assert_eq!(unreachable, "error dialing backend: dial tcp 127.0.0.1:1: connect: connection refused");
}

#[tokio::test]
async fn an_endless_refusal_is_cut_off() {
    let large = format!("{:x}\r\n{}\r\n", 2 << 20, "x".repeat(2 << 20));
    for (chunk, expect) in [
        ("5\r\nhello\r\n", "context deadline exceeded"),
        ("", "context deadline exceeded"),
        (&large, "the answer is longer than 1048576 bytes"),
    ] {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = Url::parse(&format!("http://{}/", listener.local_addr().unwrap())).unwrap();
        let (chunk, sends) = (chunk.to_owned(), !chunk.is_empty());
        let server = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut request = [0; 1024];
            assert!(stream.read(&mut request).await.unwrap() > 0);
            let head = "HTTP/1.1 500 Oops\r\nTransfer-Encoding: chunked\r\n\r\n";
            stream.write_all(head.as_bytes()).await.unwrap();
            while stream.write_all(chunk.as_bytes()).await.is_ok() {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        });
        let client = Client::of_any(ClientOptions::default()).unwrap();
        let fields = [("connection", "Upgrade"), ("upgrade", "websocket")];
        let proxy = Proxy { refusal: Duration::from_millis(500), ..Proxy::new(&client, url) };
        let answer = response(proxy.forward(request(Method::GET, &fields)).await);
        let error = answer.into_body().collect().await.unwrap_err().to_string();
        assert!(error.contains(expect), "{error}");
        if sends {
            timeout(Duration::from_secs(5), server).await.expect("the connection is closed").unwrap();
        }
    }
}
