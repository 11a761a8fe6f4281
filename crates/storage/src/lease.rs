//! Leases: how keys that expire share an end.
//!
//! Events of a busy cluster are written by the thousand, each to live for an hour. One lease for each would cost the
//! store more than the events do, so writers with the same TTL share a lease for a window of time. The lease lives for
//! the TTL and the window, so that no key expires early:
//!
//! ```text
//! window 60 s, ttl 1 h:     0 s            60 s                     3600 s        3660 s
//!                           | grant, reuse |  no reuse any more     | first key    | lease ends, all its keys go
//!                                                                     may go now
//! ```

use std::time::{Duration, Instant};

/// Names a lease in one store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LeaseId(pub i64);

/// How far leases are shared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// A lease is handed out again for so long (`--lease-reuse-duration-seconds`), but never for more than 5 % of its
    /// TTL, which keeps short leases short.
    pub reuse: Duration,
    /// A lease is handed out at most so many times, which bounds the work of its end.
    pub max_objects: u32,
}

impl Default for Window {
    fn default() -> Self {
        Window { reuse: Duration::from_secs(60), max_objects: 1000 }
    }
}

impl Window {
    /// For how long a lease of this TTL is shared.
    pub fn reuse_for(&self, ttl: Duration) -> Duration {
        self.reuse.min(ttl / 20)
    }
}

/// The leases that may still be shared, by TTL. A backend keeps one behind a lock and asks it before it grants.
#[derive(Debug, Default)]
pub struct Shared {
    window: Window,
    // A server uses one or two different TTLs, so a scan is the fastest lookup.
    leases: Vec<Entry>,
}

#[derive(Debug)]
struct Entry {
    ttl: Duration,
    id: LeaseId,
    reuse_until: Instant,
    objects: u32,
}

impl Shared {
    pub fn new(window: Window) -> Self {
        Shared { window, leases: Vec::new() }
    }

    /// A lease granted earlier that still fits, counting this use of it.
    pub fn reuse(&mut self, ttl: Duration, now: Instant) -> Option<LeaseId> {
        self.leases.retain(|lease| lease.reuse_until > now && lease.objects < self.window.max_objects);
        let lease = self.leases.iter_mut().find(|lease| lease.ttl == ttl)?;
        lease.objects += 1;
        Some(lease.id)
    }

    /// How long a new lease for keys of this TTL must live.
    pub fn grant_for(&self, ttl: Duration) -> Duration {
        ttl + self.window.reuse_for(ttl)
    }

    /// Remembers a lease that was just granted and used once.
    pub fn granted(&mut self, ttl: Duration, id: LeaseId, now: Instant) {
        self.leases.retain(|lease| lease.ttl != ttl);
        self.leases.push(Entry { ttl, id, reuse_until: now + self.window.reuse_for(ttl), objects: 1 });
    }

    /// Forgets a lease that turned out to have ended.
    pub fn forget(&mut self, id: LeaseId) {
        self.leases.retain(|lease| lease.id != id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Duration = Duration::from_secs(3600);

    #[test]
    fn a_lease_is_shared_within_its_window_and_by_a_bounded_number() {
        let start = Instant::now();
        let mut shared = Shared::new(Window { max_objects: 3, ..Window::default() });
        assert_eq!(shared.reuse(HOUR, start), None);
        shared.granted(HOUR, LeaseId(1), start);
        assert_eq!(shared.reuse(HOUR, start + Duration::from_secs(59)), Some(LeaseId(1)));
        assert_eq!(shared.reuse(HOUR * 2, start), None, "another TTL");
        assert_eq!(shared.reuse(HOUR, start + Duration::from_secs(59)), Some(LeaseId(1)));
        assert_eq!(shared.reuse(HOUR, start + Duration::from_secs(59)), None, "three objects");
        shared.granted(HOUR, LeaseId(2), start);
        assert_eq!(shared.reuse(HOUR, start + Duration::from_secs(60)), None, "the window has passed");
    }

    #[test]
    fn a_granted_lease_outlives_every_key_that_shares_it() {
        let shared = Shared::new(Window::default());
        assert_eq!(shared.grant_for(HOUR), HOUR + Duration::from_secs(60));
        assert_eq!(shared.grant_for(Duration::from_secs(20)), Duration::from_secs(21), "5 % at most");
    }
}
