//! The events besides changes that wake a watch.

use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};
use std::time::Instant;

use pintle_runtime::Clock;
use tokio::task::unconstrained;

use crate::lifecycle::Signal;

type Pending = Pin<Box<dyn Future<Output = ()> + Send>>;

/// A timer for the next bookmark or the end, and the signals that end a watch: the shutdown of the server and the removal
/// of the endpoint.
///
/// Nearly every wait ends with a change. So the timer and the signals register the task when it waits for the first time,
/// and not again for every change.
pub(super) struct WakeSources {
    clock: Clock,
    /// The time that the timer is set to, and the timer.
    timer: Option<(Instant, Pending)>,
    signals: Pending,
    /// The task that the timer and the signals wake.
    waker: Option<Waker>,
}

impl WakeSources {
    pub(super) fn new(clock: Clock, shutdown: Signal, endpoint_removed: Option<Signal>) -> WakeSources {
        let signals: Pending = match endpoint_removed {
            None => Box::pin(async move { shutdown.wait().await }),
            Some(removed) => Box::pin(async move {
                tokio::select! {
                    () = shutdown.wait() => {}
                    () = removed.wait() => {}
                }
            }),
        };
        WakeSources { clock, timer: None, signals, waker: None }
    }

    /// Pending until the clock reaches `until`, or a signal is set. A signal is reported once.
    pub(super) fn poll(&mut self, until: Instant, now: Instant, cx: &mut Context<'_>) -> Poll<()> {
        if now >= until {
            return Poll::Ready(());
        }
        if self.timer.as_ref().is_none_or(|(set_to, _)| *set_to != until) {
            let (clock, duration) = (self.clock.clone(), until - now);
            self.timer = Some((until, Box::pin(async move { clock.sleep(duration).await })));
            self.waker = None;
        }
        if self.waker.as_ref().is_some_and(|waker| waker.will_wake(cx.waker())) {
            return Poll::Pending;
        }
        // Unconstrained: a task that has used up its budget would get `Pending` without its waker being registered.
        if let Some((_, timer)) = &mut self.timer
            && pin!(unconstrained(timer.as_mut())).poll(cx).is_ready()
        {
            self.timer = None;
            return Poll::Ready(());
        }
        if pin!(unconstrained(self.signals.as_mut())).poll(cx).is_ready() {
            self.signals = Box::pin(std::future::pending());
            return Poll::Ready(());
        }
        self.waker = Some(cx.waker().clone());
        Poll::Pending
    }
}
