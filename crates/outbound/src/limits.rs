//! Limits on streams: idle time, size and rate.

use std::num::NonZeroU64;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body::Frame;
use tokio::time::{Instant, Sleep, sleep_until};

use crate::Failure;

/// The time by which a stream may run ahead of its rate.
const BURST: Duration = Duration::from_millis(100);

/// Limits on one streamed exchange. Each direction has its own size and rate.
#[derive(Clone, Debug)]
pub struct StreamLimits {
    /// Time until the header of the response has arrived, connecting included.
    pub header: Duration,
    /// Time without a byte: for bodies in each direction, for tunnels in both together.
    pub idle: Duration,
    /// Bytes in each direction.
    pub size: Option<u64>,
    /// Bytes per second in each direction.
    pub rate: Option<NonZeroU64>,
}

impl Default for StreamLimits {
    /// The idle time is a kubelet's `streamingConnectionIdleTimeout`.
    fn default() -> StreamLimits {
        let idle = Duration::from_secs(4 * 3600);
        StreamLimits { header: Duration::from_secs(30), idle, size: None, rate: None }
    }
}

/// Delays that keep a stream to its rate.
pub struct Pace {
    rate: Option<NonZeroU64>,
    /// The time at which the bytes so far are due.
    due: Instant,
}

impl Pace {
    pub fn new(rate: Option<NonZeroU64>) -> Pace {
        Pace { rate, due: Instant::now() }
    }

    /// Accounts for `bytes`. Returns the time before which no more may follow, if that lies ahead.
    pub fn account(&mut self, bytes: usize) -> Option<Instant> {
        let rate = self.rate?.get();
        let now = Instant::now();
        self.due = self.due.max(now) + Duration::from_secs_f64(bytes as f64 / rate as f64);
        (self.due > now + BURST).then(|| self.due - BURST)
    }
}

/// The limits of one direction of an exchange, and its use of them.
pub(crate) struct Limiter {
    idle: Option<Duration>,
    /// Ends the stream while it waits for bytes.
    idle_end: Option<Pin<Box<Sleep>>>,
    /// Bytes that are left.
    left: Option<u64>,
    size: u64,
    pace: Pace,
    pause: Option<Pin<Box<Sleep>>>,
    /// Ends the stream, whatever it does.
    end: Option<Pin<Box<Sleep>>>,
}

impl Limiter {
    pub(crate) fn new(limits: &StreamLimits) -> Limiter {
        Limiter {
            idle: Some(limits.idle),
            idle_end: None,
            left: limits.size,
            size: limits.size.unwrap_or(u64::MAX),
            pace: Pace::new(limits.rate),
            pause: None,
            end: None,
        }
    }

    pub(crate) fn unlimited() -> Limiter {
        let pace = Pace::new(None);
        Limiter { idle: None, idle_end: None, left: None, size: u64::MAX, pace, pause: None, end: None }
    }

    /// Limits the time and the bytes from here on.
    pub(crate) fn restrict(&mut self, time: Duration, size: u64) {
        self.end = Some(Box::pin(sleep_until(far(time))));
        let size = size.min(self.left.unwrap_or(u64::MAX));
        (self.left, self.size) = (Some(size), size);
    }

    /// Waits until the time of the stream is up.
    pub(crate) fn poll_end(&mut self, context: &mut Context<'_>) -> Poll<Failure> {
        let Some(end) = &mut self.end else { return Poll::Pending };
        end.as_mut().poll(context).map(|()| Failure::TimeoutInBody)
    }

    /// Waits until the rate allows more bytes.
    pub(crate) fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<()> {
        if let Some(pause) = &mut self.pause {
            std::task::ready!(pause.as_mut().poll(context));
            self.pause = None;
        }
        Poll::Ready(())
    }

    /// Accounts for a frame that has arrived.
    pub(crate) fn account(&mut self, frame: &Frame<Bytes>) -> Result<(), Failure> {
        self.idle_end = None;
        let Some(data) = frame.data_ref() else { return Ok(()) };
        if let Some(left) = &mut self.left {
            let limit = usize::try_from(self.size).unwrap_or(usize::MAX);
            *left = left.checked_sub(data.len() as u64).ok_or(Failure::TooLarge { limit })?;
        }
        self.pause = self.pace.account(data.len()).map(|until| Box::pin(sleep_until(until)));
        Ok(())
    }

    /// Waits until the stream has been idle for too long.
    pub(crate) fn poll_idle(&mut self, context: &mut Context<'_>) -> Poll<Failure> {
        let Some(idle) = self.idle else { return Poll::Pending };
        let end = self.idle_end.get_or_insert_with(|| Box::pin(sleep_until(far(idle))));
        end.as_mut().poll(context).map(|()| Failure::Idle)
    }
}

/// Returns the time after `duration`; about a year ahead if that cannot be represented.
pub(crate) fn far(duration: Duration) -> Instant {
    let now = Instant::now();
    now.checked_add(duration).unwrap_or(now + Duration::from_secs(365 * 86_400))
}
