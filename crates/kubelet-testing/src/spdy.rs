//! The server's end of a SPDY connection.

use std::collections::HashMap;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use pintle_spdy::headers::{Headers, Reader, Writer};
use pintle_spdy::{Decoder, Frame, encode};
use tokio::io::{AsyncReadExt, AsyncWriteExt, ReadHalf, WriteHalf};
use tokio::sync::{Mutex, mpsc};

use crate::Upgraded;

/// The half of a connection that writes; clones write to the same one.
#[derive(Clone)]
pub(crate) struct Sender(Arc<Mutex<WriteHalf<Upgraded>>>);

impl Sender {
    pub(crate) async fn data(&self, stream: u32, fin: bool, data: &[u8]) -> std::io::Result<()> {
        let mut out = BytesMut::new();
        encode::data(&mut out, stream, fin, data);
        self.send(&out).await
    }

    /// Closes the connection, and with it all streams.
    pub(crate) async fn close(&self) {
        let mut out = BytesMut::new();
        encode::go_away(&mut out, 0, 0);
        let mut stream = self.0.lock().await;
        let _ = stream.write_all(&out).await;
        let _ = stream.shutdown().await;
    }

    async fn send(&self, bytes: &[u8]) -> std::io::Result<()> {
        let mut stream = self.0.lock().await;
        stream.write_all(bytes).await?;
        stream.flush().await
    }
}

/// A stream that the other side has opened.
pub(crate) struct Stream {
    pub(crate) id: u32,
    pub(crate) headers: Headers,
    pub(crate) data: mpsc::Receiver<Bytes>,
}

impl Stream {
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.iter().find(|(known, _)| known == name).map_or("", |(_, value)| value)
    }
}

/// A connection: its sender, and the streams that are opened on it. They end with it.
pub(crate) fn accept(stream: Upgraded) -> (Sender, mpsc::Receiver<Stream>) {
    let (reading, writing) = tokio::io::split(stream);
    let sender = Sender(Arc::new(Mutex::new(writing)));
    let (opened, streams) = mpsc::channel(16);
    tokio::spawn(read(reading, sender.clone(), opened));
    (sender, streams)
}

async fn read(mut from: ReadHalf<Upgraded>, sender: Sender, opened: mpsc::Sender<Stream>) {
    let (mut decoder, mut arrived) = (Decoder::default(), BytesMut::new());
    let (mut reader, mut writer) = (Reader::default(), Writer::default());
    let mut streams: HashMap<u32, mpsc::Sender<Bytes>> = HashMap::new();
    loop {
        let frame = match decoder.decode(&mut arrived) {
            Ok(Some(frame)) => frame,
            Ok(None) => {
                arrived.reserve(32 << 10);
                match from.read_buf(&mut arrived).await {
                    Ok(1..) => continue,
                    _ => return,
                }
            }
            Err(_) => return,
        };
        match frame {
            Frame::SynStream { stream, headers, .. } => {
                let Ok(headers) = reader.read(&headers) else { return };
                let (send, data) = mpsc::channel(16);
                streams.insert(stream, send);
                let mut out = BytesMut::new();
                encode::syn_reply(&mut out, stream, &writer.block(&[]));
                if sender.send(&out).await.is_err()
                    || opened.send(Stream { id: stream, headers, data }).await.is_err()
                {
                    return;
                }
            }
            Frame::Data { stream, fin, data } => {
                if let Some(to) = streams.get(&stream)
                    && !data.is_empty()
                {
                    let _ = to.send(data).await;
                }
                if fin {
                    streams.remove(&stream);
                }
            }
            Frame::RstStream { stream, .. } => drop(streams.remove(&stream)),
            Frame::Ping { id } => {
                let mut out = BytesMut::new();
                encode::ping(&mut out, id);
                if sender.send(&out).await.is_err() {
                    return;
                }
            }
            Frame::GoAway { .. } => return,
            _ => {}
        }
    }
}
