//! Real proxies: HTTP CONNECT over TLS or a unix socket, and konnectivity's packets over a unix socket. They note where they
//! were asked to go, and resolve names that only they know.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::path::Path;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use bytes::{Buf, BufMut, Bytes, BytesMut};
use http::{HeaderMap, HeaderValue, Request, Response};
use http_body::{Body, Frame};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use prost::Message;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::OwnedWriteHalf;
use tokio::net::{TcpListener, TcpStream, UnixListener};
use tokio::sync::mpsc;
use tokio::task::{JoinHandle, JoinSet};
use tokio_rustls::TlsAcceptor;

use super::{Authority, HttpsOptions, server_config};
use crate::egress::BoxedStream;
use crate::egress::packets::{CloseDial, CloseResponse, Data, DialResponse, Packet, Payload};

/// The behaviour of a proxy.
#[derive(Clone, Debug)]
pub enum Behavior {
    Forward,
    /// Says these bytes, whatever it is asked, and nothing more.
    Say(Vec<u8>),
    /// The same, again and again.
    SayForever(Vec<u8>),
    /// Answers the dial with this error; konnectivity's only.
    Refuse(&'static str),
    /// Calls the dial off; konnectivity's only.
    CloseDial,
    /// Ends the stream; konnectivity's only.
    Hang,
}

/// The requests that it has seen.
#[derive(Default)]
struct Book {
    /// By `host:port`: where they really are.
    hosts: BTreeMap<String, SocketAddr>,
    asked: Vec<String>,
    /// Kinds of packets, or certificates of clients.
    seen: Vec<String>,
    carried: usize,
}

type Shared = Arc<Mutex<Book>>;

fn locked(book: &Shared) -> std::sync::MutexGuard<'_, Book> {
    book.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A proxy that runs until it is dropped.
pub struct Proxy {
    /// A URL or the path of a socket.
    pub address: String,
    book: Shared,
    task: JoinHandle<()>,
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

#[allow(clippy::missing_panics_doc, reason = "tests")]
impl Proxy {
    /// HTTP CONNECT over TLS, for clients with a certificate of `clients`. Its own is of `authority`.
    pub async fn https(authority: &Authority, clients: Authority, manner: Behavior) -> Proxy {
        let options = HttpsOptions { http2: false, clients: Some(clients), ..HttpsOptions::default() };
        let (certificate, key) = authority.issue(&options.names, |_| {});
        let mut tls = server_config(&options, &certificate, &key);
        tls.alpn_protocols.clear();
        let acceptor = TlsAcceptor::from(Arc::new(tls));
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port");
        let address = format!("https://{}", listener.local_addr().expect("an address"));
        let book = Shared::default();
        let seen = book.clone();
        let task = tokio::spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                let (acceptor, seen, manner) = (acceptor.clone(), seen.clone(), manner.clone());
                connections.spawn(async move {
                    let Ok(stream) = acceptor.accept(stream).await else { return };
                    let certified = stream.get_ref().1.peer_certificates().is_some();
                    locked(&seen).seen.push(format!("certified: {certified}"));
                    connect(Box::new(stream), &seen, &manner).await;
                });
            }
        });
        Proxy { address, book, task }
    }

    /// HTTP CONNECT in plain.
    pub async fn http(manner: Behavior) -> Proxy {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port");
        let address = format!("http://{}", listener.local_addr().expect("an address"));
        let book = Shared::default();
        let seen = book.clone();
        let task = tokio::spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                let (seen, manner) = (seen.clone(), manner.clone());
                connections.spawn(async move { connect(Box::new(stream), &seen, &manner).await });
            }
        });
        Proxy { address, book, task }
    }

    /// HTTP CONNECT over a socket.
    pub fn uds(socket: &Path, manner: Behavior) -> Proxy {
        let listener = UnixListener::bind(socket).expect("a socket");
        let book = Shared::default();
        let seen = book.clone();
        let task = tokio::spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                let (seen, manner) = (seen.clone(), manner.clone());
                connections.spawn(async move { connect(Box::new(stream), &seen, &manner).await });
            }
        });
        Proxy { address: socket.display().to_string(), book, task }
    }

    /// Konnectivity's packets over a socket.
    pub fn konnectivity(socket: &Path, manner: Behavior) -> Proxy {
        let listener = UnixListener::bind(socket).expect("a socket");
        let book = Shared::default();
        let seen = book.clone();
        let task = tokio::spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                let (seen, manner) = (seen.clone(), manner.clone());
                connections.spawn(async move {
                    let service = service_fn(move |request| tunnel(request, seen.clone(), manner.clone()));
                    let server = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
                    // A client that goes away is its own business.
                    let _ = server.serve_connection(TokioIo::new(stream), service).await;
                });
            }
        });
        Proxy { address: socket.display().to_string(), book, task }
    }

    /// Adds an address for `host:port`, known to this proxy only.
    pub fn knows(&self, name: &str, address: SocketAddr) {
        locked(&self.book).hosts.insert(name.to_owned(), address);
    }

    /// Where it was asked to go.
    pub fn asked(&self) -> Vec<String> {
        locked(&self.book).asked.clone()
    }

    /// Kinds of packets, or whether clients had certificates.
    pub fn seen(&self) -> Vec<String> {
        locked(&self.book).seen.clone()
    }

    /// How many bytes it has carried, both ways.
    pub fn carried(&self) -> usize {
        locked(&self.book).carried
    }
}

/// Notes the request, and connects to where it leads.
async fn reach(to: &str, book: &Shared) -> std::io::Result<TcpStream> {
    let known = {
        let mut book = locked(book);
        book.asked.push(to.to_owned());
        book.hosts.get(to).copied()
    };
    match known {
        Some(address) => TcpStream::connect(address).await,
        None => TcpStream::connect(to).await,
    }
}

async fn connect(mut stream: BoxedStream, book: &Shared, manner: &Behavior) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        match stream.read_u8().await {
            Ok(byte) => head.push(byte),
            Err(_) => return,
        }
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    let to = head.strip_prefix("CONNECT ").and_then(|rest| rest.split(' ').next());
    let to = to.expect("a request to connect").to_owned();
    assert_eq!(head, format!("CONNECT {to} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"));
    match manner {
        Behavior::Forward => {}
        Behavior::Say(bytes) => {
            locked(book).asked.push(to);
            let _ = stream.write_all(bytes).await;
            let _ = stream.flush().await;
            // Until the client goes away.
            let _ = stream.read_u8().await;
            return;
        }
        Behavior::SayForever(bytes) => {
            locked(book).asked.push(to);
            while stream.write_all(bytes).await.is_ok() {
                locked(book).carried += bytes.len();
            }
            return;
        }
        other => panic!("{other:?} is not for HTTP"),
    }
    let answer = match reach(&to, book).await {
        Ok(mut target) => {
            if stream.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n").await.is_ok()
                && stream.flush().await.is_ok()
                && let Ok((sent, received)) = tokio::io::copy_bidirectional(&mut stream, &mut target).await
            {
                locked(book).carried += usize::try_from(sent + received).unwrap_or(usize::MAX);
            }
            return;
        }
        Err(error) => format!("HTTP/1.1 502 Bad Gateway\r\n\r\n{error}"),
    };
    let _ = stream.write_all(answer.as_bytes()).await;
    let _ = stream.shutdown().await;
}

/// The packets that a call is answered with.
struct Packets {
    queue: mpsc::Receiver<Packet>,
    ended: bool,
}

impl Body for Packets {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if self.ended {
            return Poll::Ready(None);
        }
        self.queue.poll_recv(context).map(|packet| match packet {
            Some(packet) => {
                let mut frame = BytesMut::new();
                frame.put_u8(0);
                frame.put_u32(u32::try_from(packet.encoded_len()).expect("a short packet"));
                packet.encode(&mut frame).expect("room");
                Some(Ok(Frame::data(frame.freeze())))
            }
            None => {
                self.ended = true;
                let mut trailers = HeaderMap::new();
                trailers.insert("grpc-status", HeaderValue::from_static("0"));
                Some(Ok(Frame::trailers(trailers)))
            }
        })
    }
}

async fn tunnel(
    request: Request<Incoming>,
    book: Shared,
    manner: Behavior,
) -> Result<Response<Packets>, Infallible> {
    assert_eq!(request.uri().path(), "/ProxyService/Proxy");
    let (sender, queue) = mpsc::channel(4);
    tokio::spawn(serve(request.into_body(), sender, book, manner));
    let mut response = Response::new(Packets { queue, ended: false });
    response.headers_mut().insert("content-type", HeaderValue::from_static("application/grpc"));
    Ok(response)
}

/// The next packet of a call.
async fn next(body: &mut Incoming, buffer: &mut BytesMut) -> Option<Packet> {
    loop {
        if let Some(mut length) = buffer.get(1..5)
            && let Some(message) = buffer.get(5..5 + length.get_u32() as usize)
        {
            let packet = Packet::decode(message).expect("a packet");
            let end = 5 + message.len();
            buffer.advance(end);
            return Some(packet);
        }
        let frame = body.frame().await?.ok()?;
        buffer.extend_from_slice(&frame.into_data().unwrap_or_default());
    }
}

async fn serve(mut body: Incoming, sender: mpsc::Sender<Packet>, book: Shared, manner: Behavior) {
    const ID: i64 = 7;
    let mut buffer = BytesMut::new();
    let mut target: Option<OwnedWriteHalf> = None;
    let mut reading = JoinSet::new();
    while let Some(packet) = next(&mut body, &mut buffer).await {
        locked(&book).seen.push(packet.kind_name().to_owned());
        match packet.payload {
            Some(Payload::DialRequest(dial)) => {
                assert_eq!(dial.protocol, "tcp");
                let error = match &manner {
                    Behavior::Forward => match reach(&dial.address, &book).await {
                        Ok(stream) => {
                            let (mut from, to) = stream.into_split();
                            target = Some(to);
                            let (sender, book) = (sender.clone(), book.clone());
                            let random = dial.random;
                            let done = DialResponse { error: String::new(), connect_id: ID, random };
                            let _ = sender.send(Payload::DialResponse(done).into()).await;
                            reading.spawn(async move {
                                let mut chunk = vec![0; 8192];
                                while let Ok(read @ 1..) = from.read(&mut chunk).await {
                                    locked(&book).carried += read;
                                    let data = Bytes::copy_from_slice(&chunk[..read]);
                                    let data = Data { connect_id: ID, error: String::new(), data };
                                    if sender.send(Payload::Data(data).into()).await.is_err() {
                                        return;
                                    }
                                }
                                let closed = CloseResponse { error: String::new(), connect_id: ID };
                                let _ = sender.send(Payload::CloseResponse(closed).into()).await;
                            });
                            continue;
                        }
                        Err(error) => error.to_string(),
                    },
                    other => {
                        locked(&book).asked.push(dial.address.clone());
                        match other {
                            Behavior::Refuse(why) => (*why).to_owned(),
                            Behavior::CloseDial => {
                                let close = Payload::CloseDial(CloseDial { random: dial.random });
                                let _ = sender.send(close.into()).await;
                                continue;
                            }
                            Behavior::Hang => return,
                            // Says nothing.
                            _ => continue,
                        }
                    }
                };
                let refused = DialResponse { error, connect_id: 0, random: dial.random };
                let _ = sender.send(Payload::DialResponse(refused).into()).await;
            }
            Some(Payload::Data(data)) => {
                locked(&book).carried += data.data.len();
                if let Some(target) = &mut target {
                    let _ = target.write_all(&data.data).await;
                }
            }
            Some(Payload::CloseRequest(close)) => {
                reading.abort_all();
                target = None;
                let closed = CloseResponse { error: String::new(), connect_id: close.connect_id };
                let _ = sender.send(Payload::CloseResponse(closed).into()).await;
            }
            _ => {}
        }
    }
}
