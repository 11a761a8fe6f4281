//! The slots for read-only requests, or for mutating ones.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;

use super::fair_shares::FairShares;
use crate::metrics::Metrics;

/// Time that a request waits for a slot.
const SLOT_TIMEOUT: Duration = Duration::from_secs(3);
/// Number of requests that may wait without a slot, for each slot.
const WAITING_PER_SLOT: usize = 8;

pub(crate) struct Slots {
    mutating: bool,
    metrics: Metrics,
    state: Mutex<State>,
}

struct State {
    slots: FairShares,
    /// Requests that have given their slot back and wait.
    suspended: FairShares,
    /// Requests without a slot, because they are never refused.
    exempt: usize,
    /// Requests that want their slot back, longest waiting first.
    waiting: VecDeque<Waiting>,
}

struct Waiting {
    user: Box<str>,
    granted: oneshot::Sender<()>,
}

impl Slots {
    pub(crate) fn new(most: usize, mutating: bool, metrics: Metrics) -> Slots {
        let state = State {
            slots: FairShares::new(most),
            suspended: FairShares::new(most.saturating_mul(WAITING_PER_SLOT)),
            exempt: 0,
            waiting: VecDeque::new(),
        };
        Slots { mutating, metrics, state: Mutex::new(state) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn count(&self, state: &State) {
        self.metrics.in_flight(self.mutating, state.slots.taken() + state.exempt);
    }

    /// Takes a slot if the user's share allows it.
    pub(super) fn take(&self, user: &str) -> bool {
        let mut state = self.state();
        let is_taken = state.slots.take(user, 1);
        if is_taken {
            self.count(&state);
        }
        is_taken
    }

    pub(super) fn take_exempt(&self) {
        let mut state = self.state();
        state.exempt += 1;
        self.count(&state);
    }

    pub(super) fn give_back_exempt(&self) {
        let mut state = self.state();
        state.exempt -= 1;
        self.count(&state);
    }

    /// Gives a slot back, to the first waiting request whose user may have it.
    pub(super) fn give_back(&self, user: &str) {
        let mut state = self.state();
        state.slots.give_back(user, 1);
        state.grant();
        self.count(&state);
    }

    /// Counts a request that waits without a slot; `false` if its user has too many of them.
    pub(super) fn begin_waiting(&self, user: &str) -> bool {
        self.state().suspended.take(user, 1)
    }

    pub(super) fn end_waiting(&self, user: &str) {
        self.state().suspended.give_back(user, 1);
    }

    /// Takes a slot as soon as there is one for the user, in order of arrival. `false`: no slot became free in time.
    pub(super) async fn wait_for_slot(&self, user: &str) -> bool {
        let (sender, granted) = oneshot::channel();
        let mut queued = {
            let mut state = self.state();
            state.waiting.push_back(Waiting { user: user.into(), granted: sender });
            state.grant();
            self.count(&state);
            QueuedRequest { slots: self, user, granted }
        };
        matches!(tokio::time::timeout(SLOT_TIMEOUT, &mut queued.granted).await, Ok(Ok(())))
    }
}

impl State {
    /// Grants free slots to waiting requests.
    fn grant(&mut self) {
        let mut next = 0;
        // Users that may have no slot now, which nothing below changes.
        let mut full: Vec<Box<str>> = Vec::new();
        while let Some(waiting) = self.waiting.get(next) {
            if full.contains(&waiting.user) {
                next += 1;
                continue;
            }
            if !self.slots.take(&waiting.user, 1) {
                full.push(waiting.user.clone());
                next += 1;
                continue;
            }
            let granted = self.waiting.remove(next).map(|waiting| (waiting.granted.send(()), waiting.user));
            // The request gave up in this moment.
            if let Some((Err(()), user)) = granted {
                self.slots.give_back(&user, 1);
            }
        }
    }
}

/// A request in the queue. Dropped, it gives back a slot that was granted too late.
struct QueuedRequest<'a> {
    slots: &'a Slots,
    user: &'a str,
    granted: oneshot::Receiver<()>,
}

impl Drop for QueuedRequest<'_> {
    fn drop(&mut self) {
        self.granted.close();
        // The slot of a request that goes on was received before.
        if self.granted.try_recv().is_ok() {
            return self.slots.give_back(self.user);
        }
        self.slots.state().waiting.retain(|waiting| !waiting.granted.is_closed());
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    fn slots(most: usize) -> Arc<Slots> {
        Arc::new(Slots::new(most, false, Metrics::for_tests()))
    }

    fn taken(slots: &Slots) -> usize {
        slots.state().slots.taken()
    }

    #[test]
    fn there_are_so_many_slots_and_no_more() {
        let slots = slots(3);
        assert!(slots.take("a") && !slots.take("a") || slots.take("b"));
        slots.give_back("a");
        assert!(slots.take("c"), "and is free again");
    }

    #[tokio::test(start_paused = true)]
    async fn a_slot_that_is_given_back_goes_to_the_longest_waiting() {
        let slots = slots(1);
        assert!(slots.take("a"));
        let mut waiting = Vec::new();
        for user in ["b", "c"] {
            let slots = slots.clone();
            waiting.push(tokio::spawn(async move { slots.wait_for_slot(user).await }));
            tokio::task::yield_now().await;
        }
        slots.give_back("a");
        assert!(waiting.remove(0).await.unwrap());
        assert_eq!(taken(&slots), 1);
        assert!(!waiting.remove(0).await.unwrap(), "the next one waits so long and no longer");
        slots.give_back("b");
        assert_eq!(taken(&slots), 0);
        assert!(slots.take("d"));
    }

    #[tokio::test(start_paused = true)]
    async fn a_user_that_has_its_share_does_not_hold_up_those_behind() {
        let slots = slots(4);
        assert!(slots.take("a") && slots.take("a") && slots.take("b"));
        let waits = {
            let slots = slots.clone();
            tokio::spawn(async move { slots.wait_for_slot("a").await })
        };
        tokio::task::yield_now().await;
        assert!(slots.wait_for_slot("c").await, "there is one left, and it is not for a");
        waits.abort();
        let _ = waits.await;
        for user in ["a", "a", "b", "c"] {
            slots.give_back(user);
        }
        assert_eq!((taken(&slots), slots.state().waiting.len()), (0, 0));
    }

    #[tokio::test(start_paused = true)]
    async fn a_slot_granted_to_a_request_that_is_gone_is_given_back() {
        let slots = slots(1);
        assert!(slots.take("a"));
        let mut waits = Box::pin(slots.wait_for_slot("b"));
        assert!(futures_util::FutureExt::now_or_never(waits.as_mut()).is_none());
        slots.give_back("a");
        assert_eq!(taken(&slots), 1, "granted");
        drop(waits);
        assert_eq!(taken(&slots), 0);
    }

    #[test]
    fn so_many_requests_wait_and_no_more() {
        let slots = slots(2);
        let waiting = std::iter::repeat_with(|| slots.begin_waiting("a"))
            .take(100)
            .take_while(|may_wait| *may_wait)
            .count();
        assert_eq!(waiting, WAITING_PER_SLOT);
        assert!(slots.begin_waiting("b") && !slots.begin_waiting("a"));
        (0..2).for_each(|_| slots.end_waiting("a"));
        assert!(slots.begin_waiting("a"));
    }
}
