//! Many writers and watchers at once; the recordings are judged by [`super::history`].

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;

use super::Capabilities;
use super::history::{self, Commit, Recording};
use super::support::{Store, bytes, next};
use crate::{Op, Revision, Txn, WatchItem, WatchRequest};

const WRITERS: usize = 64;
const TRANSACTIONS: usize = 20;
/// Keys live under `/load/0/` to `/load/7/`, which the narrower watches watch.
const FOLDERS: usize = 8;

fn key(folder: usize, name: impl std::fmt::Display) -> Bytes {
    bytes(format!("/load/{}/{name}", folder % FOLDERS))
}

/// The last key written in every folder: where watchers stop.
fn is_end(item: &WatchItem) -> bool {
    matches!(item, WatchItem::Changes { events, .. } if events.iter().any(|event| event.key().ends_with(b"/end")))
}

/// Writes puts, deletions and transactions over several folders, and records what was acknowledged. Only this writer
/// touches its keys, so it knows what each transaction changes.
async fn writer(store: Store, id: usize, newest: Arc<AtomicU64>) -> Vec<Commit> {
    let mut commits = Vec::new();
    for round in 0..TRANSACTIONS {
        let (own, other) = (key(id, format_args!("w{id}")), key(id + round, format_args!("w{id}-{round}")));
        let value = bytes(format!("{id} {round}"));
        let put = |key: &Bytes| Op::Put { key: key.clone(), value: value.clone(), lease: None };
        let then = match round % 4 {
            0 => vec![put(&own)],
            1 => vec![put(&other), put(&own), put(&key(id + 1, format_args!("x{id}-{round}")))],
            2 => vec![Op::Delete { key: own.clone() }, put(&other)],
            _ => vec![put(&own), put(&other)],
        };
        let changes = then.iter().map(|op| match op {
            Op::Put { key, value, .. } => (key.clone(), Some(value.clone())),
            Op::Delete { key } => (key.clone(), None),
        });
        let changes = changes.collect();
        let done = store.txn(Txn { then, ..Txn::default() }).await.expect("a write under load");
        newest.fetch_max(done.revision.0, Ordering::Relaxed);
        commits.push(Commit { revision: done.revision, changes });
    }
    commits
}

/// A store may take a tenth of a second to bring a resumed watch up to date, so it is not done forever.
const RESUMPTIONS: usize = 25;

/// Watches until the end. Drops the watch after every `resume_after` items, if that is not 0, and goes on after what it
/// has seen, be it a change or progress.
async fn watcher(store: Store, prefix: &'static str, from: Revision, resume_after: usize) -> Recording {
    let name = format!("{prefix} resumed after {resume_after}");
    let mut recording =
        Recording { name, prefix: bytes(prefix), from, until: Revision::ZERO, items: Vec::new() };
    let mut position = from;
    for opened in 0.. {
        let request = WatchRequest { prefix: bytes(prefix), from: position, prev: true, progress: true };
        let mut stream = store.watch(request).await.expect("watch under load");
        let mut taken = 0;
        while resume_after == 0 || opened == RESUMPTIONS || taken < resume_after {
            let item = next(&mut stream).await.expect("an item under load");
            taken += 1;
            let (WatchItem::Changes { revision, .. } | WatchItem::Progress(revision)) = &item;
            position = position.max(revision.next());
            let end = is_end(&item);
            recording.until = recording.until.max(*revision);
            recording.items.push(item);
            if end {
                return recording;
            }
        }
    }
    recording
}

async fn ask_for_progress(store: Store, stop: Arc<AtomicBool>) {
    while !stop.load(Ordering::Relaxed) {
        store.request_progress().await.expect("request_progress under load");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

pub async fn watches_under_load_keep_all_guarantees(store: Store, capabilities: Capabilities) {
    let start = store.current_revision().await.unwrap().next();
    let newest = Arc::new(AtomicU64::new(start.0));
    let mut watchers = tokio::task::JoinSet::new();
    let reference = tokio::spawn(watcher(store.clone(), "/load/", start, 0));
    for (prefix, resume_after) in
        [("/load/", 0), ("/load/3/", 0), ("/load/", 1), ("/load/", 17), ("/load/5/", 3), ("", 50)]
    {
        watchers.spawn(watcher(store.clone(), prefix, start, resume_after));
    }
    let stop = Arc::new(AtomicBool::new(false));
    let progress = capabilities.progress.then(|| tokio::spawn(ask_for_progress(store.clone(), stop.clone())));

    let mut writers = tokio::task::JoinSet::new();
    for id in 0..WRITERS {
        writers.spawn(writer(store.clone(), id, newest.clone()));
    }
    // More watchers join in the middle: at the newest revision, and in the past.
    let half = start.0 + (WRITERS * TRANSACTIONS / 2) as u64;
    while newest.load(Ordering::Relaxed) < half {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let middle = Revision(newest.load(Ordering::Relaxed));
    for (prefix, from, resume_after) in [
        ("/load/", middle, 0),
        ("/load/2/", middle, 0),
        ("/load/", Revision(start.0 + 100), 0),
        ("/load/7/", Revision(start.0 + 100), 40),
        ("/load/", Revision(half + 50), 0),
    ] {
        watchers.spawn(watcher(store.clone(), prefix, from, resume_after));
    }

    let mut history: Vec<Commit> = writers.join_all().await.into_iter().flatten().collect();
    let end: Vec<_> = (0..FOLDERS).map(|folder| (key(folder, "end"), Some(bytes("end")))).collect();
    let then =
        (0..FOLDERS).map(|folder| Op::Put { key: key(folder, "end"), value: bytes("end"), lease: None });
    let done = store.txn(Txn { then: then.collect(), ..Txn::default() }).await.unwrap();
    history.push(Commit { revision: done.revision, changes: end });
    history.sort_by_key(|commit| commit.revision);
    let revisions: Vec<_> = history.iter().map(|commit| commit.revision.0).collect();
    let expected: Vec<_> = (start.0..start.0 + history.len() as u64).collect();
    assert_eq!(revisions, expected, "every transaction has a revision of its own and there is no gap");

    let reference = reference.await.unwrap();
    let recordings = watchers.join_all().await;
    stop.store(true, Ordering::Relaxed);
    if let Some(progress) = progress {
        progress.await.unwrap();
    }
    if let Err(violation) = history::check(&history, &reference, &recordings) {
        panic!("{violation}");
    }
}
