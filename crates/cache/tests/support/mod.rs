//! A resource on a store in memory.

// Not every suite needs everything.
#![allow(dead_code)]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use pintle_cache::{BodyFormat, Entry, Feed, Kind, Limits, Next, Read, Resource};
use pintle_runtime::{ManualClock, Tasks};
use pintle_storage::{Backend, Op, Txn};
use pintle_storage_embedded::{Options, Store};

pub(crate) const WAIT: Duration = Duration::from_secs(10);

/// Values are texts, which are also their only field.
#[derive(Default)]
pub(crate) struct Plain {
    pub(crate) encoded: AtomicUsize,
}

impl Kind for Plain {
    fn read(&self, _: &str, stored: &Bytes) -> Result<Read, String> {
        if stored.starts_with(b"bad") {
            return Err("it is bad".into());
        }
        let fields = Box::new([String::from_utf8_lossy(stored).into()]);
        Ok(Read { value: stored.clone(), fields, ..Read::default() })
    }

    fn indexed_fields(&self) -> &[usize] {
        &[0]
    }

    fn encode(&self, entry: &Entry, format: BodyFormat) -> Result<Bytes, String> {
        self.encoded.fetch_add(1, Ordering::Relaxed);
        let value = String::from_utf8_lossy(entry.read()?.value()).into_owned();
        Ok(format!("{}:{value}@{}", format.0, entry.revision()).into())
    }
}

pub(crate) struct Fixture {
    pub(crate) store: Arc<Store>,
    pub(crate) feed: Feed,
    pub(crate) pods: Arc<Resource>,
    pub(crate) clock: Arc<ManualClock>,
    _tasks: Tasks,
}

pub(crate) async fn fixture(limits: Limits) -> Fixture {
    let store = Arc::new(Store::open(Options::memory()).unwrap());
    let (clock, tasks) = (ManualClock::starting_at(SystemTime::UNIX_EPOCH), Tasks::new());
    let prefix = Bytes::from_static(b"/r/");
    let feed = Feed::start_in(store.clone(), prefix, limits, tasks.spawner(), clock.clock()).await.unwrap();
    let pods = feed.resource(Bytes::from_static(b"/r/pods/"), || Arc::new(Plain::default()));
    Fixture { store, feed, pods, clock, _tasks: tasks }
}

impl Fixture {
    pub(crate) async fn put(&self, key: &str, value: &str) -> u64 {
        let txn = Txn::put(Bytes::from(format!("/r/{key}")), Bytes::from(value.to_owned()));
        self.store.txn(txn).await.unwrap().revision.0
    }

    pub(crate) async fn delete(&self, key: &str) -> u64 {
        let then = vec![Op::Delete { key: Bytes::from(format!("/r/{key}")) }];
        self.store.txn(Txn { then, ..Txn::default() }).await.unwrap().revision.0
    }

    /// Returns the cache's objects once it has caught up.
    pub(crate) async fn contents(&self) -> Vec<String> {
        self.pods.wait_for_current(WAIT).await.unwrap();
        show(&self.pods.snapshot().unwrap())
    }
}

pub(crate) fn show(snapshot: &pintle_cache::Snapshot) -> Vec<String> {
    let value = |entry: &Arc<Entry>| match entry.read() {
        Ok(read) => String::from_utf8_lossy(read.value()).into_owned(),
        Err(reason) => reason.to_owned(),
    };
    snapshot.objects.iter().map(|entry| format!("{}={}", entry.key(), value(entry))).collect()
}

pub(crate) async fn changes(cursor: &mut pintle_cache::Cursor) -> Vec<String> {
    match tokio::time::timeout(WAIT, cursor.next()).await.unwrap() {
        Next::Changes(changes) => changes
            .iter()
            .map(|change| format!("{}{}", if change.deleted { "-" } else { "+" }, change.entry.key()))
            .collect(),
        other => panic!("{other:?}"),
    }
}
