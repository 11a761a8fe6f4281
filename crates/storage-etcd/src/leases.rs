//! Leases that are shared by all callers of one TTL for a while, see [`pintle_storage::lease`].

use std::time::{Duration, Instant};

use pintle_storage::LeaseId;
use pintle_storage::lease::{Shared, Window};
use tokio::sync::Mutex;

use crate::classify::Failure;
use crate::client::{Client, Effect};
use crate::proto::LeaseGrantRequest;

pub(crate) struct Leases {
    /// Held while a lease is granted, so that callers at the same moment share it.
    shared: Mutex<Shared>,
}

impl Leases {
    pub(crate) fn new(window: Window) -> Leases {
        Leases { shared: Mutex::new(Shared::new(window)) }
    }

    pub(crate) async fn lease(&self, client: &Client, ttl: Duration) -> Result<LeaseId, Failure> {
        let mut shared = self.shared.lock().await;
        // Before the call, so that the window never reaches past what the lease was granted for.
        let now = Instant::now();
        if let Some(id) = shared.reuse(ttl, now) {
            return Ok(id);
        }
        let request = LeaseGrantRequest { ttl: whole_seconds(shared.grant_for(ttl)), id: 0 };
        let response = client.call(request, Effect::Repeatable).await?;
        if !response.error.is_empty() {
            return Err(Failure::Unavailable(response.error));
        }
        let id = LeaseId(response.id);
        shared.granted(ttl, id, now);
        Ok(id)
    }

    /// The next caller gets a new one.
    pub(crate) async fn forget(&self, id: LeaseId) {
        self.shared.lock().await.forget(id);
    }
}

/// Rounded up: no key may go before its time.
fn whole_seconds(duration: Duration) -> i64 {
    let seconds = duration.as_secs() + u64::from(duration.subsec_nanos() > 0);
    i64::try_from(seconds.max(1)).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fraction_of_a_second_counts_as_a_whole_one() {
        assert_eq!(whole_seconds(Duration::ZERO), 1);
        assert_eq!(whole_seconds(Duration::from_millis(2100)), 3);
        assert_eq!(whole_seconds(Duration::from_secs(3660)), 3660);
    }
}
