//! A byte stream whose bytes travel in binary messages: `SPDY/3.1+portforward.k8s.io`.
//!
//! Where messages begin and end means nothing. Like a tunnel, a stream owns memory only while bytes are under way.

use std::io;
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::{Decoder, Event, close, encode};

/// Bytes that are read at once.
const CHUNK: usize = 16 << 10;
/// Bytes of one message that is sent.
const LARGEST_MESSAGE: usize = 32 << 10;
/// Bytes of control frames that wait to be sent; pings beyond them are not answered.
const MOST_CONTROL: usize = 1024;

/// The server's end of a WebSocket, as a byte stream.
pub struct MessageStream<S> {
    stream: S,
    decoder: Decoder,
    arrived: BytesMut,
    /// Bytes of messages that were not read yet.
    data: Bytes,
    /// Heads of messages and control frames that wait to be sent.
    heads: BytesMut,
    /// Control frames to be sent between two messages.
    control: BytesMut,
    /// Bytes of the current message that are to follow.
    left: usize,
    at_end: bool,
    closes: bool,
}

impl<S> MessageStream<S> {
    pub fn new(stream: S) -> MessageStream<S> {
        MessageStream {
            stream,
            decoder: Decoder::default(),
            arrived: BytesMut::new(),
            data: Bytes::new(),
            heads: BytesMut::new(),
            control: BytesMut::new(),
            left: 0,
            at_end: false,
            closes: false,
        }
    }

    fn answer(&mut self, event: Event) -> io::Result<()> {
        let invalid = |why| io::Error::new(io::ErrorKind::InvalidData, why);
        match event {
            Event::Message { text: true, .. } => return Err(invalid("invalid message type received")),
            Event::Message { data, .. } => self.data = data,
            Event::Ping(data) if self.control.len() < MOST_CONTROL => encode::pong(&mut self.control, &data),
            Event::Ping(_) | Event::Pong => {}
            Event::Close => self.at_end = true,
        }
        Ok(())
    }
}

impl<S: AsyncWrite + Unpin> MessageStream<S> {
    /// Sends heads and, between messages, control frames.
    fn poll_heads(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        loop {
            if self.heads.is_empty() && self.left == 0 && !self.control.is_empty() {
                self.heads = std::mem::take(&mut self.control);
            }
            if self.heads.is_empty() {
                self.heads = BytesMut::new();
                return Poll::Ready(Ok(()));
            }
            match ready!(Pin::new(&mut self.stream).poll_write(context, &self.heads))? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                written => self.heads.advance(written),
            }
        }
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for MessageStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        loop {
            if !this.data.is_empty() {
                let size = this.data.len().min(buffer.remaining());
                buffer.put_slice(&this.data.split_to(size));
                return Poll::Ready(Ok(()));
            }
            if this.at_end {
                return Poll::Ready(Ok(()));
            }
            let event = this.decoder.decode(&mut this.arrived);
            match event.map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))? {
                Some(event) => this.answer(event)?,
                None => {
                    if this.arrived.is_empty() {
                        this.data = Bytes::new();
                        this.arrived = BytesMut::new();
                    }
                    let mut space = [const { MaybeUninit::uninit() }; CHUNK];
                    let mut chunk = ReadBuf::uninit(&mut space);
                    let read = Pin::new(&mut this.stream).poll_read(context, &mut chunk);
                    if read.is_pending() && !this.control.is_empty() {
                        // Writing would send them, but there may be nothing to write.
                        ready!(this.poll_heads(context))?;
                        ready!(Pin::new(&mut this.stream).poll_flush(context))?;
                    }
                    ready!(read)?;
                    this.at_end = chunk.filled().is_empty();
                    this.arrived.extend_from_slice(chunk.filled());
                }
            }
        }
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for MessageStream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        data: &[u8],
    ) -> Poll<io::Result<usize>> {
        let this = &mut *self;
        if this.left == 0 && !data.is_empty() {
            ready!(this.poll_heads(context))?;
            this.left = data.len().min(LARGEST_MESSAGE);
            encode::binary_head(&mut this.heads, this.left);
        }
        ready!(this.poll_heads(context))?;
        let part = &data[..data.len().min(this.left)];
        let written = ready!(Pin::new(&mut this.stream).poll_write(context, part))?;
        this.left -= written;
        Poll::Ready(Ok(written))
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_heads(context))?;
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if !self.closes && self.left == 0 {
            self.closes = true;
            encode::close(&mut self.control, close::NORMAL);
        }
        ready!(self.poll_heads(context))?;
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

    use super::super::decode::tests::client_frame;
    use super::*;

    #[tokio::test]
    async fn bytes_travel_in_binary_messages() {
        let (mut client, server) = duplex(100);
        let mut stream = MessageStream::new(server);
        let sent =
            [client_frame(0x02, b"one "), client_frame(0x89, b"?"), client_frame(0x80, b"two")].concat();
        client.write_all(&sent).await.unwrap();
        let mut read = [0; 7];
        stream.read_exact(&mut read).await.unwrap();
        assert_eq!(&read, b"one two");
        stream.write_all(b"answer").await.unwrap();
        stream.flush().await.unwrap();
        let mut answer = [0; 3 + 8];
        client.read_exact(&mut answer).await.unwrap();
        assert_eq!(&answer, b"\x8a\x01?\x82\x06answer");
        client.write_all(&client_frame(0x88, &[3, 232])).await.unwrap();
        assert_eq!(stream.read(&mut read).await.unwrap(), 0);
        stream.shutdown().await.unwrap();
        let mut rest = Vec::new();
        client.read_to_end(&mut rest).await.unwrap();
        assert_eq!(rest, b"\x88\x02\x03\xe8");
    }

    #[tokio::test]
    async fn a_large_write_is_several_messages() {
        let (mut client, server) = duplex(1000);
        let mut stream = MessageStream::new(server);
        let writing = tokio::spawn(async move {
            stream.write_all(&[7; LARGEST_MESSAGE + 3]).await.unwrap();
            stream.shutdown().await.unwrap();
        });
        let mut sent = Vec::new();
        client.read_to_end(&mut sent).await.unwrap();
        writing.await.unwrap();
        assert_eq!(sent[..4], [0x82, 126, 0x80, 0]);
        assert_eq!(sent[4 + LARGEST_MESSAGE..], [0x82, 3, 7, 7, 7, 0x88, 2, 3, 232]);
    }

    #[tokio::test]
    async fn text_is_refused() {
        let (mut client, server) = duplex(100);
        client.write_all(&client_frame(0x81, b"text")).await.unwrap();
        let error = MessageStream::new(server).read(&mut [0; 10]).await.unwrap_err();
        assert_eq!(error.to_string(), "invalid message type received");
    }
}
