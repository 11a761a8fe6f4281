//! Version 5 of remote commands over WebSocket, translated to SPDY.
//!
//! ```text
//! client                                           kubelet
//! messages: channel, data                          streams: error, stdin, stdout, stderr, resize
//!   0 stdin, 4 resize, 255 0 = end of stdin   ->     frames of data
//!   1 stdout, 2 stderr, 3 status              <-
//! ```
//!
//! Both directions run on their own, so that a command which reads nothing can still write. What one has to answer
//! in the other's stead (pings) waits in a short queue; pings beyond it get no answer.

use std::future::poll_fn;
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::task::{Poll, ready};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::header::{CONNECTION, HeaderMap, HeaderValue, UPGRADE};
use http::{Method, StatusCode};
use http_body_util::BodyExt;
use pintle_meta::Value;
use pintle_outbound::egress::BoxedStream;
use pintle_outbound::{Pace, RequestBody, ResponseBody, StreamLimits, Streamed, Url};
use pintle_spdy::headers::Writer;
use pintle_spdy::{Decoder, Frame};
use serde_json::json;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt, ReadBuf, ReadHalf, WriteHalf};
use tokio::sync::mpsc;
use tokio::time::{Instant, interval, sleep_until, timeout};

use crate::Shared;
use crate::streams::{PROTOCOL_VERSION, SPDY};
use crate::websocket::{self, Event, close, encode};

const PROTOCOLS: [&str; 4] =
    ["v5.channel.k8s.io", "v4.channel.k8s.io", "v3.channel.k8s.io", "v2.channel.k8s.io"];
const STDIN: u8 = 0;
const STDOUT: u8 = 1;
const STDERR: u8 = 2;
const STATUS: u8 = 3;
const RESIZE: u8 = 4;
const END_OF: u8 = 255;

/// Bytes of a status that a kubelet ends a command with.
const LARGEST_STATUS: usize = 64 << 10;
/// Bytes that are read at once.
const CHUNK: usize = 32 << 10;
/// Bytes that a client may send before its kubelet has answered.
const AHEAD: usize = 64 << 10;
/// Answers to pings that wait.
const MOST_ANSWERS: usize = 8;
const PING_PERIOD: Duration = Duration::from_secs(30);
/// Time for a client to take the last message.
const FAREWELL: Duration = Duration::from_secs(10);

/// The streams that a client wants.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Options {
    stdin: bool,
    stdout: bool,
    stderr: bool,
    tty: bool,
}

impl Options {
    pub(crate) fn new(options: &Value) -> Options {
        let is_on = |name: &str| options.get(name).and_then(Value::as_bool).unwrap_or_default();
        Options { stdin: is_on("stdin"), stdout: is_on("stdout"), stderr: is_on("stderr"), tty: is_on("tty") }
    }

    /// The channel of the message that tells a client that the connection stands.
    fn first_channel(self) -> u8 {
        match self {
            Options { stdout: true, .. } => STDOUT,
            Options { stderr: true, .. } => STDERR,
            _ => STATUS,
        }
    }
}

/// Serves a client to the end of its command.
pub(crate) async fn translate(client: BoxedStream, shared: &Shared, url: &Url, options: Options) {
    let (mut reading, mut writing) = tokio::io::split(client);
    if send(&mut writing, options.first_channel(), b"").await.is_err() {
        return;
    }
    let mut arrived = BytesMut::new();
    let connected = tokio::select! {
        connected = connect(shared, url) => connected,
        () = read_ahead(&mut reading, &mut arrived) => return,
    };
    let outcome = match connected {
        Ok(kubelet) => {
            let limits = &shared.limits;
            let session = Session { options, version: kubelet.version, limits: limits.clone() };
            match session.run(reading, arrived, &mut writing, kubelet.stream).await {
                Some(outcome) => outcome,
                None => return,
            }
        }
        Err(why) => Outcome::Failed(why),
    };
    shared.metrics.translated(outcome.code());
    let farewell = async {
        send(&mut writing, STATUS, outcome.status().as_bytes()).await?;
        let mut out = BytesMut::new();
        encode::close(&mut out, close::NORMAL);
        writing.write_all(&out).await?;
        writing.shutdown().await
    };
    let _ = timeout(FAREWELL, farewell).await;
}

/// Reads until the client is gone, or has sent more than is held for it.
async fn read_ahead(client: &mut ReadHalf<BoxedStream>, arrived: &mut BytesMut) {
    while arrived.len() < AHEAD {
        if !matches!(client.read_buf(arrived).await, Ok(1..)) {
            return;
        }
    }
    std::future::pending::<()>().await;
}

struct Kubelet {
    stream: BoxedStream,
    version: String,
}

/// Connects to the kubelet and agrees on SPDY.
async fn connect(shared: &Shared, url: &Url) -> Result<Kubelet, String> {
    let mut headers = HeaderMap::new();
    headers.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
    headers.insert(UPGRADE, SPDY);
    for protocol in PROTOCOLS {
        headers.append(PROTOCOL_VERSION, HeaderValue::from_static(protocol));
    }
    let client = &shared.kubelets.client;
    let limits = shared.limits.clone();
    match client.stream(Method::POST, url, headers, RequestBody::empty(), limits).await {
        Ok(Streamed::Upgraded(upgraded)) => {
            let version = upgraded.response.headers.get(PROTOCOL_VERSION);
            let version = version.and_then(|version| version.to_str().ok()).unwrap_or_default().to_owned();
            Ok(Kubelet { stream: upgraded.into_stream(), version })
        }
        Ok(Streamed::Response(response)) if response.status().is_redirection() => Err(format!(
            "error sending request: Post {}: redirect not allowed",
            pintle_meta::quote(&url.to_string())
        )),
        Ok(Streamed::Response(response)) => {
            let text = timeout(FAREWELL, text_of(response.into_body())).await.ok().flatten();
            let text = text.as_deref().unwrap_or("unable to read error from server response");
            Err(format!("unable to upgrade connection: {text}"))
        }
        Err(error) => Err(format!("error sending request: {error}")),
    }
}

/// Returns the message of an error that a kubelet has answered.
async fn text_of(mut body: ResponseBody) -> Option<String> {
    let mut text = Vec::new();
    while let Some(frame) = body.frame().await {
        if let Ok(data) = frame.ok()?.into_data() {
            text.extend_from_slice(&data[..data.len().min(LARGEST_STATUS - text.len())]);
        }
        if text.len() == LARGEST_STATUS {
            break;
        }
    }
    if let Ok(status) = serde_json::from_slice::<serde_json::Value>(&text) {
        for name in ["message", "error"] {
            if let Some(message) = status[name].as_str().map(str::trim).filter(|message| !message.is_empty())
            {
                return Some(message.to_owned());
            }
        }
    }
    let text = String::from_utf8_lossy(&text).trim().to_owned();
    Some(if text.is_empty() { "empty server response".to_owned() } else { text })
}

/// Sends a message of one channel.
async fn send(client: &mut WriteHalf<BoxedStream>, channel: u8, data: &[u8]) -> std::io::Result<()> {
    let mut out = BytesMut::with_capacity(16 + data.len());
    encode::binary_head(&mut out, 1 + data.len());
    out.extend_from_slice(&[channel]);
    out.extend_from_slice(data);
    client.write_all(&out).await?;
    client.flush().await
}

/// The end of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Outcome {
    Success,
    Exited(u8),
    Failed(String),
}

impl Outcome {
    fn code(&self) -> u16 {
        match self {
            Outcome::Success | Outcome::Exited(_) => StatusCode::OK.as_u16(),
            Outcome::Failed(_) => StatusCode::INTERNAL_SERVER_ERROR.as_u16(),
        }
    }

    /// Returns the status that the client gets.
    fn status(&self) -> String {
        match self {
            Outcome::Success => json!({"metadata": {}, "status": "Success"}),
            Outcome::Exited(code) => json!({
                "metadata": {},
                "status": "Failure",
                "message":
                    format!("command terminated with non-zero exit code: command terminated with exit code {code}"),
                "reason": "NonZeroExitCode",
                "details": {"causes": [{"reason": "ExitCode", "message": code.to_string()}]},
            }),
            Outcome::Failed(why) => return error_status(why),
        }
        .to_string()
    }

    /// Reads what a kubelet has sent on the error stream.
    fn read(version: &str, text: &[u8]) -> Outcome {
        if text.is_empty() {
            return Outcome::Success;
        }
        let failed = |why: &str| Outcome::Failed(why.to_owned());
        let shown = String::from_utf8_lossy(text);
        if !matches!(version, "v4.channel.k8s.io" | "v5.channel.k8s.io") {
            return Outcome::Failed(format!("error executing remote command: {shown}"));
        }
        let status: serde_json::Value = match serde_json::from_slice(text) {
            Ok(status) => status,
            Err(error) => {
                let shown = pintle_meta::quote(&shown);
                return Outcome::Failed(format!("error stream protocol error: {error} in {shown}"));
            }
        };
        match status["status"].as_str() {
            Some("Success") => Outcome::Success,
            Some("Failure") if status["reason"] == "NonZeroExitCode" => {
                if !status["details"].is_object() {
                    return failed("error stream protocol error: details must be set");
                }
                let causes = status["details"]["causes"].as_array().map(Vec::as_slice).unwrap_or_default();
                let Some(cause) = causes.iter().find(|cause| cause["reason"] == "ExitCode") else {
                    return failed("error stream protocol error: no ExitCode cause given");
                };
                let code = cause["message"].as_str().unwrap_or_default();
                match code.parse() {
                    Ok(code) => Outcome::Exited(code),
                    Err(_) => {
                        let code = pintle_meta::quote(code);
                        Outcome::Failed(format!(
                            "error stream protocol error: invalid exit code value {code}"
                        ))
                    }
                }
            }
            Some("Failure") => failed(status["message"].as_str().unwrap_or_default()),
            _ => failed("error stream protocol error: unknown error"),
        }
    }
}

/// Returns the status of an internal error, as it stands on the error stream.
pub fn error_status(why: &str) -> String {
    json!({
        "metadata": {},
        "status": "Failure",
        "message": format!("Internal error occurred: {why}"),
        "reason": "InternalError",
        "details": {"causes": [{"message": why}]},
        "code": 500,
    })
    .to_string()
}

/// A command that runs. Streams have the numbers in which they are opened: 1, 3, 5 ...
struct Session {
    options: Options,
    version: String,
    limits: StreamLimits,
}

/// The numbers of streams; `None` for those that are not open.
#[derive(Clone, Copy, Debug, Default)]
struct Streams {
    error: u32,
    stdin: Option<u32>,
    stdout: Option<u32>,
    stderr: Option<u32>,
    resize: Option<u32>,
}

impl Session {
    /// Runs a command to its end. `None`: the client is gone.
    async fn run(
        &self,
        client: ReadHalf<BoxedStream>,
        arrived: BytesMut,
        to_client: &mut WriteHalf<BoxedStream>,
        kubelet: BoxedStream,
    ) -> Option<Outcome> {
        let (from_kubelet, mut to_kubelet) = tokio::io::split(kubelet);
        let (streams, opening) = self.open();
        if let Err(error) = to_kubelet.write_all(&opening).await {
            return Some(Outcome::Failed(error.to_string()));
        }
        let (pongs, pings) = (mpsc::channel(MOST_ANSWERS), mpsc::channel(MOST_ANSWERS));
        let up = self.up(client, arrived, to_kubelet, streams, pongs.0, pings.1);
        let down = self.down(from_kubelet, to_client, streams, pings.0, pongs.1);
        tokio::select! {
            outcome = down => outcome,
            () = up => None,
        }
    }

    /// Opens the streams, in the order in which kubelets expect them.
    fn open(&self) -> (Streams, BytesMut) {
        let (mut writer, mut out, mut next) = (Writer::default(), BytesMut::new(), 1);
        let mut open = |kind: &str, is_wanted: bool| {
            if !is_wanted {
                return None;
            }
            let stream = next;
            next += 2;
            pintle_spdy::encode::syn_stream(&mut out, stream, &writer.block(&[("streamtype", kind)]));
            Some(stream)
        };
        let Options { stdin, stdout, stderr, tty } = self.options;
        let streams = Streams {
            error: open("error", true).unwrap_or_default(),
            stdin: open("stdin", stdin),
            stdout: open("stdout", stdout),
            stderr: open("stderr", stderr && !tty),
            resize: open("resize", tty),
        };
        (streams, out)
    }

    /// Carries what a client sends to the kubelet, until the client is gone.
    async fn up(
        &self,
        mut client: ReadHalf<BoxedStream>,
        mut arrived: BytesMut,
        mut kubelet: WriteHalf<BoxedStream>,
        streams: Streams,
        pongs: mpsc::Sender<Bytes>,
        mut pings: mpsc::Receiver<u32>,
    ) {
        let (mut decoder, mut channel) = (websocket::Decoder::default(), None);
        let (mut pace, mut period, mut ping) = (Pace::new(self.limits.rate), interval(PING_PERIOD), 1);
        let mut stdin = streams.stdin;
        period.reset();
        loop {
            let event = match decoder.decode(&mut arrived) {
                Ok(Some(event)) => event,
                Err(_) => return,
                Ok(None) => {
                    if arrived.is_empty() {
                        arrived = BytesMut::new();
                    }
                    let mut out = BytesMut::new();
                    tokio::select! {
                        read = read(&mut client, &mut arrived) => match read {
                            true => continue,
                            false => return,
                        },
                        Some(id) = pings.recv() => pintle_spdy::encode::ping(&mut out, id),
                        _ = period.tick() => {
                            pintle_spdy::encode::ping(&mut out, ping);
                            ping += 2;
                        }
                    }
                    if kubelet.write_all(&out).await.is_err() || kubelet.flush().await.is_err() {
                        // The other direction learns why.
                        std::future::pending::<()>().await;
                    }
                    continue;
                }
            };
            let mut data = match event {
                Event::Message { begins, data, .. } => {
                    if begins {
                        channel = None;
                    }
                    data
                }
                Event::Ping(data) => {
                    let _ = pongs.try_send(data);
                    continue;
                }
                Event::Pong => continue,
                Event::Close => return,
            };
            let is_first = channel.is_none() && !data.is_empty();
            if is_first {
                channel = Some(data.split_to(1)[0]);
            }
            let (stream, fin) = match channel {
                Some(STDIN) => (stdin, false),
                Some(RESIZE) => (streams.resize, false),
                // One more byte says of which channel.
                Some(END_OF) if data[..] == [STDIN] => {
                    data = Bytes::new();
                    (stdin.take(), true)
                }
                _ => (None, false),
            };
            let Some(stream) = stream.filter(|_| fin || !data.is_empty()) else { continue };
            // In one write: each would be a record of TLS, and a packet.
            let mut frame = BytesMut::with_capacity(8 + data.len());
            pintle_spdy::encode::data(&mut frame, stream, fin, &data);
            let sent = async {
                kubelet.write_all(&frame).await?;
                kubelet.flush().await
            };
            if sent.await.is_err() {
                std::future::pending::<()>().await;
            }
            if let Some(until) = pace.account(data.len()) {
                sleep_until(until).await;
            }
        }
    }

    /// Carries what a kubelet sends to the client, until all streams have ended. `None`: the client is gone.
    async fn down(
        &self,
        mut kubelet: ReadHalf<BoxedStream>,
        client: &mut WriteHalf<BoxedStream>,
        streams: Streams,
        pings: mpsc::Sender<u32>,
        mut pongs: mpsc::Receiver<Bytes>,
    ) -> Option<Outcome> {
        let (mut decoder, mut arrived) = (Decoder::default(), BytesMut::new());
        let mut open = Streams { stdin: None, resize: None, ..streams };
        let (mut status, mut pace) = (Vec::new(), Pace::new(self.limits.rate));
        loop {
            if open.error == 0 && open.stdout.is_none() && open.stderr.is_none() {
                return Some(Outcome::read(&self.version, &status));
            }
            let frame = match decoder.decode(&mut arrived) {
                Ok(Some(frame)) => frame,
                Err(error) => return Some(Outcome::Failed(error.to_string())),
                Ok(None) => {
                    if arrived.is_empty() {
                        arrived = BytesMut::new();
                    }
                    let idle =
                        sleep_until(Instant::now() + self.limits.idle.min(Duration::from_secs(86_400)));
                    tokio::select! {
                        read = read(&mut kubelet, &mut arrived) => match read {
                            true => {}
                            false if status.is_empty() && open.error != 0 => {
                                let why = "error reading from error stream: unexpected EOF";
                                return Some(Outcome::Failed(why.to_owned()));
                            }
                            false => return Some(Outcome::read(&self.version, &status)),
                        },
                        Some(data) = pongs.recv() => {
                            let mut out = BytesMut::new();
                            encode::pong(&mut out, &data);
                            client.write_all(&out).await.ok()?;
                            client.flush().await.ok()?;
                        }
                        () = idle => return None,
                    }
                    continue;
                }
            };
            match frame {
                Frame::Data { stream, fin, data } => {
                    let channel = match Some(stream) {
                        of if of == streams.stdout => Some(STDOUT),
                        of if of == streams.stderr => Some(STDERR),
                        _ => None,
                    };
                    if let Some(channel) = channel.filter(|_| !data.is_empty()) {
                        send(client, channel, &data).await.ok()?;
                        if let Some(until) = pace.account(data.len()) {
                            sleep_until(until).await;
                        }
                    }
                    if stream == streams.error {
                        status.extend_from_slice(&data[..data.len().min(LARGEST_STATUS - status.len())]);
                    }
                    if fin {
                        open.end(stream);
                    }
                }
                Frame::SynReply { stream, fin: true, .. } | Frame::Headers { stream, fin: true, .. } => {
                    open.end(stream);
                }
                Frame::RstStream { stream, .. } => open.end(stream),
                // Ours have odd numbers, and their answers tell nothing.
                Frame::Ping { id } if id % 2 == 0 => drop(pings.try_send(id)),
                _ => {}
            }
        }
    }
}

impl Streams {
    fn end(&mut self, stream: u32) {
        if self.error == stream {
            self.error = 0;
        }
        for open in [&mut self.stdout, &mut self.stderr] {
            open.take_if(|open| *open == stream);
        }
    }
}

/// Reads a chunk; `false` at the end. Memory is taken only once there is something to read.
async fn read(from: &mut ReadHalf<BoxedStream>, arrived: &mut BytesMut) -> bool {
    let read = poll_fn(|context| {
        let mut space = [const { MaybeUninit::uninit() }; CHUNK];
        let mut chunk = ReadBuf::uninit(&mut space);
        ready!(Pin::new(&mut *from).poll_read(context, &mut chunk))?;
        arrived.extend_from_slice(chunk.filled());
        Poll::Ready(std::io::Result::Ok(chunk.filled().len()))
    });
    matches!(read.await, Ok(1..))
}

#[cfg(test)]
#[path = "remote_command_tests.rs"]
mod tests;
