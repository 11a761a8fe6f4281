use std::time::{Duration, SystemTime};

use pintle_runtime::{Clock, ManualClock};

use super::testing::{Recorder, World, event, sized};
use super::*;
use crate::event::Level;

const BATCH: BatchConfig = BatchConfig {
    buffer_size: 10,
    max_size: 3,
    max_wait: Duration::from_secs(3600),
    throttle: None,
    side_by_side: true,
};

fn batching(world: &World, config: BatchConfig, delegate: Recorder) -> (Arc<dyn Backend>, Arc<Recorder>) {
    let recorder = Arc::new(delegate);
    let delivery = Delivery { mode: Mode::Batch(config), truncate: None };
    (delivering(recorder.clone(), &delivery, &world.surroundings), recorder)
}

async fn send(backend: &Arc<dyn Backend>, numbers: std::ops::Range<usize>) {
    for number in numbers {
        assert!(backend.process(&[event(number)]).await, "batch mode refuses nothing");
    }
}

#[tokio::test]
async fn a_full_batch_is_sent_at_once_and_the_rest_at_the_end() {
    let world = World::new();
    let (backend, recorder) = batching(&world, BATCH, Recorder::default());
    send(&backend, 0..7).await;
    recorder.until(6).await;
    assert_eq!(recorder.batches(), [vec![0, 1, 2], vec![3, 4, 5]]);
    backend.shut_down().await;
    assert_eq!(recorder.numbers(), [0, 1, 2, 3, 4, 5, 6]);
    send(&backend, 7..8).await;
    assert_eq!((recorder.numbers().len(), world.lost("buffered")), (7, 1), "it has ended");
}

#[tokio::test]
async fn a_queue_that_is_smaller_than_a_batch_is_sent_when_it_is_full() {
    let world = World::new();
    let config = BatchConfig { buffer_size: 2, max_size: 400, ..BATCH };
    let (backend, recorder) = batching(&world, config, Recorder::default());
    for number in 0..6 {
        send(&backend, number..number + 1).await;
        recorder.until(number / 2 * 2 + number % 2 * 2).await;
    }
    assert_eq!((recorder.numbers().len(), world.lost("buffered")), (6, 0));
}

#[tokio::test]
async fn a_batch_that_is_not_full_waits_no_longer_than_it_may() {
    let manual = ManualClock::starting_at(SystemTime::UNIX_EPOCH);
    let world = World::with_clock(manual.clock());
    let config = BatchConfig { max_wait: Duration::from_secs(30), ..BATCH };
    let (backend, recorder) = batching(&world, config, Recorder::default());
    send(&backend, 0..1).await;
    for _ in 0..50 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    assert!(recorder.numbers().is_empty());
    manual.advance(Duration::from_secs(30));
    recorder.until(1).await;
}

#[tokio::test]
async fn events_beyond_the_buffer_are_lost_and_counted() {
    let world = World::new();
    let config = BatchConfig {
        max_size: 1,
        side_by_side: false,
        throttle: Some(ThrottleConfig { qps: 1e6, burst: 1 }),
        ..BATCH
    };
    let (backend, recorder) = batching(&world, config, Recorder::waiting());
    send(&backend, 0..1).await;
    // The first is on its way and waits, which makes room for one more.
    recorder.until_entered(1).await;
    send(&backend, 1..31).await;
    assert_eq!(world.lost("buffered"), 20);
    recorder.permits.as_ref().unwrap().add_permits(100);
    backend.shut_down().await;
    assert_eq!(recorder.numbers(), (0..11).collect::<Vec<_>>(), "the first ones are kept, in order");
}

#[tokio::test]
async fn bytes_are_bounded_too_also_of_batches_under_way() {
    let world = World::new();
    let config = BatchConfig { buffer_size: 1000, max_size: 1, ..BATCH };
    let (backend, recorder) = batching(&world, config, Recorder::waiting());
    let large = 50 << 20;
    for number in 0..5 {
        backend.process(&[sized(number, Level::Request, large)]).await;
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert_eq!(world.lost("buffered"), 3, "two fit");
    recorder.permits.as_ref().unwrap().add_permits(2);
    recorder.until(2).await;
    while world.lost("buffered") == 3 {
        // There is room again, for one that is larger than all of it.
        backend.process(&[sized(5, Level::Request, 200 << 20)]).await;
        backend.process(&[event(6)]).await;
    }
    recorder.permits.as_ref().unwrap().add_permits(100);
    backend.shut_down().await;
    assert!(recorder.numbers().contains(&5) && !recorder.numbers().contains(&4));
}

#[tokio::test]
async fn a_throttle_limits_batches_on_average_and_at_once() {
    let manual = ManualClock::starting_at(SystemTime::UNIX_EPOCH);
    let world = World::with_clock(manual.clock());
    let throttle = Some(ThrottleConfig { qps: 1.0, burst: 2 });
    let config = BatchConfig { max_size: 1, throttle, ..BATCH };
    let (backend, recorder) = batching(&world, config, Recorder::default());
    send(&backend, 0..5).await;
    recorder.until(2).await;
    for count in 3..=5 {
        for _ in 0..20 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        assert_eq!(recorder.numbers().len(), count - 1);
        manual.advance(Duration::from_millis(1001));
        recorder.until(count).await;
    }
}

/// More events than a server answers requests in a second, from many tasks at once.
#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_lost_when_a_busy_server_ends() {
    const EVENTS: usize = 50_000;
    const TASKS: usize = 10;
    let world = World::new();
    let config = BatchConfig { buffer_size: EVENTS, max_size: 1, side_by_side: false, ..BATCH };
    let file = tempfile::tempdir().unwrap();
    let path = file.path().join("audit.log");
    let rotation = RotationConfig {
        path: path.clone(),
        max_size: 1 << 40,
        max_age_days: 0,
        max_backups: 0,
        compress: false,
    };
    let output = Output::Rotating(RotatingFile::new(rotation, Clock::system()).unwrap());
    let log = LogBackend::new(output, Format::Json, world.surroundings.metrics.clone());
    let delivery = Delivery { mode: Mode::Batch(config), truncate: None };
    let backend = delivering(Arc::new(log), &delivery, &world.surroundings);
    let start = std::time::Instant::now();
    let tasks: Vec<_> = (0..TASKS)
        .map(|task| {
            let backend = backend.clone();
            tokio::spawn(
                async move { send(&backend, task * EVENTS / TASKS..(task + 1) * EVENTS / TASKS).await },
            )
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    let taken = start.elapsed();
    backend.shut_down().await;
    let written = start.elapsed();
    let rate = |time: Duration| EVENTS as f64 / time.as_secs_f64();
    // Shown by `--nocapture`; how fast a machine is decides nothing.
    eprintln_rates(rate(taken), rate(written));
    let text = std::fs::read_to_string(path).unwrap();
    let mut numbers: Vec<usize> = text
        .lines()
        .map(|line| {
            serde_json::from_str::<serde_json::Value>(line).unwrap()["auditID"]
                .as_str()
                .unwrap()
                .parse()
                .unwrap()
        })
        .collect();
    numbers.sort_unstable();
    assert_eq!(numbers, (0..EVENTS).collect::<Vec<_>>());
    assert_eq!(world.lost("buffered"), 0);
}

#[allow(clippy::print_stderr, reason = "a measurement")]
fn eprintln_rates(taken: f64, written: f64) {
    eprintln!("{taken:.0} events/s taken, {written:.0} written");
}

#[tokio::test]
async fn blocking_waits_and_only_the_strict_mode_fails() {
    let world = World::new();
    for (mode, expect) in [(Mode::Blocking, true), (Mode::BlockingStrict, false)] {
        let recorder = Arc::new(Recorder { fails: true, ..Recorder::default() });
        let delivery = Delivery { mode, truncate: None };
        let backend = delivering(recorder.clone(), &delivery, &world.surroundings);
        assert_eq!(backend.process(&[event(1)]).await, expect);
        assert_eq!(recorder.numbers(), [1]);
        assert!(!backend.accept(&event(2)), "it must wait");
    }
}

#[tokio::test]
async fn large_events_lose_their_objects_or_are_lost() {
    let world = World::new();
    let recorder = Arc::new(Recorder::default());
    let truncate = Some(TruncateConfig { max_event_size: 1000, max_batch_size: 1500 });
    let delivery = Delivery { mode: Mode::BlockingStrict, truncate };
    let backend = delivering(recorder.clone(), &delivery, &world.surroundings);
    let mut huge = Event::clone(&sized(3, Level::Metadata, 0));
    huge.annotations.insert("a/b".into(), "x".repeat(1 << 20));
    let events = [
        sized(0, Level::Request, 100),
        sized(1, Level::Request, 5000),
        // A level without objects is not shortened.
        sized(2, Level::Metadata, 5000),
        Arc::new(huge),
        sized(4, Level::Request, 700),
        sized(5, Level::Request, 700),
    ];
    assert!(backend.process(&events).await);
    assert_eq!(recorder.batches(), [vec![0, 1], vec![4], vec![5]]);
    assert_eq!(world.lost("truncate"), 2);
}

#[tokio::test]
async fn a_union_calls_all_and_fails_with_one() {
    let (first, second) =
        (Arc::new(Recorder { fails: true, ..Recorder::default() }), Arc::new(Recorder::default()));
    let backend = union(vec![first.clone(), second.clone()]).unwrap();
    assert!(!backend.process(&[event(1)]).await);
    assert_eq!((first.numbers(), second.numbers()), (vec![1], vec![1]));
    assert!(union(Vec::new()).is_none());
}
