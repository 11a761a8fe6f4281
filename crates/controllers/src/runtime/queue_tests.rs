use std::time::SystemTime;

use pintle_metrics::Registry;
use pintle_runtime::ManualClock;

use super::*;

struct Fixture {
    clock: Arc<ManualClock>,
    registry: Registry,
    queue: WorkQueue<&'static str>,
}

fn fixture(limits: RateLimits) -> Fixture {
    let clock = ManualClock::starting_at(SystemTime::UNIX_EPOCH);
    let registry = Registry::default();
    let queue = WorkQueue::new("test", clock.clock(), limits, &Metrics::new(&registry).unwrap());
    Fixture { clock, registry, queue }
}

impl Fixture {
    /// The key that is there now.
    fn next(&self) -> Option<&'static str> {
        match self.queue.try_next() {
            Attempt::Key(key) => Some(key),
            Attempt::Due(_) | Attempt::ShutDown => None,
        }
    }

    fn advance(&self, millis: u64) {
        self.clock.advance(Duration::from_millis(millis));
    }

    fn value(&self, metric: &str) -> String {
        let text = String::from_utf8(self.registry.render().unwrap()).unwrap();
        let value =
            |line: &str| line.strip_prefix(metric)?.strip_prefix("{name=\"test\"} ").map(str::to_owned);
        text.lines().find_map(value).unwrap_or_else(|| panic!("{metric}: {text}"))
    }
}

#[test]
fn a_queued_key_is_not_queued_twice() {
    let fixture = fixture(RateLimits::default());
    for key in ["a", "b", "a"] {
        fixture.queue.add(key);
    }
    assert_eq!([fixture.next(), fixture.next(), fixture.next()], [Some("a"), Some("b"), None]);
}

#[test]
fn a_key_added_while_it_is_processed_comes_up_again_when_that_is_done() {
    let fixture = fixture(RateLimits::default());
    fixture.queue.add("a");
    assert_eq!(fixture.next(), Some("a"));
    fixture.queue.add("a");
    fixture.queue.add("a");
    assert_eq!(fixture.next(), None, "no two workers have the same key");
    fixture.queue.done(&"a");
    assert_eq!(fixture.next(), Some("a"));
    fixture.queue.done(&"a");
    assert_eq!(fixture.next(), None);
    assert!(fixture.queue.is_empty());
}

#[test]
fn delayed_keys_come_up_in_the_order_of_their_times() {
    let fixture = fixture(RateLimits::default());
    fixture.queue.add_after("late", Duration::from_secs(3));
    fixture.queue.add_after("early", Duration::from_secs(1));
    fixture.queue.add_after("late", Duration::from_secs(2));
    fixture.queue.add_after("late", Duration::from_secs(9));
    assert_eq!(fixture.next(), None);
    fixture.advance(1000);
    assert_eq!([fixture.next(), fixture.next()], [Some("early"), None]);
    fixture.advance(1000);
    assert_eq!([fixture.next(), fixture.next()], [Some("late"), None], "the earliest of its times");
    fixture.queue.done(&"late");
    fixture.advance(10_000);
    assert_eq!(fixture.next(), None, "and no other");
}

#[test]
fn retries_of_a_key_take_longer_each_time_until_it_is_forgotten() {
    let fixture = fixture(RateLimits::default());
    for (failures, millis) in [(0, 5), (1, 10), (2, 20), (3, 40)] {
        assert_eq!(fixture.queue.failures(&"a"), failures);
        fixture.queue.retry("a");
        fixture.advance(millis - 1);
        assert_eq!(fixture.next(), None, "after {failures} failures");
        fixture.advance(1);
        assert_eq!(fixture.next(), Some("a"), "after {failures} failures");
        fixture.queue.done(&"a");
    }
    fixture.queue.forget(&"a");
    fixture.queue.retry("a");
    fixture.advance(5);
    assert_eq!(fixture.next(), Some("a"));
}

#[test]
fn retries_of_all_keys_share_a_rate() {
    let fixture = fixture(RateLimits { burst: 2.0, ..RateLimits::default() });
    for key in ["a", "b", "c", "d"] {
        fixture.queue.retry(key);
    }
    let next = || std::iter::from_fn(|| fixture.next()).collect::<Vec<_>>();
    fixture.advance(5);
    assert_eq!(next(), ["a", "b"], "the burst");
    fixture.advance(94);
    assert_eq!(next(), [""; 0]);
    fixture.advance(1);
    assert_eq!(next(), ["c"], "one in 100 ms");
    fixture.advance(100);
    assert_eq!(next(), ["d"]);
}

#[tokio::test]
async fn workers_wake_for_keys_that_are_added_and_for_those_that_are_due() {
    let fixture = fixture(RateLimits::default());
    let (queue, (taken, mut keys)) = (fixture.queue.clone(), tokio::sync::mpsc::unbounded_channel());
    let workers: Vec<_> = (0..2)
        .map(|_| {
            let (queue, taken) = (queue.clone(), taken.clone());
            tokio::spawn(async move {
                while let Some(key) = queue.next().await {
                    taken.send(key).unwrap();
                    queue.done(&key);
                }
            })
        })
        .collect();
    tokio::task::yield_now().await;
    queue.add("now");
    queue.add_after("later", Duration::from_secs(60));
    queue.add_after("soon", Duration::from_secs(1));
    assert_eq!(keys.recv().await, Some("now"));
    queue.drained().await;
    for (seconds, key) in [(1, "soon"), (59, "later")] {
        // Both workers sleep until the same moment.
        for _ in 0..10 {
            tokio::task::yield_now().await;
        }
        fixture.clock.advance(Duration::from_secs(seconds));
        assert_eq!(keys.recv().await, Some(key));
    }
    queue.add_after("never", Duration::from_secs(1));
    queue.shut_down();
    queue.add("never");
    for worker in workers {
        worker.await.unwrap();
    }
    assert!(keys.try_recv().is_err());
}

#[test]
fn a_queue_is_measured_under_its_name() {
    let fixture = fixture(RateLimits::default());
    fixture.queue.add("a");
    fixture.queue.add("b");
    assert_eq!(fixture.value("workqueue_depth"), "2");
    fixture.advance(500);
    fixture.next();
    assert_eq!(fixture.value("workqueue_depth"), "1");
    assert_eq!(fixture.value("workqueue_queue_duration_seconds_sum"), "0.5");
    fixture.advance(1000);
    fixture.next();
    fixture.advance(1000);
    assert_eq!(fixture.value("workqueue_unfinished_work_seconds"), "3");
    assert_eq!(fixture.value("workqueue_longest_running_processor_seconds"), "2");
    fixture.queue.done(&"a");
    fixture.queue.retry("a");
    assert_eq!(fixture.value("workqueue_work_duration_seconds_count"), "1");
    assert_eq!(fixture.value("workqueue_work_duration_seconds_sum"), "2");
    assert_eq!(fixture.value("workqueue_retries_total"), "1");
    assert_eq!(fixture.value("workqueue_adds_total"), "2");
}

/// Names, labels, texts and buckets of the reference, where its published metrics are at hand.
#[test]
fn metrics_are_those_of_the_reference() {
    let Some(folder) = pintle_published::upstream("workqueue metrics") else { return };
    let fixture = fixture(RateLimits::default());
    let text = String::from_utf8(fixture.registry.render().unwrap()).unwrap();
    let table = std::fs::read_to_string(folder.join("metrics.tsv")).unwrap();
    let families = table.lines().filter(|line| line.starts_with("workqueue_")).collect::<Vec<_>>();
    assert_eq!(families.len(), 7);
    for family in families {
        let [name, kind, labels, buckets, help] = family.split('\t').collect::<Vec<_>>()[..] else {
            panic!("{family}")
        };
        assert_eq!(labels, "name");
        let help = help.strip_prefix("[BETA] ").unwrap();
        assert!(text.contains(&format!("# HELP {name} {help}\n# TYPE {name} {kind}\n")), "{name}");
        let bounds = text.lines().filter_map(|line| {
            let bound = line.strip_prefix(&format!("{name}_bucket{{name=\"test\",le=\""))?;
            bound.split('"').next()?.replace("+Inf", "inf").parse::<f64>().ok()
        });
        let expect = buckets.split(',').filter_map(|bound| bound.replace("+Inf", "inf").parse::<f64>().ok());
        assert_eq!(bounds.collect::<Vec<_>>(), expect.collect::<Vec<_>>(), "{name}");
    }
}

impl<K> WorkQueue<K> {
    /// Returns the number of clones.
    pub(in crate::runtime) fn holders(&self) -> usize {
        Arc::strong_count(&self.0)
    }
}
