//! Events and delegates for tests of backends.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use async_trait::async_trait;
use pintle_meta::time::MicroTime;
use pintle_metrics::Registry;
use pintle_runtime::{Clock, Tasks};
use tokio::sync::Semaphore;

use super::{Backend, Surroundings};
use crate::event::{Event, Level, RequestPart, Stage};
use crate::metrics::Metrics;

/// An event with a number, by which its order is seen.
pub(super) fn event(number: usize) -> Arc<Event> {
    sized(number, Level::Metadata, 0)
}

/// An event with an object of some size.
pub(super) fn sized(number: usize, level: Level, size: usize) -> Arc<Event> {
    Arc::new(Event {
        request: Arc::new(RequestPart {
            level,
            audit_id: number.to_string(),
            uri: "/".into(),
            verb: "get".into(),
            user: None,
            source_ips: Vec::new(),
            user_agent: String::new(),
            received: MicroTime::from_unix(0, 0),
            json: OnceLock::new(),
        }),
        stage: Stage::ResponseComplete,
        stage_time: MicroTime::from_unix(0, 0),
        impersonated_user: None,
        impersonation_constraint: "",
        object: None,
        response_status: None,
        request_object: (size > 0).then(|| format!("\"{}\"", "x".repeat(size)).into()),
        response_object: None,
        annotations: BTreeMap::new(),
        json: OnceLock::new(),
    })
}

pub(super) fn number(event: &Event) -> usize {
    event.request.audit_id.parse().expect("the number of a test")
}

/// The surroundings of backends, and the owner of their tasks.
pub(super) struct World {
    pub(super) surroundings: Surroundings,
    pub(super) registry: Registry,
    _tasks: Tasks,
}

impl World {
    pub(super) fn new() -> World {
        World::with_clock(Clock::system())
    }

    pub(super) fn with_clock(clock: Clock) -> World {
        let (registry, tasks) = (Registry::default(), Tasks::new());
        let metrics = Metrics::new(&registry).unwrap();
        World {
            surroundings: Surroundings { metrics, clock, spawner: tasks.spawner() },
            registry,
            _tasks: tasks,
        }
    }

    /// Returns how many events a plugin has lost.
    pub(super) fn lost(&self, plugin: &str) -> usize {
        let text = String::from_utf8(self.registry.render().unwrap()).unwrap();
        let start = format!("apiserver_audit_error_total{{plugin=\"{plugin}\"}} ");
        text.lines().find_map(|line| line.strip_prefix(&start)).map_or(0, |count| count.parse().unwrap())
    }
}

/// Remembers the batches that it gets, which take a permit each if it has been told to wait.
#[derive(Default)]
pub(super) struct Recorder {
    pub(super) batches: Mutex<Vec<Vec<usize>>>,
    /// The number of batches that it got, or that wait for a permit.
    pub(super) entered: AtomicUsize,
    pub(super) permits: Option<Semaphore>,
    pub(super) fails: bool,
}

impl Recorder {
    pub(super) fn waiting() -> Recorder {
        Recorder { permits: Some(Semaphore::new(0)), ..Recorder::default() }
    }

    pub(super) fn batches(&self) -> Vec<Vec<usize>> {
        self.batches.lock().unwrap().clone()
    }

    pub(super) fn numbers(&self) -> Vec<usize> {
        self.batches().concat()
    }

    pub(super) async fn until_entered(&self, count: usize) {
        for _ in 0..10_000 {
            if self.entered.load(Ordering::SeqCst) >= count {
                return;
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        panic!("nothing arrives");
    }

    /// Waits until it has had so many events.
    pub(super) async fn until(&self, count: usize) {
        for _ in 0..10_000 {
            if self.numbers().len() >= count {
                return;
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        panic!("only {:?}", self.batches());
    }
}

#[async_trait]
impl Backend for Recorder {
    async fn process(&self, events: &[Arc<Event>]) -> bool {
        self.entered.fetch_add(1, Ordering::SeqCst);
        if let Some(permits) = &self.permits {
            permits.acquire().await.unwrap().forget();
        }
        self.batches.lock().unwrap().push(events.iter().map(|event| number(event)).collect());
        !self.fails
    }
}
