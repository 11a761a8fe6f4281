use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::SystemTime;

use pintle_metrics::Registry;
use pintle_runtime::{ManualClock, Tasks};
use tokio::sync::{Notify, watch};

use super::*;

/// Fails a given number of times, and records its rounds.
#[derive(Default)]
struct Recorded {
    failures: AtomicUsize,
    rounds: Mutex<Vec<String>>,
    count: watch::Sender<usize>,
    notify: Arc<Notify>,
    requeue: Option<Duration>,
    hangs: bool,
}

#[async_trait]
impl Controller for Recorded {
    fn name(&self) -> &'static str {
        "recorded"
    }

    fn sources(&self) -> Vec<Source> {
        vec![
            Source::every(Duration::from_secs(60), "periodic"),
            Source::every_later(Duration::from_secs(90), "later"),
            Source::notified(self.notify.clone(), "notified"),
        ]
    }

    async fn reconcile(&self, key: &str) -> Result<Requeue> {
        self.rounds.lock().unwrap().push(key.to_owned());
        self.count.send_modify(|count| *count += 1);
        if self.hangs {
            std::future::pending::<()>().await;
        }
        let fails =
            self.failures.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1));
        match fails {
            Ok(_) => Err(Status::internal("not yet").into()),
            Err(_) => Ok(self.requeue.map_or(Requeue::Never, Requeue::After)),
        }
    }

    fn awaited(&self) -> Option<&'static str> {
        Some("the recorded objects")
    }
}

struct Plane {
    tasks: Tasks,
    clock: Arc<ManualClock>,
    runtime: Runtime,
}

fn plane() -> Plane {
    let (tasks, clock) = (Tasks::new(), ManualClock::starting_at(SystemTime::UNIX_EPOCH));
    let runtime = Runtime {
        spawner: tasks.spawner(),
        clock: clock.clock(),
        random: Random::seeded(1),
        metrics: Metrics::new(&Registry::default()).unwrap(),
    };
    Plane { tasks, clock, runtime }
}

impl Recorded {
    async fn rounds(&self, count: usize) -> Vec<String> {
        self.count.subscribe().wait_for(|rounds| *rounds >= count).await.unwrap();
        let rounds = self.rounds.lock().unwrap().clone();
        assert_eq!(rounds.len(), count, "{rounds:?}");
        rounds
    }
}

/// Lets all tasks run until they wait.
async fn let_tasks_run() {
    for _ in 0..50 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_start_waits_for_the_first_round_and_sources_add_their_keys() {
    let (plane, controller) = (plane(), Arc::new(Recorded::default()));
    start(controller.clone(), &plane.runtime).await;
    assert_eq!(controller.rounds(1).await, ["periodic"]);
    let_tasks_run().await;
    controller.notify.notify_one();
    assert_eq!(controller.rounds(2).await[1], "notified");
    let_tasks_run().await;
    plane.clock.advance(Duration::from_secs(60));
    assert_eq!(controller.rounds(3).await[2], "periodic");
    let_tasks_run().await;
    plane.clock.advance(Duration::from_secs(30));
    assert_eq!(controller.rounds(4).await[3], "later");
}

#[tokio::test]
async fn a_failed_key_is_retried_with_backoff() {
    let (plane, controller) = (plane(), Arc::new(Recorded::default()));
    controller.failures.store(2, Ordering::SeqCst);
    start(controller.clone(), &plane.runtime).await;
    for (rounds, millis) in [(2, 5), (3, 10)] {
        let_tasks_run().await;
        plane.clock.advance(Duration::from_millis(millis - 1));
        let_tasks_run().await;
        controller.rounds(rounds - 1).await;
        plane.clock.advance(Duration::from_millis(1));
        controller.rounds(rounds).await;
    }
    let_tasks_run().await;
    plane.clock.advance(Duration::from_secs(30));
    let_tasks_run().await;
    controller.rounds(3).await;
}

#[tokio::test]
async fn a_controller_may_ask_to_come_back_later() {
    let plane = plane();
    let controller = Arc::new(Recorded { requeue: Some(Duration::from_secs(7)), ..Recorded::default() });
    start(controller.clone(), &plane.runtime).await;
    let_tasks_run().await;
    plane.clock.advance(Duration::from_secs(7));
    assert_eq!(controller.rounds(2).await, ["periodic", "periodic"]);
}

#[tokio::test]
async fn a_start_does_not_wait_long_for_a_round_that_hangs() {
    let plane = plane();
    let controller = Arc::new(Recorded { hangs: true, ..Recorded::default() });
    let runtime = plane.runtime.clone();
    let starting = tokio::spawn({
        let controller = controller.clone();
        async move { start(controller, &runtime).await }
    });
    controller.rounds(1).await;
    let_tasks_run().await;
    assert!(!starting.is_finished());
    plane.clock.advance(START_TIMEOUT);
    starting.await.unwrap();
}

#[tokio::test]
async fn tasks_end_with_their_owner() {
    let plane = plane();
    start(Arc::new(Recorded::default()), &plane.runtime).await;
    assert_eq!(plane.tasks.count(), 4, "three sources and a worker");
    plane.tasks.stop(Duration::from_secs(10)).await;
    let (plane, hanging) = (self::plane(), Recorded { hangs: true, ..Recorded::default() });
    let (queue, _) = spawn(Arc::new(hanging), &plane.runtime);
    let_tasks_run().await;
    drop(plane.tasks);
    let_tasks_run().await;
    assert_eq!(queue.holders(), 1, "no task holds the queue");
}
