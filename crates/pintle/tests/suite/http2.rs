//! HTTP/2 clients that try to cost more than they pay. Each is bounded, and others do not notice.

use http::Method;

use crate::support::frames::{
    CONTINUATION, DATA, END_HEADERS, END_STREAM, GOAWAY, HEADERS, PING, REFUSED_STREAM, RST_STREAM, Raw,
    SETTINGS, frame, get,
};
use crate::support::{Launch, Server};

/// Limit of the memory that an attack leaves behind: far less than it sent or asked for.
const MEMORY: u64 = 32 << 20;

/// Runs an attack and sees that the server is as before.
async fn survives(server: &Server, attack: impl AsyncFnOnce()) {
    server.admin().http2().get("/metrics").await;
    let before = server.resident();
    attack().await;
    for client in [server.client(), server.client().http2()] {
        client.get("/healthz").await.is(200, "ok");
    }
    let grown = server.resident().saturating_sub(before);
    assert!(grown < MEMORY, "{} MB more", grown >> 20);
}

#[tokio::test]
async fn a_hand_made_request_is_answered() {
    let server = Launch::new().start().await;
    let mut raw = Raw::open(server.client()).await;
    assert!(raw.send(&frame(HEADERS, END_HEADERS | END_STREAM, 1, &get("/healthz"))).await);
    let body = raw.until(|frame| frame.kind == DATA).await.expect("an answer");
    assert_eq!((body.stream, body.payload.as_slice()), (1, &b"ok"[..]));
}

#[tokio::test]
async fn streams_reset_as_fast_as_they_are_opened_end_the_connection() {
    let server = Launch::new().start().await;
    survives(&server, async || {
        let mut raw = Raw::open(server.admin()).await;
        let mut taken = true;
        for burst in 0..200_u32 {
            let mut bytes = Vec::new();
            for number in 0..100 {
                let stream = (burst * 100 + number) * 2 + 1;
                bytes.extend(frame(HEADERS, END_HEADERS | END_STREAM, stream, &get("/readyz")));
                bytes.extend(frame(RST_STREAM, 0, stream, &8_u32.to_be_bytes()));
            }
            taken = raw.send(&bytes).await;
            if !taken {
                break;
            }
        }
        assert!(!taken || raw.until(|frame| frame.kind == GOAWAY).await.is_some(), "it was not put up with");
    })
    .await;
}

#[tokio::test]
async fn headers_without_end_are_cut_off() {
    let server = Launch::new().start().await;
    survives(&server, async || {
        let mut raw = Raw::open(server.client()).await;
        let mut first = get("/healthz");
        // A literal header with a name of one byte and a value that never ends.
        first.extend([0x00, 0x01, b'x', 0x01, b'y']);
        let mut taken = raw.send(&frame(HEADERS, END_STREAM, 1, &first)).await;
        let filler: Vec<u8> = [0x00, 0x01, b'x', 0x01, b'y'].repeat(3000);
        let mut sent = 0_usize;
        while taken && sent < 64 << 20 {
            taken = raw.send(&frame(CONTINUATION, 0, 1, &filler)).await;
            sent += filler.len();
        }
        assert!(!taken, "64 MB of headers were taken");
    })
    .await;
}

#[tokio::test]
async fn a_header_list_over_the_limit_is_refused() {
    let server = Launch::new().start().await;
    survives(&server, async || {
        let value = "v".repeat(1 << 16);
        let names: Vec<String> = (0..32).map(|number| format!("x-{number}")).collect();
        let headers: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), value.as_str())).collect();
        let mut connection = server.admin().http2().connect().await.expect("connect");
        // To reset the stream is as good an answer.
        if let Ok(answer) = connection.send(Method::GET, "/healthz", &headers, "").await {
            assert_eq!(answer.code, 431, "{answer:?}");
        }
    })
    .await;
}

#[tokio::test]
async fn streams_beyond_the_limit_are_refused() {
    let server = Launch::new().args(&["--http2-max-streams-per-connection=10"]).start().await;
    let mut raw = Raw::open(server.admin()).await;
    let settings = raw.until(|frame| frame.kind == SETTINGS && frame.flags == 0).await.expect("settings");
    assert_eq!(settings.max_concurrent_streams(), Some(10));
    let burst: Vec<u8> =
        (0..200).flat_map(|number| frame(HEADERS, END_HEADERS, number * 2 + 1, &get("/readyz"))).collect();
    survives(&server, async || {
        assert!(raw.send(&burst).await);
        let refused =
            raw.until(|frame| frame.kind == RST_STREAM && frame.error_code() == REFUSED_STREAM).await;
        assert!(refused.is_some(), "no stream was refused");
    })
    .await;
}

#[tokio::test]
async fn pings_that_are_never_read_pile_up_nowhere() {
    let server = Launch::new().start().await;
    survives(&server, async || {
        let mut raw = Raw::open(server.client()).await;
        let burst = frame(PING, 0, 0, &[7; 8]).repeat(10_000);
        let mut sent = 0_usize;
        while sent < 32 << 20 && raw.send(&burst).await {
            sent += burst.len();
        }
    })
    .await;
}

#[tokio::test]
async fn frames_against_the_rules_end_only_their_connection() {
    let server = Launch::new().start().await;
    survives(&server, async || {
        for bytes in [
            frame(DATA, 0, 1, b"data for a stream that is not there"),
            frame(HEADERS, END_HEADERS, 2, &get("/")),
            frame(HEADERS, END_HEADERS, 1, &[0xff; 100]),
            frame(CONTINUATION, END_HEADERS, 1, &[]),
            frame(SETTINGS, 0, 0, &[1, 2, 3]),
            frame(PING, 0, 0, &[1]),
            frame(0xfe, 0xff, u32::MAX, &[0; 20]),
            [0xff; 64].to_vec(),
        ] {
            let mut raw = Raw::open(server.client()).await;
            raw.send(&bytes).await;
            raw.send(&frame(PING, 0, 0, &[0; 8])).await;
            raw.until(|frame| frame.kind == GOAWAY || (frame.kind == PING && frame.flags == 1)).await;
        }
    })
    .await;
}

/// Some clients forget an answer that was followed by a reset of its stream while they were sending.
#[tokio::test]
async fn a_refusal_during_the_body_is_answered_without_reset() {
    let server = Launch::new().start().await;
    let mut raw = Raw::open(server.client()).await;
    // :method POST in place of GET, and no credentials.
    let mut headers = get("/api/v1/namespaces");
    headers[0] = 0x83;
    assert!(raw.send(&frame(HEADERS, END_HEADERS, 1, &headers)).await);
    tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    assert!(raw.send(&frame(DATA, END_STREAM, 1, b"{}")).await);
    let answered = raw.until(|frame| frame.kind == DATA && frame.flags & END_STREAM != 0).await;
    assert_eq!(answered.map(|frame| frame.stream), Some(1));
    // A reset of the stream would arrive before the answer to this ping.
    assert!(raw.send(&frame(PING, 0, 0, &[7; 8])).await);
    let next = raw.until(|frame| frame.kind == RST_STREAM || frame.kind == PING && frame.flags == 1).await;
    assert_eq!(next.map(|frame| frame.kind), Some(PING));
}
