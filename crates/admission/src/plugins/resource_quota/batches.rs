//! Requests that wait for one another by namespace: while a batch of a namespace is worked on, the requests that come gather for
//! the next one. Namespaces do not wait for each other.

use std::collections::HashMap;
use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pintle_runtime::Spawner;

/// Items by namespace. A namespace is there while a task works on it.
pub(super) struct Batches<T> {
    waiting: Arc<Mutex<HashMap<String, Vec<T>>>>,
    spawner: Spawner,
}

impl<T: Send + 'static> Batches<T> {
    pub(super) fn new(spawner: Spawner) -> Batches<T> {
        Batches { waiting: Arc::default(), spawner }
    }

    /// Adds an item to the next batch of a namespace. `work` is called with each batch, by a task of the namespace that ends
    /// when nothing waits. Items that are never worked on, because the server stops, are dropped.
    pub(super) fn add<W, F>(&self, namespace: &str, item: T, work: W)
    where
        W: Fn(Vec<T>) -> F + Send + 'static,
        F: Future<Output = ()> + Send,
    {
        {
            let mut waiting = lock(&self.waiting);
            if let Some(next) = waiting.get_mut(namespace) {
                next.push(item);
                return;
            }
            waiting.insert(namespace.into(), vec![item]);
        }
        let mut worker =
            Worker { waiting: self.waiting.clone(), namespace: namespace.into(), has_ended: false };
        self.spawner.spawn(async move {
            while let Some(batch) = worker.next() {
                work(batch).await;
            }
        });
    }
}

/// The task of a namespace. However it ends, the next item starts another.
struct Worker<T> {
    waiting: Arc<Mutex<HashMap<String, Vec<T>>>>,
    namespace: String,
    /// Nothing was left; the entry of the namespace, if there is one, is another worker's.
    has_ended: bool,
}

impl<T> Worker<T> {
    fn next(&mut self) -> Option<Vec<T>> {
        let mut waiting = lock(&self.waiting);
        let batch = waiting.get_mut(&self.namespace).map(mem::take).unwrap_or_default();
        if batch.is_empty() {
            waiting.remove(&self.namespace);
            self.has_ended = true;
            return None;
        }
        Some(batch)
    }
}

impl<T> Drop for Worker<T> {
    fn drop(&mut self) {
        if !self.has_ended {
            let _dropped = lock(&self.waiting).remove(&self.namespace);
        }
    }
}

fn lock<T>(waiting: &Mutex<T>) -> MutexGuard<'_, T> {
    waiting.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    use pintle_runtime::Tasks;
    use tokio::sync::{Notify, mpsc};

    use super::*;

    #[tokio::test]
    async fn items_that_come_during_a_batch_are_the_next_one() {
        let tasks = Tasks::new();
        let batches = Batches::new(tasks.spawner());
        let (done, mut seen) = mpsc::unbounded_channel();
        let go = Arc::new(Notify::new());
        let add = |namespace: &'static str, item: usize| {
            let (go, done) = (go.clone(), done.clone());
            batches.add(namespace, item, move |batch| {
                let (go, done) = (go.clone(), done.clone());
                async move {
                    if namespace == "slow" {
                        go.notified().await;
                    }
                    done.send((namespace, batch)).expect("a reader");
                }
            });
        };
        add("slow", 1);
        // Its task has begun when another namespace is done.
        add("fast", 2);
        assert_eq!(seen.recv().await, Some(("fast", vec![2])));
        for item in 3..6 {
            add("slow", item);
        }
        go.notify_one();
        assert_eq!(seen.recv().await, Some(("slow", vec![1])));
        go.notify_one();
        assert_eq!(seen.recv().await, Some(("slow", vec![3, 4, 5])));
        add("fast", 6);
        assert_eq!(seen.recv().await, Some(("fast", vec![6])));
        tokio::time::timeout(Duration::from_secs(5), async {
            while !lock(&batches.waiting).is_empty() {
                tokio::task::yield_now().await;
            }
        })
        .await
        .expect("no namespace is kept");
    }

    #[tokio::test]
    async fn a_task_that_fails_does_not_block_its_namespace() {
        let tasks = Tasks::new();
        let batches = Batches::new(tasks.spawner());
        let (done, mut seen) = mpsc::unbounded_channel();
        let calls = Arc::new(AtomicUsize::new(0));
        for item in 0..2 {
            let (done, calls) = (done.clone(), calls.clone());
            batches.add("n", item, move |batch: Vec<i32>| {
                let (done, call) = (done.clone(), calls.fetch_add(1, Ordering::Relaxed));
                async move {
                    assert!(call > 0, "the first fails");
                    done.send(batch).expect("a reader");
                }
            });
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        assert_eq!(seen.recv().await, Some(vec![1]));
    }
}
