//! Where the permission to execute comes from: slots divided among users, or seats of a priority level.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use pintle_flow_control::Ticket;

use super::fair_shares::FairShares;
use super::slots::Slots;

/// Time that a request waits for the seats that it gave back.
const SEATS_TIMEOUT: Duration = Duration::from_secs(3);
/// Number of requests that may wait without their seats, for each seat of the server.
const PAUSED_PER_SEAT: usize = 8;

/// The source of a request's permission to execute.
pub(super) enum Permission {
    /// One of the slots of the request's user.
    Slots(Arc<Slots>),
    /// Seats of a priority level.
    Seats { ticket: Ticket, paused: Arc<PausedRequests> },
}

/// The requests of all priority levels that have given their seats back while they wait for their client or a revision. They are
/// divided among users, so that clients that send slowly leave room for others.
pub(crate) struct PausedRequests(Mutex<FairShares>);

impl PausedRequests {
    /// Returns room for the requests of a server with so many seats.
    pub(crate) fn of_seats(seats: usize) -> PausedRequests {
        PausedRequests(Mutex::new(FairShares::new(seats.saturating_mul(PAUSED_PER_SEAT))))
    }

    fn shares(&self) -> MutexGuard<'_, FairShares> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Permission {
    /// Counts a request that waits without permission; `false` if its user has too many of them.
    pub(super) fn begin_waiting(&self, user: &str) -> bool {
        match self {
            Permission::Slots(slots) => slots.begin_waiting(user),
            Permission::Seats { paused, .. } => paused.shares().take(user, 1),
        }
    }

    pub(super) fn end_waiting(&self, user: &str) {
        match self {
            Permission::Slots(slots) => slots.end_waiting(user),
            Permission::Seats { paused, .. } => paused.shares().give_back(user, 1),
        }
    }

    /// Gives the permission back for a while.
    pub(super) fn give_back(&self, user: &str) {
        match self {
            Permission::Slots(slots) => slots.give_back(user),
            Permission::Seats { ticket, .. } => ticket.suspend(),
        }
    }

    /// Waits for the permission again; `false` if it did not come in time.
    pub(super) async fn take_back(&self, user: &str) -> bool {
        match self {
            Permission::Slots(slots) => slots.wait_for_slot(user).await,
            Permission::Seats { ticket, .. } => ticket.resume(SEATS_TIMEOUT).await,
        }
    }

    /// Gives back what a request holds at its end. Seats go with their ticket.
    pub(super) fn end(&self, user: &str, is_exempt: bool) {
        match self {
            Permission::Slots(slots) if is_exempt => slots.give_back_exempt(),
            Permission::Slots(slots) => slots.give_back(user),
            Permission::Seats { .. } => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;
    use pintle_auth::User;
    use pintle_flow_control::{
        Config, Describe, Digest, FlowControl, ListOptions, ObjectStats, RequestDetails, Stats,
    };
    use pintle_metrics::Registry;
    use pintle_runtime::Clock;

    use super::super::{Slot, without_slot};
    use super::*;

    struct Nothing;

    impl ObjectStats for Nothing {
        fn stats(&self, _: &str, _: &str) -> Stats {
            Stats::Unknown
        }

        fn reads_recent_from_cache(&self) -> bool {
            true
        }
    }

    impl Describe for Nothing {
        fn details(&self) -> RequestDetails {
            RequestDetails::default()
        }
    }

    /// One seat, of the level that is there without objects, which has no queues.
    struct Fixture {
        control: Arc<FlowControl>,
        paused: Arc<PausedRequests>,
    }

    impl Fixture {
        fn new() -> Fixture {
            let control = FlowControl::new(Config {
                seats: 1,
                clock: Clock::system(),
                registry: Registry::default(),
                size_based_lists: true,
                watch_list: true,
                objects: Arc::new(Nothing),
                note: Arc::new(|_, _, _| {}),
            });
            Fixture { control: control.unwrap(), paused: Arc::new(PausedRequests::of_seats(1)) }
        }

        fn take(&self, name: &str) -> Option<Slot> {
            let groups = vec!["system:authenticated".into()];
            let user = Arc::new(User { name: name.into(), groups, ..User::default() });
            let digest = Digest {
                user: &user,
                verb: "get",
                is_resource: false,
                group: "",
                resource: "",
                subresource: "",
                namespace: "",
                name: "",
                path: "/version",
            };
            let options = || Some(ListOptions::default());
            let ticket = self.control.admit(&digest, options, Box::new(Nothing))?.ticket.ok()?;
            Some(Slot::of_seats(ticket, &self.paused, user.clone(), false))
        }
    }

    #[tokio::test(start_paused = true)]
    async fn seats_are_free_for_others_while_their_request_waits() {
        let fixture = Fixture::new();
        let slot = fixture.take("a").unwrap();
        assert!(fixture.take("b").is_none());
        let (sender, receiver) = tokio::sync::oneshot::channel::<()>();
        let body = async { receiver.await.map_err(|_| super::super::too_many_requests_status()) };
        let mut waits = Box::pin(without_slot(Some(&slot), body));
        assert!(waits.as_mut().now_or_never().is_none());
        let other = fixture.take("b");
        assert!(other.is_some());
        sender.send(()).unwrap();
        assert!(waits.as_mut().now_or_never().is_none(), "it goes on when the seat is free again");
        drop(other);
        assert!(fixture.take("c").is_none(), "before new requests");
        waits.await.unwrap();
        slot.hand_to_pool();
        let other = fixture.take("d");
        assert!(other.is_some(), "the pool has limits of its own");
        drop(slot);
        assert!(fixture.take("e").is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn a_user_has_only_so_many_requests_that_wait_without_seats() {
        let fixture = Fixture::new();
        let mut waiting = Vec::new();
        let mut refused = 0;
        for _ in 0..10 {
            let slot = fixture.take("a").unwrap();
            let held = slot.clone();
            let mut waits =
                Box::pin(
                    async move { without_slot(Some(&held), std::future::pending::<Result<(), _>>()).await },
                );
            match waits.as_mut().now_or_never() {
                Some(Err(status)) => refused += u16::from(status.code == 429),
                _ => waiting.push((waits, slot)),
            }
        }
        assert_eq!((waiting.len(), refused), (PAUSED_PER_SEAT / 2, 6), "half, so that others find room");
        waiting.clear();
        assert!(fixture.take("a").is_some());
    }
}
