//! Wakes the watches that wait for the next change of a topic.
//!
//! A watch waits again right after it was woken, mostly as the same task. So its waker stays registered, and a change costs
//! each watch one wake instead of a registration and a removal.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};

use crate::together::together;

/// The sending side of a topic. Dropping it drops the topic and wakes all tails, which then find out.
#[derive(Debug, Default)]
pub(crate) struct Head(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    /// Number of announcements so far.
    told: AtomicU64,
    waiting: Mutex<Waiting>,
}

#[derive(Debug, Default)]
struct Waiting {
    places: Vec<Option<Waker>>,
    free: Vec<usize>,
}

/// The receiving side of a topic: one registered watch. A tail cannot be cloned, since each has a place of its own.
#[derive(Debug)]
pub(crate) struct Tail {
    shared: Arc<Shared>,
    /// The value of `told` when it was last read.
    seen: u64,
    place: Option<usize>,
    /// The waker at the place, to be compared without a lock.
    waker: Option<Waker>,
}

impl Shared {
    fn waiting(&self) -> std::sync::MutexGuard<'_, Waiting> {
        // Nothing panics while it is held.
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tell(&self) {
        self.told.fetch_add(1, Ordering::Release);
        // Every waker registered by now is woken; a tail that registers later sees the number.
        together(|| self.waiting().places.iter().flatten().for_each(Waker::wake_by_ref));
    }
}

impl Head {
    pub(crate) fn subscribe(&self) -> Tail {
        Tail { seen: self.0.told.load(Ordering::Acquire), shared: self.0.clone(), place: None, waker: None }
    }

    /// Returns a handle that wakes the tails without access to the topic.
    pub(crate) fn bell(&self) -> Bell {
        Bell(self.0.clone())
    }
}

impl Drop for Head {
    fn drop(&mut self) {
        self.0.tell();
    }
}

#[derive(Debug)]
pub(crate) struct Bell(Arc<Shared>);

impl Bell {
    pub(crate) fn ring(&self) {
        self.0.tell();
    }
}

impl Tail {
    /// Whether there was an announcement since the last call. To be called before reading, so that a change that comes
    /// during the read is not taken for read.
    pub(crate) fn take_news(&mut self) -> bool {
        let told = self.shared.told.load(Ordering::Acquire);
        std::mem::replace(&mut self.seen, told) != told
    }

    /// Whether [`Tail::take_news`] would say so.
    pub(crate) fn has_news(&self) -> bool {
        self.shared.told.load(Ordering::Acquire) != self.seen
    }

    /// Ready when there was an announcement since the last [`Tail::take_news`].
    pub(crate) fn poll_told(&mut self, cx: &Context<'_>) -> Poll<()> {
        if !self.waker.as_ref().is_some_and(|waker| waker.will_wake(cx.waker())) {
            self.list(cx.waker());
        }
        match self.shared.told.load(Ordering::Acquire) == self.seen {
            true => Poll::Pending,
            false => Poll::Ready(()),
        }
    }

    fn list(&mut self, waker: &Waker) {
        let mut waiting = self.shared.waiting();
        let place = *self.place.get_or_insert_with(|| {
            waiting.free.pop().unwrap_or_else(|| {
                waiting.places.push(None);
                waiting.places.len() - 1
            })
        });
        waiting.places[place] = Some(waker.clone());
        drop(waiting);
        self.waker = Some(waker.clone());
    }
}

impl Drop for Tail {
    fn drop(&mut self) {
        let Some(place) = self.place else { return };
        let mut waiting = self.shared.waiting();
        waiting.places[place] = None;
        waiting.free.push(place);
        if waiting.free.len() == waiting.places.len() {
            *waiting = Waiting::default();
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::sync::atomic::AtomicUsize;
    use std::task::Wake;

    use super::*;

    /// How often it was woken.
    #[derive(Default)]
    pub(crate) struct Count(pub(crate) AtomicUsize);

    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    pub(crate) fn waker() -> (Arc<Count>, Waker) {
        let count = Arc::<Count>::default();
        (count.clone(), count.into())
    }

    fn poll(tail: &mut Tail, waker: &Waker) -> bool {
        tail.poll_told(&Context::from_waker(waker)).is_ready()
    }

    #[test]
    fn each_waiter_is_woken_by_each_change_and_stays_listed() {
        let head = Head::default();
        let (mut a, mut b) = (head.subscribe(), head.subscribe());
        let ((count_a, waker_a), (count_b, waker_b)) = (waker(), waker());
        assert!(!poll(&mut a, &waker_a) && !poll(&mut b, &waker_b));
        for round in 1..=3 {
            head.bell().ring();
            assert_eq!(
                (count_a.0.load(Ordering::Relaxed), count_b.0.load(Ordering::Relaxed)),
                (round, round)
            );
            assert!(poll(&mut a, &waker_a) && a.take_news() && !a.take_news() && !poll(&mut a, &waker_a));
            assert!(b.take_news());
        }
    }

    #[test]
    fn what_is_told_between_looking_and_waiting_is_not_missed() {
        let head = Head::default();
        let (mut tail, (_, waker)) = (head.subscribe(), waker());
        assert!(!tail.take_news());
        head.bell().ring();
        assert!(poll(&mut tail, &waker));
    }

    #[test]
    fn a_waiter_that_moves_to_another_task_is_woken_there() {
        let head = Head::default();
        let mut tail = head.subscribe();
        let ((before, first), (after, second)) = (waker(), waker());
        assert!(!poll(&mut tail, &first) && !poll(&mut tail, &second));
        head.bell().ring();
        assert_eq!((before.0.load(Ordering::Relaxed), after.0.load(Ordering::Relaxed)), (0, 1));
    }

    #[test]
    fn who_has_left_is_not_woken_and_its_place_is_used_again() {
        let head = Head::default();
        let ((gone, first), (there, second)) = (waker(), waker());
        let (mut a, mut b) = (head.subscribe(), head.subscribe());
        assert!(!poll(&mut a, &first) && !poll(&mut b, &second));
        drop(a);
        let mut c = head.subscribe();
        assert!(!poll(&mut c, &second));
        assert_eq!(c.place, Some(0));
        head.bell().ring();
        assert_eq!((gone.0.load(Ordering::Relaxed), there.0.load(Ordering::Relaxed)), (0, 2));
        drop((b, c));
        assert!(head.0.waiting().places.is_empty());
    }

    #[test]
    fn the_end_of_a_topic_wakes_those_who_wait_for_it() {
        let head = Head::default();
        let (mut tail, (count, waker)) = (head.subscribe(), waker());
        assert!(!poll(&mut tail, &waker));
        drop(head);
        assert_eq!(count.0.load(Ordering::Relaxed), 1);
        assert!(poll(&mut tail, &waker));
    }
}
