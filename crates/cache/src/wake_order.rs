//! The order of wakes when a change concerns many watches.
//!
//! A change may concern hundreds of watches, and a hundred of them may share a connection. The task of that connection is
//! woken with the first of them, and would run on another core, again and again, while the others are still being woken: it
//! would send each client a few events at a time. So a task that gathers the work of many watches has its own wake deferred
//! until all that the change concerns have been woken.

use std::cell::RefCell;
use std::task::Waker;

thread_local! {
    static TURN: RefCell<Turn> = const { RefCell::new(Turn { waking: false, deferred: Vec::new() }) };
}

struct Turn {
    /// Whether this thread is waking the watches of a change.
    waking: bool,
    /// The wakers that were deferred until all of them are awake.
    deferred: Vec<Waker>,
}

/// Wakes at the end of the turn if this thread is waking the watches of a change, else now.
pub fn wake_last(waker: &Waker) {
    let is_deferred = TURN.with_borrow_mut(|turn| {
        if turn.waking {
            turn.deferred.push(waker.clone());
        }
        turn.waking
    });
    if !is_deferred {
        waker.wake_by_ref();
    }
}

/// Runs a function that wakes many watches, and then the deferred wakers.
pub(crate) fn wake_all(wake: impl FnOnce()) {
    let within = TURN.with_borrow_mut(|turn| std::mem::replace(&mut turn.waking, true));
    // A turn within a turn ends with the outer one.
    let _end = (!within).then(|| End);
    wake();
}

struct End;

impl Drop for End {
    fn drop(&mut self) {
        let mut deferred = TURN.with_borrow_mut(|turn| {
            turn.waking = false;
            std::mem::take(&mut turn.deferred)
        });
        deferred.drain(..).for_each(Waker::wake);
        // The capacity is reused.
        TURN.with_borrow_mut(|turn| turn.deferred = deferred);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;

    use super::*;
    use crate::subscription::tests::waker;

    #[test]
    fn deferred_wakers_are_woken_after_all_watches() {
        let (count, waker) = waker();
        let woken = || count.0.load(Ordering::Relaxed);
        wake_last(&waker);
        assert_eq!(woken(), 1, "no change is being announced");
        wake_all(|| {
            wake_last(&waker);
            wake_all(|| wake_last(&waker));
            assert_eq!(woken(), 1);
        });
        assert_eq!(woken(), 3);
        wake_last(&waker);
        assert_eq!(woken(), 4);
    }

    #[test]
    fn a_turn_that_breaks_off_loses_no_wake() {
        let (count, waker) = waker();
        let broken = std::panic::catch_unwind(|| {
            wake_all(|| {
                wake_last(&waker);
                panic!("on purpose");
            });
        });
        assert!(broken.is_err());
        wake_last(&waker);
        assert_eq!(count.0.load(Ordering::Relaxed), 2);
    }
}
