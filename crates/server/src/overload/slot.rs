//! The right of a request to be worked on.

use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Poll;

use pintle_auth::User;
use pintle_meta::Status;

use super::no_room;
use super::room::Room;

/// A slot of a [`Room`], or the exemption from needing one. Clones are of the same slot, which is free again when the last is
/// dropped.
#[derive(Clone)]
pub(crate) struct Slot(Arc<Held>);

struct Held {
    room: Arc<Room>,
    user: Arc<User>,
    state: Mutex<State>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// It is worked on without one.
    Exempt,
    Taken,
    /// It waits for something that its client, or others, decide about.
    Outside,
    /// The pool decides about it.
    Aside,
}

impl Slot {
    /// `None`: there is none for this user.
    pub(crate) fn take(room: &Arc<Room>, user: Arc<User>) -> Option<Slot> {
        room.enter(&user.name).then(|| Slot::of(room, user, State::Taken))
    }

    /// Waits for a slot for a short time, in order with others. `None`: there was none, or too many of this user wait.
    pub(crate) async fn take_soon(room: &Arc<Room>, user: Arc<User>) -> Option<Slot> {
        if !room.step_outside(&user.name) {
            return None;
        }
        let slot = Slot::of(room, user, State::Outside);
        slot.take_up().await.ok().map(|()| slot)
    }

    /// For requests that are never refused. They are counted all the same.
    pub(crate) fn exempt(room: &Arc<Room>, user: Arc<User>) -> Slot {
        room.enter_exempt();
        Slot::of(room, user, State::Exempt)
    }

    fn of(room: &Arc<Room>, user: Arc<User>, state: State) -> Slot {
        Slot(Arc::new(Held { room: room.clone(), user, state: Mutex::new(state) }))
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

    /// Gives the slot back until [`Slot::take_up`]. Errors: its user has too many requests that wait.
    fn set_down(&self) -> Result<(), Box<Status>> {
        if self.state() != State::Taken {
            return Ok(());
        }
        let user = &self.0.user.name;
        if !self.0.room.step_outside(user) {
            return Err(no_room());
        }
        self.change(State::Taken, State::Outside);
        self.0.room.leave(user);
        Ok(())
    }

    /// Takes a slot again, after a short time in order with others. Errors: there was none.
    async fn take_up(&self) -> Result<(), Box<Status>> {
        let before = self.state();
        if !matches!(before, State::Outside | State::Aside) {
            return Ok(());
        }
        let user = &self.0.user.name;
        if !self.0.room.enter_soon(user).await {
            return Err(no_room());
        }
        if before == State::Outside {
            self.0.room.come_in(user);
        }
        self.change(before, State::Taken);
        Ok(())
    }

    /// Gives the slot back for as long as the pool decides about the request.
    pub(super) fn move_aside(&self) {
        match self.state() {
            State::Taken => self.0.room.leave(&self.0.user.name),
            State::Outside => self.0.room.come_in(&self.0.user.name),
            State::Exempt | State::Aside => return,
        }
        *self.0.state() = State::Aside;
    }

    /// Takes a slot again for an answer that is made while it is sent. Errors: there was none.
    pub(super) async fn come_back(&self) -> Result<(), Box<Status>> {
        match self.state() {
            State::Aside => self.take_up().await,
            _ => Ok(()),
        }
    }

    fn is_waiting_outside(&self) -> bool {
        self.state() == State::Outside
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
            State::Exempt => self.room.leave_exempt(),
            State::Taken => self.room.leave(user),
            State::Outside => self.room.come_in(user),
            State::Aside => {}
        }
    }
}

/// Waits for something that the client or others decide about. If it is not there at once, the slot is set down until it is.
///
/// Errors: those of `wait`; no room to wait, or none to go on.
pub(crate) async fn outside<T>(
    slot: Option<&Slot>,
    wait: impl Future<Output = Result<T, Box<Status>>>,
) -> Result<T, Box<Status>> {
    let mut wait = pin!(wait);
    let Some(slot) = slot else { return wait.await };
    let at_once = std::future::poll_fn(|cx| Poll::Ready(wait.as_mut().poll(cx))).await;
    if let Poll::Ready(done) = at_once {
        return done;
    }
    slot.set_down()?;
    let done = wait.await?;
    if slot.is_waiting_outside() {
        slot.take_up().await?;
    }
    Ok(done)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Metrics;

    fn room(most: usize) -> Arc<Room> {
        Arc::new(Room::new(most, false, Metrics::alone()))
    }

    fn user(name: &str) -> Arc<User> {
        Arc::new(User { name: name.into(), ..User::default() })
    }

    #[tokio::test(start_paused = true)]
    async fn a_slot_is_free_for_others_while_its_request_waits() {
        let room = room(1);
        let slot = Slot::take(&room, user("a")).unwrap();
        assert!(Slot::take(&room, user("b")).is_none());
        let (sender, receiver) = tokio::sync::oneshot::channel::<()>();
        let waits = tokio::spawn({
            let slot = slot.clone();
            async move { outside(Some(&slot), async { receiver.await.map_err(|_| no_room()) }).await }
        });
        tokio::task::yield_now().await;
        let other = Slot::take(&room, user("b"));
        assert!(other.is_some());
        sender.send(()).unwrap();
        tokio::task::yield_now().await;
        assert!(!waits.is_finished(), "it goes on when there is room again");
        drop(other);
        waits.await.unwrap().unwrap();
        assert!(Slot::take(&room, user("b")).is_none());
        drop(slot);
        assert!(Slot::take(&room, user("b")).is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_that_finds_no_room_again_is_asked_to_come_back() {
        let room = room(1);
        let slot = Slot::take(&room, user("a")).unwrap();
        let pause = async {
            tokio::time::sleep(std::time::Duration::from_secs(1)).await;
            Ok(())
        };
        let mut waits = Box::pin(outside(Some(&slot), pause));
        assert!(futures_util::FutureExt::now_or_never(waits.as_mut()).is_none());
        let _other = Slot::take(&room, user("b")).unwrap();
        let status = waits.await.unwrap_err();
        assert_eq!((status.code, status.details.unwrap().retry_after_seconds), (429, 1));
    }

    #[tokio::test]
    async fn a_slot_is_kept_by_requests_that_need_not_wait() {
        let room = room(1);
        let slot = Slot::take(&room, user("a")).unwrap();
        outside(Some(&slot), async { Ok(()) }).await.unwrap();
        assert!(Slot::take(&room, user("b")).is_none());
        slot.move_aside();
        assert!(Slot::take(&room, user("b")).is_some());
    }
}
