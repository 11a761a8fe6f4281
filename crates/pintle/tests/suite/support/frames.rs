//! HTTP/2 by hand, for clients that no library would let us be.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;

pub(crate) const DATA: u8 = 0;
pub(crate) const HEADERS: u8 = 1;
pub(crate) const RST_STREAM: u8 = 3;
pub(crate) const SETTINGS: u8 = 4;
pub(crate) const PING: u8 = 6;
pub(crate) const GOAWAY: u8 = 7;
pub(crate) const CONTINUATION: u8 = 9;

pub(crate) const END_STREAM: u8 = 1;
pub(crate) const END_HEADERS: u8 = 4;

pub(crate) const REFUSED_STREAM: u32 = 7;
const MAX_CONCURRENT_STREAMS: u16 = 3;

/// The bytes of one frame.
pub(crate) fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).expect("a short payload").to_be_bytes();
    let mut bytes = length[1..].to_vec();
    bytes.extend([kind, flags]);
    bytes.extend(stream.to_be_bytes());
    bytes.extend(payload);
    bytes
}

/// The headers of a GET, compressed with the static table alone.
pub(crate) fn get(path: &str) -> Vec<u8> {
    let literal = |name: u8, value: &str| {
        let length = u8::try_from(value.len()).ok().filter(|length| *length < 127).expect("a short value");
        [&[name, length][..], value.as_bytes()].concat()
    };
    // :method GET, :scheme https, :path, :authority.
    [vec![0x82, 0x87], literal(4, path), literal(1, "localhost")].concat()
}

#[derive(Debug)]
pub(crate) struct Frame {
    pub(crate) kind: u8,
    pub(crate) flags: u8,
    pub(crate) stream: u32,
    pub(crate) payload: Vec<u8>,
}

impl Frame {
    /// The error code of RST_STREAM or GOAWAY.
    pub(crate) fn error_code(&self) -> u32 {
        let at = if self.kind == GOAWAY { 4 } else { 0 };
        u32::from_be_bytes(self.payload[at..at + 4].try_into().expect("four bytes"))
    }

    pub(crate) fn max_concurrent_streams(&self) -> Option<u32> {
        let mut settings = self.payload.chunks_exact(6);
        let setting = settings.find(|setting| setting[..2] == MAX_CONCURRENT_STREAMS.to_be_bytes())?;
        Some(u32::from_be_bytes(setting[2..].try_into().expect("four bytes")))
    }
}

/// A connection on which the preface and empty settings have been sent.
pub(crate) struct Raw(TlsStream<TcpStream>);

impl Raw {
    pub(crate) async fn open(client: crate::support::Client) -> Raw {
        let mut stream = client.http2().tls().await.expect("a handshake");
        stream.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").await.expect("the preface");
        stream.write_all(&frame(SETTINGS, 0, 0, &[])).await.expect("settings");
        Raw(stream)
    }

    /// Whether all of it was taken; a server that has had enough takes no more.
    pub(crate) async fn send(&mut self, bytes: &[u8]) -> bool {
        let sending = async {
            self.0.write_all(bytes).await?;
            self.0.flush().await
        };
        matches!(tokio::time::timeout(Duration::from_secs(5), sending).await, Ok(Ok(())))
    }

    /// The next frame; `None` at the end of the connection.
    pub(crate) async fn next(&mut self) -> Option<Frame> {
        let reading = async {
            let mut head = [0; 9];
            self.0.read_exact(&mut head).await.ok()?;
            let length = usize::from(head[0]) << 16 | usize::from(head[1]) << 8 | usize::from(head[2]);
            let mut payload = vec![0; length];
            self.0.read_exact(&mut payload).await.ok()?;
            let stream = u32::from_be_bytes([head[5], head[6], head[7], head[8]]);
            Some(Frame { kind: head[3], flags: head[4], stream, payload })
        };
        tokio::time::timeout(Duration::from_secs(10), reading).await.expect("a frame or the end in time")
    }

    /// Reads up to a frame that fits.
    pub(crate) async fn until(&mut self, fits: impl Fn(&Frame) -> bool) -> Option<Frame> {
        loop {
            let frame = self.next().await?;
            if fits(&frame) {
                return Some(frame);
            }
        }
    }
}
