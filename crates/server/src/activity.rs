//! The activity of a connection, and the deadlines for its next headers and for the end of its idleness.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use tokio::time::Instant;

use crate::connection::Limits;

/// Times are milliseconds since the connection began.
pub(crate) struct Activity {
    begun: Instant,
    active_requests: AtomicUsize,
    /// The time when it last became idle.
    idle_since: AtomicU64,
    /// The time of the first byte after that; 0 if none has come.
    bytes_since: AtomicU64,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Overdue {
    Headers,
    Idle,
}

/// A request, from its headers to the last byte of its answer.
pub(crate) struct ActiveRequest(Arc<Activity>);

impl Activity {
    pub(crate) fn new() -> Activity {
        Activity {
            begun: Instant::now(),
            active_requests: AtomicUsize::new(0),
            idle_since: AtomicU64::new(0),
            bytes_since: AtomicU64::new(0),
        }
    }

    fn now(&self) -> u64 {
        u64::try_from(self.begun.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    pub(crate) fn begin(self: &Arc<Self>) -> ActiveRequest {
        self.active_requests.fetch_add(1, Ordering::AcqRel);
        ActiveRequest(self.clone())
    }

    /// The connection idles from now on.
    pub(crate) fn touch(&self) {
        self.bytes_since.store(0, Ordering::Release);
        self.idle_since.store(self.now(), Ordering::Release);
    }

    pub(crate) fn received(&self) {
        if self.active_requests.load(Ordering::Acquire) == 0 {
            let now = self.now().max(1);
            let _ = self.bytes_since.compare_exchange(0, now, Ordering::AcqRel, Ordering::Acquire);
        }
    }

    /// Returns the time to call [`Activity::overdue`] again: never long before its answer can change.
    pub(crate) fn deadline(&self, limits: &Limits, http1: bool) -> Instant {
        let now = Instant::now();
        if self.active_requests.load(Ordering::Acquire) > 0 {
            return now + limits.idle;
        }
        let after = |millis: u64, limit: Duration| self.begun + Duration::from_millis(millis) + limit;
        let idle = after(self.idle_since.load(Ordering::Acquire), limits.idle);
        let at = match self.bytes_since.load(Ordering::Acquire) {
            _ if !http1 => idle,
            // Bytes may begin to come at any time, and they do not wake this wait.
            0 => idle.min(now + limits.read_header),
            since => after(since, limits.read_header),
        };
        at.max(now + Duration::from_millis(10))
    }

    pub(crate) fn overdue(&self, limits: &Limits, http1: bool) -> Option<Overdue> {
        if self.active_requests.load(Ordering::Acquire) > 0 {
            return None;
        }
        let lasts =
            |since: u64, limit: Duration| Duration::from_millis(self.now().saturating_sub(since)) >= limit;
        let bytes_since = self.bytes_since.load(Ordering::Acquire);
        if http1 && bytes_since > 0 {
            return lasts(bytes_since, limits.read_header).then_some(Overdue::Headers);
        }
        lasts(self.idle_since.load(Ordering::Acquire), limits.idle).then_some(Overdue::Idle)
    }
}

impl Drop for ActiveRequest {
    fn drop(&mut self) {
        // Before the count goes down: two that end together must not both leave the time to the other.
        self.0.touch();
        self.0.active_requests.fetch_sub(1, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How often a connection that does nothing is looked at before it is found idle, and when that is.
    async fn wakeups(http1: bool) -> (u32, u64) {
        let (activity, limits) = (Activity::new(), Limits::default());
        for wakeups in 1.. {
            tokio::time::sleep_until(activity.deadline(&limits, http1)).await;
            if activity.overdue(&limits, http1) == Some(Overdue::Idle) {
                return (wakeups, activity.begun.elapsed().as_secs());
            }
        }
        unreachable!("the loop has no end");
    }

    #[tokio::test(start_paused = true)]
    async fn an_idle_connection_is_left_in_peace() {
        assert_eq!(wakeups(false).await, (1, 90));
        assert_eq!(wakeups(true).await, (3, 90));
    }

    #[tokio::test(start_paused = true)]
    async fn headers_that_do_not_end_are_overdue() {
        let (activity, limits) = (Activity::new(), Limits::default());
        activity.received();
        tokio::time::sleep_until(activity.deadline(&limits, true)).await;
        assert_eq!(activity.overdue(&limits, true), Some(Overdue::Headers));
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_with_a_request_under_way_is_never_overdue() {
        let (activity, limits) = (Arc::new(Activity::new()), Limits::default());
        let request = activity.begin();
        tokio::time::sleep(limits.idle * 10).await;
        assert_eq!(activity.overdue(&limits, true), None);
        drop(request);
        assert_eq!(activity.overdue(&limits, true), None, "it idles only from now on");
        tokio::time::sleep(limits.idle).await;
        assert_eq!(activity.overdue(&limits, true), Some(Overdue::Idle));
    }
}
