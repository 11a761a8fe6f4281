//! Streams over WebSocket as kubelets speak it: the first byte of a message is its channel.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::{SinkExt, StreamExt};
use http::header::{SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_PROTOCOL, UPGRADE};
use http::{HeaderMap, HeaderValue};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::Role;

use crate::process::Process;
use crate::{Query, State, Terminal, Upgraded, process};

/// The subprotocols of this kubelet; none is one, too.
const PROTOCOLS: [&str; 2] = ["v4.channel.k8s.io", "channel.k8s.io"];

/// Returns the headers that accept a handshake.
pub(crate) fn handshake(asked: &HeaderMap) -> Result<HeaderMap, &'static str> {
    let mut headers = HeaderMap::new();
    let offered = asked.get(SEC_WEBSOCKET_PROTOCOL).and_then(|value| value.to_str().ok());
    if let Some(offered) = offered {
        let mut known = offered.split(',').map(str::trim).filter(|offered| PROTOCOLS.contains(offered));
        let protocol = known.next().ok_or("requested protocol(s) are not supported")?;
        headers.insert(SEC_WEBSOCKET_PROTOCOL, HeaderValue::from_str(protocol).expect("a protocol"));
    }
    let key = asked.get(SEC_WEBSOCKET_KEY).ok_or("mismatch challenge/response")?;
    let accept = derive_accept_key(key.as_bytes());
    headers.insert(SEC_WEBSOCKET_ACCEPT, HeaderValue::from_str(&accept).expect("a digest"));
    headers.insert(UPGRADE, HeaderValue::from_static("websocket"));
    Ok(headers)
}

/// `exec` and `attach`.
pub(crate) async fn run(stream: Upgraded, what: &str, query: &Query) {
    let socket = WebSocketStream::from_raw_socket(stream, Role::Server, None).await;
    let (mut sink, mut messages) = socket.split();
    let message = |channel: u8, data: &[u8]| Message::Binary(Bytes::from([&[channel], data].concat()));
    let Process { mut child, terminal } = match process::start(what, query) {
        Ok(process) => process,
        Err(why) => {
            let _ = sink.send(message(3, process::status(Err(why)).as_bytes())).await;
            return;
        }
    };
    let terminal = terminal.map(Arc::new);
    let mut stdin = child.stdin.take();
    let (send, mut output) = mpsc::channel(16);
    match &terminal {
        Some(terminal) => drop(tokio::spawn(print(terminal.clone(), send))),
        None => {
            let (out, err) = (child.stdout.take(), child.stderr.take());
            tokio::spawn(read(out.expect("a pipe"), 1, send.clone()));
            tokio::spawn(read(err.expect("a pipe"), 2, send));
        }
    }
    loop {
        tokio::select! {
            received = messages.next() => match received {
                Some(Ok(Message::Binary(data))) => match (data.split_first(), &terminal) {
                    (Some((0, data)), Some(terminal)) => drop(terminal.write_all(data).await),
                    (Some((4, data)), Some(terminal)) => process::resize(terminal, data),
                    (Some((0, data)), None) => {
                        if let Some(stdin) = &mut stdin {
                            let _ = stdin.write_all(data).await;
                        }
                    }
                    _ => {}
                },
                Some(Ok(Message::Close(_)) | Err(_)) | None => return,
                Some(Ok(_)) => {}
            },
            next = output.recv() => match next {
                Some((channel, data)) => {
                    let _ = sink.send(message(channel, &data)).await;
                }
                None => break,
            },
        }
    }
    let _ = sink.send(message(3, process::status(child.wait().await).as_bytes())).await;
    let _ = sink.close().await;
}

async fn read(mut from: impl tokio::io::AsyncRead + Unpin, channel: u8, to: mpsc::Sender<(u8, Vec<u8>)>) {
    let mut buffer = vec![0; 32 << 10];
    while let Ok(size @ 1..) = from.read(&mut buffer).await {
        if to.send((channel, buffer[..size].to_vec())).await.is_err() {
            return;
        }
    }
}

async fn print(terminal: Arc<Terminal>, to: mpsc::Sender<(u8, Vec<u8>)>) {
    let mut buffer = vec![0; 32 << 10];
    while let Ok(size @ 1..) = terminal.read(&mut buffer).await {
        if to.send((1, buffer[..size].to_vec())).await.is_err() {
            return;
        }
    }
}

/// `portForward`: two channels for each port, which begin with its number.
pub(crate) async fn forward(stream: Upgraded, state: &State, query: &Query) {
    let socket = WebSocketStream::from_raw_socket(stream, Role::Server, None).await;
    let (mut sink, mut messages) = socket.split();
    let ports: Vec<u16> =
        query.all("port").flat_map(|ports| ports.split(',')).filter_map(|port| port.parse().ok()).collect();
    let (send, mut output) = mpsc::channel(16);
    let mut targets = Vec::new();
    for (number, port) in ports.iter().enumerate() {
        let channel = 2 * number as u8;
        for channel in [channel, channel + 1] {
            let head = [&[channel], &port.to_le_bytes()[..]].concat();
            let _ = sink.send(Message::Binary(head.into())).await;
        }
        let Ok(target) = TcpStream::connect(state.port(*port)).await else { return };
        let (reading, writing) = target.into_split();
        tokio::spawn(read(reading, channel, send.clone()));
        targets.push(writing);
    }
    drop(send);
    loop {
        tokio::select! {
            received = messages.next() => match received {
                Some(Ok(Message::Binary(data))) => {
                    if let Some((channel, data)) = data.split_first()
                        && let Some(target) = targets.get_mut(usize::from(*channel) / 2)
                    {
                        let _ = target.write_all(data).await;
                    }
                }
                Some(Ok(Message::Close(_)) | Err(_)) | None => return,
                Some(Ok(_)) => {}
            },
            next = output.recv() => match next {
                Some((channel, data)) => {
                    let data = [&[channel], &data[..]].concat();
                    let _ = sink.send(Message::Binary(data.into())).await;
                }
                None => {
                    let _ = sink.close().await;
                    return;
                }
            },
        }
    }
}
