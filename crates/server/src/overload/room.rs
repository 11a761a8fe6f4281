//! Slots of one kind of requests, reading or writing ones.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;

use super::shares::Shares;
use crate::metrics::Metrics;

/// How long a request that set its slot down waits for another one.
const PATIENCE: Duration = Duration::from_secs(3);
/// How many requests may wait outside a slot, for each slot that there is.
const OUTSIDE: usize = 8;

pub(crate) struct Room {
    mutating: bool,
    metrics: Metrics,
    state: Mutex<State>,
}

struct State {
    slots: Shares,
    /// Requests that have set their slot down.
    outside: Shares,
    /// Requests that are worked on without a slot, because they are never refused.
    exempt: usize,
    /// Requests that want their slot back, longest waiting first.
    waiting: VecDeque<Waiting>,
}

struct Waiting {
    user: Box<str>,
    granted: oneshot::Sender<()>,
}

impl Room {
    pub(crate) fn new(most: usize, mutating: bool, metrics: Metrics) -> Room {
        let state = State {
            slots: Shares::new(most),
            outside: Shares::new(most.saturating_mul(OUTSIDE)),
            exempt: 0,
            waiting: VecDeque::new(),
        };
        Room { mutating, metrics, state: Mutex::new(state) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn count(&self, state: &State) {
        self.metrics.in_flight(self.mutating, state.slots.taken() + state.exempt);
    }

    /// Takes a slot if the user's share allows it.
    pub(super) fn enter(&self, user: &str) -> bool {
        let mut state = self.state();
        let entered = state.slots.take(user, 1);
        if entered {
            self.count(&state);
        }
        entered
    }

    pub(super) fn enter_exempt(&self) {
        let mut state = self.state();
        state.exempt += 1;
        self.count(&state);
    }

    pub(super) fn leave_exempt(&self) {
        let mut state = self.state();
        state.exempt -= 1;
        self.count(&state);
    }

    /// Gives a slot back, to the first that waits for one and may have it.
    pub(super) fn leave(&self, user: &str) {
        let mut state = self.state();
        state.slots.give_back(user, 1);
        state.grant();
        self.count(&state);
    }

    /// Counts a request that waits outside; `false` if its user has too many there.
    pub(super) fn step_outside(&self, user: &str) -> bool {
        self.state().outside.take(user, 1)
    }

    pub(super) fn come_in(&self, user: &str) {
        self.state().outside.give_back(user, 1);
    }

    /// Takes a slot as soon as there is one for the user, in order of asking. `false`: there was none for a while.
    pub(super) async fn enter_soon(&self, user: &str) -> bool {
        let (sender, granted) = oneshot::channel();
        let mut place = {
            let mut state = self.state();
            state.waiting.push_back(Waiting { user: user.into(), granted: sender });
            state.grant();
            self.count(&state);
            Place { room: self, user, granted }
        };
        matches!(tokio::time::timeout(PATIENCE, &mut place.granted).await, Ok(Ok(())))
    }
}

impl State {
    fn grant(&mut self) {
        let mut place = 0;
        // Users that have no room now, which nothing below changes.
        let mut full: Vec<Box<str>> = Vec::new();
        while let Some(waiting) = self.waiting.get(place) {
            if full.contains(&waiting.user) {
                place += 1;
                continue;
            }
            if !self.slots.take(&waiting.user, 1) {
                full.push(waiting.user.clone());
                place += 1;
                continue;
            }
            let granted = self.waiting.remove(place).map(|waiting| (waiting.granted.send(()), waiting.user));
            // It gave up in this moment.
            if let Some((Err(()), user)) = granted {
                self.slots.give_back(&user, 1);
            }
        }
    }
}

/// A place in the queue. Dropped, it gives back a slot that came too late.
struct Place<'a> {
    room: &'a Room,
    user: &'a str,
    granted: oneshot::Receiver<()>,
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.granted.close();
        // The slot of a request that goes on was received before.
        if self.granted.try_recv().is_ok() {
            return self.room.leave(self.user);
        }
        self.room.state().waiting.retain(|waiting| !waiting.granted.is_closed());
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    fn room(most: usize) -> Arc<Room> {
        Arc::new(Room::new(most, false, Metrics::alone()))
    }

    fn taken(room: &Room) -> usize {
        room.state().slots.taken()
    }

    #[test]
    fn a_room_takes_so_many_and_no_more() {
        let room = room(3);
        assert!(room.enter("a") && !room.enter("a") || room.enter("b"));
        room.leave("a");
        assert!(room.enter("c"), "and is free again");
    }

    #[tokio::test(start_paused = true)]
    async fn a_slot_that_is_given_back_goes_to_the_longest_waiting() {
        let room = room(1);
        assert!(room.enter("a"));
        let mut waiting = Vec::new();
        for user in ["b", "c"] {
            let room = room.clone();
            waiting.push(tokio::spawn(async move { room.enter_soon(user).await }));
            tokio::task::yield_now().await;
        }
        room.leave("a");
        assert!(waiting.remove(0).await.unwrap());
        assert_eq!(taken(&room), 1);
        assert!(!waiting.remove(0).await.unwrap(), "the next one waits so long and no longer");
        room.leave("b");
        assert_eq!(taken(&room), 0);
        assert!(room.enter("d"));
    }

    #[tokio::test(start_paused = true)]
    async fn a_user_that_has_its_share_does_not_hold_up_those_behind() {
        let room = room(4);
        assert!(room.enter("a") && room.enter("a") && room.enter("b"));
        let waits = {
            let room = room.clone();
            tokio::spawn(async move { room.enter_soon("a").await })
        };
        tokio::task::yield_now().await;
        assert!(room.enter_soon("c").await, "there is one left, and it is not for a");
        waits.abort();
        let _ = waits.await;
        for user in ["a", "a", "b", "c"] {
            room.leave(user);
        }
        assert_eq!((taken(&room), room.state().waiting.len()), (0, 0));
    }

    #[tokio::test(start_paused = true)]
    async fn a_slot_granted_to_a_request_that_is_gone_is_given_back() {
        let room = room(1);
        assert!(room.enter("a"));
        let mut waits = Box::pin(room.enter_soon("b"));
        assert!(futures_util::FutureExt::now_or_never(waits.as_mut()).is_none());
        room.leave("a");
        assert_eq!(taken(&room), 1, "granted");
        drop(waits);
        assert_eq!(taken(&room), 0);
    }

    #[test]
    fn so_many_wait_outside_and_no_more() {
        let room = room(2);
        let waiting =
            std::iter::repeat_with(|| room.step_outside("a")).take(100).take_while(|in_| *in_).count();
        assert_eq!(waiting, OUTSIDE);
        assert!(room.step_outside("b") && !room.step_outside("a"));
        (0..2).for_each(|_| room.come_in("a"));
        assert!(room.step_outside("a"));
    }
}
