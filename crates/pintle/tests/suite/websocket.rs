//! Watches over WebSockets, with a client that is not ours.

use std::time::Duration;

use bytes::Bytes;
use futures_util::{SinkExt, StreamExt};
use http::{Method, Request};
use pintle_codec::{json, kind};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;
use tokio_tungstenite::tungstenite::handshake::client::generate_key;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{WebSocketStream, client_async};

use crate::support::{Launch, PATIENCE, Server, eventually};

const MAPS: &str = "/api/v1/namespaces/default/configmaps";

type Socket = WebSocketStream<TlsStream<TcpStream>>;

async fn started() -> Server {
    let server = Launch::new().start().await;
    server.until_it_has_namespaces().await;
    server
}

async fn create(server: &Server, name: &str, size: usize) {
    let object = json!({"metadata": {"name": name}, "data": {"text": "x".repeat(size)}}).to_string();
    let headers = [("content-type", "application/json")];
    assert_eq!(server.admin().request(Method::POST, MAPS, &headers, object).await.code, 201);
}

async fn try_open(server: &Server, query: &str, headers: &[(&str, &str)]) -> Result<Socket, Error> {
    let mut request = Request::get(format!("wss://127.0.0.1{MAPS}?watch=1{query}"))
        .header("host", "127.0.0.1")
        .header("connection", "Upgrade")
        .header("upgrade", "websocket")
        .header("sec-websocket-version", "13")
        .header("sec-websocket-key", generate_key());
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let stream = server.admin().tls().await.expect("a handshake");
    let opened = client_async(request.body(()).expect("a request"), stream).await;
    opened.map(|(socket, answer)| {
        assert_eq!(answer.status().as_u16(), 101);
        socket
    })
}

async fn open(server: &Server, query: &str, headers: &[(&str, &str)]) -> Socket {
    let headers = [&[("origin", "https://example.com")], headers].concat();
    try_open(server, query, &headers).await.expect("a WebSocket")
}

async fn next(socket: &mut Socket) -> Message {
    let message = tokio::time::timeout(PATIENCE, socket.next()).await.expect("a message in time");
    message.expect("a message").expect("no error")
}

/// An event in JSON, by its type and the name of its object.
fn event(message: Message) -> (String, String) {
    let Message::Text(text) = message else { panic!("not text: {message:?}") };
    assert!(text.ends_with("}\n"), "a line, as in a stream: {text}");
    let event: Value = serde_json::from_str(&text).expect("JSON");
    let text = |value: &Value| value.as_str().expect("text").to_owned();
    (text(&event["type"]), text(&event["object"]["metadata"]["name"]))
}

fn added(name: &str) -> (String, String) {
    ("ADDED".into(), name.into())
}

#[tokio::test]
async fn every_event_is_a_message() {
    let server = started().await;
    for name in ["a", "b", "c"] {
        create(&server, name, 10).await;
    }
    let mut socket = open(&server, "", &[]).await;
    for name in ["a", "b", "c"] {
        assert_eq!(event(next(&mut socket).await), added(name));
    }
    create(&server, "d", 200_000).await;
    assert_eq!(event(next(&mut socket).await), added("d"));
    socket.close(None).await.expect("closed");
}

#[tokio::test]
async fn the_end_of_initial_events_is_a_message_of_its_own() {
    let server = started().await;
    create(&server, "a", 10).await;
    let query = "&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";
    let mut socket = open(&server, query, &[]).await;
    assert_eq!(event(next(&mut socket).await), added("a"));
    let Message::Text(text) = next(&mut socket).await else { panic!("not text") };
    let bookmark: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(bookmark["object"]["metadata"]["annotations"]["k8s.io/initial-events-end"], "true");
}

#[tokio::test]
async fn protobuf_watch_frames_are_binary_without_length() {
    let server = started().await;
    create(&server, "a", 10).await;
    let accept = ("accept", "application/vnd.kubernetes.protobuf;stream=watch");
    let mut socket = open(&server, "", &[accept]).await;
    let Message::Binary(message) = next(&mut socket).await else { panic!("not binary") };
    let streamed = server.admin().follow(&format!("{MAPS}?watch=1"), &[accept]).await.frame().await;
    assert_eq!(Some(message.to_vec()), streamed);
    let start = message.windows(4).position(|window| window == b"k8s\0").expect("an object");
    let object = &message[start..];
    let decoded = kind::decode(kind::recognize(object), object, None).expect("an object");
    let mut text = Vec::new();
    json::encode(&decoded.decoded.value, &mut text);
    let object: Value = serde_json::from_slice(&text).expect("JSON");
    assert_eq!((&object["kind"], &object["metadata"]["name"]), (&json!("ConfigMap"), &json!("a")));
}

#[tokio::test]
async fn when_its_time_is_over_the_server_says_goodbye() {
    let server = started().await;
    let mut socket = open(&server, "&timeoutSeconds=1", &[]).await;
    let Message::Close(Some(close)) = next(&mut socket).await else { panic!("not closed") };
    assert_eq!(close.code, CloseCode::Normal);
}

#[tokio::test]
async fn pings_are_answered_and_words_ignored() {
    let server = started().await;
    let mut socket = open(&server, "", &[]).await;
    for message in [Message::text("hello"), Message::binary(vec![1, 2, 3]), Message::Ping("why".into())] {
        socket.send(message).await.expect("sent");
    }
    assert_eq!(next(&mut socket).await, Message::Pong("why".into()));
    create(&server, "a", 10).await;
    assert_eq!(event(next(&mut socket).await), added("a"));
}

#[tokio::test]
async fn more_than_anybody_has_to_say_ends_it() {
    let server = started().await;
    let before = server.resident();
    for size in [1 << 20, 30 << 20] {
        let mut socket = open(&server, "", &[]).await;
        let sent = socket.send(Message::Binary(Bytes::from(vec![0; size]))).await;
        let end = tokio::time::timeout(PATIENCE, socket.next()).await.expect("an end");
        match end {
            Some(Ok(Message::Close(Some(close)))) => assert_eq!(close.code, CloseCode::Size),
            Some(Err(_)) | None => {}
            other => panic!("{sent:?} {other:?}"),
        }
    }
    assert!(server.resident().saturating_sub(before) < 16 << 20);
}

#[tokio::test]
async fn a_client_that_stops_reading_is_let_go() {
    let server = started().await;
    let open_files = || std::fs::read_dir(format!("/proc/{}/fd", server.pid())).expect("its files").count();
    for number in 0..12 {
        create(&server, &format!("large-{number}"), 1_000_000).await;
    }
    server.admin().get("/healthz").await;
    eventually("quiet", async || open_files() < 64).await;
    let (files, memory) = (open_files(), server.resident());
    let mut stalled = Vec::new();
    for _ in 0..10 {
        stalled.push(open(&server, "&timeoutSeconds=1", &[]).await);
    }
    eventually("all are let go", async || open_files() <= files).await;
    assert!(server.resident().saturating_sub(memory) < 64 << 20, "{}", server.resident() - memory);
    drop(stalled);
}

#[tokio::test]
async fn a_shutdown_ends_it_with_a_goodbye() {
    let mut server = started().await;
    create(&server, "a", 10).await;
    let mut socket = open(&server, "", &[]).await;
    assert_eq!(event(next(&mut socket).await), added("a"));
    let ended = tokio::spawn(async move { next(&mut socket).await });
    let start = std::time::Instant::now();
    server.stop().await;
    assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
    assert!(matches!(ended.await.expect("no panic"), Message::Close(_)));
}

#[tokio::test]
async fn an_invalid_handshake_is_refused() {
    let server = started().await;
    let origin = ("origin", "https://example.com");
    for (headers, code) in [
        (&[][..], 403),
        (&[("origin", "null")][..], 403),
        (&[origin, ("sec-websocket-protocol", "a, b")][..], 400),
        (&[origin, ("accept", "application/yaml")][..], 406),
    ] {
        match try_open(&server, "", headers).await {
            Err(Error::Http(answer)) => assert_eq!(answer.status().as_u16(), code, "{headers:?}"),
            other => panic!("{headers:?}: {:?}", other.err()),
        }
    }
}
