//! A connection through konnectivity's proxy: packets on a gRPC stream over a unix socket.
//!
//! Every connection has a tunnel of its own, as in the reference. A task looks after it: it dials, then carries bytes
//! between the stream and a pipe whose other end is the connection. What one side does not take holds up the other, so a
//! tunnel keeps no more than its windows and its pipe.

use std::sync::Arc;
use std::time::Duration;

use http::Uri;
use http::uri::PathAndQuery;
use hyper::client::conn::http2::SendRequest;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, ReadHalf};
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, timeout, timeout_at};
use tokio_stream::wrappers::ReceiverStream;
use tonic::Streaming;
use tonic::body::Body;
use tonic::client::Grpc;
use tonic_prost::ProstCodec;

use super::Events;
use super::packets::{CloseDial, CloseRequest, Data, DialRequest, DialResponse, Packet, Payload};
use crate::grpc::{Connection, FIRST_PAUSE, LARGEST, LONGEST_PAUSE, Method, code_name, connect};

/// How long reaching the proxy may take, and how long its answer to a dial.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long the proxy may take to confirm that a connection is closed.
const CLOSING: Duration = Duration::from_secs(10);
/// Time limit of cancelling a dial whose caller has gone.
const CALLING_OFF: Duration = Duration::from_secs(1);
/// Bytes of one packet, and of each direction of the pipe.
const CHUNK: usize = 32 << 10;
/// Packets that wait to be sent.
const QUEUE: usize = 4;

/// A connection to the proxy, which may still be starting.
pub(super) async fn reach(socket: &str) -> Result<SendRequest<Body>, String> {
    let deadline = Instant::now() + PATIENCE;
    let mut pause = FIRST_PAUSE;
    loop {
        let why = match timeout_at(deadline, connect(socket)).await {
            Ok(Ok(connection)) => return Ok(connection),
            Ok(Err(why)) => why,
            Err(_) => "transport: context deadline exceeded".into(),
        };
        if Instant::now() + pause >= deadline {
            let why = pintle_meta::quote(&why);
            return Err(format!("context deadline exceeded: connection error: desc = {why}"));
        }
        tracing::debug!(socket, why, "cannot connect to a proxy");
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

/// Asks the proxy for a connection to `to`. The proxy's answer carries the random `dial_id`.
pub(super) async fn open(
    connection: SendRequest<Body>,
    to: String,
    dial_id: i64,
    events: Arc<dyn Events>,
) -> Result<DuplexStream, String> {
    let (ours, pipe) = tokio::io::duplex(CHUNK);
    let (done, result) = oneshot::channel();
    let tunnel = Tunnel::new(connection, events.clone());
    tokio::spawn(tunnel.run(to, dial_id, done, pipe));
    let waiting = Waiting { events: Some(events.as_ref()) };
    let failed = match timeout(PATIENCE, result).await {
        Ok(Ok(Ok(()))) => {
            waiting.done();
            return Ok(ours);
        }
        Ok(Ok(Err(failed))) => failed,
        Ok(Err(_)) => Refusal::tunnel_closed(),
        Err(_) => Refusal { message: "dial timeout, backstop".into(), reason: "timeout" },
    };
    waiting.done();
    events.dial_refused(failed.reason);
    Err(failed.message)
}

/// Cancelled dials are counted too.
struct Waiting<'a> {
    events: Option<&'a dyn Events>,
}

impl Waiting<'_> {
    fn done(mut self) {
        self.events = None;
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        if let Some(events) = self.events {
            events.dial_refused("context");
        }
    }
}

/// Why there is no connection, and under what it is counted.
struct Refusal {
    message: String,
    reason: &'static str,
}

impl Refusal {
    fn tunnel_closed() -> Refusal {
        Refusal { message: "tunnel closed".into(), reason: "tunnelclosed" }
    }
}

struct Tunnel {
    connection: SendRequest<Body>,
    status: Status,
    events: Arc<dyn Events>,
}

/// The state that metrics count a tunnel as, until it is gone.
struct Status {
    events: Arc<dyn Events>,
    current: &'static str,
}

impl Status {
    fn becomes(&mut self, next: &'static str) {
        self.events.tunnel(Some(self.current), Some(next));
        self.current = next;
    }
}

impl Drop for Status {
    fn drop(&mut self) {
        self.events.tunnel(Some(self.current), None);
    }
}

/// Packets to the proxy.
struct Outgoing {
    queue: mpsc::Sender<Packet>,
    events: Arc<dyn Events>,
}

impl Outgoing {
    /// Whether it can still be sent.
    async fn send(&self, payload: Payload) -> bool {
        let packet = Packet::from(payload);
        self.events.packet("from_client", packet.kind_name());
        self.queue.send(packet).await.is_ok()
    }
}

/// Packets from the proxy.
struct Incoming {
    stream: Streaming<Packet>,
    events: Arc<dyn Events>,
}

impl Incoming {
    /// The next packet; nothing when the stream has ended, however it did.
    async fn next(&mut self) -> Option<Packet> {
        match self.stream.message().await {
            Ok(packet) => {
                let packet = packet?;
                self.events.packet("to_client", packet.kind_name());
                Some(packet)
            }
            Err(status) => {
                self.events.stream_failed("to_client", code_name(status.code()));
                tracing::error!(error = status.message(), "cannot read from a proxy any more");
                None
            }
        }
    }

    /// The connection that the proxy has made for this dial.
    async fn dialed(&mut self, random: i64) -> Result<i64, Refusal> {
        loop {
            let packet = self.next().await.ok_or_else(Refusal::tunnel_closed)?;
            match (packet.kind, packet.payload) {
                (Packet::DIAL_RSP, Some(Payload::DialResponse(response))) if response.random == random => {
                    let DialResponse { error, connect_id, .. } = response;
                    return if error.is_empty() {
                        Ok(connect_id)
                    } else {
                        Err(Refusal { message: error, reason: "endpoint" })
                    };
                }
                (Packet::DIAL_CLS, Some(Payload::CloseDial(CloseDial { random: of }))) if of == random => {
                    return Err(Refusal { message: "dial closed".into(), reason: "dialclosed" });
                }
                // About a dial that is not ours.
                (Packet::DIAL_RSP | Packet::DIAL_CLS, _) => return Err(Refusal::tunnel_closed()),
                (Packet::DATA, _) => tracing::error!("a proxy sent data before there was a connection"),
                _ => {}
            }
        }
    }
}

impl Tunnel {
    fn new(connection: SendRequest<Body>, events: Arc<dyn Events>) -> Tunnel {
        events.tunnel(None, Some("created"));
        Tunnel { connection, status: Status { events: events.clone(), current: "created" }, events }
    }

    async fn run(
        mut self,
        to: String,
        random: i64,
        mut done: oneshot::Sender<Result<(), Refusal>>,
        pipe: DuplexStream,
    ) {
        let (queue, queued) = mpsc::channel(QUEUE);
        let outgoing = Outgoing { queue, events: self.events.clone() };
        self.status.becomes("dialing");
        // The queue has room for it.
        outgoing
            .send(Payload::DialRequest(DialRequest { protocol: "tcp".into(), address: to, random }))
            .await;
        let dial = dial(self.connection, ReceiverStream::new(queued), random, self.events.clone());
        tokio::pin!(dial);
        let dialed = tokio::select! {
            dialed = &mut dial => dialed,
            () = done.closed() => {
                // So that the proxy does not go on dialing. It may not listen either.
                let calling_off = async {
                    outgoing.send(Payload::CloseDial(CloseDial { random })).await;
                    drop(outgoing);
                    let _ = dial.await;
                };
                let _ = timeout(CALLING_OFF, calling_off).await;
                return;
            }
        };
        match dialed {
            Ok((incoming, id)) => {
                self.status.becomes("ok");
                // If the caller has gone, the pipe is closed already.
                let _ = done.send(Ok(()));
                carry(incoming, outgoing, id, pipe, self.status).await;
            }
            Err(refusal) => {
                let _ = done.send(Err(refusal));
            }
        }
    }
}

/// The proxy may answer the call only when it answers the dial, so both are waited for at once.
async fn dial(
    connection: SendRequest<Body>,
    packets: ReceiverStream<Packet>,
    random: i64,
    events: Arc<dyn Events>,
) -> Result<(Incoming, i64), Refusal> {
    let origin = Uri::from_static("http://localhost");
    let mut grpc = Grpc::with_origin(Connection(connection), origin).max_decoding_message_size(LARGEST);
    let opened = async {
        grpc.ready().await.map_err(|error| tonic::Status::from_error(error.into()))?;
        let codec = ProstCodec::<Packet, Packet>::default();
        grpc.streaming(tonic::Request::new(packets), PathAndQuery::from_static(Packet::PATH), codec).await
    };
    let stream = opened.await.map_err(|status| {
        events.stream_failed("to_client", code_name(status.code()));
        tracing::error!(error = status.message(), "a proxy opens no tunnel");
        Refusal::tunnel_closed()
    })?;
    let mut incoming = Incoming { stream: stream.into_inner(), events };
    let id = incoming.dialed(random).await?;
    Ok((incoming, id))
}

/// Carries bytes both ways until either side is done.
async fn carry(mut incoming: Incoming, outgoing: Outgoing, id: i64, pipe: DuplexStream, mut status: Status) {
    let (from_us, mut to_us) = tokio::io::split(pipe);
    let receiving = async {
        while let Some(packet) = incoming.next().await {
            match (packet.kind, packet.payload) {
                (Packet::DATA, Some(Payload::Data(data))) if data.connect_id == id => {
                    // A reader that has gone has closed, or is about to.
                    let _ = to_us.write_all(&data.data).await;
                }
                (Packet::DATA, Some(Payload::Data(data))) if data.connect_id != 0 => {
                    tracing::error!(
                        id = data.connect_id,
                        "a proxy sent data of a connection that is not known"
                    );
                    let close = CloseRequest { connect_id: data.connect_id };
                    if !outgoing.send(Payload::CloseRequest(close)).await {
                        return;
                    }
                }
                (Packet::DATA, _) => tracing::error!("a proxy sent data of no connection"),
                (Packet::CLOSE_RSP, Some(Payload::CloseResponse(closed))) if closed.connect_id == id => {
                    if !closed.error.is_empty() {
                        tracing::debug!(error = closed.error, "a connection through a proxy was closed");
                    }
                    return;
                }
                (Packet::DIAL_RSP | Packet::DIAL_CLS, _) => return,
                _ => {}
            }
        }
    };
    tokio::pin!(receiving);
    tokio::select! {
        () = &mut receiving => {}
        () = send_all(from_us, &outgoing, id) => {
            status.becomes("closing");
            let closing = async {
                if outgoing.send(Payload::CloseRequest(CloseRequest { connect_id: id })).await {
                    receiving.await;
                }
            };
            let _ = timeout(CLOSING, closing).await;
        }
    }
}

/// Returns when our side has closed the pipe, or nothing can be sent any more.
async fn send_all(mut from_us: ReadHalf<DuplexStream>, outgoing: &Outgoing, id: i64) {
    let mut buffer = bytes::BytesMut::new();
    loop {
        buffer.reserve(CHUNK);
        match from_us.read_buf(&mut buffer).await {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
        let data = Data { connect_id: id, error: String::new(), data: buffer.split().freeze() };
        if !outgoing.send(Payload::Data(data)).await {
            return;
        }
    }
}
