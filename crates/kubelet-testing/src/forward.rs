//! `portForward` over SPDY: each connection is a pair of streams, for data and for an error.

use std::collections::HashMap;
use std::net::SocketAddr;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::spdy::{Sender, Stream, accept};
use crate::{State, Upgraded};

impl State {
    /// Returns where a port of a pod leads.
    pub(crate) fn port(&self, port: u16) -> SocketAddr {
        self.ports.get(&port).copied().unwrap_or_else(|| ([127, 0, 0, 1], port).into())
    }
}

pub(crate) async fn serve(stream: Upgraded, state: &State) {
    let (sender, mut opened) = accept(stream);
    let mut waiting: HashMap<String, Stream> = HashMap::new();
    let mut pairs = tokio::task::JoinSet::new();
    while let Some(stream) = opened.recv().await {
        let request = stream.header("requestid").to_owned();
        let Some(other) = waiting.remove(&request) else {
            waiting.insert(request, stream);
            continue;
        };
        let (data, error) =
            if stream.header("streamtype") == "data" { (stream, other) } else { (other, stream) };
        let port = data.header("port").parse().unwrap_or(0);
        pairs.spawn(pair(data, error.id, port, state.port(port), sender.clone()));
    }
}

async fn pair(mut data: Stream, error: u32, port: u16, to: SocketAddr, sender: Sender) {
    let mut target = match TcpStream::connect(to).await {
        Ok(target) => target,
        Err(why) => {
            let message = format!("error forwarding port {port} to pod: {why}");
            let _ = sender.data(error, true, message.as_bytes()).await;
            let _ = sender.data(data.id, true, b"").await;
            return;
        }
    };
    let (mut reading, mut writing) = target.split();
    let up = async {
        while let Some(chunk) = data.data.recv().await {
            if writing.write_all(&chunk).await.is_err() {
                return;
            }
        }
        let _ = writing.shutdown().await;
    };
    let down = async {
        let mut buffer = vec![0; 32 << 10];
        while let Ok(size @ 1..) = reading.read(&mut buffer).await {
            if sender.data(data.id, false, &buffer[..size]).await.is_err() {
                return;
            }
        }
    };
    tokio::pin!(up);
    tokio::select! {
        () = down => {}
        () = async { (&mut up).await; std::future::pending().await } => {}
    }
    let _ = sender.data(data.id, true, b"").await;
    let _ = sender.data(error, true, b"").await;
}
