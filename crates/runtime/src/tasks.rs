//! The tasks of a control plane.
//!
//! [`Tasks`] owns them and is held by one value alone; a [`Spawner`] adds to them and is handed down. Dropping the owner aborts
//! all of them at once, also those that a task started later, and a spawner without an owner starts nothing. So no loop
//! outlives its plane.

use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use tokio::task::JoinSet;

use crate::Signal;

/// Owns tasks. Dropping it aborts them.
#[derive(Debug)]
pub struct Tasks {
    set: Arc<Mutex<JoinSet<()>>>,
    stopping: Signal,
}

impl Default for Tasks {
    fn default() -> Tasks {
        Tasks::new()
    }
}

impl Tasks {
    pub fn new() -> Tasks {
        Tasks { set: Arc::default(), stopping: Signal::new("TasksStopping") }
    }

    pub fn spawner(&self) -> Spawner {
        Spawner { set: Arc::downgrade(&self.set), stopping: self.stopping.clone() }
    }

    /// Returns the number of tasks that have not ended.
    pub fn count(&self) -> usize {
        let mut set = lock(&self.set);
        reap(&mut set);
        set.len()
    }

    /// Asks the tasks to end ([`Spawner::stopping`]), waits for them up to `grace`, and aborts the rest.
    pub async fn stop(self, grace: Duration) {
        self.stopping.set();
        let mut set = std::mem::take(&mut *lock(&self.set));
        let ended = async { while set.join_next().await.is_some() {} };
        if tokio::time::timeout(grace, ended).await.is_err() {
            set.shutdown().await;
        }
        // Tasks that others started meanwhile.
        let mut rest = std::mem::take(&mut *lock(&self.set));
        rest.shutdown().await;
    }
}

/// Starts tasks that belong to a [`Tasks`]. Clones are the same.
#[derive(Clone, Debug)]
pub struct Spawner {
    set: Weak<Mutex<JoinSet<()>>>,
    stopping: Signal,
}

impl Spawner {
    /// Starts a task; does nothing once the owner is gone.
    pub fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        if let Some(set) = self.set.upgrade() {
            let mut set = lock(&set);
            reap(&mut set);
            set.spawn(task);
        }
    }

    /// Starts a task that ends when its owner is asked to stop, at its next point of waiting.
    pub fn spawn_until_stop(&self, task: impl Future<Output = ()> + Send + 'static) {
        let stopping = self.stopping.clone();
        self.spawn(async move {
            tokio::select! {
                () = task => {}
                () = stopping.wait() => {}
            }
        });
    }

    /// Returns a spawner of the same owner for tasks that end at another signal, before the owner stops.
    #[must_use]
    pub fn ending_at(&self, stopping: Signal) -> Spawner {
        Spawner { set: self.set.clone(), stopping }
    }

    /// Returns the signal that the owner was asked to stop.
    pub fn stopping(&self) -> &Signal {
        &self.stopping
    }
}

/// Forgets tasks that have ended, so that a set of short tasks does not grow.
fn reap(set: &mut JoinSet<()>) {
    while let Some(ended) = set.try_join_next() {
        if let Err(error) = ended
            && error.is_panic()
        {
            tracing::error!(%error, "a task of the control plane panicked");
        }
    }
}

fn lock(set: &Mutex<JoinSet<()>>) -> std::sync::MutexGuard<'_, JoinSet<()>> {
    set.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    /// Counts itself while it lives.
    struct Alive(Arc<AtomicUsize>);

    impl Alive {
        fn new(count: &Arc<AtomicUsize>) -> Alive {
            count.fetch_add(1, Ordering::SeqCst);
            Alive(count.clone())
        }
    }

    impl Drop for Alive {
        fn drop(&mut self) {
            self.0.fetch_sub(1, Ordering::SeqCst);
        }
    }

    async fn eventually(condition: impl Fn() -> bool) {
        for _ in 0..10_000 {
            if condition() {
                return;
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        panic!("it does not happen");
    }

    async fn forever(alive: Alive) {
        let _alive = alive;
        std::future::pending::<()>().await;
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn dropping_the_owner_ends_all_tasks_and_those_they_would_start() {
        let count = Arc::new(AtomicUsize::new(0));
        let tasks = Tasks::new();
        let spawner = tasks.spawner();
        for _ in 0..3 {
            spawner.spawn(forever(Alive::new(&count)));
        }
        eventually(|| tasks.count() == 3).await;
        drop(tasks);
        eventually(|| count.load(Ordering::SeqCst) == 0).await;
        spawner.spawn(forever(Alive::new(&count)));
        assert_eq!(count.load(Ordering::SeqCst), 0, "a spawner without an owner starts nothing");
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn stopping_asks_first_and_then_aborts() {
        let count = Arc::new(AtomicUsize::new(0));
        let (tasks, finished) = (Tasks::new(), Arc::new(AtomicUsize::new(0)));
        let spawner = tasks.spawner();
        let (stopping, done) = (spawner.stopping().clone(), finished.clone());
        spawner.spawn(async move {
            stopping.wait().await;
            tokio::time::sleep(Duration::from_millis(5)).await;
            done.fetch_add(1, Ordering::SeqCst);
        });
        spawner.spawn_until_stop(forever(Alive::new(&count)));
        spawner.spawn(forever(Alive::new(&count)));
        tasks.stop(Duration::from_millis(100)).await;
        assert_eq!(finished.load(Ordering::SeqCst), 1, "a task may finish its work");
        assert_eq!(count.load(Ordering::SeqCst), 0);
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn tasks_with_a_signal_of_their_own_end_before_their_owner_and_with_it() {
        let (count, early) = (Arc::new(AtomicUsize::new(0)), Signal::new("early"));
        let tasks = Tasks::new();
        let spawner = tasks.spawner().ending_at(early.clone());
        spawner.spawn_until_stop(forever(Alive::new(&count)));
        tasks.spawner().spawn_until_stop(forever(Alive::new(&count)));
        early.set();
        eventually(|| tasks.count() == 1).await;
        assert_eq!(count.load(Ordering::SeqCst), 1);
        spawner.spawn(forever(Alive::new(&count)));
        drop(tasks);
        eventually(|| count.load(Ordering::SeqCst) == 0).await;
    }

    #[tokio::test]
    async fn ended_tasks_are_forgotten() {
        let tasks = Tasks::new();
        for _ in 0..10 {
            tasks.spawner().spawn(async {});
        }
        while tasks.count() > 0 {
            tokio::task::yield_now().await;
        }
    }
}
