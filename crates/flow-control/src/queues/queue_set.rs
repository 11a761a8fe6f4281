//! The seats and queues of one priority level.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use super::Phase;
use super::entries::{Entries, Entry, Key, List, NONE, NewRequest};
use super::observed::{Observed, Samples};
use super::queue::Queue;
use crate::Response;
use crate::dealer::Dealer;
use crate::integrator::Demand;
use crate::metrics::Reason;
use crate::work::{SeatSeconds, nanoseconds};

/// The time that a request is expected to execute.
const SERVICE: u64 = 3_000_000;
/// By how much the virtual clock is wound back before it overflows, and when.
const EPOCH: SeatSeconds = SeatSeconds(u64::MAX / 2);
const EPOCH_END: SeatSeconds = SeatSeconds(u64::MAX / 4 * 3);

/// The limit on seats, and what its use is compared with in metrics.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    pub(crate) seats: usize,
    pub(crate) denominator: usize,
}

/// The answer to a request that arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Started {
    Executes(Key),
    Waits(Key),
    Refused(Reason),
}

/// How a request has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Finished {
    /// With the time since it began to execute.
    Executed(Duration),
    /// With the time that it waited in vain.
    GaveUp(Duration),
}

/// Numbers of requests since the level was introduced.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    pub(crate) dispatched: usize,
    pub(crate) rejected: usize,
    pub(crate) cancelled: usize,
}

/// Virtual times at the last dispatch.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Dispatch {
    pub(crate) r: SeatSeconds,
    pub(crate) s: SeatSeconds,
    pub(crate) s_bounds: (SeatSeconds, SeatSeconds),
    pub(crate) discounted_bounds: (SeatSeconds, SeatSeconds),
}

/// Seats that a request keeps after its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Lingering {
    end: u64,
    queue: u32,
    seats: usize,
}

pub(crate) struct QueueSet {
    response: Response,
    limit: usize,
    dealer: Option<Dealer>,
    /// May be more than configured while those beyond drain.
    pub(crate) queues: Vec<Queue>,
    pub(crate) entries: Entries,
    /// Requests without a queue that want their seats back.
    resuming: List,
    r: SeatSeconds,
    /// When the clock was last set, in nanoseconds since its start.
    at: u64,
    /// The queue of the last dispatch, and the one that was joined last.
    last: usize,
    newest: usize,
    arrivals: usize,
    active_queues: usize,
    /// Requests that wait or resume.
    pub(crate) waiting: usize,
    pub(crate) executing: usize,
    suspended: usize,
    pub(crate) seats_in_use: usize,
    /// The part of them that queues share.
    queued_seats_in_use: usize,
    seats_waiting: usize,
    lingering: BinaryHeap<Reverse<Lingering>>,
    pub(crate) counts: Counts,
    pub(crate) dispatch: Option<Dispatch>,
    epochs: usize,
    observed: Observed,
    /// Requests that may go on, to be woken when the lock is released.
    woken: Vec<Waker>,
}

impl QueueSet {
    pub(crate) fn new(now: u64) -> QueueSet {
        QueueSet {
            response: Response::Reject,
            limit: 0,
            dealer: None,
            queues: Vec::new(),
            entries: Entries::default(),
            resuming: List::default(),
            r: SeatSeconds::ZERO,
            at: now,
            last: 0,
            newest: 0,
            arrivals: 0,
            active_queues: 0,
            waiting: 0,
            executing: 0,
            suspended: 0,
            seats_in_use: 0,
            queued_seats_in_use: 0,
            seats_waiting: 0,
            lingering: BinaryHeap::new(),
            counts: Counts::default(),
            dispatch: None,
            epochs: 0,
            observed: Observed::new(),
            woken: Vec::new(),
        }
    }

    /// Changes the configuration. Requests that execute or wait stay; queues that are too many go when they are empty.
    pub(crate) fn configure(&mut self, response: Response, limits: Limits, now: u64) {
        self.sync(now);
        self.response = response;
        self.limit = limits.seats;
        let mut waiting_limit = 1;
        self.dealer = None;
        if let Response::Queue { queues, hand_size, queue_length_limit } = response {
            self.dealer = Dealer::new(queues, hand_size);
            if self.queues.len() < queues {
                self.queues.resize_with(queues, Queue::default);
            }
            waiting_limit = queue_length_limit.max(1).saturating_mul(queues);
        }
        self.observed.set_limits(limits.denominator as f64, waiting_limit as f64);
        self.drop_unused_queues();
        self.dispatch_all();
    }

    /// Sets the clock: gives back seats whose time has come, and moves virtual time on.
    pub(crate) fn sync(&mut self, now: u64) {
        while let Some(Reverse(first)) = self.lingering.peek().copied()
            && first.end <= now
        {
            self.lingering.pop();
            self.pass_time(first.end);
            self.release(first.queue, first.seats);
        }
        self.pass_time(now);
    }

    /// Sets the clock, and lets requests go on with seats that are free since.
    pub(crate) fn advance(&mut self, now: u64) {
        self.sync(now);
        self.drop_unused_queues();
        self.dispatch_all();
    }

    fn pass_time(&mut self, now: u64) {
        let passed = now.saturating_sub(self.at);
        if passed == 0 {
            return;
        }
        self.at = now;
        if self.active_queues > 0 {
            let seats = (self.queued_seats_in_use + self.seats_waiting).min(self.limit);
            self.r = self.r.plus(SeatSeconds::of(seats as f64 / self.active_queues as f64, passed));
            if self.r >= EPOCH_END {
                self.wind_back();
            }
        }
        self.observed.pass(passed);
    }

    /// Winds back the virtual clock and all times that were read from it.
    fn wind_back(&mut self) {
        self.epochs += 1;
        self.r = self.r.minus(EPOCH);
        for queue in &mut self.queues {
            // An idle queue's time is set by its next request.
            queue.next_dispatch = queue.next_dispatch.minus(EPOCH);
        }
        for entry in self.entries.iter_mut() {
            entry.arrival_r = entry.arrival_r.minus(EPOCH);
        }
    }

    /// Returns how often the clock was wound back since the last call.
    pub(crate) fn take_epochs(&mut self) -> usize {
        std::mem::take(&mut self.epochs)
    }

    /// Returns the requests that may go on since the last call. They are woken without the lock.
    pub(crate) fn take_woken(&mut self) -> Vec<Waker> {
        std::mem::take(&mut self.woken)
    }

    /// Takes in a request, in the flow of a hash.
    pub(crate) fn start(&mut self, request: NewRequest, hash: u64, now: u64) -> Started {
        self.sync(now);
        let seats = request.estimate.max_seats();
        let Some(dealer) = self.dealer else {
            let is_exempt = self.response == Response::Exempt;
            if !is_exempt && (!self.resuming.is_empty() || !self.accommodates(seats)) {
                return self.refuse(&request, Reason::ConcurrencyLimit);
            }
            let key = self.entries.insert(Entry::new(request, Phase::Waiting, NONE, now));
            self.execute(key);
            return Started::Executes(key);
        };
        let index = self.choose_queue(dealer, hash);
        let Response::Queue { queue_length_limit, .. } = self.response else {
            return self.refuse(&request, Reason::QueueFull);
        };
        let length = self.queues.get(index).map_or(usize::MAX, |queue| queue.waiting.len());
        // One that waits has no room for its seats even if some are free.
        if length >= queue_length_limit && (length > 0 || self.seats_in_use >= self.limit) {
            return self.refuse(&request, Reason::QueueFull);
        }
        let mut entry = Entry::new(request, Phase::Waiting, index as u32, now);
        let initial = SeatSeconds::of(entry.estimate.initial_seats as f64, SERVICE);
        entry.work = initial.plus(entry.estimate.final_work());
        let key = self.entries.insert(entry);
        self.enqueue(key);
        if let (Some(entry), Some(queue)) = (self.entries.at(key), self.queues.get(index)) {
            entry.schema.metrics.queue_length(queue.waiting.len());
        }
        self.dispatch_all();
        match self.entries.at(key) {
            Some(entry) if entry.phase == Phase::Executing => Started::Executes(key),
            _ => Started::Waits(key),
        }
    }

    fn refuse(&mut self, request: &NewRequest, reason: Reason) -> Started {
        self.counts.rejected += 1;
        request.schema.metrics.rejected(reason);
        Started::Refused(reason)
    }

    /// Returns the queue with the least work of the hand of a flow. Visits begin at another card each time, so that flows whose
    /// hands overlap do not prefer the same one.
    fn choose_queue(&mut self, dealer: Dealer, hash: u64) -> usize {
        let hand = dealer.deal(hash);
        let cards = hand.cards();
        let offset = self.arrivals % cards.len().max(1);
        self.arrivals = self.arrivals.wrapping_add(1);
        let in_turn = cards[offset..].iter().chain(&cards[..offset]).copied();
        // The first of those with the least.
        in_turn
            .min_by_key(|index| self.queues.get(*index).map(|queue| queue.work_waiting))
            .unwrap_or_default()
    }

    /// Puts a request that has a phase of waiting into its queue.
    fn enqueue(&mut self, key: Key) {
        let Some(entry) = self.entries.at_mut(key) else { return };
        entry.arrival_r = self.r;
        let (index, seats, resumes) = (entry.queue as usize, entry.seats(), entry.phase == Phase::Resuming);
        let (work, initial) = (entry.work, entry.estimate.initial_seats as usize);
        entry.schema.metrics.in_queue(1, seats as i64);
        self.waiting += 1;
        self.seats_waiting += seats;
        match self.queues.get_mut(index) {
            None => self.resuming.push(&mut self.entries, key),
            Some(queue) => {
                self.newest = index;
                if !queue.is_active() {
                    queue.next_dispatch = self.r;
                    self.active_queues += 1;
                }
                let list = if resumes { &mut queue.resuming } else { &mut queue.waiting };
                list.push(&mut self.entries, key);
                queue.work_waiting = queue.work_waiting.plus(work);
                queue.seats_waiting += seats;
                queue.initial_seats_waiting += initial;
                self.bound_next_dispatch(index);
            }
        }
        self.observe();
    }

    /// Takes a request that waits out of its queue.
    fn dequeue(&mut self, key: Key) {
        let Some(entry) = self.entries.at(key) else { return };
        let (index, seats, resumes) = (entry.queue as usize, entry.seats(), entry.phase == Phase::Resuming);
        let (work, initial) = (entry.work, entry.estimate.initial_seats as usize);
        entry.schema.metrics.in_queue(-1, -(seats as i64));
        self.waiting -= 1;
        self.seats_waiting -= seats;
        match self.queues.get_mut(index) {
            None => self.resuming.remove(&mut self.entries, key),
            Some(queue) => {
                let list = if resumes { &mut queue.resuming } else { &mut queue.waiting };
                list.remove(&mut self.entries, key);
                queue.work_waiting = queue.work_waiting.minus(work);
                queue.seats_waiting -= seats;
                queue.initial_seats_waiting -= initial;
                if !queue.is_active() {
                    self.active_queues -= 1;
                }
            }
        }
    }

    /// Lets requests go on for which there are seats.
    fn dispatch_all(&mut self) {
        while self.waiting > 0 && (self.seats_in_use < self.limit || self.response == Response::Exempt) {
            if let Some(key) = self.resuming.first() {
                let seats = self.entries.at(key).map_or(0, Entry::seats);
                if !self.accommodates(seats) {
                    return;
                }
                self.dequeue(key);
                self.execute(key);
            } else if !self.dispatch_one() {
                return;
            }
        }
    }

    /// Lets the first request of the queue go on that would end first. Returns whether there were seats for it.
    fn dispatch_one(&mut self) -> bool {
        let Some((index, key, mut dispatch)) = self.next() else { return false };
        let Some(entry) = self.entries.at(key) else { return false };
        if !self.accommodates(entry.seats()) {
            entry.schema.metrics.not_accommodated();
            return false;
        }
        // From here on, so that others win where virtual times are the same.
        self.last = index;
        dispatch.r = self.r;
        self.dequeue(key);
        let limit = self.limit as u64;
        if let Some(entry) = self.entries.at_mut(key)
            && entry.estimate.final_seats > limit
        {
            entry.estimate.additional_latency = entry.estimate.final_work().duration_per_seat(limit);
            entry.estimate.final_seats = limit;
        }
        self.execute(key);
        if let (Some(queue), Some(entry)) = (self.queues.get_mut(index), self.entries.at_mut(key)) {
            dispatch.s = queue.next_dispatch;
            queue.next_dispatch = queue.next_dispatch.plus(entry.work);
            // The rest of its work is paid now.
            entry.work = SeatSeconds::of(entry.estimate.initial_seats as f64, SERVICE);
        }
        self.bound_next_dispatch(index);
        self.dispatch = Some(dispatch);
        true
    }

    /// Returns the queue whose first request would end first, that request, and the bounds of virtual times.
    fn next(&self) -> Option<(usize, Key, Dispatch)> {
        let mut best: Option<(SeatSeconds, usize, Key)> = None;
        let (mut lowest, mut highest) = (SeatSeconds::MAX, SeatSeconds::ZERO);
        let (mut lowest_discounted, mut highest_discounted) = (SeatSeconds::MAX, SeatSeconds::ZERO);
        let mut left = self.waiting - self.resuming.len();
        let count = self.queues.len();
        // One that finds free seats is mostly the only one that waits.
        let is_alone = left == 1 && self.queues.get(self.newest).is_some_and(Queue::waits);
        let after = if is_alone { self.newest } else { (self.last + 1).min(count) };
        for index in (after..count).chain(0..after) {
            let Some(queue) = self.queues.get(index) else { continue };
            let Some(key) = queue.resuming.first().or_else(|| queue.waiting.first()) else { continue };
            let Some(entry) = self.entries.at(key) else { continue };
            let in_progress = SeatSeconds::of(queue.seats_in_use as f64, SERVICE);
            lowest = lowest.min(queue.next_dispatch);
            highest = highest.max(queue.next_dispatch);
            lowest_discounted = lowest_discounted.min(queue.next_dispatch.minus(in_progress));
            highest_discounted = highest_discounted.max(queue.next_dispatch.minus(in_progress));
            let finish = queue.next_dispatch.plus(entry.work);
            if best.is_none_or(|(earliest, ..)| finish < earliest) {
                best = Some((finish, index, key));
            }
            left = left.saturating_sub(queue.waiting.len() + queue.resuming.len());
            if left == 0 {
                break;
            }
        }
        let bounds = Dispatch {
            s_bounds: (lowest, highest),
            discounted_bounds: (lowest_discounted, highest_discounted),
            ..Dispatch::default()
        };
        best.map(|(_, index, key)| (index, key, bounds))
    }

    /// Returns whether a request with so many seats may execute now. One that is wider than the limit executes alone.
    fn accommodates(&self, seats: usize) -> bool {
        match self.response {
            Response::Exempt => true,
            _ if seats > self.limit => self.executing == 0,
            _ => self.seats_in_use + seats <= self.limit,
        }
    }

    /// Gives a request its seats.
    fn execute(&mut self, key: Key) {
        let at = self.at;
        let Some(entry) = self.entries.at_mut(key) else { return };
        let (index, seats) = (entry.queue as usize, entry.seats());
        entry.phase = Phase::Executing;
        entry.started = at;
        let is_first = entry.began.replace(entry.began.unwrap_or(at)).is_none();
        self.woken.extend(entry.waker.take());
        entry.schema.metrics.executing(1, seats as i64);
        if is_first {
            entry.schema.metrics.dispatched();
            self.counts.dispatched += 1;
        }
        self.executing += 1;
        self.seats_in_use += seats;
        if let Some(queue) = self.queues.get_mut(index) {
            if !queue.is_active() {
                self.active_queues += 1;
            }
            queue.executing += 1;
            queue.seats_in_use += seats;
            self.queued_seats_in_use += seats;
        }
        self.observe();
    }

    /// Ends the execution of a request, which may go on later. Its seats stay taken.
    fn stop_executing(&mut self, key: Key) {
        let at = self.at;
        let Some(entry) = self.entries.at(key) else { return };
        let took = at.saturating_sub(entry.started);
        let (index, seats) = (entry.queue as usize, entry.estimate.initial_seats as f64);
        entry.schema.metrics.executing(-1, 0);
        self.executing -= 1;
        if let Some(queue) = self.queues.get_mut(index) {
            queue.executing -= 1;
            if !queue.is_active() {
                self.active_queues -= 1;
            }
            // Its queue has paid for the expected time.
            queue.next_dispatch =
                queue.next_dispatch.plus(SeatSeconds::of(seats, took)).minus(SeatSeconds::of(seats, SERVICE));
            self.bound_next_dispatch(index);
        }
    }

    /// Gives back seats of a queue.
    fn release(&mut self, queue: u32, seats: usize) {
        self.seats_in_use -= seats;
        if let Some(queue) = self.queues.get_mut(queue as usize) {
            queue.seats_in_use -= seats;
            self.queued_seats_in_use -= seats;
        }
        self.observe();
    }

    /// Gives the seats of a request back until [`QueueSet::resume`].
    pub(crate) fn suspend(&mut self, key: Key, now: u64) {
        self.sync(now);
        if self.phase(key) != Some(Phase::Executing) || self.response == Response::Exempt {
            return;
        }
        self.stop_executing(key);
        if let Some(entry) = self.entries.at_mut(key) {
            entry.phase = Phase::Suspended;
            let (queue, seats) = (entry.queue, entry.seats());
            entry.schema.metrics.executing(0, -(seats as i64));
            self.suspended += 1;
            self.release(queue, seats);
        }
        self.dispatch_all();
    }

    /// Puts a suspended request where it waits for its seats. It may have them at once.
    pub(crate) fn resume(&mut self, key: Key, now: u64) {
        self.sync(now);
        if self.phase(key) != Some(Phase::Suspended) {
            return;
        }
        self.suspended -= 1;
        if let Some(entry) = self.entries.at_mut(key) {
            entry.phase = Phase::Resuming;
            // Its queue may be gone.
            if self.queues.get(entry.queue as usize).is_none() {
                entry.queue = NONE;
            }
        }
        self.enqueue(key);
        self.dispatch_all();
    }

    /// Makes a request that resumes suspended again: it has waited long enough.
    pub(crate) fn stop_resuming(&mut self, key: Key, now: u64) {
        self.sync(now);
        if self.phase(key) == Some(Phase::Resuming) {
            self.dequeue(key);
            if let Some(entry) = self.entries.at_mut(key) {
                entry.phase = Phase::Suspended;
                entry.waker = None;
            }
            self.suspended += 1;
            self.observe();
            self.dispatch_all();
        }
    }

    /// Returns whether a request executes. If not, its task is woken when it does.
    pub(crate) fn poll(&mut self, key: Key, cx: &mut Context<'_>) -> Poll<()> {
        match self.entries.at_mut(key) {
            Some(entry) if matches!(entry.phase, Phase::Waiting | Phase::Resuming) => {
                if entry.waker.as_ref().is_none_or(|waker| !waker.will_wake(cx.waker())) {
                    entry.waker = Some(cx.waker().clone());
                }
                Poll::Pending
            }
            _ => Poll::Ready(()),
        }
    }

    /// Removes a request, whatever it does.
    pub(crate) fn finish(&mut self, key: Key, now: u64) -> Option<Finished> {
        self.sync(now);
        let phase = self.phase(key)?;
        match phase {
            Phase::Waiting | Phase::Resuming => self.dequeue(key),
            Phase::Suspended => self.suspended -= 1,
            Phase::Executing => self.stop_executing(key),
        }
        let entry = self.entries.remove(key)?;
        if matches!(phase, Phase::Waiting | Phase::Resuming) {
            self.counts.rejected += 1;
            self.counts.cancelled += 1;
            entry.schema.metrics.rejected(Reason::TimeOut);
            self.bound_next_dispatch(entry.queue as usize);
        }
        if phase == Phase::Executing {
            let (queue, seats) = (entry.queue, entry.seats());
            entry.schema.metrics.executing(0, -(seats as i64));
            let latency = nanoseconds(entry.estimate.additional_latency);
            if latency > 0 {
                self.lingering.push(Reverse(Lingering { end: now.saturating_add(latency), queue, seats }));
            } else {
                self.release(queue, seats);
            }
        }
        self.drop_unused_queues();
        self.observe();
        self.dispatch_all();
        let since = |start: u64| Duration::from_nanos(now.saturating_sub(start));
        Some(match entry.began {
            Some(began) => Finished::Executed(since(began)),
            None => Finished::GaveUp(since(entry.arrival)),
        })
    }

    /// Keeps a queue whose requests come slowly from saving up time: none begins before it has arrived.
    fn bound_next_dispatch(&mut self, index: usize) {
        let Some(queue) = self.queues.get_mut(index) else { return };
        let first = queue.resuming.first().or_else(|| queue.waiting.first());
        if let Some(entry) = first.and_then(|key| self.entries.at(key)) {
            queue.next_dispatch = queue.next_dispatch.max(entry.arrival_r);
        }
    }

    /// Drops queues beyond the configured number, from the last one on, so that the places of others stay.
    fn drop_unused_queues(&mut self) {
        let wanted = match self.response {
            Response::Queue { queues, .. } => queues,
            _ => 0,
        };
        while self.queues.len() > wanted && self.queues.last().is_some_and(Queue::is_unused) {
            self.queues.pop();
        }
        self.last = self.last.min(self.queues.len());
    }

    fn observe(&mut self) {
        self.observed.set(self.waiting, self.executing, self.seats_in_use, self.seats_waiting);
    }

    fn phase(&self, key: Key) -> Option<Phase> {
        self.entries.at(key).map(|entry| entry.phase)
    }

    /// Returns the time at which seats become free by themselves, if a request waits for them.
    pub(crate) fn wakes_at(&self) -> Option<u64> {
        self.lingering.peek().filter(|_| self.waiting > 0).map(|Reverse(first)| first.end)
    }

    /// Returns whether no request is left.
    pub(crate) fn is_idle(&self) -> bool {
        self.waiting == 0 && self.executing == 0 && self.suspended == 0
    }

    #[cfg(test)]
    pub(super) fn set_virtual_time(&mut self, r: u64) {
        self.r = SeatSeconds(r);
    }

    pub(crate) fn r(&self) -> SeatSeconds {
        self.r
    }

    pub(crate) fn take_demand(&mut self, now: u64) -> Demand {
        self.sync(now);
        self.observed.take_demand()
    }

    pub(crate) fn samples(&mut self, now: u64) -> Samples {
        self.sync(now);
        self.observed.samples()
    }
}
