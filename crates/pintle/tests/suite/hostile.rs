//! HTTP/1.1 as attackers and broken clients write it.

use std::time::Duration;

use http::Method;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::support::{Launch, Server, eventually};

/// Sends bytes and reads until the server closes, or has nothing more to say.
pub(crate) async fn exchange(server: &Server, bytes: &[u8]) -> String {
    let mut stream = server.admin().tls().await.expect("a handshake");
    let sending = async {
        let _ = stream.write_all(bytes).await;
        let _ = stream.flush().await;
    };
    tokio::time::timeout(Duration::from_secs(10), sending).await.expect("no endless sending");
    let mut answer = Vec::new();
    let mut chunk = [0; 4096];
    let quiet = Duration::from_millis(500);
    while let Ok(Ok(length @ 1..)) = tokio::time::timeout(quiet, stream.read(&mut chunk)).await {
        answer.extend(&chunk[..length]);
    }
    String::from_utf8_lossy(&answer).into_owned()
}

pub(crate) fn codes(answer: &str) -> Vec<&str> {
    answer.split("HTTP/1.1 ").skip(1).map(|rest| &rest[..3]).collect()
}

#[tokio::test]
async fn a_request_has_one_length_or_is_refused() {
    let server = Launch::new().start().await;
    let hidden = "GET /hidden HTTP/1.1\r\nHost: a\r\n\r\n";
    for headers in [
        "Content-Length: 5\r\nContent-Length: 6\r\n",
        "Content-Length: 5, 6\r\n",
        "Content-Length: -1\r\n",
        "Content-Length: +5\r\n",
        "Content-Length: 0x5\r\n",
        "Content-Length: 99999999999999999999\r\n",
        "Content-Length : 5\r\n",
        "Transfer-Encoding: xchunked\r\n",
        "Transfer-Encoding: chunked, identity\r\n",
        "Transfer-Encoding: chunked\r\n\tfolded: 1\r\n",
    ] {
        let request = format!("POST /version HTTP/1.1\r\nHost: a\r\n{headers}\r\n{hidden}");
        let answer = exchange(&server, request.as_bytes()).await;
        assert_eq!(codes(&answer), ["400"], "{headers:?}: {answer}");
    }
}

#[tokio::test]
async fn a_request_with_two_kinds_of_length_is_the_last_on_its_connection() {
    let server = Launch::new().start().await;
    let smuggled = "0\r\n\r\nGET /hidden HTTP/1.1\r\nHost: a\r\n\r\n";
    for headers in [
        format!("Content-Length: {}\r\nTransfer-Encoding: chunked\r\n", smuggled.len()),
        format!("Transfer-Encoding: chunked\r\nContent-Length: {}\r\n", smuggled.len()),
    ] {
        let request = format!("POST /version HTTP/1.1\r\nHost: a\r\n{headers}\r\n{smuggled}");
        let answer = exchange(&server, request.as_bytes()).await;
        assert_eq!(codes(&answer), ["405"], "one answer, to the request that is not hidden: {answer}");
    }
}

#[tokio::test]
async fn lines_that_are_no_request_are_bad_requests() {
    let server = Launch::new().start().await;
    for request in [
        "GET /\0 HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET / HTTP/9.9\r\nHost: a\r\n\r\n",
        "GET\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nBad\0Name: x\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nName: x\0y\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nno colon\r\n\r\n",
        "\x01\x02\x03\x04\r\n\r\n",
        "GET /%zz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
        "GET /a% HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
    ] {
        let answer = exchange(&server, request.as_bytes()).await;
        assert_eq!(codes(&answer), ["400"], "{request:?}: {answer}");
    }
    server.client().get("/healthz").await.is(200, "ok");
}

#[tokio::test]
async fn a_request_names_its_host_once() {
    let server = Launch::new().start().await;
    for (headers, reason) in
        [("", "missing required Host header"), ("Host: a\r\nHost: b\r\n", "too many Host headers")]
    {
        let answer = exchange(&server, format!("GET /healthz HTTP/1.1\r\n{headers}\r\n").as_bytes()).await;
        assert_eq!(codes(&answer), ["400"], "{answer}");
        assert!(answer.ends_with(&format!("400 Bad Request: {reason}")), "{answer}");
    }
    let old = exchange(&server, b"GET /healthz HTTP/1.0\r\n\r\n").await;
    assert!(old.contains(" 200 OK") && old.ends_with("ok"), "{old}");
}

#[tokio::test]
async fn requests_to_proxies_get_no_further_than_others() {
    let server = Launch::new().start().await;
    for (line, code) in [
        ("CONNECT example.com:443 HTTP/1.1", "404"),
        ("OPTIONS * HTTP/1.1", "404"),
        ("GET https://example.com/healthz HTTP/1.1", "200"),
        ("GET //healthz HTTP/1.1", "404"),
    ] {
        let answer =
            exchange(&server, format!("{line}\r\nHost: a\r\nConnection: close\r\n\r\n").as_bytes()).await;
        assert_eq!(codes(&answer), [code], "{line}: {answer}");
    }
}

#[tokio::test]
async fn encoded_paths_mean_what_they_decode_to() {
    let server = Launch::new().start().await;
    assert_eq!(server.admin().get("/%68ealthz").await.code, 200);
    for (path, expect) in [("/%00", "\\x00"), ("/a%0Ab", "a\\nb"), ("/%2e%2e/etc", "/../etc")] {
        let answer = server.client().get(path).await;
        assert_eq!(answer.code, 403, "{path}");
        let message = answer.json()["message"].as_str().unwrap_or_default().to_owned();
        assert!(message.contains(expect), "{path}: {message}");
    }
    assert_eq!(server.client().get("/healthz/../metrics").await.code, 403, "a path is not walked");
}

#[tokio::test]
async fn headers_beyond_the_limit_are_refused() {
    let server = Launch::new().start().await;
    let before = server.resident();
    let long_line = format!("GET /{} HTTP/1.1\r\nHost: a\r\n\r\n", "a".repeat(2 << 20));
    let long_value = format!("GET / HTTP/1.1\r\nHost: a\r\nX: {}\r\n\r\n", "a".repeat(2 << 20));
    let many: String = (0..20_000).map(|number| format!("x-{number}: y\r\n")).collect();
    let many = format!("GET / HTTP/1.1\r\nHost: a\r\n{many}\r\n");
    for request in [long_line, long_value, many] {
        let answer = exchange(&server, request.as_bytes()).await;
        // A connection that is closed under a client still sending may lose the answer.
        assert!(answer.is_empty() || codes(&answer) == ["431"] || codes(&answer) == ["414"], "{answer}");
    }
    server.client().get("/healthz").await.is(200, "ok");
    assert!(server.resident().saturating_sub(before) < 16 << 20);
}

#[tokio::test]
async fn as_many_headers_as_an_impersonator_with_many_groups_sends_are_fine() {
    let server = Launch::new().start().await;
    let headers = vec![("x-group", "a-group-of-a-large-organization"); 500];
    for client in [server.admin(), server.admin().http2()] {
        client.request(Method::GET, "/healthz", &headers, "").await.is(200, "ok");
    }
}

#[tokio::test]
async fn a_body_where_none_is_expected_is_not_kept() {
    let server = Launch::new().start().await;
    let before = server.resident();
    let body = vec![b'x'; 10 << 20];
    for client in [server.client(), server.admin().http2()] {
        for _ in 0..3 {
            let mut connection = client.connect().await.expect("connect");
            // The answer comes before the body has gone; a client that goes on sending may find the door closed.
            if let Ok(answer) = connection.send(Method::GET, "/healthz", &[], body.clone()).await {
                answer.is(200, "ok");
            }
        }
    }
    server.client().get("/healthz").await.is(200, "ok");
    assert!(server.resident().saturating_sub(before) < 16 << 20);
}

#[tokio::test]
async fn requests_in_a_row_on_one_connection_are_answered_in_order() {
    let server = Launch::new().start().await;
    let request = |path: &str| format!("GET {path} HTTP/1.1\r\nHost: a\r\n\r\n");
    let row = [request("/healthz"), request("/nope"), request("/version")].concat();
    assert_eq!(codes(&exchange(&server, row.as_bytes()).await), ["200", "404", "200"]);
}

#[tokio::test]
async fn many_silent_connections_do_not_keep_others_out() {
    let server = Launch::new().start().await;
    let mut silent = Vec::new();
    for _ in 0..200 {
        silent.push(tokio::net::TcpStream::connect(("127.0.0.1", server.port)).await.expect("connect"));
    }
    for client in [server.client(), server.client().http2()] {
        client.get("/healthz").await.is(200, "ok");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn connections_that_end_leave_nothing_behind() {
    let server = Launch::new().start().await;
    let open_files = || std::fs::read_dir(format!("/proc/{}/fd", server.pid())).expect("its files").count();
    server.admin().get("/metrics").await;
    eventually("quiet", async || open_files() < 64).await;
    let before = open_files();
    let mut clients = tokio::task::JoinSet::new();
    for number in 0..100 {
        let client = if number % 2 == 0 { server.admin() } else { server.admin().http2() };
        let port = server.port;
        clients.spawn(async move {
            client.get("/readyz").await.is(200, "ok");
            // Some leave in the middle of everything.
            let mut rude = client.tls().await.expect("a handshake");
            let _ = rude.write_all(b"GET /readyz HTTP/1.1\r\n").await;
            drop(tokio::net::TcpStream::connect(("127.0.0.1", port)).await);
        });
    }
    clients.join_all().await;
    eventually("all descriptors closed", async || open_files() <= before).await;
}
