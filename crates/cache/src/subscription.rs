//! Wakes the watches that wait for the next change of a topic.
//!
//! A watch waits again right after it was woken, mostly as the same task. So its waker stays registered, and a change costs
//! each watch one wake instead of a registration and a removal.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};

use crate::wake_order::wake_all;

/// The sending side of a topic. Dropping it drops the topic and wakes all subscriptions, which then find out.
#[derive(Debug, Default)]
pub(crate) struct Publisher(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    /// Number of notifications so far.
    notifications: AtomicU64,
    wakers: Mutex<Wakers>,
}

#[derive(Debug, Default)]
struct Wakers {
    slots: Vec<Option<Waker>>,
    free: Vec<usize>,
}

/// The receiving side of a topic: one registered watch. A subscription cannot be cloned, since each has a slot of its own.
#[derive(Debug)]
pub(crate) struct Subscription {
    shared: Arc<Shared>,
    /// The value of `notifications` when it was last read.
    seen: u64,
    slot: Option<usize>,
    /// The waker at the slot, to be compared without a lock.
    waker: Option<Waker>,
}

impl Shared {
    fn wakers(&self) -> std::sync::MutexGuard<'_, Wakers> {
        // Nothing panics while it is held.
        self.wakers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn notify(&self) {
        self.notifications.fetch_add(1, Ordering::Release);
        // Every waker registered by now is woken; a subscription that registers later sees the number.
        wake_all(|| self.wakers().slots.iter().flatten().for_each(Waker::wake_by_ref));
    }
}

impl Publisher {
    pub(crate) fn subscribe(&self) -> Subscription {
        Subscription {
            seen: self.0.notifications.load(Ordering::Acquire),
            shared: self.0.clone(),
            slot: None,
            waker: None,
        }
    }

    /// Returns a handle that wakes the subscriptions without access to the topic.
    pub(crate) fn notifier(&self) -> Notifier {
        Notifier(self.0.clone())
    }
}

impl Drop for Publisher {
    fn drop(&mut self) {
        self.0.notify();
    }
}

/// Wakes the subscriptions of a topic.
#[derive(Debug)]
pub(crate) struct Notifier(Arc<Shared>);

impl Notifier {
    pub(crate) fn notify(&self) {
        self.0.notify();
    }
}

impl Subscription {
    /// Reports whether there was a notification since the last call. To be called before reading, so that a change that comes
    /// during the read is not taken for read.
    pub(crate) fn take_notification(&mut self) -> bool {
        let notifications = self.shared.notifications.load(Ordering::Acquire);
        std::mem::replace(&mut self.seen, notifications) != notifications
    }

    /// Reports what [`Subscription::take_notification`] would.
    pub(crate) fn has_notification(&self) -> bool {
        self.shared.notifications.load(Ordering::Acquire) != self.seen
    }

    /// Ready when there was a notification since the last [`Subscription::take_notification`].
    pub(crate) fn poll_notified(&mut self, cx: &Context<'_>) -> Poll<()> {
        if !self.waker.as_ref().is_some_and(|waker| waker.will_wake(cx.waker())) {
            self.register(cx.waker());
        }
        if self.shared.notifications.load(Ordering::Acquire) == self.seen {
            Poll::Pending
        } else {
            Poll::Ready(())
        }
    }

    fn register(&mut self, waker: &Waker) {
        let mut wakers = self.shared.wakers();
        let slot = *self.slot.get_or_insert_with(|| {
            wakers.free.pop().unwrap_or_else(|| {
                wakers.slots.push(None);
                wakers.slots.len() - 1
            })
        });
        wakers.slots[slot] = Some(waker.clone());
        drop(wakers);
        self.waker = Some(waker.clone());
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        let Some(slot) = self.slot else { return };
        let mut wakers = self.shared.wakers();
        wakers.slots[slot] = None;
        wakers.free.push(slot);
        if wakers.free.len() == wakers.slots.len() {
            *wakers = Wakers::default();
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::sync::atomic::AtomicUsize;
    use std::task::Wake;

    use super::*;

    /// Counts wakes.
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

    fn poll(subscription: &mut Subscription, waker: &Waker) -> bool {
        subscription.poll_notified(&Context::from_waker(waker)).is_ready()
    }

    #[test]
    fn each_subscription_is_woken_by_each_change_and_stays_registered() {
        let publisher = Publisher::default();
        let (mut a, mut b) = (publisher.subscribe(), publisher.subscribe());
        let ((count_a, waker_a), (count_b, waker_b)) = (waker(), waker());
        assert!(!poll(&mut a, &waker_a) && !poll(&mut b, &waker_b));
        for round in 1..=3 {
            publisher.notifier().notify();
            assert_eq!(
                (count_a.0.load(Ordering::Relaxed), count_b.0.load(Ordering::Relaxed)),
                (round, round)
            );
            assert!(
                poll(&mut a, &waker_a)
                    && a.take_notification()
                    && !a.take_notification()
                    && !poll(&mut a, &waker_a)
            );
            assert!(b.take_notification());
        }
    }

    #[test]
    fn a_notification_between_reading_and_waiting_is_not_missed() {
        let publisher = Publisher::default();
        let (mut subscription, (_, waker)) = (publisher.subscribe(), waker());
        assert!(!subscription.take_notification());
        publisher.notifier().notify();
        assert!(poll(&mut subscription, &waker));
    }

    #[test]
    fn a_subscription_that_moves_to_another_task_is_woken_there() {
        let publisher = Publisher::default();
        let mut subscription = publisher.subscribe();
        let ((before, first), (after, second)) = (waker(), waker());
        assert!(!poll(&mut subscription, &first) && !poll(&mut subscription, &second));
        publisher.notifier().notify();
        assert_eq!((before.0.load(Ordering::Relaxed), after.0.load(Ordering::Relaxed)), (0, 1));
    }

    #[test]
    fn a_dropped_subscription_is_not_woken_and_its_slot_is_reused() {
        let publisher = Publisher::default();
        let ((gone, first), (there, second)) = (waker(), waker());
        let (mut a, mut b) = (publisher.subscribe(), publisher.subscribe());
        assert!(!poll(&mut a, &first) && !poll(&mut b, &second));
        drop(a);
        let mut c = publisher.subscribe();
        assert!(!poll(&mut c, &second));
        assert_eq!(c.slot, Some(0));
        publisher.notifier().notify();
        assert_eq!((gone.0.load(Ordering::Relaxed), there.0.load(Ordering::Relaxed)), (0, 2));
        drop((b, c));
        assert!(publisher.0.wakers().slots.is_empty());
    }

    #[test]
    fn the_end_of_a_topic_wakes_its_subscriptions() {
        let publisher = Publisher::default();
        let (mut subscription, (count, waker)) = (publisher.subscribe(), waker());
        assert!(!poll(&mut subscription, &waker));
        drop(publisher);
        assert_eq!(count.0.load(Ordering::Relaxed), 1);
        assert!(poll(&mut subscription, &waker));
    }
}
