//! Upgraded connections: byte tunnels between a client and another server, whatever protocol they speak (WebSocket, SPDY).
//!
//! A tunnel is idle most of its life, so it owns memory only while bytes are under way: it reads into a buffer on the stack and
//! keeps what the other side does not take at once.

use std::future::poll_fn;
use std::io;
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep_until};

use crate::StreamLimits;
use crate::egress::{BoxedStream, Stream};
use crate::limits::{Pace, far};

/// Bytes that one read takes at most.
const CHUNK: usize = 32 << 10;
/// Chunks that one direction copies before the other has its turn.
const TURN: usize = 16;
/// Time without a byte after one side has ended: enough for what is on its way, and no longer, since a side that is gone
/// looks the same.
const LINGER: Duration = Duration::from_secs(10);

/// A connection that the other server has agreed to speak another protocol on.
pub struct Upgraded {
    /// The response with code 101, its headers ready to be forwarded.
    pub response: http::response::Parts,
    pub(crate) stream: BoxedStream,
    pub(crate) limits: StreamLimits,
}

/// The reason why a tunnel ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TunnelEnd {
    /// Both sides have sent all they had to send.
    Closed,
    /// One side disappeared.
    Lost(io::ErrorKind),
    /// No byte in either direction for [`StreamLimits::idle`], or for a few seconds after one side had ended.
    Idle,
    /// One direction exceeded [`StreamLimits::size`].
    TooLarge,
}

/// The bytes that went through a tunnel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tunneled {
    pub to_server: u64,
    pub to_client: u64,
    pub end: TunnelEnd,
}

impl Upgraded {
    /// Returns the connection itself, without limits.
    pub fn into_stream(self) -> BoxedStream {
        self.stream
    }

    /// Copies bytes between `client` and the other server until both have ended or a limit is reached; then both connections
    /// are closed. A side that ends its half alone still receives. Dropping the future closes both.
    pub async fn tunnel(self, client: impl Stream) -> Tunneled {
        tunnel(client, self.stream, &self.limits).await
    }
}

/// Copies bytes between a client and a server, as [`Upgraded::tunnel`] does.
pub(crate) async fn tunnel(
    mut client: impl Stream,
    mut server: impl Stream,
    limits: &StreamLimits,
) -> Tunneled {
    let (mut up, mut down) = (Direction::new(limits), Direction::new(limits));
    let mut idle = Idle::new(limits.idle);
    let end = poll_fn(|context| {
        let before = up.copied + down.copied;
        let ended = [
            up.poll_copy(context, &mut client, &mut server),
            down.poll_copy(context, &mut server, &mut client),
        ];
        for end in &ended {
            if let Poll::Ready(Err(end)) = end {
                return Poll::Ready(*end);
            }
        }
        if ended.iter().all(Poll::is_ready) {
            return Poll::Ready(TunnelEnd::Closed);
        }
        if up.at_end || down.at_end {
            idle.shorten(LINGER);
        }
        if up.copied + down.copied > before {
            idle.restart();
        }
        idle.poll(context).map(|()| TunnelEnd::Idle)
    })
    .await;
    Tunneled { to_server: up.copied, to_client: down.copied, end }
}

/// One direction of a tunnel.
struct Direction {
    /// Bytes that were read and that the other side has not taken yet.
    kept: Vec<u8>,
    /// The number of kept bytes that were written.
    written: usize,
    needs_flush: bool,
    /// No more will be read: what was read is written, and then the end is passed on.
    at_end: bool,
    /// How the reading side disappeared, if it did.
    lost: Option<io::ErrorKind>,
    is_over: bool,
    pace: Pace,
    pause: Option<Pin<Box<Sleep>>>,
    left: u64,
    copied: u64,
}

impl Direction {
    fn new(limits: &StreamLimits) -> Direction {
        Direction {
            kept: Vec::new(),
            written: 0,
            needs_flush: false,
            at_end: false,
            lost: None,
            is_over: false,
            pace: Pace::new(limits.rate),
            pause: None,
            left: limits.size.unwrap_or(u64::MAX),
            copied: 0,
        }
    }

    /// Copies what is there. Ready at the end, which was passed on.
    fn poll_copy(
        &mut self,
        context: &mut Context<'_>,
        from: &mut (impl AsyncRead + Unpin),
        to: &mut (impl AsyncWrite + Unpin),
    ) -> Poll<Result<(), TunnelEnd>> {
        let lost = |error: io::Error| TunnelEnd::Lost(error.kind());
        for _ in 0..TURN {
            if self.is_over {
                return Poll::Ready(Ok(()));
            }
            if let Err(error) = ready!(self.poll_write(context, to)) {
                return Poll::Ready(Err(lost(error)));
            }
            if self.at_end {
                let ended = ready!(Pin::new(&mut *to).poll_shutdown(context)).map_err(lost);
                self.is_over = true;
                return Poll::Ready(self.lost.map_or(ended, |kind| Err(TunnelEnd::Lost(kind))));
            }
            if let Some(pause) = &mut self.pause {
                ready!(pause.as_mut().poll(context));
                self.pause = None;
            }
            match self.poll_read(context, from, to) {
                Poll::Ready(read) => read?,
                Poll::Pending if self.needs_flush => {
                    ready!(Pin::new(&mut *to).poll_flush(context)).map_err(lost)?;
                    self.needs_flush = false;
                    return Poll::Pending;
                }
                Poll::Pending => return Poll::Pending,
            }
        }
        context.waker().wake_by_ref();
        Poll::Pending
    }

    /// Reads a chunk and writes what the other side takes of it at once.
    fn poll_read(
        &mut self,
        context: &mut Context<'_>,
        from: &mut (impl AsyncRead + Unpin),
        to: &mut (impl AsyncWrite + Unpin),
    ) -> Poll<Result<(), TunnelEnd>> {
        let lost = |error: io::Error| TunnelEnd::Lost(error.kind());
        let mut space = [const { MaybeUninit::uninit() }; CHUNK];
        let mut buffer = ReadBuf::uninit(&mut space);
        if let Err(error) = ready!(Pin::new(from).poll_read(context, &mut buffer)) {
            (self.at_end, self.lost) = (true, Some(error.kind()));
            return Poll::Ready(Ok(()));
        }
        let chunk = buffer.filled();
        self.at_end = chunk.is_empty();
        self.left = self.left.checked_sub(chunk.len() as u64).ok_or(TunnelEnd::TooLarge)?;
        self.copied += chunk.len() as u64;
        self.pause = self.pace.account(chunk.len()).map(|until| Box::pin(sleep_until(until)));
        let mut rest = chunk;
        while !rest.is_empty() {
            self.needs_flush = true;
            match Pin::new(&mut *to).poll_write(context, rest).map_err(lost)? {
                Poll::Ready(0) => return Poll::Ready(Err(TunnelEnd::Lost(io::ErrorKind::WriteZero))),
                Poll::Ready(written) => rest = &rest[written..],
                Poll::Pending => {
                    (self.kept, self.written) = (rest.to_vec(), 0);
                    break;
                }
            }
        }
        Poll::Ready(Ok(()))
    }

    /// Writes the kept bytes, and gives their memory back.
    fn poll_write(
        &mut self,
        context: &mut Context<'_>,
        to: &mut (impl AsyncWrite + Unpin),
    ) -> Poll<io::Result<()>> {
        while self.written < self.kept.len() {
            match ready!(Pin::new(&mut *to).poll_write(context, &self.kept[self.written..]))? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                written => self.written += written,
            }
        }
        (self.kept, self.written) = (Vec::new(), 0);
        Poll::Ready(Ok(()))
    }
}

/// The time without a byte after which a tunnel ends.
struct Idle {
    limit: Duration,
    since: Instant,
    end: Pin<Box<Sleep>>,
}

impl Idle {
    fn new(limit: Duration) -> Idle {
        Idle { limit, since: Instant::now(), end: Box::pin(sleep_until(far(limit))) }
    }

    fn restart(&mut self) {
        self.since = Instant::now();
    }

    fn shorten(&mut self, limit: Duration) {
        if limit < self.limit {
            self.limit = limit;
            self.restart();
            let due = self.due();
            self.end.as_mut().reset(due);
        }
    }

    fn due(&self) -> Instant {
        self.since.checked_add(self.limit).unwrap_or_else(|| far(self.limit))
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<()> {
        loop {
            ready!(self.end.as_mut().poll(context));
            let due = self.due();
            if due <= Instant::now() {
                return Poll::Ready(());
            }
            self.end.as_mut().reset(due);
        }
    }
}
