//! Upgraded connections: byte tunnels between a client and another server, whatever protocol they speak (WebSocket, SPDY).

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadHalf, WriteHalf};
use tokio::time::{Instant, sleep_until};

use crate::StreamLimits;
use crate::egress::{BoxedStream, Stream};
use crate::limits::{Pace, far};

/// The size of the buffer of each direction: all that a tunnel holds in memory.
const BUFFER: usize = 32 << 10;

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
    /// No byte in either direction for [`StreamLimits::idle`].
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
        let Upgraded { stream, limits, .. } = self;
        let (from_client, to_client) = tokio::io::split(client);
        let (from_server, to_server) = tokio::io::split(stream);
        let activity = Activity::new();
        let (upstream, downstream) = (AtomicU64::new(0), AtomicU64::new(0));
        let copies = async {
            let up = copy(from_client, to_server, &limits, &activity, &upstream);
            let down = copy(from_server, to_client, &limits, &activity, &downstream);
            tokio::try_join!(up, down).map(|_| ())
        };
        let end = tokio::select! {
            copied = copies => match copied {
                Ok(()) => TunnelEnd::Closed,
                Err(end) => end,
            },
            () = activity.idle_for(limits.idle) => TunnelEnd::Idle,
        };
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Tunneled { to_server: count(&upstream), to_client: count(&downstream), end }
    }
}

/// Copies one direction to its end, and passes the end on.
async fn copy<R: AsyncRead, W: AsyncWrite>(
    mut from: ReadHalf<R>,
    mut to: WriteHalf<W>,
    limits: &StreamLimits,
    activity: &Activity,
    copied: &AtomicU64,
) -> Result<(), TunnelEnd> {
    let lost = |error: io::Error| TunnelEnd::Lost(error.kind());
    let mut pace = Pace::new(limits.rate);
    let mut buffer = vec![0; BUFFER];
    loop {
        let read = from.read(&mut buffer).await.map_err(lost)?;
        activity.note();
        if read == 0 {
            return to.shutdown().await.map_err(lost);
        }
        let total = copied.load(Ordering::Relaxed) + read as u64;
        if limits.size.is_some_and(|size| total > size) {
            return Err(TunnelEnd::TooLarge);
        }
        to.write_all(&buffer[..read]).await.map_err(lost)?;
        to.flush().await.map_err(lost)?;
        activity.note();
        copied.store(total, Ordering::Relaxed);
        if let Some(until) = pace.account(read) {
            sleep_until(until).await;
        }
    }
}

/// The time of the last byte in either direction.
struct Activity {
    start: Instant,
    /// Milliseconds since `start`.
    last: AtomicU64,
}

impl Activity {
    fn new() -> Activity {
        Activity { start: Instant::now(), last: AtomicU64::new(0) }
    }

    fn note(&self) {
        let elapsed = u64::try_from(self.start.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.last.store(elapsed, Ordering::Relaxed);
    }

    /// Waits until nothing has been noted for `idle`.
    async fn idle_for(&self, idle: Duration) {
        loop {
            let last = self.start + Duration::from_millis(self.last.load(Ordering::Relaxed));
            let end = last.checked_add(idle).unwrap_or_else(|| far(idle));
            if Instant::now() >= end {
                return;
            }
            sleep_until(end).await;
        }
    }
}
