//! Ends of commands, and sessions against a kubelet that a test plays.

use std::time::Duration;

use bytes::BytesMut;
use pintle_outbound::egress::BoxedStream;
use pintle_spdy::headers::Reader;
use pintle_spdy::{Decoder, Frame};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
use tokio::time::timeout;

use super::*;
use crate::websocket::decode::tests::client_frame;

#[test]
fn the_status_of_a_command_is_read_as_in_the_reference() {
    let read = |text: &str| Outcome::read("v4.channel.k8s.io", text.as_bytes());
    let exit = |details: &str| {
        read(&format!(r#"{{"status":"Failure","reason":"NonZeroExitCode","message":"m"{details}}}"#))
    };
    let causes =
        |code: &str| format!(r#","details":{{"causes":[{{"reason":"ExitCode","message":"{code}"}}]}}"#);
    let failed = |why: &str| Outcome::Failed(why.to_owned());
    assert_eq!(read(""), Outcome::Success);
    assert_eq!(read(r#"{"status":"Success"}"#), Outcome::Success);
    assert_eq!(exit(&causes("3")), Outcome::Exited(3));
    assert_eq!(exit(""), failed("error stream protocol error: details must be set"));
    assert_eq!(exit(r#","details":{}"#), failed("error stream protocol error: no ExitCode cause given"));
    let invalid = "error stream protocol error: invalid exit code value \"300\"";
    assert_eq!(exit(&causes("300")), failed(invalid));
    assert_eq!(read(r#"{"status":"Failure","message":"no such file"}"#), failed("no such file"));
    assert_eq!(read("{}"), failed("error stream protocol error: unknown error"));
    assert!(matches!(read("x"), Outcome::Failed(why) if why.starts_with("error stream protocol error: ")));
    let old = Outcome::read("v2.channel.k8s.io", b"went wrong");
    assert_eq!(old, failed("error executing remote command: went wrong"));
    let status: serde_json::Value = serde_json::from_str(&Outcome::Exited(3).status()).unwrap();
    assert_eq!(status["details"]["causes"][0]["message"], "3");
    let status: serde_json::Value = serde_json::from_str(&failed("x").status()).unwrap();
    assert_eq!(
        (status["code"].as_u64(), &status["message"]),
        (Some(500), &"Internal error occurred: x".into())
    );
}

const ALL: Options = Options { stdin: true, stdout: true, stderr: true, tty: false };

/// Starts a session. Returns the ends of the client and of the kubelet, and the outcome.
fn session(options: Options) -> (DuplexStream, DuplexStream, tokio::task::JoinHandle<Option<Outcome>>) {
    let (client, near_client) = duplex(1 << 10);
    let (kubelet, near_kubelet) = duplex(1 << 10);
    let running = tokio::spawn(async move {
        let near: BoxedStream = Box::new(near_client);
        let (reading, mut writing) = tokio::io::split(near);
        let session = Session {
            options,
            version: "v4.channel.k8s.io".into(),
            limits: StreamLimits { idle: Duration::from_secs(60), ..StreamLimits::default() },
        };
        session.run(reading, BytesMut::new(), &mut writing, Box::new(near_kubelet)).await
    });
    (client, kubelet, running)
}

async fn frames(kubelet: &mut DuplexStream, count: usize) -> Vec<Frame> {
    let (mut decoder, mut arrived, mut frames) = (Decoder::default(), BytesMut::new(), Vec::new());
    while frames.len() < count {
        match decoder.decode(&mut arrived).unwrap() {
            Some(frame) => frames.push(frame),
            None => assert!(kubelet.read_buf(&mut arrived).await.unwrap() > 0),
        }
    }
    frames
}

#[tokio::test]
async fn messages_become_streams_and_back() {
    let (mut client, mut kubelet, running) = session(ALL);
    let mut reader = Reader::default();
    let kinds: Vec<String> = frames(&mut kubelet, 4)
        .await
        .into_iter()
        .map(|frame| match frame {
            Frame::SynStream { headers, .. } => reader.read(&headers).unwrap().remove(0).1,
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(kinds, ["error", "stdin", "stdout", "stderr"]);
    let sent = [
        client_frame(0x82, b"\x00input"),
        client_frame(0x82, b"\x04{}"),
        client_frame(0x82, b"\x07?"),
        client_frame(0x02, b"\x00in"),
        client_frame(0x80, b"put"),
        client_frame(0x82, b"\xff\x00"),
    ];
    client.write_all(&sent.concat()).await.unwrap();
    let data = |fin, data: &'static [u8]| Frame::Data { stream: 3, fin, data: Bytes::from_static(data) };
    let expect = [data(false, b"input"), data(false, b"in"), data(false, b"put"), data(true, b"")];
    assert_eq!(frames(&mut kubelet, 4).await, expect);
    let mut out = BytesMut::new();
    pintle_spdy::encode::data(&mut out, 5, false, b"out");
    pintle_spdy::encode::data(&mut out, 7, true, b"err");
    pintle_spdy::encode::ping(&mut out, 2);
    pintle_spdy::encode::rst_stream(&mut out, 5, 5);
    pintle_spdy::encode::data(&mut out, 1, true, br#"{"status":"Success"}"#);
    kubelet.write_all(&out).await.unwrap();
    let mut messages = [0; 12];
    client.read_exact(&mut messages).await.unwrap();
    assert_eq!(&messages, b"\x82\x04\x01out\x82\x04\x02err");
    assert_eq!(running.await.unwrap(), Some(Outcome::Success));
}

#[tokio::test]
async fn a_command_that_reads_nothing_can_write() {
    let (mut client, mut kubelet, running) = session(ALL);
    frames(&mut kubelet, 4).await;
    let writing = async {
        // More than all buffers on the way hold.
        client.write_all(&client_frame(0x82, &[0; 100_000])).await
    };
    assert!(timeout(Duration::from_millis(200), writing).await.is_err(), "the kubelet reads nothing");
    let mut out = BytesMut::new();
    pintle_spdy::encode::data(&mut out, 5, true, b"out");
    kubelet.write_all(&out).await.unwrap();
    let mut message = [0; 6];
    timeout(Duration::from_secs(5), client.read_exact(&mut message)).await.expect("in time").unwrap();
    assert_eq!(&message, b"\x82\x04\x01out");
    drop(kubelet);
    assert!(matches!(running.await.unwrap(), Some(Outcome::Failed(_))));
}

#[tokio::test]
async fn a_session_ends_with_its_client() {
    let (client, mut kubelet, running) = session(ALL);
    frames(&mut kubelet, 4).await;
    drop(client);
    assert_eq!(timeout(Duration::from_secs(5), running).await.expect("in time").unwrap(), None);
    assert_eq!(kubelet.read(&mut [0; 10]).await.unwrap(), 0);
}
