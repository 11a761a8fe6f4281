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
