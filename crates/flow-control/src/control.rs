//! Flow control as a whole.

use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, Weak};
use std::time::{Duration, Instant, SystemTime};

use pintle_metrics::{Error, FloatGauges, Registry};
use pintle_runtime::Clock;
use tokio::sync::Notify;

use crate::borrowing;
use crate::configuration::{Configuration, Ingredients};
use crate::drops::DropTracker;
use crate::estimator::{Estimator, ListOptions, ObjectStats, is_unseen};
use crate::level::{Level, State};
use crate::matching::Schema;
use crate::metrics::Metrics;
use crate::queues::{DEMAND, NewRequest, REQUESTS, SEATS, Samples, Started};
use crate::read_write::{self, Note, Phase, ReadWrite};
use crate::spec::Distinguisher;
use crate::watches::WatchTracker;
use crate::work::nanoseconds;
use crate::{
    Classification, Describe, Digest, LevelSpec, SchemaSpec, Ticket, WatchRegistration, WorkEstimate,
};

/// How often seats are moved between levels.
const ADJUSTMENT: Duration = Duration::from_secs(10);

/// The settings and surroundings of flow control.
pub struct Config {
    /// Requests that the server executes at once.
    pub seats: usize,
    pub clock: Clock,
    pub registry: Registry,
    /// Whether LISTs cost by the size of their objects (`SizeBasedListCostEstimate`).
    pub size_based_lists: bool,
    /// Whether watches may ask for initial events (`WatchList`).
    pub watch_list: bool,
    pub objects: Arc<dyn ObjectStats>,
    /// Called with the number of mutating requests (or of others) in a phase, after it has changed.
    pub note: Arc<dyn Fn(Phase, bool, usize) + Send + Sync>,
}

/// The priority levels of a server and the requests that execute or wait in them.
pub struct FlowControl {
    seats: usize,
    clock: Clock,
    start: Instant,
    start_time: SystemTime,
    metrics: Metrics,
    estimator: Estimator,
    objects: Arc<dyn ObjectStats>,
    watches: Arc<WatchTracker>,
    drops: DropTracker,
    pub(crate) read_write: ReadWrite,
    hasher: RandomState,
    /// Read while a request is classified and let into its level, so that no level goes in between.
    configuration: RwLock<Configuration>,
    /// The specs in effect. Locked while they are changed, before `configuration`.
    specs: Mutex<Specs>,
    /// Wakes [`FlowControl::run`] before its time.
    changed: Notify,
    /// The time at which [`FlowControl::run`] looks at the levels next.
    looks_at: AtomicU64,
    /// Whether a level that nothing refers to has lost its last request.
    is_drained: AtomicBool,
}

#[derive(Default, PartialEq)]
struct Specs {
    levels: Vec<LevelSpec>,
    schemas: Vec<SchemaSpec>,
}

/// The decision about a request that has arrived.
pub struct Admission {
    pub classification: Classification,
    /// Its seats or its place in a queue; an error if it is refused.
    pub ticket: Result<Ticket, Refusal>,
}

/// There are neither seats nor a place in a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refusal;

impl FlowControl {
    /// Makes flow control with the levels and flow schemas that every server has. Errors: metrics of these names exist.
    pub fn new(config: Config) -> Result<Arc<FlowControl>, Error> {
        let Config { seats, clock, registry, size_based_lists, watch_list, objects, note } = config;
        let metrics = Metrics::new(&registry)?;
        let note: Note = note;
        let control = Arc::new(FlowControl {
            seats,
            start: clock.instant(),
            start_time: clock.now(),
            clock,
            configuration: RwLock::new(Configuration::mandatory(seats, &metrics, 0)),
            metrics,
            estimator: Estimator { by_size: size_based_lists, watch_list },
            objects,
            watches: WatchTracker::new(),
            drops: DropTracker::default(),
            read_write: ReadWrite::new(note, 0),
            hasher: RandomState::new(),
            specs: Mutex::default(),
            changed: Notify::new(),
            looks_at: AtomicU64::new(0),
            is_drained: AtomicBool::new(false),
        });
        control.expose(&registry)?;
        Ok(control)
    }

    /// Returns the time in nanoseconds since the start.
    pub(crate) fn now(&self) -> u64 {
        nanoseconds(self.clock.instant().saturating_duration_since(self.start))
    }

    pub(crate) fn clock(&self) -> &Clock {
        &self.clock
    }

    pub(crate) fn started_at(&self) -> SystemTime {
        self.start_time
    }

    fn configuration(&self) -> RwLockReadGuard<'_, Configuration> {
        self.configuration.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns all levels by name.
    pub(crate) fn levels(&self) -> Vec<Arc<Level>> {
        self.configuration().levels().cloned().collect()
    }

    fn specs(&self) -> MutexGuard<'_, Specs> {
        self.specs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts specs into effect: all that there are.
    pub fn reconfigure(&self, levels: Vec<LevelSpec>, schemas: Vec<SchemaSpec>) {
        let (mut specs, new) = (self.specs(), Specs { levels, schemas });
        if *specs != new {
            *specs = new;
            self.apply(&specs);
        }
    }

    fn apply(&self, specs: &Specs) {
        let mut configuration = self.configuration.write().unwrap_or_else(PoisonError::into_inner);
        let now = self.now();
        let ingredients = Ingredients {
            levels: &specs.levels,
            schemas: &specs.schemas,
            seats: self.seats,
            metrics: &self.metrics,
            now,
        };
        let (next, gone) = configuration.next(&ingredients);
        gone.iter().for_each(|level| self.drops.forget(level));
        self.read_write.set_limits(next.waiting, next.nominal, now);
        *configuration = next;
    }

    /// Decides about a request. `options` are asked for if it is a LIST or a watch; they are `None` if they cannot be read.
    pub fn admit<'o>(
        self: &Arc<FlowControl>,
        digest: &Digest<'_>,
        options: impl FnOnce() -> Option<ListOptions<'o>>,
        description: Box<dyn Describe>,
    ) -> Option<Admission> {
        let configuration = self.configuration();
        // There is always a catch-all.
        let schema = configuration.matcher.find(digest)?.clone();
        let estimate = self.estimate(digest, options, &schema);
        schema.metrics.seats(estimate.max_seats());
        let hash = self.flow_hash(digest, &schema);
        let request = NewRequest { estimate, schema: schema.clone(), description };
        let now = self.now();
        let (started, wakes_at) = schema.level.with(|state| {
            let started = state.set.start(request, hash, now);
            (started, state.set.wakes_at())
        });
        drop(configuration);
        self.look_at(wakes_at);
        let (key, phase) = match started {
            Started::Executes(key) => (key, Phase::Executing),
            Started::Waits(key) => (key, Phase::Waiting),
            Started::Refused(_) => {
                schema.metrics.waited(false, Duration::ZERO);
                return Some(Admission { classification: Classification(schema), ticket: Err(Refusal) });
            }
        };
        if phase == Phase::Executing && !schema.is_exempt {
            schema.metrics.waited(true, Duration::ZERO);
        }
        let ticket = Ticket::new(self.clone(), schema.clone(), key, digest, phase, now);
        Some(Admission { classification: Classification(schema), ticket: Ok(ticket) })
    }

    fn estimate<'o>(
        &self,
        digest: &Digest<'_>,
        options: impl FnOnce() -> Option<ListOptions<'o>>,
        schema: &Schema,
    ) -> WorkEstimate {
        let most = schema.level.most_seats();
        match digest.verb {
            "list" | "watch" => self.estimator.list(digest, options(), &*self.objects, most),
            "create" | "update" | "patch" | "delete" if !is_unseen(digest) => {
                let watches = self.watches.interested(digest);
                schema.metrics.watch_count(watches);
                Estimator::mutating(watches, most)
            }
            _ => WorkEstimate::seats(1),
        }
    }

    /// Returns the hash of a request's flow. Nobody outside can know it, so no client can choose a name that shares its queues
    /// with another's.
    fn flow_hash(&self, digest: &Digest<'_>, schema: &Schema) -> u64 {
        let flow = match schema.distinguisher {
            None => "",
            Some(Distinguisher::ByUser) => digest.user.name.as_str(),
            Some(Distinguisher::ByNamespace) => digest.namespace,
        };
        self.hasher.hash_one((&*schema.name, flow))
    }

    /// Counts a refused request. Returns the seconds after which its client may try again.
    pub fn dropped(&self, classification: &Classification) -> u64 {
        let second = self.clock.now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs();
        self.drops.record(classification.level_name(), second)
    }

    /// Counts a watch until the result is dropped. `node`: the node whose pods it selects, if it does.
    pub fn register_watch(&self, digest: &Digest<'_>, node: Option<&str>) -> WatchRegistration {
        self.watches.register(digest, node)
    }

    /// Changes a request of a level, and sees to what follows from it.
    pub(crate) fn change<T>(&self, level: &Level, change: impl FnOnce(&mut State, u64) -> T) -> T {
        let now = self.now();
        let (result, wakes_at, is_idle) = level.with(|state| {
            let result = change(state, now);
            (result, state.set.wakes_at(), state.set.is_idle())
        });
        self.look_at(wakes_at);
        if is_idle && level.is_quiescing() {
            self.is_drained.store(true, Ordering::Release);
            self.changed.notify_one();
        }
        result
    }

    /// Has [`FlowControl::run`] look at the levels at a time.
    fn look_at(&self, time: Option<u64>) {
        if let Some(time) = time
            && self.looks_at.fetch_min(time, Ordering::AcqRel) > time
        {
            self.changed.notify_one();
        }
    }

    /// Moves seats between levels, frees seats whose time has come and removes levels that have drained, until it is dropped.
    pub async fn run(&self) {
        let period = nanoseconds(ADJUSTMENT);
        let mut adjusts_at = self.now().saturating_add(period);
        loop {
            self.looks_at.store(adjusts_at, Ordering::Release);
            let levels = self.levels();
            let now = self.now();
            let mut next = adjusts_at;
            for level in &levels {
                let wakes_at = level.with(|state| state.set.wakes_at());
                next = next.min(wakes_at.unwrap_or(u64::MAX));
            }
            self.looks_at.fetch_min(next, Ordering::AcqRel);
            let pause = Duration::from_nanos(next.saturating_sub(now));
            let _ = self.clock.timeout(pause, self.changed.notified()).await;
            let now = self.now();
            if now >= adjusts_at {
                self.adjust(now);
                adjusts_at = now.saturating_add(period);
            }
            if self.is_drained.swap(false, Ordering::AcqRel) {
                self.apply(&self.specs());
            }
            for level in self.levels() {
                level.with(|state| {
                    if state.set.wakes_at().is_some_and(|time| time <= now) {
                        state.set.advance(now);
                    }
                });
            }
        }
    }

    fn adjust(&self, now: u64) {
        let configuration = self.configuration();
        borrowing::adjust(configuration.levels(), configuration.nominal, self.seats, &self.metrics, now);
    }

    /// Exposes what scrapes read from the levels.
    fn expose(self: &Arc<FlowControl>, registry: &Registry) -> Result<(), Error> {
        for (name, help, read) in LEVEL_GAUGES {
            let control = Arc::downgrade(self);
            let name = format!("apiserver_flowcontrol_{name}");
            registry.gauges_at_scrape(&name, help, &["priority_level"], move |gauges| {
                for_each_level(&control, |level, state| {
                    if let Some(value) = read(state) {
                        gauges.with(&[level]).set(value);
                    }
                });
            })?;
        }
        for (name, help, read) in BOUNDS {
            let control = Arc::downgrade(self);
            let name = format!("apiserver_flowcontrol_{name}");
            registry.gauges_at_scrape(
                &name,
                help,
                &["bound", "priority_level"],
                move |gauges: &FloatGauges| {
                    for_each_level(&control, |level, state| {
                        if let Some((least, most)) = read(state) {
                            gauges.with(&["min", level]).set(least);
                            gauges.with(&["max", level]).set(most);
                        }
                    });
                },
            )?;
        }
        let samples = |read: ReadSamples| {
            let control = Arc::downgrade(self);
            move || {
                let now = control.upgrade().map_or(0, |control| control.now());
                let mut all = Vec::new();
                for_each_level(&control, |level, state| all.extend(read(level, state.set.samples(now))));
                all
            }
        };
        registry.histograms_at_scrape(
            "apiserver_flowcontrol_demand_seats",
            "Seats that a priority level could use as a part of those that it has, at each nanosecond.",
            &["priority_level"],
            DEMAND,
            samples(|level, samples| vec![(vec![level.to_owned()], samples.demand)]),
        )?;
        registry.histograms_at_scrape(
            "apiserver_flowcontrol_priority_level_request_utilization",
            "Requests as a part of their limit, at each nanosecond.",
            &["phase", "priority_level"],
            REQUESTS,
            samples(|level, samples| {
                let labels = |phase: &str| vec![phase.to_owned(), level.to_owned()];
                vec![(labels("waiting"), samples.waiting), (labels("executing"), samples.executing)]
            }),
        )?;
        registry.histograms_at_scrape(
            "apiserver_flowcontrol_priority_level_seat_utilization",
            "Seats in use as a part of those that a priority level has, at each nanosecond.",
            &["phase", "priority_level"],
            SEATS,
            samples(|level, samples| vec![(vec!["executing".to_owned(), level.to_owned()], samples.seats)]),
        )?;
        let control = Arc::downgrade(self);
        registry.histograms_at_scrape(
            "apiserver_flowcontrol_read_vs_write_current_requests",
            "Requests that change something or do not, as a part of their limit, at each nanosecond.",
            &["phase", "request_kind"],
            read_write::BUCKETS,
            move || {
                control.upgrade().map_or_else(Vec::new, |control| control.read_write.samples(control.now()))
            },
        )
    }
}

/// Calls `read` with the name and state of each level, as of now.
fn for_each_level(control: &Weak<FlowControl>, mut read: impl FnMut(&str, &mut State)) {
    let Some(control) = control.upgrade() else { return };
    let now = control.now();
    for level in control.levels() {
        level.with(|state| {
            state.set.sync(now);
            read(&level.name, state);
        });
    }
}

/// Labels and samples of a level.
type ReadSamples = fn(&str, Samples) -> Vec<(Vec<String>, pintle_metrics::Sample)>;
type LevelGauge = (&'static str, &'static str, fn(&State) -> Option<f64>);
type Bounds = (&'static str, &'static str, fn(&State) -> Option<(f64, f64)>);

const LEVEL_GAUGES: [LevelGauge; 12] = [
    ("current_r", "Virtual time of a priority level.", |state| Some(state.set.r().to_float())),
    ("dispatch_r", "Virtual time at the last dispatch.", |state| Some(state.set.dispatch?.r.to_float())),
    ("latest_s", "Virtual time at which the last request was to begin.", |state| {
        Some(state.set.dispatch?.s.to_float())
    }),
    ("nominal_limit_seats", "Seats by the share of a priority level.", |state| {
        Some(state.seats.nominal as f64)
    }),
    ("lower_limit_seats", "Seats that a priority level does not lend.", |state| {
        Some(state.seats.least as f64)
    }),
    ("upper_limit_seats", "Seats that a priority level may have with borrowed ones.", |state| {
        Some(state.seats.most as f64)
    }),
    ("current_limit_seats", "Seats that a priority level has now.", |state| Some(state.seats.current as f64)),
    ("demand_seats_high_watermark", "Highest demand for seats in the last adjustment period.", |state| {
        Some(state.demand.highest as f64)
    }),
    ("demand_seats_average", "Average demand for seats in the last adjustment period.", |state| {
        Some(state.demand.average)
    }),
    ("demand_seats_stdev", "Standard deviation of the demand in the last adjustment period.", |state| {
        Some(state.demand.deviation)
    }),
    ("demand_seats_smoothed", "Demand for seats over the last minutes.", |state| Some(state.demand.smoothed)),
    ("target_seats", "Seats that a priority level should have by its demand.", |state| {
        Some(state.demand.target)
    }),
];

const BOUNDS: [Bounds; 2] = [
    ("next_s_bounds", "Lowest and highest virtual time at which a queue's next request begins.", |state| {
        let (least, most) = state.set.dispatch?.s_bounds;
        Some((least.to_float(), most.to_float()))
    }),
    ("next_discounted_s_bounds", "The same, less the expected work of requests that execute.", |state| {
        let (least, most) = state.set.dispatch?.discounted_bounds;
        Some((least.to_float(), most.to_float()))
    }),
];
