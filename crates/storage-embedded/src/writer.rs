//! The one thread that writes.
//!
//! It takes what has queued, applies it in one transaction of the engine, commits with one fsync, and only then makes
//! it visible and answers. What arrives meanwhile is the next group, so the slower the disk, the larger the groups.
//! Compaction's sweep and the end of leases ride along, or are committed alone when no write is waiting.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, UNIX_EPOCH};

use pintle_runtime::{Clock, Stopwatch};
use pintle_storage::{Error, LeaseId, Op, Result};

use crate::apply::{Decided, Group};
use crate::dir::Lock;
use crate::disk::Disk;
use crate::engine::{Engine, SENSELESS, State};
use crate::error::storage_error;
use crate::feed::Committed;
use crate::guard::guarded;
use crate::job::{Done, Job, refuse};
use crate::options::Options;
use crate::store::Shared;
use crate::view::View;

/// A group holds at most so many requests and about so many bytes.
const GROUP_JOBS: usize = 512;
const GROUP_BYTES: usize = 4 << 20;
/// How long a group may wait for company: this part of what the last commit took, and never longer than that.
const GATHER_PART: u32 = 8;
const GATHER_MAX: Duration = Duration::from_micros(500);
/// Versions that the sweep takes away at a time...
const SWEEP_STEP: usize = 64;
/// ...and how long it goes on in a commit of its own, so that a new write waits no longer than for another writer.
const SWEEP_TIME: Duration = Duration::from_millis(5);
/// Puts are refused when less than this is free, so that deletions and compaction still can make room...
const PUT_RESERVE: u64 = 8 << 20;
/// ...and everything is when less than this is, before the engine runs into it.
const RESERVE: u64 = 2 << 20;
/// A group changes more pages than it has bytes.
const PAGES_PER_BYTE: u64 = 4;
/// The wall clock may be set; so look at it this often while leases wait for it.
const CLOCK_CHECK: Duration = Duration::from_millis(500);
/// How often a failed store is tried again.
const REOPEN_PAUSE: Duration = Duration::from_millis(100);
/// Nothing that waits for a time is worth waking up more often than this.
const CLOCK_STEP: Duration = Duration::from_millis(1);

/// Why a group did not make it, and what the store would have been had it.
pub(crate) struct Failed {
    pub(crate) error: Error,
    pub(crate) committing: Option<(State, Vec<Committed>)>,
    /// It was not a request that failed.
    pub(crate) housekeeping: bool,
}

impl Failed {
    fn new(error: Error) -> Self {
        Failed { error, committing: None, housekeeping: false }
    }
}

impl<E: Into<redb::Error>> From<E> for Failed {
    fn from(error: E) -> Self {
        Failed::new(storage_error(error))
    }
}

pub(crate) struct Writer {
    jobs: Receiver<Job>,
    pub(crate) shared: Arc<Shared>,
    clock: Clock,
    pub(crate) disk: Arc<dyn Disk>,
    pub(crate) cache_bytes: usize,
    /// `None` after it failed and could not be opened again, until it can.
    pub(crate) engine: Option<Engine>,
    pub(crate) state: State,
    pub(crate) leases: BTreeSet<(u64, i64)>,
    /// When to prepare for a crash, and whether that was done since the last write.
    save_free_pages_after: Option<Duration>,
    saved_free_pages: bool,
    last_commit: Stopwatch,
    /// How many requests the last group had, and how long its commit took.
    group_size: usize,
    commit_time: Duration,
    /// Whether leases end and compaction sweeps; not when what they need is damaged.
    pub(crate) housekeeping: bool,
    /// Why this store has stopped writing for good.
    pub(crate) broken: Option<String>,
    /// Released when the engine is closed.
    _lock: Option<Lock>,
}

impl Writer {
    pub(crate) fn new(
        jobs: Receiver<Job>,
        shared: Arc<Shared>,
        engine: Engine,
        (state, leases): (State, BTreeSet<(u64, i64)>),
        lock: Option<Lock>,
        options: &Options,
    ) -> Writer {
        Writer {
            leases,
            save_free_pages_after: options.save_free_pages_after,
            saved_free_pages: false,
            last_commit: Stopwatch::start(),
            group_size: 0,
            commit_time: Duration::ZERO,
            housekeeping: true,
            broken: None,
            _lock: lock,
            clock: options.clock.clone(),
            disk: engine.shared_disk(),
            cache_bytes: options.cache_bytes,
            engine: Some(engine),
            jobs,
            shared,
            state,
        }
    }

    /// Writes until the store is closed. If the engine panics, the store stops: the state of its transaction is unknown.
    pub(crate) fn run_guarded(self) {
        let shared = self.shared.clone();
        if let Err(panic) = guarded(|| self.run()) {
            tracing::error!(panic, "the store's writer has failed");
            shared.note_failure(SENSELESS);
        }
    }

    fn run(mut self) {
        let _end = End(self.shared.clone());
        let mut stop = false;
        while !stop {
            let (jobs, stopping) = self.take();
            stop = stopping;
            self.group(jobs);
            if self.engine.is_none() && self.broken.is_none() {
                // Also without a write: readers are waiting for it.
                self.reopen(false);
            }
            if !stop {
                self.save_free_pages();
            }
        }
        // Jobs queued after the stop are refused: dropping the queue drops their replies.
    }

    /// Waits for work and takes as much as fits in a group. The second value says that it is the last.
    fn take(&self) -> (Vec<Job>, bool) {
        let first = match self.jobs.recv_timeout(self.patience()) {
            Ok(Job::Stop) | Err(RecvTimeoutError::Disconnected) => return (Vec::new(), true),
            Ok(job) => job,
            Err(RecvTimeoutError::Timeout) => return (Vec::new(), false),
        };
        let gather = (self.commit_time / GATHER_PART).min(GATHER_MAX);
        let gathering = Stopwatch::start();
        let mut jobs = Vec::new();
        let mut bytes = 0;
        let mut next = Some(first);
        while let Some(job) = next {
            match &job {
                Job::Stop => return (jobs, true),
                Job::Txn { size, .. } => bytes += size,
                _ => {}
            }
            jobs.push(job);
            if jobs.len() >= GROUP_JOBS || bytes >= GROUP_BYTES {
                break;
            }
            next = self.jobs.try_recv().ok().or_else(|| {
                // Callers answered by the last commit are about to write again. Committing without them would make them wait for
                // two commits, so a short wait nearly doubles the group; a lone writer does not wait.
                if jobs.len() >= self.group_size {
                    return None;
                }
                self.jobs.recv_timeout(gather.saturating_sub(gathering.elapsed())).ok()
            });
        }
        (jobs, false)
    }

    /// How long the writer may sleep.
    fn patience(&self) -> Duration {
        if self.engine.is_none() && self.broken.is_none() {
            return REOPEN_PAUSE;
        }
        let mut patience = Duration::from_secs(3600);
        let housekeeping = self.can_housekeep();
        if housekeeping && self.state.sweeping() {
            return Duration::ZERO;
        }
        if let Some((expires, _)) = self.leases.first() {
            let left = Duration::from_millis(expires.saturating_sub(self.now_millis()));
            // Work that is due but cannot be done now is tried again later.
            patience = if housekeeping { left.clamp(CLOCK_STEP, CLOCK_CHECK) } else { CLOCK_CHECK };
        }
        if let Some(after) = self.save_free_pages_after.filter(|_| !self.saved_free_pages) {
            let left = after.saturating_sub(self.last_commit.elapsed());
            patience = patience.min(if housekeeping { left.max(CLOCK_STEP) } else { CLOCK_CHECK });
        }
        patience
    }

    /// Returns the time of day in milliseconds since the Unix epoch: the end of a lease is stored on disk in it.
    fn now_millis(&self) -> u64 {
        self.clock.now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis() as u64
    }

    /// Whether the sweep and expired leases can be committed now.
    fn can_housekeep(&self) -> bool {
        self.housekeeping && self.broken.is_none() && self.engine.is_some() && self.has_room(0, false)
    }

    fn group(&mut self, jobs: Vec<Job>) {
        let now = self.now_millis();
        let housekeeping = self.can_housekeep();
        let expired: Vec<_> =
            if housekeeping { self.leases.range(..=(now, i64::MAX)).copied().collect() } else { Vec::new() };
        if jobs.is_empty() && expired.is_empty() && !(housekeeping && self.state.sweeping()) {
            return;
        }
        self.group_size = jobs.len();
        let mut done = Vec::with_capacity(jobs.len());
        let result = self.attempt(jobs, &expired, now, housekeeping, &mut done);
        let failure = match result {
            Ok(None) => None,
            Ok(Some((state, committed))) => {
                self.state = state;
                self.publish(committed);
                None
            }
            Err(failed) => self.recover(failed),
        };
        if failure.is_none() {
            self.note_leases(&expired, &done);
        }
        for done in done {
            done.answer(failure.as_ref());
        }
    }

    /// Applies and commits. Requests that were looked at are in `done`, whatever comes of it.
    fn attempt(
        &mut self,
        jobs: Vec<Job>,
        expired: &[(u64, i64)],
        now: u64,
        housekeeping: bool,
        done: &mut Vec<Done>,
    ) -> Result<Option<(State, Vec<Committed>)>, Failed> {
        let bytes = jobs.iter().map(|job| if let Job::Txn { size, .. } = job { *size } else { 0 }).sum();
        let room_for_puts = self.has_room(bytes, true);
        let room = self.has_room(bytes, false);
        let engine = match self.usable_engine() {
            Ok(engine) => engine,
            Err(error) => {
                done.extend(jobs.into_iter().filter_map(refuse));
                return Err(Failed::new(error));
            }
        };
        let txn = match engine.begin() {
            Ok(txn) => txn,
            Err(error) => {
                done.extend(jobs.into_iter().filter_map(refuse));
                return Err(error.into());
            }
        };
        let mut group = match Group::open(&txn, self.state) {
            Ok(group) => group,
            Err(error) => {
                done.extend(jobs.into_iter().filter_map(refuse));
                return Err(error.into());
            }
        };
        let mut spoiled = None;
        let mut transactions = 0;
        for job in jobs {
            // Once the group is spoiled, the rest only needs an answer.
            if spoiled.is_some() {
                done.extend(refuse(job));
                continue;
            }
            done.push(match job {
                Job::Txn { txn, permit, reply, .. } => {
                    // The queue's bound is about what waits; this is now in the group, which has its own.
                    drop(permit);
                    transactions += 1;
                    let puts = txn.then.iter().any(|op| matches!(op, Op::Put { .. }));
                    let fits = if puts { room_for_puts } else { room };
                    let result = if fits { decided(group.txn(txn), &mut spoiled) } else { Err(no_space()) };
                    Done::Txn(reply, result)
                }
                Job::Compact { revision, reply } => {
                    let result =
                        if room { decided(group.compact(revision), &mut spoiled) } else { Err(no_space()) };
                    Done::Compact(reply, result)
                }
                Job::Grant { ttl, reply } => {
                    let expires = now.saturating_add(ttl.as_millis() as u64);
                    let result = if room_for_puts {
                        decided(group.grant(expires).map(Ok), &mut spoiled).map(LeaseId)
                    } else {
                        Err(no_space())
                    };
                    Done::Grant(reply, result, expires)
                }
                Job::Ping { reply } => Done::Ping(reply),
                Job::Stop => continue,
            });
        }
        if let Some(error) = spoiled {
            return Err(Failed::new(error));
        }
        let failed = |error| Failed { housekeeping: true, ..Failed::new(error) };
        for (_, lease) in expired {
            group.end_lease(*lease).map_err(failed)?;
        }
        if housekeeping && group.state.sweeping() {
            // Riding along, twice what is written, so that the sweep catches up however long the writers go on.
            group.sweep(SWEEP_STEP.max(2 * transactions)).map_err(failed)?;
            let start = Stopwatch::start();
            while transactions == 0 && group.state.sweeping() && start.elapsed() < SWEEP_TIME {
                group.sweep(SWEEP_STEP).map_err(failed)?;
            }
        }
        if !group.changed() {
            drop(group);
            txn.abort()?;
            return Ok(None);
        }
        let (state, committed) = group.finish()?;
        let start = Stopwatch::start();
        let result = txn.commit();
        self.commit_time = start.elapsed();
        match result {
            Ok(()) => Ok(Some((state, committed))),
            Err(error) => {
                Err(Failed { committing: Some((state, committed)), ..Failed::new(storage_error(error)) })
            }
        }
    }

    /// Makes a durable state visible: first to readers, then to watches, so that a watcher can read every revision that it was sent.
    pub(crate) fn publish(&mut self, committed: Vec<Committed>) {
        self.saved_free_pages = false;
        self.last_commit = Stopwatch::start();
        let Some(engine) = &self.engine else { return };
        match View::open(engine.db()) {
            Ok(view) => self.shared.publish(view, committed),
            Err(error) => {
                // The commit stands, but reads would not show it.
                tracing::error!(%error, "the store cannot be read after a commit");
                self.shared.unreadable(storage_error(error));
                self.shared.feed.publish(self.state.revision, committed);
                self.reopen(false);
            }
        }
    }

    /// Whether there is room for a group of so many bytes, on the disk or in the file, where compaction has left it.
    fn has_room(&self, bytes: usize, puts: bool) -> bool {
        let Some(free) = self.disk.free() else { return true };
        let needed = if puts { PUT_RESERVE } else { RESERVE } + PAGES_PER_BYTE * bytes as u64;
        // Half as much again for pages that are not full. It is a guess: when the engine has to grow after all, it
        // runs into the end of the disk, which costs more than refusing but loses nothing.
        let unused = || self.disk.size().saturating_sub(self.state.bytes / 2 * 3);
        free >= needed || (free >= RESERVE && free + unused() >= needed)
    }

    fn note_leases(&mut self, expired: &[(u64, i64)], done: &[Done]) {
        for lease in expired {
            self.leases.remove(lease);
        }
        for done in done {
            if let Done::Grant(_, Ok(LeaseId(id)), expires) = done {
                self.leases.insert((*expires, *id));
            }
        }
    }

    /// After a quiet while, prepares for a crash.
    fn save_free_pages(&mut self) {
        let due = self.save_free_pages_after.is_some_and(|after| self.last_commit.elapsed() >= after);
        if self.saved_free_pages || !due || !self.can_housekeep() {
            return;
        }
        self.saved_free_pages = true;
        let state = self.state;
        let Ok(engine) = self.usable_engine() else { return };
        if let Err(error) = engine.save_free_pages(&state) {
            self.recover(error.into());
        }
    }
}

/// Tells readers and watches that there is no writer any more, however it ended.
struct End(Arc<Shared>);

impl Drop for End {
    fn drop(&mut self) {
        self.0.close(if std::thread::panicking() {
            Error::Unavailable("the store's writer has failed; restart the server".into())
        } else {
            Error::Closed
        });
    }
}

pub(crate) fn no_space() -> Error {
    Error::NoSpace("the disk is full".into())
}

/// The decision about a transaction, or the engine's error, which fails the whole group.
fn decided<T>(result: Decided<T>, spoiled: &mut Option<Error>) -> Result<T> {
    result.unwrap_or_else(|error| {
        *spoiled = Some(error.clone());
        Err(error)
    })
}
