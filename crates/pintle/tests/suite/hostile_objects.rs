//! Objects, names and queries as attackers and broken clients send them, to resources. Each has its answer, and costs no
//! more than it should.

use std::time::{Duration, Instant};

use http::Method;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::hostile::{codes, exchange};
use crate::support::client::Connection;
use crate::support::{Answer, Client, Launch, PATIENCE, Server};

const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const JSON: &str = "application/json";
const YAML: &str = "application/yaml";
const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";
const CBOR: &str = "application/cbor";
/// How deep the deepest documents are.
const DEPTH: usize = 100_000;
/// The most that a body may have.
const LIMIT: usize = 3 * 1024 * 1024;
const UNRECOGNIZED: &str = "the object provided is unrecognized (must be of type ConfigMap): ";

async fn started(args: &[&str]) -> Server {
    let server = Launch::new().args(args).start().await;
    server.until_it_has_namespaces().await;
    server
}

async fn post(client: &Client, media_type: &str, body: impl Into<bytes::Bytes>) -> Answer {
    client.request(Method::POST, MAPS, &[("content-type", media_type)], body).await
}

fn message(answer: &Answer) -> String {
    answer.json()["message"].as_str().unwrap_or_default().to_owned()
}

/// A map that has something else at the end.
fn map_with(name: &str, rest: &[u8]) -> Vec<u8> {
    let mut text =
        format!(r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"{name}"}},"x":"#).into_bytes();
    text.extend_from_slice(rest);
    text.push(b'}');
    text
}

fn nested(open: &str, inner: &str, close: &str, depth: usize) -> Vec<u8> {
    [open.repeat(depth), inner.to_owned(), close.repeat(depth)].concat().into_bytes()
}

/// A message in messages: each is field 15 of the one around it.
fn nested_message(depth: usize) -> Vec<u8> {
    let mut lengths = vec![0_usize];
    let varint = |mut value: usize| {
        let mut out = Vec::new();
        while value > 127 {
            out.push((value & 127) as u8 | 128);
            value >>= 7;
        }
        out.push(value as u8);
        out
    };
    for level in 0..depth {
        lengths.push(lengths[level] + 1 + varint(lengths[level]).len());
    }
    let mut out = Vec::new();
    for level in (0..depth).rev() {
        out.push(0x7a);
        out.extend(varint(lengths[level]));
    }
    out
}

fn enveloped(raw: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    pintle_codec::protobuf::envelope::write("v1", "ConfigMap", raw, &mut out);
    out
}

#[tokio::test]
async fn nothing_is_smuggled_behind_an_object() {
    let server = started(&[]).await;
    let admin = server.admin();
    let object = r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"generateName":"seen-"}}"#;
    let hidden = r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"smuggled"}}"#;
    let line = format!("POST {MAPS} HTTP/1.1\r\nHost: a\r\nContent-Type: {JSON}\r\n");
    let hidden = format!("{line}Content-Length: {}\r\n\r\n{hidden}", hidden.len());
    let length = object.len();
    let chunked = format!("{length:x}\r\n{object}\r\n0\r\n\r\n{hidden}");
    let chunk = "Transfer-Encoding: chunked\r\n";
    for (headers, body, expect) in [
        (
            format!("Content-Length: {length}\r\nContent-Length: 3\r\n"),
            format!("{object}{hidden}"),
            &["400"][..],
        ),
        (format!("Content-Length: {length}, 3\r\n"), format!("{object}{hidden}"), &["400"]),
        (format!("Content-Length: 3\r\n{chunk}"), chunked.clone(), &["201"]),
        (format!("{chunk}Content-Length: 3\r\n"), chunked.clone(), &["201"]),
        (format!("{chunk}{chunk}"), chunked.clone(), &["501"]),
        ("Transfer-Encoding: chunked, chunked\r\n".into(), chunked.clone(), &["501"]),
        ("Transfer-Encoding: identity, chunked\r\n".into(), chunked.clone(), &["501"]),
        ("Transfer-Encoding: identity\r\n".into(), format!("{object}{hidden}"), &["400"]),
        (format!("X: a\r\n b\r\nContent-Length: {length}\r\n"), format!("{object}{hidden}"), &["400"]),
        (format!("X: a\rb\r\nContent-Length: {length}\r\n"), format!("{object}{hidden}"), &["400"]),
        (format!("Expect: tea\r\nContent-Length: {length}\r\n"), format!("{object}{hidden}"), &["417"]),
        (chunk.into(), format!("zz\r\n{object}\r\n0\r\n\r\n{hidden}"), &["500"]),
        (chunk.into(), format!("{length:x}\r\n{object}XX0\r\n\r\n{hidden}"), &["500"]),
        (chunk.into(), format!("{length:x}\n{object}\n0\n\n{hidden}"), &["500"]),
    ] {
        let answer = exchange(&server, format!("{line}{headers}\r\n{body}").as_bytes()).await;
        assert_eq!(codes(&answer), expect, "{headers:?}: {answer}");
        let found = admin.get(&format!("{MAPS}/smuggled")).await;
        assert_eq!(found.code, 404, "{headers:?}");
    }
    let bare = format!("{line}Content-Length: {length}\r\n\r\n").replace("\r\n", "\n");
    assert_eq!(codes(&exchange(&server, format!("{bare}{object}").as_bytes()).await), ["201"]);
}

#[tokio::test]
async fn names_do_not_lead_elsewhere() {
    let server = started(&[]).await;
    let admin = server.admin();
    let nothing = "the server could not find the requested resource";
    for (path, code, expect) in [
        ("/api/v1/namespaces/../..", 404, nothing),
        ("/api/v1/namespaces/default/../default/configmaps", 404, nothing),
        ("/api/v1/namespaces/%2e%2e/configmaps", 500, r#"invalid key: "/configmaps/..""#),
        ("/api/v1/namespaces/./services", 500, r#"invalid key: "/services/specs/.""#),
        ("/api/v1/namespaces/../configmaps/a", 500, r#"invalid key: "/configmaps/../a""#),
        ("/api/v1/namespaces/../configmaps?watch=1", 500, r#"invalid key: "/configmaps/..""#),
        ("/api/v1/namespaces/default/configmaps/..", 400, r#"Name parameter invalid: "..": may not be '..'"#),
        ("/api/v1/namespaces/default/configmaps/%2E", 400, r#"Name parameter invalid: ".": may not be '.'"#),
        (
            "/api/v1/namespaces/default/configmaps/a%25",
            400,
            r#"Name parameter invalid: "a%": may not contain '%'"#,
        ),
        ("/api/v1/namespaces/default/configmaps/a%2Fb", 404, nothing),
        ("/api/v1/namespaces/default/configmaps/a%00b", 404, r#"configmaps "a\x00b" not found"#),
        ("/api/v1//namespaces", 404, nothing),
        ("/api/v1/namespaces/default/configmaps/a/status", 404, nothing),
    ] {
        let answer = admin.get(path).await;
        assert_eq!((answer.code, message(&answer).as_str()), (code, expect), "{path}");
    }
    for path in ["/api/v1/namespaces/default%2Fconfigmaps", "/api/v1/namespaces/default/configmaps/%2F"] {
        assert_eq!(admin.get(path).await.json()["kind"], "ConfigMapList", "{path}");
    }
    for (name, code) in [("..", 422), ("a/b", 422), ("a\\u0000", 422), ("A", 422)] {
        let body = format!(r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"{name}"}}}}"#);
        assert_eq!(post(&admin, JSON, body).await.code, code, "{name}");
    }
}

#[tokio::test]
async fn parameters_that_are_malformed_are_not_there() {
    let server = started(&[]).await;
    let admin = server.admin();
    for query in ["limit=%zz", "limit=abc;", "labelSelector=a=b=c;x&limit=1", "%=1&%zz=2", "&&&=&", "limit="]
    {
        assert_eq!(admin.get(&format!("{MAPS}?{query}")).await.code, 200, "{query}");
    }
    for (query, code) in [
        ("limit=abc", 400),
        ("labelSelector=%FF", 400),
        ("labelSelector=a%3Db%3Dc", 400),
        ("fieldSelector=metadata.name%3D%FF", 200),
        ("fieldSelector=nope%3Da", 400),
        ("continue=abc", 400),
        ("continue=%FF%FE", 400),
        // A token that leads out of its list.
        ("continue=eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MSwic3RhcnQiOiIvLi4vLi4ifQ", 400),
        ("continue=eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MCwic3RhcnQiOiJhIn0", 400),
        ("resourceVersion=-1", 400),
        ("resourceVersion=99999999999999999999999", 400),
    ] {
        let answer = admin.get(&format!("{MAPS}?{query}")).await;
        assert_eq!(answer.code, code, "{query}: {answer:?}");
    }
}

#[tokio::test]
async fn huge_queries_are_answered_or_refused() {
    let server = started(&[]).await;
    let before = server.resident();
    let many = |term: &str, size: usize| term.repeat(size / term.len());
    for client in [server.admin(), server.admin().http2()] {
        let mut connection = client.connect().await.expect("connect");
        for (query, code) in [
            (format!("labelSelector={}z", many("a%2C", 60_000)), 200),
            (format!("labelSelector=a+in+({}z)", many("b%2C", 60_000)), 200),
            (format!("fieldSelector={}metadata.name%3Dz", many("metadata.name%3Da%2C", 60_000)), 200),
            (format!("x={}", many("y", 60_000)), 200),
            (format!("continue={}", many("A", 60_000)), 400),
        ] {
            let answer = connection.get(&format!("{MAPS}?{query}")).await.expect("an answer");
            assert_eq!(answer.code, code, "{}: {}", &query[..20], &answer.body[..answer.body.len().min(200)]);
        }
    }
    // More than a library below takes; the reference has room for 1 MB.
    let line = format!("GET {MAPS}?x={} HTTP/1.1\r\nHost: a\r\n\r\n", "y".repeat(1 << 20));
    let answer = exchange(&server, line.as_bytes()).await;
    assert!(answer.is_empty() || codes(&answer) == ["414"] || codes(&answer) == ["431"], "{answer}");
    assert!(server.resident().saturating_sub(before) < 32 << 20);
}

#[tokio::test]
async fn headers_over_a_megabyte_are_refused() {
    let server = started(&[]).await;
    let ask =
        |length: usize| format!("GET /version HTTP/1.1\r\nHost: a\r\nX: {}\r\n\r\n", "a".repeat(length));
    assert_eq!(codes(&exchange(&server, ask(900_000).as_bytes()).await), ["200"]);
    let answer = exchange(&server, ask(1_200_000).as_bytes()).await;
    assert!(answer.is_empty() || codes(&answer) == ["431"], "{}", &answer[..answer.len().min(300)]);
}

#[tokio::test]
async fn deep_documents_are_refused_in_every_encoding() {
    let server = started(&["--feature-gates=CBORServingAndStorage=true"]).await;
    let before = server.resident();
    let yaml = |rest: &str| {
        format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: y}}\nx: {rest}").into_bytes()
    };
    let block: String = (1..1500).map(|level| format!("{}a:\n", " ".repeat(level))).collect();
    for client in [server.admin(), server.admin().http2()] {
        for (media_type, body, expect) in [
            (JSON, map_with("a", &nested("[", "", "]", DEPTH)), "exceeded max depth"),
            (JSON, map_with("a", &nested("{\"a\":", "1", "}", DEPTH)), "exceeded max depth"),
            (JSON, map_with("a", &nested("[{\"a\":", "1", "}]", DEPTH)), "exceeded max depth"),
            (JSON, nested("[", "", "", DEPTH), "exceeded max depth"),
            (
                YAML,
                yaml(&String::from_utf8(nested("[", "", "]", DEPTH)).expect("text")),
                "exceeded max depth",
            ),
            (
                YAML,
                yaml(&String::from_utf8(nested("{a: ", "1", "}", DEPTH)).expect("text")),
                "exceeded max depth",
            ),
            (YAML, yaml(&format!("\n{block}")), "exceeded max depth"),
            (CBOR, [&[0xd9, 0xd9, 0xf7][..], &[0x81; DEPTH], &[0]].concat(), ""),
            (CBOR, [&[0xd9, 0xd9, 0xf7][..], &[0x9f; DEPTH]].concat(), ""),
        ] {
            let answer = post(&client, media_type, body).await;
            assert_eq!(answer.code, 400, "{media_type}: {answer:?}");
            let message = message(&answer);
            assert!(message.starts_with(UNRECOGNIZED) && message.contains(expect), "{media_type}: {message}");
        }
        // Unknown fields of a protobuf message are skipped at any depth; known fields are never deep.
        let answer = post(&client, PROTOBUF, enveloped(&nested_message(DEPTH))).await;
        assert_eq!(answer.code, 422, "{answer:?}");
    }
    for (method, name) in [(Method::PUT, "a"), (Method::DELETE, "a"), (Method::DELETE, "")] {
        let path = format!("{MAPS}/{name}");
        let body = map_with("a", &nested("[", "", "]", DEPTH));
        let answer = server.admin().request(method, &path, &[("content-type", JSON)], body).await;
        assert_eq!(answer.code, 400, "{path}: {answer:?}");
    }
    // A kind that can hold itself: schemas in schemas.
    let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    let schema = String::from_utf8(nested(r#"{"not":"#, "{}", "}", DEPTH / 4)).expect("text");
    let body = format!(
        r#"{{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{{"name":"a.b"}},"spec":{{"versions":[{{"name":"v1","schema":{{"openAPIV3Schema":{schema}}}}}]}}}}"#
    );
    let headers = [("content-type", JSON)];
    let answer = server.admin().request(Method::POST, path, &headers, body).await;
    assert_eq!(answer.code, 400, "{}", &answer.body[..300]);
    assert!(server.resident().saturating_sub(before) < 64 << 20);
}

#[tokio::test]
async fn broken_documents_are_refused_in_every_encoding() {
    let server = started(&[]).await;
    let admin = server.admin();
    let bomb: String = ('b'..='i')
        .zip('a'..)
        .map(|(name, of)| format!("{name}: &{name} [{}]\n", vec![format!("*{of}"); 9].join(",")))
        .collect();
    for (media_type, body, expect) in [
        (
            JSON,
            b"".to_vec(),
            "couldn't get version/kind; json parse error: unexpected end of JSON input (<empty>)",
        ),
        (
            JSON,
            b"{".to_vec(),
            "couldn't get version/kind; json parse error: unexpected end of JSON input ({)",
        ),
        (JSON, b"\xff\xfe".to_vec(), "couldn't get version/kind; json parse error: "),
        (
            JSON,
            b"{\"kind\":\"\0\"}".to_vec(),
            "couldn't get version/kind; json parse error: invalid character '\\x00' in string literal",
        ),
        (
            YAML,
            format!("a: &a [x,x,x,x,x,x,x,x,x]\n{bomb}").into_bytes(),
            "yaml: document contains excessive aliasing",
        ),
        (
            PROTOBUF,
            b"\x0a\x0a\x0a".to_vec(),
            "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]",
        ),
        (PROTOBUF, b"k8s\0\x0a\xff\xff\xff\xff\x0f".to_vec(), "unexpected EOF"),
        (PROTOBUF, [&b"k8s\0"[..], &[0xff; 100]].concat(), "proto: integer overflow"),
    ] {
        let answer = post(&admin, media_type, body).await;
        assert_eq!(answer.code, 400, "{answer:?}");
        let message = message(&answer);
        assert!(message.starts_with(&format!("{UNRECOGNIZED}{expect}")), "{message}");
    }
    assert_eq!(post(&admin, CBOR, vec![0xa0]).await.code, 415);
    assert_eq!(post(&admin, "nonsense;;;=", "{}").await.code, 415);
    let body = [&b"{\"metadata\":{\"name\":\"bytes\"},\"data\":{\"a\":\"\xff\xfe\"}}"[..]].concat();
    let answer = post(&admin, JSON, body).await;
    assert_eq!((answer.code, answer.json()["data"]["a"].as_str()), (201, Some("\u{fffd}\u{fffd}")));
}

#[tokio::test]
async fn a_body_has_three_megabytes_at_most() {
    let server = started(&[]).await;
    let before = server.resident();
    for client in [server.admin(), server.admin().http2()] {
        for _ in 0..5 {
            let answer = post(&client, JSON, vec![b' '; LIMIT + 1]).await;
            answer.is_status(413, "RequestEntityTooLarge", "Request entity too large: limit is 3145728");
            assert_eq!(post(&client, JSON, vec![b' '; LIMIT]).await.code, 400, "as long as it may be");
        }
        let path = format!("{MAPS}/a");
        let headers = [("content-type", JSON)];
        for method in [Method::PUT, Method::DELETE] {
            let answer = client.request(method, &path, &headers, vec![b' '; LIMIT + 1]).await;
            assert_eq!(answer.code, 413, "{answer:?}");
        }
    }
    let line = format!(
        "POST {MAPS} HTTP/1.1\r\nHost: a\r\nContent-Type: {JSON}\r\nTransfer-Encoding: chunked\r\n\r\n"
    );
    let chunk = format!("10000\r\n{}\r\n", " ".repeat(0x10000));
    let answer = exchange(&server, format!("{line}{}0\r\n\r\n", chunk.repeat(64)).as_bytes()).await;
    assert!(answer.is_empty() || codes(&answer) == ["413"], "{answer}");
    assert!(server.resident().saturating_sub(before) < 64 << 20, "{}", server.resident() - before);
}

#[tokio::test]
async fn a_body_that_does_not_come_is_not_waited_for_long() {
    let server = started(&["--request-timeout=1s"]).await;
    let mut stream = server.admin().tls().await.expect("a handshake");
    let line =
        format!("POST {MAPS} HTTP/1.1\r\nHost: a\r\nContent-Type: {JSON}\r\nContent-Length: 100\r\n\r\n{{");
    let start = Instant::now();
    stream.write_all(line.as_bytes()).await.expect("sent");
    let mut answer = Vec::new();
    let mut chunk = [0; 4096];
    loop {
        let read =
            tokio::time::timeout(Duration::from_secs(10), stream.read(&mut chunk)).await.expect("an answer");
        match read {
            Ok(length @ 1..) => answer.extend(&chunk[..length]),
            _ => break,
        }
    }
    let answer = String::from_utf8_lossy(&answer);
    assert_eq!(codes(&answer), ["504"], "{answer}");
    assert!(start.elapsed() < Duration::from_secs(8), "{:?}", start.elapsed());
}

#[tokio::test]
async fn a_body_that_ends_early_is_no_object() {
    let server = started(&[]).await;
    let object = r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"early"}}"#;
    let line = format!("POST {MAPS} HTTP/1.1\r\nHost: a\r\nContent-Type: {JSON}\r\n");
    for rest in [
        format!("Content-Length: {}\r\n\r\n{object}", object.len() + 1),
        format!("Transfer-Encoding: chunked\r\n\r\n{:x}\r\n{object}\r\n", object.len()),
        format!("Transfer-Encoding: chunked\r\n\r\n{:x}\r\n{object}", object.len() + 1),
        format!("Transfer-Encoding: chunked\r\n\r\n{:x}\r\n{object}\r\n0\r\n", object.len()),
    ] {
        let mut stream = server.admin().tls().await.expect("a handshake");
        stream.write_all(format!("{line}{rest}").as_bytes()).await.expect("sent");
        stream.shutdown().await.expect("the end");
        let mut answer = String::new();
        let _ = tokio::time::timeout(PATIENCE, stream.read_to_string(&mut answer)).await.expect("an end");
        assert!(answer.is_empty() || codes(&answer) == ["500"], "{rest:?}: {answer}");
        assert_eq!(server.admin().get(&format!("{MAPS}/early")).await.code, 404, "{rest:?}");
    }
}

#[tokio::test]
async fn messages_about_an_object_are_limited() {
    let server = started(&[]).await;
    let fields: String = (0..5000).map(|number| format!(",\"f{number}\":1")).collect();
    let body = format!(r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"odd"}}{fields}}}"#);
    // More headers than most clients read.
    let line = format!(
        "POST {MAPS} HTTP/1.1\r\nHost: a\r\nContent-Type: {JSON}\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    let answer = exchange(&server, format!("{line}{body}").as_bytes()).await;
    assert_eq!(codes(&answer), ["201"]);
    let told: usize = answer.lines().filter(|line| line.starts_with("warning: ")).map(str::len).sum();
    assert!((1000..16 * 1024).contains(&told), "{told}");
    let headers = [("content-type", JSON)];
    let path = format!("{MAPS}?fieldValidation=Strict");
    let answer = server.admin().request(Method::POST, &path, &headers, body).await;
    assert_eq!(answer.code, 400);
}

async fn attack(connection: &mut Connection, number: usize) -> u16 {
    let headers = [("content-type", [JSON, YAML, PROTOBUF][number % 3])];
    let many = |text: &str, count: usize| text.repeat(count);
    let (path, body): (String, Vec<u8>) = match number % 8 {
        0 => (MAPS.into(), map_with("a", &nested("[", "", "]", DEPTH / 4))),
        1 => (MAPS.into(), vec![b' '; if number % 80 == 1 { LIMIT } else { 100_000 }]),
        2 => (MAPS.into(), many("a: [", 50_000).into_bytes()),
        3 => (MAPS.into(), enveloped(&nested_message(20_000))),
        4 => (format!("{MAPS}?labelSelector={}z", many("a%2C", 10_000)), Vec::new()),
        5 => (format!("{MAPS}/{}", many("%2e%2e%2f", 5_000)), Vec::new()),
        6 => (MAPS.into(), map_with("a", many("\u{fffd}", 20_000).as_bytes())),
        _ => (format!("{MAPS}?continue={}", many("QUFB", 10_000)), Vec::new()),
    };
    let method = if matches!(number % 8, 4 | 5 | 7) { Method::GET } else { Method::POST };
    connection.send(method, &path, &headers, body).await.map_or(0, |answer| answer.code)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_thousand_bad_requests_leave_nothing_behind() {
    let server = started(&[]).await;
    // Warms up the server, so that memory it allocates once is not counted.
    let mut connection = server.admin().connect().await.expect("connect");
    for number in 0..24 {
        attack(&mut connection, number).await;
    }
    let before = server.resident();
    let mut attackers = tokio::task::JoinSet::new();
    for attacker in 0..4 {
        let client = if attacker % 2 == 0 { server.admin() } else { server.admin().http2() };
        attackers.spawn(async move {
            let mut connection = client.connect().await.expect("connect");
            for number in 0..250 {
                let code = attack(&mut connection, number + attacker).await;
                if code == 0 {
                    // Closed in between; not refused for good.
                    connection = client.connect().await.expect("connect");
                }
                assert!(code == 0 || (200..500).contains(&code), "{number}: {code}");
            }
        });
    }
    attackers.join_all().await;
    server.client().get("/healthz").await.is(200, "ok");
    let grown = server.resident().saturating_sub(before);
    assert!(grown < 64 << 20, "{} MB more", grown >> 20);
}
