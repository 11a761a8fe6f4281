use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use super::*;
use crate::testing::grpc::GrpcServer;

#[derive(Clone, PartialEq, prost::Message)]
struct Ask {
    #[prost(string, tag = "1")]
    text: String,
}

#[derive(Clone, PartialEq, prost::Message)]
struct Answer {
    #[prost(string, tag = "1")]
    text: String,
}

impl Method for Ask {
    const PATH: &'static str = "/test.Echo/Ask";
    type Response = Answer;
}

const LONG: Duration = Duration::from_secs(20);
const SHORT: Duration = Duration::from_millis(300);

fn echo(address: &str) -> GrpcServer {
    GrpcServer::start(address, |path, message| match path {
        Ask::PATH => Ok(message.to_vec()),
        _ => Err((12, "unknown method")),
    })
}

fn ask(text: &str) -> Ask {
    Ask { text: text.into() }
}

fn socket(dir: &tempfile::TempDir) -> String {
    dir.path().join("s.sock").display().to_string()
}

#[tokio::test]
async fn a_call_is_answered_over_a_path_and_over_an_abstract_name() {
    let dir = tempfile::tempdir().unwrap();
    let name = format!("@pintle.outbound-{}", std::process::id());
    for address in [socket(&dir), name] {
        let _server = echo(&address);
        let client = UnixClient::new(address);
        assert_eq!(client.call(ask("a"), LONG).await.unwrap().text, "a");
    }
}

#[tokio::test]
async fn the_status_of_the_service_is_passed_on() {
    let dir = tempfile::tempdir().unwrap();
    let _server = GrpcServer::start(&socket(&dir), |_, _| Err((7, "not you")));
    let status = UnixClient::new(socket(&dir)).call(ask("a"), LONG).await.unwrap_err();
    assert_eq!(status.to_string(), "rpc error: code = PermissionDenied desc = not you");
}

#[tokio::test]
async fn a_call_waits_for_whom_it_is_for() {
    let dir = tempfile::tempdir().unwrap();
    let client = Arc::new(UnixClient::new(socket(&dir)));
    let waiting = client.clone();
    let call = tokio::spawn(async move { waiting.call(ask("late"), LONG).await });
    tokio::time::sleep(SHORT).await;
    let _server = echo(&socket(&dir));
    assert_eq!(call.await.unwrap().unwrap().text, "late");
}

#[tokio::test]
async fn waiting_has_an_end_and_says_why() {
    let dir = tempfile::tempdir().unwrap();
    let status = UnixClient::new(socket(&dir)).call(ask("a"), SHORT).await.unwrap_err();
    let expect = format!(
        "rpc error: code = DeadlineExceeded desc = latest balancer error: connection error: desc = \"transport: Error \
         while dialing: dial unix {}: connect: no such file or directory\"",
        socket(&dir)
    );
    assert_eq!(status.to_string(), expect);
    // A listener that never answers.
    let _silent = tokio::net::UnixListener::bind(socket(&dir)).unwrap();
    let status = UnixClient::new(socket(&dir)).call(ask("a"), SHORT).await.unwrap_err();
    assert_eq!(status.to_string(), "rpc error: code = DeadlineExceeded desc = context deadline exceeded");
}

#[tokio::test]
async fn a_service_that_comes_back_is_found_again() {
    let dir = tempfile::tempdir().unwrap();
    let client = UnixClient::new(socket(&dir));
    for round in 0..3 {
        let server = echo(&socket(&dir));
        for call in 0..3 {
            let text = format!("{round}-{call}");
            assert_eq!(client.call(ask(&text), LONG).await.unwrap().text, text);
        }
        server.stop().await;
    }
    assert_eq!(client.call(ask("a"), SHORT).await.unwrap_err().code, Code::DeadlineExceeded);
}

#[tokio::test]
async fn a_call_that_was_sent_is_not_sent_again() {
    let dir = tempfile::tempdir().unwrap();
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = calls.clone();
    // It reads whatever comes and hangs up.
    let listener = tokio::net::UnixListener::bind(socket(&dir)).unwrap();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            read_headers(&mut stream).await;
            counted.fetch_add(1, Ordering::SeqCst);
        }
    });
    let status = UnixClient::new(socket(&dir)).call(ask("a"), LONG).await.unwrap_err();
    assert_eq!(status.to_string(), "rpc error: code = Unavailable desc = error reading from server: EOF");
    assert_eq!(calls.load(Ordering::SeqCst), 1);
}

/// Takes part in a connection until the headers of a request were read.
async fn read_headers(stream: &mut UnixStream) {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    stream.write_all(&[0, 0, 0, 4, 0, 0, 0, 0, 0]).await.unwrap();
    let mut seen = Vec::new();
    // Frames follow the preface of 24 bytes: a length, a type, and more that does not matter here.
    let has_headers = |seen: &[u8]| {
        let mut rest = seen.get(24..).unwrap_or_default();
        while let [a, b, c, kind, ..] = *rest {
            if kind == 1 {
                return true;
            }
            let length = usize::from(a) << 16 | usize::from(b) << 8 | usize::from(c);
            rest = rest.get(9 + length..).unwrap_or_default();
        }
        false
    };
    while !has_headers(&seen) {
        if stream.read_buf(&mut seen).await.unwrap() == 0 {
            break;
        }
    }
}

#[tokio::test]
async fn answers_that_are_too_long_or_no_messages_are_errors() {
    let dir = tempfile::tempdir().unwrap();
    let _server = GrpcServer::start(&socket(&dir), |_, message| match message.len() {
        3 => Ok(vec![0; LARGEST + 1]),
        _ => Ok(vec![0x0f; 7]),
    });
    let client = UnixClient::new(socket(&dir));
    let status = client.call(ask("a"), LONG).await.unwrap_err();
    assert!(matches!(status.code, Code::OutOfRange | Code::ResourceExhausted), "{status}");
    assert_eq!(client.call(ask("ab"), LONG).await.unwrap_err().code, Code::Internal);
}
