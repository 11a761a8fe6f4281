//! The queue set against a simple model, and its fairness in simulated time.

use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use pintle_metrics::Registry;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use super::*;
use crate::level::Level;
use crate::matching::{Matcher, Schema};
use crate::metrics::{Metrics, Reason};
use crate::{Describe, LevelSpec, RequestDetails, Response, SchemaSpec, WorkEstimate};

const MILLISECOND: u64 = 1_000_000;

struct Nothing;

impl Describe for Nothing {
    fn details(&self) -> RequestDetails {
        RequestDetails::default()
    }
}

fn schema() -> Arc<Schema> {
    let metrics = Metrics::new(&Registry::default()).unwrap();
    let (level, spec) = (LevelSpec::mandatory_catch_all(), SchemaSpec::mandatory_catch_all());
    let of = Arc::new(Level::new(&level, &metrics, 0));
    Matcher::new(vec![(&spec, &level, of)], &metrics).schemas[0].clone()
}

struct Fixture {
    set: QueueSet,
    schema: Arc<Schema>,
    now: u64,
}

fn fixture(response: Response, seats: usize) -> Fixture {
    let mut set = QueueSet::new(0);
    set.configure(response, Limits { seats, denominator: seats.max(1) }, 0);
    Fixture { set, schema: schema(), now: 0 }
}

/// One queue for each flow of a few.
fn queued(queues: usize, length: usize, seats: usize) -> Fixture {
    fixture(Response::Queue { queues, hand_size: 1, queue_length_limit: length }, seats)
}

impl Fixture {
    fn start(&mut self, estimate: WorkEstimate, hash: u64) -> Started {
        let request = NewRequest { estimate, schema: self.schema.clone(), description: Box::new(Nothing) };
        self.set.start(request, hash, self.now)
    }

    fn start_one(&mut self, hash: u64) -> Started {
        self.start(WorkEstimate::seats(1), hash)
    }

    fn executes(&mut self, key: Key) -> bool {
        self.set.poll(key, &mut Context::from_waker(Waker::noop())) == Poll::Ready(())
    }

    fn finish(&mut self, key: Key) -> Finished {
        self.set.finish(key, self.now).unwrap()
    }

    fn assert_empty(&self) {
        assert!(self.set.is_idle());
        assert_eq!((self.set.seats_in_use, self.set.waiting, self.set.executing), (0, 0, 0));
        assert_eq!(self.set.entries.iter().count(), 0);
        for queue in &self.set.queues {
            assert_eq!((queue.seats_in_use, queue.seats_waiting, queue.executing), (0, 0, 0));
            assert_eq!((queue.waiting.len(), queue.resuming.len(), queue.work_waiting.0), (0, 0, 0));
        }
    }
}

fn key(started: Started) -> Key {
    match started {
        Started::Executes(key) | Started::Waits(key) => key,
        Started::Refused(reason) => panic!("refused: {reason:?}"),
    }
}

/// A request as the model knows it.
struct Known {
    key: Key,
    seats: usize,
    is_suspended: bool,
}

/// The invariants that hold after every operation.
fn check(fixture: &mut Fixture, known: &[Known], lingering: &[(u64, usize)], limit: usize, length: usize) {
    let now = fixture.now;
    let executing: Vec<&Known> =
        known.iter().filter(|request| !request.is_suspended && fixture.executes(request.key)).collect();
    let kept: usize = lingering.iter().filter(|(end, _)| *end > now).map(|(_, seats)| seats).sum();
    let in_use = executing.iter().map(|request| request.seats).sum::<usize>() + kept;
    assert_eq!(fixture.set.seats_in_use, in_use, "no seat is lost or made");
    assert_eq!(fixture.set.executing, executing.len());
    assert!(in_use <= limit || executing.len() <= 1, "{in_use} seats of {limit}");
    let suspended = known.iter().filter(|request| request.is_suspended).count();
    let waiting = known.len() - executing.len() - suspended;
    assert_eq!(fixture.set.waiting, waiting);
    assert!(fixture.set.queues.iter().all(|queue| queue.waiting.len() <= length.max(1)));
    assert!(waiting == 0 || in_use > 0 || limit == 0, "none waits while all seats are free");
}

#[test]
fn random_histories_lose_no_seat_and_starve_no_request() {
    for seed in 0..60 {
        let mut random = StdRng::seed_from_u64(seed);
        let (queues, length) = (random.random_range(1..9), random.random_range(1..6));
        let mut limit = random.random_range(1..9);
        let hand_size = random.random_range(1..=queues.min(4));
        let response = Response::Queue { queues, hand_size, queue_length_limit: length };
        let mut fixture = fixture(response, limit);
        let mut known: Vec<Known> = Vec::new();
        let mut lingering: Vec<(u64, usize)> = Vec::new();
        for _ in 0..600 {
            let any = (!known.is_empty()).then(|| random.random_range(0..known.len()));
            match (random.random_range(0..10), any) {
                (0..=3, _) => {
                    let final_seats = random.random_range(0..5);
                    let latency = if final_seats > 0 { random.random_range(0..20) } else { 0 };
                    let estimate = WorkEstimate {
                        initial_seats: random.random_range(1..5),
                        final_seats,
                        additional_latency: Duration::from_millis(latency),
                    };
                    let (before, hash) = (fixture.set.seats_in_use, random.random());
                    match fixture.start(estimate, hash) {
                        Started::Refused(reason) => {
                            assert_eq!(reason, Reason::QueueFull);
                            let waits = fixture.set.waiting > 0;
                            assert!(before >= limit || waits, "it is refused only if it would wait");
                        }
                        started => {
                            known.push(Known { key: key(started), seats: 0, is_suspended: false });
                        }
                    }
                }
                (4 | 5, Some(index)) => {
                    let request = known.swap_remove(index);
                    let entry = fixture.set.entries.at(request.key).unwrap();
                    let (latency, seats, phase) =
                        (entry.estimate.additional_latency, entry.seats(), entry.phase);
                    let finished = fixture.finish(request.key);
                    if phase == Phase::Executing && !latency.is_zero() {
                        let end = fixture.now + u64::try_from(latency.as_nanos()).unwrap();
                        lingering.push((end, seats));
                    }
                    let gave_up = matches!(finished, Finished::GaveUp(_));
                    assert!(!gave_up || phase == Phase::Waiting);
                }
                (6, Some(index)) if !known[index].is_suspended && fixture.executes(known[index].key) => {
                    fixture.set.suspend(known[index].key, fixture.now);
                    known[index].is_suspended = true;
                }
                (7, Some(index)) if known[index].is_suspended => {
                    fixture.set.resume(known[index].key, fixture.now);
                    known[index].is_suspended = false;
                }
                (8, _) => {
                    fixture.now += random.random_range(0..10) * MILLISECOND;
                    fixture.set.advance(fixture.now);
                }
                (9, _) if random.random_bool(0.1) => {
                    limit = random.random_range(1..9);
                    let limits = Limits { seats: limit, denominator: limit };
                    fixture.set.configure(response, limits, fixture.now);
                    // Requests that execute beyond a lower limit go on.
                    limit = limit.max(fixture.set.seats_in_use);
                    let limits = Limits { seats: limit, denominator: limit };
                    fixture.set.configure(response, limits, fixture.now);
                }
                _ => {}
            }
            for request in &mut known {
                request.seats = fixture.set.entries.at(request.key).unwrap().seats();
            }
            lingering.retain(|(end, _)| *end > fixture.now);
            check(&mut fixture, &known, &lingering, limit, length);
        }
        // Every request that waits goes on when those before it end, and nothing is left.
        for request in known.iter_mut().filter(|request| request.is_suspended) {
            fixture.set.resume(request.key, fixture.now);
        }
        for _ in 0..10_000 {
            fixture.now += 100 * MILLISECOND;
            fixture.set.advance(fixture.now);
            let Some(index) = known.iter().position(|request| fixture.executes(request.key)) else { break };
            let request = known.swap_remove(index);
            fixture.finish(request.key);
        }
        assert!(known.is_empty(), "seed {seed}: {} requests starve", known.len());
        fixture.set.advance(fixture.now + 1000 * MILLISECOND);
        fixture.assert_empty();
    }
}

/// A flow that always has so many requests, each with so many seats for so long.
struct Flow {
    hash: u64,
    backlog: usize,
    seats: u64,
    duration: u64,
    requests: Vec<(Key, Option<u64>)>,
    /// Seat-nanoseconds of requests that have ended.
    served: u64,
}

impl Flow {
    fn new(hash: u64, backlog: usize, seats: u64, duration: u64) -> Flow {
        Flow { hash, backlog, seats, duration: duration * MILLISECOND, requests: Vec::new(), served: 0 }
    }
}

/// Runs flows for so many milliseconds.
fn simulate(fixture: &mut Fixture, flows: &mut [Flow], milliseconds: u64) {
    for _ in 0..milliseconds {
        for flow in flows.iter_mut() {
            let (now, duration) = (fixture.now, flow.duration);
            let mut left = Vec::new();
            for (key, since) in std::mem::take(&mut flow.requests) {
                let since = since.or_else(|| fixture.executes(key).then_some(now));
                if since.is_some_and(|since| now >= since + duration) {
                    let Finished::Executed(took) = fixture.finish(key) else { panic!("it has executed") };
                    flow.served += u64::try_from(took.as_nanos()).unwrap() * flow.seats;
                } else {
                    left.push((key, since));
                }
            }
            flow.requests = left;
            while flow.requests.len() < flow.backlog {
                match fixture.start(WorkEstimate::seats(flow.seats), flow.hash) {
                    Started::Refused(_) => break,
                    started => flow.requests.push((key(started), None)),
                }
            }
        }
        fixture.now += MILLISECOND;
    }
}

/// Seat-seconds of each of three flows, the least and the most.
fn served(seats: [u64; 3]) -> (Vec<f64>, f64, f64) {
    let mut fixture = queued(4, 100, 4);
    let mut flows =
        [Flow::new(0, 90, seats[0], 10), Flow::new(1, 95, seats[1], 3), Flow::new(2, 40, seats[2], 25)];
    simulate(&mut fixture, &mut flows, 20_000);
    let served: Vec<f64> = flows.iter().map(|flow| flow.served as f64 / 1e9).collect();
    let (least, most) =
        (served.iter().copied().fold(f64::MAX, f64::min), served.iter().copied().fold(0.0, f64::max));
    (served, least, most)
}

#[test]
fn flows_get_the_same_seat_seconds_however_long_their_requests_are() {
    let (served, least, most) = served([1, 1, 1]);
    assert!(served.iter().sum::<f64>() > 79.0, "no seat is free while a request waits: {served:?}");
    // A few of the longest requests, however long it goes on.
    assert!(most - least < 4.0 * 0.025 + 0.1, "{served:?}");
}

/// While a wide request waits for room, seats are free. Virtual time does not know that, so flows with short queues lose a little: each
/// still has at least half of its third.
#[test]
fn flows_of_wide_requests_get_their_share() {
    let (served, least, most) = served([1, 2, 3]);
    assert!(least > 80.0 / 3.0 / 2.0 && most < 80.0 / 3.0 + 1.0, "{served:?}");
}

#[test]
fn a_polite_flow_waits_for_one_request_at_most() {
    let mut fixture = queued(8, 500, 2);
    let mut greedy = [Flow::new(0, 400, 1, 10)];
    simulate(&mut fixture, &mut greedy, 1000);
    for _ in 0..50 {
        let polite = key(fixture.start_one(3));
        let mut waited = 0;
        while !fixture.executes(polite) {
            simulate(&mut fixture, &mut greedy, 1);
            waited += 1;
        }
        assert!(waited <= 11, "{waited} ms");
        fixture.finish(polite);
        simulate(&mut fixture, &mut greedy, 30);
    }
}

#[test]
fn a_request_that_resumes_goes_before_those_that_wait_in_its_queue() {
    let mut fixture = queued(1, 10, 1);
    let first = key(fixture.start_one(0));
    fixture.set.suspend(first, fixture.now);
    let second = key(fixture.start_one(0));
    let third = key(fixture.start_one(0));
    assert!(fixture.executes(second) && !fixture.executes(third), "the seat was given back");
    fixture.set.resume(first, fixture.now);
    assert!(!fixture.executes(first));
    fixture.finish(second);
    assert!(fixture.executes(first) && !fixture.executes(third));
    fixture.finish(first);
    assert!(fixture.executes(third));
    fixture.finish(third);
    fixture.assert_empty();
}

#[test]
fn a_flow_whose_requests_pause_takes_nothing_from_others() {
    let mut fixture = queued(2, 100, 2);
    let mut other = [Flow::new(1, 20, 1, 5)];
    let pausing: Vec<Key> = (0..30).map(|_| key(fixture.start_one(0))).collect();
    for _ in 0..400 {
        simulate(&mut fixture, &mut other, 5);
        let found = pausing.iter().copied().filter(|key| fixture.executes(*key)).collect::<Vec<_>>();
        for key in found {
            // Each gives its seat back and wants it again, over and over.
            fixture.set.suspend(key, fixture.now);
            fixture.set.resume(key, fixture.now);
        }
    }
    let half = 400 * 5 * MILLISECOND;
    assert!(other[0].served * 10 >= half * 9, "{} of {half}", other[0].served);
    for key in pausing {
        fixture.finish(key);
    }
}

#[test]
fn where_there_are_no_queues_a_request_that_resumes_goes_before_new_ones() {
    let mut fixture = fixture(Response::Reject, 1);
    let first = key(fixture.start_one(0));
    fixture.set.suspend(first, fixture.now);
    let second = key(fixture.start_one(0));
    fixture.set.resume(first, fixture.now);
    assert!(!fixture.executes(first));
    fixture.finish(second);
    assert!(fixture.executes(first));
    assert_eq!(fixture.start_one(0), Started::Refused(Reason::ConcurrencyLimit));
    fixture.set.suspend(first, fixture.now);
    let third = key(fixture.start_one(0));
    fixture.set.resume(first, fixture.now);
    fixture.set.stop_resuming(first, fixture.now);
    assert!(matches!(fixture.finish(first), Finished::Executed(_)), "it gave up, and had executed");
    fixture.finish(third);
    fixture.assert_empty();
}

#[test]
fn queues_have_limits_and_requests_that_give_up_leave_no_trace() {
    let mut fixture = queued(1, 2, 1);
    let executing = key(fixture.start_one(0));
    let waiting = [key(fixture.start_one(0)), key(fixture.start_one(0))];
    assert_eq!(fixture.start_one(0), Started::Refused(Reason::QueueFull));
    fixture.now += 7 * MILLISECOND;
    assert_eq!(fixture.finish(waiting[0]), Finished::GaveUp(Duration::from_millis(7)));
    assert!(matches!(fixture.start_one(0), Started::Waits(_)));
    assert_eq!((fixture.set.counts.rejected, fixture.set.counts.cancelled), (2, 1));
    fixture.finish(executing);
    assert!(fixture.executes(waiting[1]), "the next one goes on");
}

#[test]
fn seats_of_a_write_with_many_watchers_stay_taken_after_its_answer() {
    let mut fixture = queued(2, 10, 10);
    let estimate =
        WorkEstimate { initial_seats: 1, final_seats: 10, additional_latency: Duration::from_millis(25) };
    let write = key(fixture.start(estimate, 0));
    assert_eq!(fixture.set.seats_in_use, 10);
    fixture.finish(write);
    let waits = key(fixture.start_one(1));
    assert!(!fixture.executes(waits));
    assert_eq!(fixture.set.wakes_at(), Some(25 * MILLISECOND));
    fixture.now = 24 * MILLISECOND;
    fixture.set.advance(fixture.now);
    assert!(!fixture.executes(waits));
    fixture.now = 25 * MILLISECOND;
    fixture.set.advance(fixture.now);
    assert!(fixture.executes(waits));
    fixture.finish(waits);
    fixture.assert_empty();
}

#[test]
fn queues_beyond_the_configured_number_drain() {
    let mut fixture = queued(8, 10, 1);
    let executing = key(fixture.start_one(7));
    let waiting = key(fixture.start_one(6));
    let fewer = Response::Queue { queues: 2, hand_size: 1, queue_length_limit: 10 };
    fixture.set.configure(fewer, Limits { seats: 1, denominator: 1 }, 0);
    assert_eq!(fixture.set.queues.len(), 8);
    fixture.finish(executing);
    assert!(fixture.executes(waiting));
    assert_eq!(fixture.set.queues.len(), 7);
    fixture.finish(waiting);
    assert_eq!(fixture.set.queues.len(), 2);
    fixture.set.configure(Response::Reject, Limits { seats: 1, denominator: 1 }, 0);
    fixture.assert_empty();
    assert!(fixture.set.queues.is_empty());
}

#[test]
fn the_virtual_clock_is_wound_back_before_it_overflows() {
    let mut fixture = queued(2, 10, 1);
    let executing = key(fixture.start_one(0));
    let waiting = [key(fixture.start_one(0)), key(fixture.start_one(1))];
    let mut epochs = 0;
    // Half a millennium at a time.
    for _ in 0..24 {
        fixture.now += u64::MAX / 25;
        fixture.set.advance(fixture.now);
        epochs += fixture.set.take_epochs();
    }
    assert_eq!(epochs, 0, "so long does no server run");
    fixture.set.set_virtual_time(u64::MAX / 4 * 3 - 1);
    fixture.now += 1000 * MILLISECOND;
    fixture.set.advance(fixture.now);
    assert_eq!(fixture.set.take_epochs(), 1);
    assert!(fixture.set.r().0 < u64::MAX / 2);
    fixture.finish(executing);
    for key in waiting {
        fixture.finish(key);
    }
    fixture.assert_empty();
}
