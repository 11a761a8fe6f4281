//! Extension servers that answer what no server should: each is bounded, and harms its own clients alone.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use http::Method;
use http_body_util::BodyExt;
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use super::extension_server::Setup;
use super::{ready, register, until_available};
use crate::support::{Authority, Launch, Server, eventually};

const BOATS: &str = "/apis/boats.example.com/v1/namespaces/default/boats";

/// Answers by the last part of the path.
struct HostileServer {
    address: SocketAddr,
    /// Whether the client has ended a stream that has no end.
    ended: Arc<AtomicBool>,
    task: tokio::task::JoinHandle<()>,
}

impl Drop for HostileServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl HostileServer {
    async fn start() -> HostileServer {
        let identity = Authority::new("hostile").server(&["boats.default.svc"]);
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let builder = rustls::ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("versions")
            .with_no_client_auth();
        let chain = vec![CertificateDer::from_pem_slice(identity.certificate.as_bytes()).expect("PEM")];
        let key = PrivateKeyDer::from_pem_slice(identity.key.as_bytes()).expect("PEM");
        let config = builder.with_single_cert(chain, key).expect("a pair");
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let ended = Arc::new(AtomicBool::new(false));
        let noted = ended.clone();
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (acceptor, noted) = (acceptor.clone(), noted.clone());
                tokio::spawn(async move {
                    if let Ok(stream) = acceptor.accept(stream).await {
                        // Clients go away, which is what is tested.
                        let _ = serve(stream, &noted).await;
                    }
                });
            }
        });
        HostileServer { address, ended, task }
    }
}

async fn serve(mut stream: TlsStream<TcpStream>, ended: &AtomicBool) -> std::io::Result<()> {
    loop {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(stream.read_u8().await?);
        }
        let head = String::from_utf8_lossy(&head).into_owned();
        let path = head.split(' ').nth(1).unwrap_or_default();
        let name = path.rsplit('/').next().unwrap_or_default().split('?').next().unwrap_or_default();
        let answer = match name {
            "redirect" => "HTTP/1.1 302 Found\r\nLocation: https://169.254.169.254/latest\r\nContent-Length: 0\r\n\r\n".to_owned(),
            "header" => "HTTP/1.1 200 OK\r\nX-A: a\rX-B: b\r\nContent-Length: 2\r\n\r\nok".to_owned(),
            "both" => "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 40\r\n\r\nok".to_owned(),
            "two" => "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nforged".to_owned(),
            "refusal" => "HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nnoand a secret".to_owned(),
            "head" => format!("HTTP/1.1 101 Switching\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\nX-A: {}\r\n\r\n", "a".repeat(1 << 20)),
            "other" => "HTTP/1.1 101 Switching\r\nConnection: Upgrade\r\nUpgrade: other\r\n\r\nforged".to_owned(),
            "early" => "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok".to_owned(),
            "echo" => {
                let head = "HTTP/1.1 101 Switching\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\nhello";
                stream.write_all(head.as_bytes()).await?;
                // Never closes by itself.
                let mut rest = Vec::new();
                let read = stream.read_to_end(&mut rest).await;
                ended.store(true, Ordering::SeqCst);
                return read.map(drop);
            }
            "endless" => {
                stream.write_all(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n").await?;
                let chunk = format!("10000\r\n{}\r\n", "x".repeat(0x10000));
                loop {
                    if let Err(error) = stream.write_all(chunk.as_bytes()).await {
                        ended.store(true, Ordering::SeqCst);
                        return Err(error);
                    }
                }
            }
            _ => "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}".to_owned(),
        };
        stream.write_all(answer.as_bytes()).await?;
    }
}

async fn harbour(flags: &[&str]) -> (Server, HostileServer) {
    let server = Launch::new().args(flags).start().await;
    ready(&server).await;
    let hostile = HostileServer::start().await;
    register(&server, &Setup::boats(), hostile.address, None).await;
    until_available(&server, "v1.boats.example.com").await;
    (server, hostile)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn redirects_are_refused_unless_they_are_wanted() {
    let (server, _hostile) = harbour(&[]).await;
    let refused = server.admin().get(&format!("{BOATS}/redirect")).await;
    refused.is(502, "the backend attempted to redirect this request, which is not permitted");
    assert!(refused.headers.get("location").is_none());
    let (server, _hostile) = harbour(&["--aggregator-reject-forwarding-redirect=false"]).await;
    let passed = server.admin().get(&format!("{BOATS}/redirect")).await;
    assert_eq!((passed.code, passed.header("location")), (302, "https://169.254.169.254/latest"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_cannot_be_split_into_two() {
    let (server, _hostile) = harbour(&[]).await;
    let client = server.admin();
    for name in ["header", "both"] {
        let answer = client.get(&format!("{BOATS}/{name}")).await;
        assert_eq!(answer.code, 503, "{name}: {answer:?}");
        assert!(answer.body.starts_with("error trying to reach service: "), "{answer:?}");
        assert!(answer.headers.get("x-b").is_none());
    }
    // Bytes after an answer are never the answer to the next request, of whatever client.
    for _ in 0..5 {
        let answer = client.get(&format!("{BOATS}/two")).await;
        assert!(answer.body == "ok" || answer.code == 503, "{answer:?}");
        let next = client.get(&format!("{BOATS}/fine")).await;
        assert!(next.body == "{}" || next.code == 503, "{next:?}");
        assert!(!next.body.contains("forged"));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_without_an_end_is_not_kept_and_ends_with_its_client() {
    let (server, hostile) = harbour(&[]).await;
    let before = server.resident();
    let mut connection = server.admin().connect().await.expect("connect");
    let answer =
        connection.begin(Method::GET, &format!("{BOATS}/endless"), &[], "").await.expect("an answer");
    let mut body = answer.into_body();
    let mut read = 0;
    while read < 20 << 20 {
        let frame = body.frame().await.expect("more").expect("a frame");
        read += frame.data_ref().map_or(0, |data| data.len());
    }
    assert!(!hostile.ended.load(Ordering::SeqCst));
    let grown = server.resident().saturating_sub(before);
    assert!(grown < 12 << 20, "{grown} bytes more for a body that passes");
    drop((body, connection));
    eventually("the other side ends", async || hostile.ended.load(Ordering::SeqCst)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_upgrade_is_agreed_on_or_ends() {
    let (server, hostile) = harbour(&[]).await;
    let ask = async |name: &str| {
        let mut stream = server.admin().tls().await.expect("TLS");
        let head = format!(
            "GET {BOATS}/{name} HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).await.expect("written");
        stream
    };
    // Everything that comes, until the connection ends or is silent.
    let whole = async |name: &str| {
        let (mut stream, mut all, mut buffer) = (ask(name).await, Vec::new(), vec![0; 4096]);
        loop {
            let patience = if all.is_empty() { Duration::from_secs(15) } else { Duration::from_secs(1) };
            match tokio::time::timeout(patience, stream.read(&mut buffer)).await {
                Ok(Ok(count)) if count > 0 => all.extend_from_slice(&buffer[..count]),
                _ => return String::from_utf8_lossy(&all).into_owned(),
            }
        }
    };
    // A header without bounds, and an agreement to something else.
    for name in ["head", "other"] {
        let answer = whole(name).await;
        assert!(answer.starts_with("HTTP/1.1 503 "), "{name}: {}", &answer[..answer.len().min(300)]);
        assert!(answer.contains("error dialing backend: ") && !answer.contains("forged"), "{answer}");
    }
    // A success that is no upgrade.
    let answer = whole("early").await;
    assert!(
        answer.starts_with("HTTP/1.1 503 ") && answer.contains("invalid upgrade response: status code 200"),
        "{answer}"
    );
    // Nothing follows a refusal, and the connection is not used again.
    let answer = whole("refusal").await;
    assert!(answer.starts_with("HTTP/1.1 403 ") && answer.ends_with("\r\n\r\nno"), "{answer}");
    // A server that does not close is left when its client goes.
    let mut stream = ask("echo").await;
    let mut received = Vec::new();
    while !received.ends_with(b"hello") {
        received.push(stream.read_u8().await.expect("a tunnel"));
    }
    drop(stream);
    eventually("the tunnel ends", async || hostile.ended.load(Ordering::SeqCst)).await;
}
