//! The permission to execute one request: a slot of its user, or seats of its priority level.

use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Poll;

use pintle_auth::User;
use pintle_flow_control::Ticket;
use pintle_meta::Status;

use super::permission::{PausedRequests, Permission};
use super::slots::Slots;
use super::too_many_requests_status;

/// One of [`Slots`], or seats of a priority level, or the exemption from needing them. Clones are of the same slot, which is
/// free again when the last is dropped.
#[derive(Clone)]
pub(crate) struct Slot(Arc<Held>);

struct Held {
    permission: Permission,
    user: Arc<User>,
    state: Mutex<State>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// The request needs no slot.
    Exempt,
    Taken,
    /// Given back while the request waits for its client or for a revision.
    Suspended,
    /// Given back while the request is in the pool, which has limits of its own.
    InPool,
}

impl Slot {
    /// Takes a slot; `None` if the user may have none now.
    pub(crate) fn take(slots: &Arc<Slots>, user: Arc<User>) -> Option<Slot> {
        let permission = || Permission::Slots(slots.clone());
        slots.take(&user.name).then(|| Slot::new(permission(), user, State::Taken))
    }

    /// Waits for a slot for a short time, in order with others. `None`: no slot became free, or too many requests of this user
    /// wait.
    pub(crate) async fn wait(slots: &Arc<Slots>, user: Arc<User>) -> Option<Slot> {
        if !slots.begin_waiting(&user.name) {
            return None;
        }
        let slot = Slot::new(Permission::Slots(slots.clone()), user, State::Suspended);
        slot.resume().await.ok().map(|()| slot)
    }

    /// Makes the slot of a request that is never refused. It is counted all the same.
    pub(crate) fn exempt(slots: &Arc<Slots>, user: Arc<User>) -> Slot {
        slots.take_exempt();
        Slot::new(Permission::Slots(slots.clone()), user, State::Exempt)
    }

    /// Makes the slot of a request that has its seats. `is_exempt`: its priority level has no limit.
    pub(crate) fn of_seats(
        ticket: Ticket,
        paused: &Arc<PausedRequests>,
        user: Arc<User>,
        is_exempt: bool,
    ) -> Slot {
        let state = if is_exempt { State::Exempt } else { State::Taken };
        Slot::new(Permission::Seats { ticket, paused: paused.clone() }, user, state)
    }

    fn new(permission: Permission, user: Arc<User>, state: State) -> Slot {
        Slot(Arc::new(Held { permission, user, state: Mutex::new(state) }))
    }

    fn state(&self) -> State {
        *self.0.state()
    }

    fn change(&self, from: State, to: State) -> bool {
        let mut state = self.0.state();
        let fits = *state == from;
        if fits {
            *state = to;
        }
        fits
    }

    /// Gives the slot back until [`Slot::resume`]. Errors: its user has too many requests that wait.
    fn suspend(&self) -> Result<(), Box<Status>> {
        if self.state() != State::Taken {
            return Ok(());
        }
        let user = &self.0.user.name;
        if !self.0.permission.begin_waiting(user) {
            return Err(too_many_requests_status());
        }
        self.change(State::Taken, State::Suspended);
        self.0.permission.give_back(user);
        Ok(())
    }

    /// Waits for a slot again for a short time, in order with others. Errors: no slot became free.
    async fn resume(&self) -> Result<(), Box<Status>> {
        let before = self.state();
        if !matches!(before, State::Suspended | State::InPool) {
            return Ok(());
        }
        let user = &self.0.user.name;
        if !self.0.permission.take_back(user).await {
            return Err(too_many_requests_status());
        }
        if before == State::Suspended {
            self.0.permission.end_waiting(user);
        }
        self.change(before, State::Taken);
        Ok(())
    }

    /// Gives the slot back while the request is in the pool.
    pub(super) fn hand_to_pool(&self) {
        match self.state() {
            State::Taken => self.0.permission.give_back(&self.0.user.name),
            State::Suspended => self.0.permission.end_waiting(&self.0.user.name),
            State::Exempt | State::InPool => return,
        }
        *self.0.state() = State::InPool;
    }

    /// Waits for a slot again, for an answer that is made while it is sent. Errors: no slot became free.
    pub(super) async fn return_from_pool(&self) -> Result<(), Box<Status>> {
        match self.state() {
            State::InPool => self.resume().await,
            _ => Ok(()),
        }
    }

    /// Returns whether others hold the slot, too. A watch without initial events does not.
    pub(super) fn is_shared(&self) -> bool {
        Arc::strong_count(&self.0) > 1
    }

    fn is_suspended(&self) -> bool {
        self.state() == State::Suspended
    }
}

impl Held {
    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let user = &self.user.name;
        match *self.state() {
            State::Exempt => self.permission.end(user, true),
            State::Taken => self.permission.end(user, false),
            State::Suspended => self.permission.end_waiting(user),
            State::InPool => {}
        }
    }
}

/// Waits for the client or for a revision. If that takes more than one poll, the slot is given back meanwhile.
///
/// Errors: those of `wait`; too many requests wait, or no slot became free.
pub(crate) async fn without_slot<T>(
    slot: Option<&Slot>,
    wait: impl Future<Output = Result<T, Box<Status>>>,
) -> Result<T, Box<Status>> {
    let mut wait = pin!(wait);
    let Some(slot) = slot else { return wait.await };
    let at_once = std::future::poll_fn(|cx| Poll::Ready(wait.as_mut().poll(cx))).await;
    if let Poll::Ready(done) = at_once {
        return done;
    }
    slot.suspend()?;
    let done = wait.await?;
    if slot.is_suspended() {
        slot.resume().await?;
    }
    Ok(done)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Metrics;

    fn slots(most: usize) -> Arc<Slots> {
        Arc::new(Slots::new(most, false, Metrics::for_tests()))
    }

    fn user(name: &str) -> Arc<User> {
        Arc::new(User { name: name.into(), ..User::default() })
    }

    #[tokio::test(start_paused = true)]
    async fn a_slot_is_free_for_others_while_its_request_waits() {
        let slots = slots(1);
        let slot = Slot::take(&slots, user("a")).unwrap();
        assert!(Slot::take(&slots, user("b")).is_none());
        let (sender, receiver) = tokio::sync::oneshot::channel::<()>();
        let waits = tokio::spawn({
            let slot = slot.clone();
            async move {
                without_slot(Some(&slot), async { receiver.await.map_err(|_| too_many_requests_status()) })
                    .await
            }
        });
        tokio::task::yield_now().await;
        let other = Slot::take(&slots, user("b"));
        assert!(other.is_some());
        sender.send(()).unwrap();
        tokio::task::yield_now().await;
        assert!(!waits.is_finished(), "it goes on when a slot is free again");
        drop(other);
        waits.await.unwrap().unwrap();
        assert!(Slot::take(&slots, user("b")).is_none());
        drop(slot);
        assert!(Slot::take(&slots, user("b")).is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_that_gets_no_slot_again_is_refused_with_retry_after() {
        let slots = slots(1);
        let slot = Slot::take(&slots, user("a")).unwrap();
        let pause = async {
            tokio::time::sleep(std::time::Duration::from_secs(1)).await;
            Ok(())
        };
        let mut waits = Box::pin(without_slot(Some(&slot), pause));
        assert!(futures_util::FutureExt::now_or_never(waits.as_mut()).is_none());
        let _other = Slot::take(&slots, user("b")).unwrap();
        let status = waits.await.unwrap_err();
        assert_eq!((status.code, status.details.unwrap().retry_after_seconds), (429, 1));
    }

    #[tokio::test]
    async fn a_slot_is_kept_by_requests_that_need_not_wait() {
        let slots = slots(1);
        let slot = Slot::take(&slots, user("a")).unwrap();
        without_slot(Some(&slot), async { Ok(()) }).await.unwrap();
        assert!(Slot::take(&slots, user("b")).is_none());
        slot.hand_to_pool();
        assert!(Slot::take(&slots, user("b")).is_some());
    }
}
