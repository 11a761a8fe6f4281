//! Threads for work that is too long for those of the runtime.
//!
//! There are about as many as cores, and none while there is nothing to do. A job is one request: it is polled here until it
//! is answered, and takes no thread while it waits for the store or a webhook. Three numbers are divided among users, each by
//! the rule of [`FairShares`]: threads, jobs that have begun (whose trees are in memory), and jobs at all. So the large bodies of
//! one user wait for each other and not for those of another.

use std::collections::{HashMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pintle_auth::User;
use pintle_work::Token;
use tokio::runtime::Handle;

use super::fair_shares::FairShares;
use super::job::{Job, Outcome, Turn, Work};

/// Jobs at once, begun or not. One that has not begun is a request and its body, which have bounds of their own.
const MOST: usize = 512;
/// Jobs that have begun, for each thread.
const BEGUN: usize = 4;

/// The reason why a request is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Admitted {
    /// It counts towards its user's share of jobs.
    ByShare,
    /// Whatever the share is: it holds a slot, and may have changed something.
    Already,
    /// Whatever the shares are, also of jobs that have begun and of threads: for system:masters.
    Exempt,
}

pub(crate) struct Pool {
    threads: usize,
    state: Mutex<State>,
}

struct State {
    /// Threads that look for jobs.
    workers: usize,
    running: FairShares,
    begun: FairShares,
    jobs: FairShares,
    queues: HashMap<Box<str>, Queue>,
    /// The users that have something queued, in the order in which they get their turn.
    order: VecDeque<Box<str>>,
}

#[derive(Default)]
struct Queue {
    begun: VecDeque<Arc<Job>>,
    new: VecDeque<Arc<Job>>,
}

impl Queue {
    /// Returns whether its next job is run whatever the shares are.
    fn is_exempt(&self) -> bool {
        self.begun.front().or(self.new.front()).is_some_and(|job| job.is_exempt)
    }
}

impl State {
    /// The next job that its user may run now.
    fn next(&mut self) -> Option<Arc<Job>> {
        for _ in 0..self.order.len() {
            let user = self.order.pop_front()?;
            let Some(queue) = self.queues.get_mut(&user) else { continue };
            let is_exempt = queue.is_exempt();
            let job = if is_exempt || self.running.has_room(&user, 1) {
                queue.begun.pop_front().or_else(|| {
                    // Jobs whose trees are in memory go first.
                    let may_begin = !queue.new.is_empty() && (is_exempt || self.begun.has_room(&user, 1));
                    may_begin.then(|| self.begun.take_anyway(&user, 1));
                    may_begin.then(|| queue.new.pop_front()).flatten()
                })
            } else {
                None
            };
            if job.is_some() {
                self.running.take_anyway(&user, 1);
            }
            if queue.begun.is_empty() && queue.new.is_empty() {
                self.queues.remove(&user);
            } else {
                self.order.push_back(user);
            }
            if job.is_some() {
                return job;
            }
        }
        None
    }

    /// Returns whether [`State::next`] would find one.
    fn has_next(&self) -> bool {
        self.queues.iter().any(|(user, queue)| {
            let is_exempt = queue.is_exempt();
            let may_begin = !queue.new.is_empty() && (is_exempt || self.begun.has_room(user, 1));
            (is_exempt || self.running.has_room(user, 1)) && (!queue.begun.is_empty() || may_begin)
        })
    }
}

impl Default for Pool {
    fn default() -> Pool {
        let cores = std::thread::available_parallelism().map_or(2, usize::from);
        // With one, a single user would have all of them.
        Pool::new(cores.max(2))
    }
}

impl Pool {
    fn new(threads: usize) -> Pool {
        let state = State {
            workers: 0,
            running: FairShares::new(threads),
            begun: FairShares::new(threads * BEGUN),
            jobs: FairShares::new(MOST),
            queues: HashMap::new(),
            order: VecDeque::new(),
        };
        Pool { threads, state: Mutex::new(state) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs a request to its end; `None` if there are too many of its user. If the future is dropped, the work ends soon.
    pub(super) async fn run(
        self: &Arc<Pool>,
        user: Arc<User>,
        admitted: Admitted,
        token: Token,
        work: Work,
    ) -> Option<Outcome> {
        {
            let mut state = self.state();
            match admitted {
                Admitted::Already | Admitted::Exempt => state.jobs.take_anyway(&user.name, 1),
                Admitted::ByShare if state.jobs.take(&user.name, 1) => {}
                Admitted::ByShare => return None,
            }
        }
        let runtime = Handle::current();
        let (pool, waiter) = (Arc::downgrade(self), user.clone());
        let spare = runtime.clone();
        token.on_wait(move |waits| {
            if let Some(pool) = pool.upgrade() {
                pool.waits(&waiter.name, waits, &spare);
            }
        });
        let is_exempt = admitted == Admitted::Exempt;
        let (job, answer) = Job::new(self.clone(), user, is_exempt, Arc::new(token), runtime, work);
        let awaited = Awaited(job);
        self.queue(&awaited.0, true);
        Some(answer.await.unwrap_or(Outcome::Interrupted))
    }

    /// Queues a job, and starts a thread if there is one to spare.
    pub(super) fn queue(self: &Arc<Pool>, job: &Arc<Job>, is_new: bool) {
        let mut state = self.state();
        let user = job.user.name.as_str();
        if !state.queues.contains_key(user) {
            state.queues.insert(user.into(), Queue::default());
            state.order.push_back(user.into());
        }
        let queue = state.queues.entry(user.into()).or_default();
        if is_new { &mut queue.new } else { &mut queue.begun }.push_back(job.clone());
        self.start(&mut state, &job.runtime);
    }

    /// Called when a job blocks its thread to wait for another program, and when it goes on: meanwhile another thread may run.
    fn waits(self: &Arc<Pool>, user: &str, waits: bool, runtime: &Handle) {
        let mut state = self.state();
        if waits {
            state.workers -= 1;
            state.running.give_back(user, 1);
            self.start(&mut state, runtime);
        } else {
            state.workers += 1;
            state.running.take_anyway(user, 1);
        }
    }

    fn start(self: &Arc<Pool>, state: &mut State, runtime: &Handle) {
        if state.workers < self.threads && state.has_next() {
            state.workers += 1;
            let pool = self.clone();
            runtime.spawn_blocking(move || pool.work());
        }
    }

    /// One thread: takes jobs until there are none that it may run.
    fn work(self: Arc<Pool>) {
        loop {
            let job = {
                let mut state = self.state();
                let Some(job) = state.next() else {
                    state.workers -= 1;
                    return;
                };
                // The end of one job may have made room for several.
                self.start(&mut state, &job.runtime);
                job
            };
            // Also where a destructor panics, the threads and shares are given back.
            let turn = catch_unwind(AssertUnwindSafe(|| job.turn())).unwrap_or(Turn::Done);
            let mut state = self.state();
            let user = &job.user.name;
            state.running.give_back(user, 1);
            match turn {
                Turn::Waits => {}
                Turn::Again => {
                    drop(state);
                    self.queue(&job, false);
                }
                Turn::Done => {
                    state.begun.give_back(user, 1);
                    state.jobs.give_back(user, 1);
                }
            }
        }
    }

    /// Takes out a job that has not begun.
    pub(super) fn forget(&self, job: &Arc<Job>) {
        let mut state = self.state();
        let user = &*job.user.name;
        let Some(queue) = state.queues.get_mut(user) else { return };
        let before = queue.new.len();
        queue.new.retain(|queued| !Arc::ptr_eq(queued, job));
        // Another thread may be about to run it, and will find that there is nothing to do.
        let is_forgotten = queue.new.len() < before;
        if queue.new.is_empty() && queue.begun.is_empty() {
            state.queues.remove(user);
            state.order.retain(|queued| **queued != *user);
        }
        if is_forgotten {
            state.jobs.give_back(user, 1);
        }
    }
}

/// A job whose caller waits; dropping it cancels the job.
struct Awaited(Arc<Job>);

impl Drop for Awaited {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

#[cfg(test)]
#[path = "pool_tests.rs"]
mod tests;
