//! The store as its callers see it.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Mutex, RwLock};
use std::thread::JoinHandle;
use std::time::Duration;

use async_trait::async_trait;
use pintle_runtime::Clock;
use pintle_storage::{
    Backend, Error, KeyValue, LeaseId, Range, RangeRequest, Result, Revision, Stats, Txn, TxnResult,
    WatchRequest, WatchStream, lease,
};
use tokio::sync::{Semaphore, oneshot, watch};

use crate::dir::{self, Lock};
use crate::disk::{Disk, MemoryDisk};
use crate::engine::{Engine, State, Unusable, senseless};
use crate::error::{OpenError, storage_error};
use crate::feed::{Committed, Feed};
use crate::guard::guarded;
use crate::job::Job;
use crate::options::{Location, Options};
use crate::snapshot::Snapshot;
use crate::tables::FORMAT;
use crate::view::View;
use crate::writer::Writer;

/// The queue holds so many KiB of transactions; each counts at least one. When it is full, callers wait.
const QUEUE_KIB: usize = 16 << 10;

/// How often a read is tried again.
const READ_AGAIN: usize = 3;

/// The state that the writer publishes to readers and watches.
pub(crate) struct Shared {
    pub(crate) feed: Feed,
    view: RwLock<Result<Arc<View>>>,
    /// The first damage that was found in what the store holds.
    damage: watch::Sender<Option<String>>,
    /// Whether damage has ended the writer.
    failed: watch::Sender<bool>,
}

impl Shared {
    pub(crate) fn view(&self) -> Result<Arc<View>> {
        self.view.read().unwrap_or_else(|poisoned| poisoned.into_inner()).clone()
    }

    /// Reads from the newest view, and again if a failed engine was replaced meanwhile.
    pub(crate) fn read<T>(&self, read: impl Fn(&View) -> Result<T>) -> Result<T> {
        let mut view = self.view()?;
        for _ in 0..READ_AGAIN {
            let result = self.sound(|| read(&view));
            let newest = self.view()?;
            if !matches!(result, Err(Error::Unavailable(_))) || Arc::ptr_eq(&view, &newest) {
                return result;
            }
            view = newest;
        }
        self.sound(|| read(&view))
    }

    /// Reads from the engine. Where it panics, what it read is damaged; any damage is noted.
    pub(crate) fn sound<T>(&self, read: impl FnOnce() -> Result<T>) -> Result<T> {
        let result = guarded(read).unwrap_or_else(|panic| Err(storage_error(senseless(&panic))));
        if let Err(Error::Corrupt(detail)) = &result {
            self.note_damage(detail);
        }
        result
    }

    pub(crate) fn note_damage(&self, detail: &str) {
        self.damage.send_if_modified(|damage| {
            let first = damage.is_none();
            damage.get_or_insert_with(|| detail.to_owned());
            first
        });
    }

    /// Notes that damage has ended the writer.
    pub(crate) fn note_failure(&self, detail: &str) {
        self.note_damage(detail);
        self.failed.send_replace(true);
    }

    pub(crate) fn publish(&self, view: View, committed: Vec<Committed>) {
        let revision = view.state.revision;
        self.set_view(Ok(Arc::new(view)));
        self.feed.publish(revision, committed);
    }

    /// From now on reads fail with this.
    pub(crate) fn unreadable(&self, error: Error) {
        self.set_view(Err(error));
    }

    /// The end: reads fail with `error`, watches end.
    pub(crate) fn close(&self, error: Error) {
        self.set_view(Err(error));
        self.feed.close();
    }

    fn set_view(&self, view: Result<Arc<View>>) {
        let mut slot = self.view.write().unwrap_or_else(|poisoned| poisoned.into_inner());
        let old = std::mem::replace(&mut *slot, view);
        drop(slot);
        // Outside the lock: the last holder of a view frees what it kept alive.
        drop(old);
    }
}

/// The embedded store. Closing or dropping it ends its writer and releases the directory.
pub struct Store {
    shared: Arc<Shared>,
    disk: Arc<dyn Disk>,
    jobs: Sender<Job>,
    queue: Arc<Semaphore>,
    writer: Mutex<Option<JoinHandle<()>>>,
    /// Held while a lease is granted, so that callers of the same moment share it.
    leases: tokio::sync::Mutex<lease::Shared>,
    clock: Clock,
    max_request_bytes: usize,
    max_txn_ops: usize,
    progress_interval: Duration,
    /// For messages.
    path: PathBuf,
}

impl Store {
    /// Opens the store, or makes it when there is none. Blocks; a store that was not closed takes longer.
    pub fn open(options: Options) -> Result<Store, OpenError> {
        match &options.location {
            Location::Memory => Store::on_disk(Arc::new(MemoryDisk::default()), &options),
            Location::Directory(path) => {
                let lock = dir::lock(path)?;
                let (engine, state) = dir::open(path, options.no_fsync, options.cache_bytes)?;
                Store::start(engine, state, Some(lock), &options, path)
            }
        }
    }

    /// Opens a store on any disk, an empty one included; for tests that inject faults.
    pub fn on_disk(disk: Arc<dyn Disk>, options: &Options) -> Result<Store, OpenError> {
        let path = Path::new("(memory)");
        let engine = |error| OpenError::engine(path, error);
        let opened = Engine::open(disk, options.cache_bytes).map_err(engine)?;
        let state = match opened.load() {
            Ok(state) => state,
            Err(Unusable::Engine(error)) => return Err(engine(error)),
            Err(Unusable::Newer(found)) => {
                return Err(OpenError::Newer { path: path.to_owned(), found, known: FORMAT });
            }
            Err(Unusable::Foreign(_)) => {
                opened.initialize(State::EMPTY).map_err(engine)?;
                State::EMPTY
            }
        };
        Store::start(opened, state, None, options, path)
    }

    fn start(
        engine: Engine,
        state: State,
        lock: Option<Lock>,
        options: &Options,
        path: &Path,
    ) -> Result<Store, OpenError> {
        let disk = engine.shared_disk();
        let loaded = engine.leases().and_then(|leases| Ok((leases, View::open(engine.db())?)));
        let (leases, view) = match loaded {
            Ok(loaded) => loaded,
            Err(error) => {
                engine.abandon();
                return Err(OpenError::engine(path, error));
            }
        };
        engine.accept();
        let shared = Arc::new(Shared {
            feed: Feed::new(state.revision, options.feed_bytes),
            view: RwLock::new(Ok(Arc::new(view))),
            damage: watch::Sender::new(None),
            failed: watch::Sender::new(false),
        });
        let (jobs, queue) = mpsc::channel();
        let writer = Writer::new(queue, shared.clone(), engine, (state, leases), lock, options);
        let thread = std::thread::Builder::new()
            .name("pintle-store".into())
            .spawn(move || writer.run_guarded())
            .map_err(|error| OpenError::io(path, error))?;
        Ok(Store {
            shared,
            disk,
            jobs,
            queue: Arc::new(Semaphore::new(QUEUE_KIB)),
            writer: Mutex::new(Some(thread)),
            leases: tokio::sync::Mutex::new(lease::Shared::new(options.lease_window)),
            clock: options.clock.clone(),
            max_request_bytes: options.max_request_bytes,
            max_txn_ops: options.max_txn_ops,
            progress_interval: options.progress_interval,
            path: path.to_owned(),
        })
    }

    /// Waits until damage is found in what the store holds, at first use of it: opening looks at little. Requests that need
    /// what is damaged fail from then on, and others go on.
    pub async fn damaged(&self) -> OpenError {
        let mut damage = self.shared.damage.subscribe();
        match damage.wait_for(Option::is_some).await {
            Ok(detail) => self.damage_found(detail.clone().unwrap_or_default()),
            // The store holds the sender.
            Err(_) => std::future::pending().await,
        }
    }

    /// Waits until damage has ended the store's writer. Nothing can be read or written any more.
    pub async fn failed(&self) {
        if self.shared.failed.subscribe().wait_for(|failed| *failed).await.is_err() {
            std::future::pending::<()>().await;
        }
    }

    /// Returns the damage that was found so far.
    pub fn damage(&self) -> Option<OpenError> {
        let detail = self.shared.damage.borrow().clone()?;
        Some(self.damage_found(detail))
    }

    fn damage_found(&self, detail: String) -> OpenError {
        OpenError::DamageFound { path: self.path.clone(), detail }
    }

    /// The store as it is now, to be saved while it goes on changing.
    pub fn snapshot(&self) -> Result<Snapshot> {
        Ok(Snapshot::new(self.shared.view()?))
    }

    /// Whether a transaction is one that the store takes, and how large it is.
    fn check(&self, txn: &Txn) -> Result<usize> {
        let limit = self.max_txn_ops;
        if txn.compare.len() > limit || txn.then.len() > limit || txn.otherwise.len() > limit {
            return Err(Error::InvalidArgument(format!(
                "too many operations in a transaction (at most {limit})"
            )));
        }
        let mut size = 0;
        for key in txn.compare.iter().map(|compare| &compare.key).chain(&txn.otherwise) {
            size += check_key(key)?;
        }
        for op in &txn.then {
            size += check_key(op.key())?;
            if let pintle_storage::Op::Put { value, .. } = op {
                size += value.len();
            }
        }
        if size > self.max_request_bytes {
            return Err(Error::TooLarge { size, limit: self.max_request_bytes });
        }
        if txn.then.len() > 1 {
            let mut keys = HashSet::with_capacity(txn.then.len());
            if !txn.then.iter().all(|op| keys.insert(op.key())) {
                return Err(Error::InvalidArgument("a key appears twice in a transaction".into()));
            }
        }
        Ok(size)
    }

    /// Hands a job to the writer and waits for its answer.
    async fn ask<T>(&self, job: impl FnOnce(oneshot::Sender<Result<T>>) -> Job) -> Result<T> {
        let (reply, answer) = oneshot::channel();
        self.jobs.send(job(reply)).map_err(|_| self.shared.view().err().unwrap_or(Error::Closed))?;
        // Dropped without an answer: the store was closed with the job still in the queue, or the writer has failed
        // in the middle of it.
        answer.await.unwrap_or_else(|_| match self.shared.view() {
            Err(Error::Closed) => Err(Error::Closed),
            _ => Err(Error::Unknown("the store's writer has failed".into())),
        })
    }

    /// Reads that may take long leave the caller's thread.
    async fn read<T: Send + 'static>(
        &self,
        read: impl FnOnce(&View) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let (view, shared) = (self.shared.view()?, self.shared.clone());
        tokio::task::spawn_blocking(move || shared.sound(|| read(&view)))
            .await
            .map_err(|error| Error::Unavailable(format!("reading failed: {error}")))?
    }

    fn stop(&self) -> Option<JoinHandle<()>> {
        self.queue.close();
        let _ = self.jobs.send(Job::Stop);
        self.writer.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).take()
    }
}

fn check_key(key: &[u8]) -> Result<usize> {
    if key.is_empty() { Err(Error::InvalidArgument("a key is empty".into())) } else { Ok(key.len()) }
}

#[async_trait]
impl Backend for Store {
    async fn get(&self, key: &[u8], at: Option<Revision>) -> Result<(Option<KeyValue>, Revision)> {
        self.shared.read(|view| Ok((view.get(key, at)?, Revision(view.state.revision))))
    }

    async fn range(&self, request: RangeRequest) -> Result<Range> {
        self.read(move |view| view.range(&request)).await
    }

    async fn count(&self, prefix: &[u8]) -> Result<u64> {
        let prefix = prefix.to_vec();
        self.read(move |view| view.count(&prefix)).await
    }

    async fn txn(&self, txn: Txn) -> Result<TxnResult> {
        let size = self.check(&txn)?;
        let permits = (size / 1024 + 1).min(QUEUE_KIB) as u32;
        let permit = self.queue.clone().acquire_many_owned(permits).await.map_err(|_| Error::Closed)?;
        let result = self.ask(|reply| Job::Txn { txn, size, permit, reply }).await;
        if let Err(Error::LeaseNotFound(id)) = result {
            self.leases.lock().await.forget(LeaseId(id));
        }
        result
    }

    async fn watch(&self, request: WatchRequest) -> Result<WatchStream> {
        let compacted = Revision(self.shared.view()?.state.compacted);
        if request.from < compacted {
            return Err(Error::Compacted { requested: request.from, compacted });
        }
        Ok(crate::watch::start(self.shared.clone(), request, self.progress_interval))
    }

    async fn request_progress(&self) -> Result<()> {
        self.shared.view()?;
        self.shared.feed.request_progress();
        Ok(())
    }

    async fn current_revision(&self) -> Result<Revision> {
        Ok(Revision(self.shared.view()?.state.revision))
    }

    fn known_revision(&self) -> Option<Revision> {
        Some(Revision(self.shared.view().ok()?.state.revision))
    }

    async fn compact(&self, revision: Revision) -> Result<()> {
        self.ask(|reply| Job::Compact { revision, reply }).await
    }

    async fn compacted_revision(&self) -> Result<Revision> {
        Ok(Revision(self.shared.view()?.state.compacted))
    }

    async fn lease(&self, ttl: Duration) -> Result<LeaseId> {
        let mut leases = self.leases.lock().await;
        if let Some(id) = leases.reuse(ttl, self.clock.instant()) {
            return Ok(id);
        }
        let grant_for = leases.grant_for(ttl);
        let id = self.ask(|reply| Job::Grant { ttl: grant_for, reply }).await?;
        leases.granted(ttl, id, self.clock.instant());
        Ok(id)
    }

    async fn health(&self) -> Result<()> {
        self.shared.view()?;
        self.ask(|reply| Job::Ping { reply }).await
    }

    async fn stats(&self) -> Result<Stats> {
        let view = self.shared.view()?;
        let size = self.disk.size();
        Ok(Stats { size, size_in_use: view.state.bytes.min(size) })
    }

    async fn close(&self) -> Result<()> {
        if let Some(thread) = self.stop() {
            // The writer finishes what has queued, which takes a commit or two.
            let _ = tokio::task::spawn_blocking(move || thread.join()).await;
        }
        Ok(())
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        if let Some(thread) = self.stop() {
            let _ = thread.join();
        }
    }
}
