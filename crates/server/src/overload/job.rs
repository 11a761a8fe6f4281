//! One request on the pool.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

use pintle_auth::User;
use pintle_work::{Interrupted, Token, polled_aside};
use tokio::runtime::Handle;
use tokio::sync::oneshot;

use super::pool::Pool;
use crate::Response;

pub(super) type Work = Pin<Box<dyn Future<Output = Response> + Send>>;

/// The outcome of a request on the pool.
pub(super) enum Outcome {
    Answered(Response),
    /// Its deadline has passed.
    Interrupted,
    Panicked(Box<dyn Any + Send>),
}

pub(super) struct Job {
    pub(super) pool: Arc<Pool>,
    pub(super) user: Arc<User>,
    /// Whether it is run whatever the shares are.
    pub(super) is_exempt: bool,
    pub(super) token: Arc<Token>,
    /// The runtime that its timers and connections belong to.
    pub(super) runtime: Handle,
    state: Mutex<State>,
}

struct State {
    phase: Phase,
    /// Whether it was ever polled on the pool.
    begun: bool,
    work: Option<Work>,
    answer: Option<oneshot::Sender<Outcome>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// In one of the pool's queues.
    Queued,
    /// On a thread. `woken`: it has something to do again.
    Running {
        woken: bool,
    },
    /// Until it is woken.
    Waiting,
    Done,
}

/// The next step of a thread with a job that it has polled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    Done,
    Again,
    Waits,
}

impl Job {
    pub(super) fn new(
        pool: Arc<Pool>,
        user: Arc<User>,
        is_exempt: bool,
        token: Arc<Token>,
        runtime: Handle,
        work: Work,
    ) -> (Arc<Job>, oneshot::Receiver<Outcome>) {
        let (sender, receiver) = oneshot::channel();
        let state = State { phase: Phase::Queued, begun: false, work: Some(work), answer: Some(sender) };
        let job = Job { pool, user, is_exempt, token, runtime, state: Mutex::new(state) };
        (Arc::new(job), receiver)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Polls the request once, on a thread of the pool.
    pub(super) fn turn(self: &Arc<Job>) -> Turn {
        let work = {
            let mut state = self.state();
            state.phase = Phase::Running { woken: false };
            state.begun = true;
            state.work.take()
        };
        let Some(mut work) = work else { return self.end(None) };
        if self.token.is_over() {
            drop(work);
            return self.end(Some(Outcome::Interrupted));
        }
        let waker = Waker::from(self.clone());
        let mut poll = || work.as_mut().poll(&mut Context::from_waker(&waker));
        let polled = catch_unwind(AssertUnwindSafe(|| polled_aside(&self.token, &mut poll)));
        match polled {
            Ok(Ok(Poll::Pending)) => {
                let mut state = self.state();
                state.work = Some(work);
                // Work whose caller no longer waits is dropped in its next turn.
                let goes_on = state.phase == Phase::Running { woken: true } || self.token.is_cancelled();
                state.phase = if goes_on { Phase::Queued } else { Phase::Waiting };
                if goes_on { Turn::Again } else { Turn::Waits }
            }
            Ok(Ok(Poll::Ready(response))) => {
                // Here, where it may take as long as it does.
                drop(work);
                self.end(Some(Outcome::Answered(response)))
            }
            Ok(Err(Interrupted)) => {
                drop(work);
                self.end(Some(Outcome::Interrupted))
            }
            Err(panic) => {
                drop(work);
                self.end(Some(Outcome::Panicked(panic)))
            }
        }
    }

    fn end(&self, outcome: Option<Outcome>) -> Turn {
        let answer = {
            let mut state = self.state();
            state.phase = Phase::Done;
            state.answer.take()
        };
        // Not under the lock: an answer whose caller no longer waits is dropped here.
        if let (Some(answer), Some(outcome)) = (answer, outcome) {
            let _ = answer.send(outcome);
        }
        Turn::Done
    }

    /// Ends the work as soon as possible: its caller no longer waits.
    pub(super) fn cancel(self: &Arc<Job>) {
        self.token.cancel();
        let mut state = self.state();
        match state.phase {
            Phase::Queued if !state.begun => {
                state.phase = Phase::Done;
                let work = state.work.take();
                drop(state);
                // It has only what was sent.
                drop(work);
                self.pool.forget(self);
            }
            // The trees that it has made may take long to drop.
            Phase::Waiting => {
                state.phase = Phase::Queued;
                drop(state);
                self.pool.queue(self, false);
            }
            Phase::Queued | Phase::Running { .. } | Phase::Done => {}
        }
    }
}

impl Wake for Job {
    fn wake(self: Arc<Job>) {
        let mut state = self.state();
        match state.phase {
            Phase::Waiting => {
                state.phase = Phase::Queued;
                drop(state);
                self.pool.queue(&self, false);
            }
            Phase::Running { .. } => state.phase = Phase::Running { woken: true },
            Phase::Queued | Phase::Done => {}
        }
    }
}
