//! The embedded store by itself.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::ensure;
use bytes::Bytes;
use futures_util::StreamExt;
use pintle_storage::{Backend, RangeRequest, Revision, Txn, WatchItem, WatchRequest};
use pintle_storage_embedded::{Options, Store};
use rand::Rng;

use crate::figures::{cpu_seconds, memory, show};
use crate::puts::{self, Puts, WRITERS, key, random_value};

const WATCHERS: u64 = 500;
/// A file beside the store that says that it was left without closing.
const LEFT_OPEN: &str = "../left-open";

/// Puts of new keys into an empty store.
pub(crate) async fn puts(directory: &Path, time: Duration) -> anyhow::Result<Puts> {
    let store = Arc::new(Store::open(Options::directory(directory))?);
    let puts = puts::measure(store.clone(), time, None).await?;
    store.close().await?;
    Ok(puts)
}

/// A store with this many keys: overwriting them, and compacting what that leaves behind.
pub(crate) async fn filled(directory: &Path, keys: u64, time: Duration) -> anyhow::Result<()> {
    fill(directory, keys).await?;
    let store = Arc::new(Store::open(Options::directory(directory))?);
    puts::measure(store.clone(), time, Some(keys)).await?.show("embedded_overwrite");

    let before = store.stats().await?;
    let start = Instant::now();
    store.compact(store.current_revision().await?).await?;
    show("embedded_compact_answer", start.elapsed().as_secs_f64() * 1e3, "ms");
    let (mut last, mut changed) = (before.size_in_use, start);
    while changed.elapsed() < Duration::from_secs(2) {
        tokio::time::sleep(Duration::from_millis(10)).await;
        let now = store.stats().await?.size_in_use;
        if now != last {
            (last, changed) = (now, Instant::now());
        }
    }
    show("embedded_compact_sweep", (changed - start).as_secs_f64() * 1e3, "ms");
    show("embedded_bytes_before_compaction", before.size_in_use as f64 / 1e6, "MB");
    show("embedded_bytes_after_compaction", last as f64 / 1e6, "MB");
    store.close().await?;
    Ok(())
}

async fn fill(directory: &Path, keys: u64) -> anyhow::Result<()> {
    let store = Arc::new(Store::open(Options { no_fsync: true, ..Options::directory(directory) })?);
    let mut writers = tokio::task::JoinSet::new();
    for writer in 0..WRITERS {
        let store = store.clone();
        writers.spawn(async move {
            for number in (writer..keys).step_by(WRITERS as usize) {
                store.txn(Txn::put(key(number), random_value())).await?;
            }
            Ok::<_, pintle_storage::Error>(())
        });
    }
    while let Some(writer) = writers.join_next().await {
        writer??;
    }
    store.close().await?;
    Ok(())
}

/// Cost of delivering one change to many watches. In memory, so that the disk is not measured.
pub(crate) async fn fan_out(time: Duration) -> anyhow::Result<()> {
    let store = Arc::new(Store::open(Options::memory())?);
    let delivered = Arc::new(AtomicU64::new(0));
    for _ in 0..WATCHERS {
        let from = store.current_revision().await?.next();
        let request = WatchRequest { prefix: "/registry/".into(), from, prev: true, progress: true };
        let mut watch = store.watch(request).await?;
        let delivered = delivered.clone();
        tokio::spawn(async move {
            while let Some(Ok(item)) = watch.next().await {
                if let WatchItem::Changes { events, .. } = item {
                    delivered.fetch_add(events.len() as u64, Ordering::Relaxed);
                }
            }
        });
    }
    let (start, cpu) = (Instant::now(), cpu_seconds("self"));
    let mut sent = 0;
    while start.elapsed() < time {
        store.txn(Txn::put(key(sent % 100), random_value())).await?;
        sent += 1;
    }
    while delivered.load(Ordering::Relaxed) < sent * WATCHERS {
        ensure!(start.elapsed() < time * 10, "events are missing");
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let (elapsed, cpu) = (start.elapsed(), cpu_seconds("self") - cpu);
    let events = (sent * WATCHERS) as f64;
    show("embedded_watch_events_per_second", events / elapsed.as_secs_f64(), "1/s");
    show("embedded_watch_cpu_per_event", cpu * 1e6 / events, "us");
    Ok(())
}

/// Opens the store in new processes, so that what is resident there is the store's: as it was closed, then as a crash
/// would leave it.
pub(crate) fn reopen_in_fresh_processes(directory: &Path) -> anyhow::Result<()> {
    let program = std::env::current_exe()?;
    for _ in 0..2 {
        let status = std::process::Command::new(&program).arg("--reopen").arg(directory).status()?;
        ensure!(status.success(), "reopening failed");
    }
    Ok(())
}

pub(crate) fn reopen(directory: &Path) -> anyhow::Result<()> {
    let idle = memory("self", "VmRSS");
    let left_open = directory.join(LEFT_OPEN);
    let after_crash = left_open.exists();
    let start = Instant::now();
    let store = Store::open(Options::directory(directory))?;
    let name = if after_crash { "embedded_reopen_after_kill" } else { "embedded_reopen" };
    show(name, start.elapsed().as_secs_f64() * 1e3, "ms");
    show(&format!("{name}_resident"), memory("self", "VmRSS") - idle, "MB");
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    runtime.block_on(async {
        if !after_crash {
            read(&store).await?;
        }
        store.txn(Txn::put("/last".into(), random_value())).await?;
        Ok::<_, anyhow::Error>(())
    })?;
    std::fs::write(left_open, "")?;
    // Without closing: no destructor runs, and the store looks as after SIGKILL.
    std::process::exit(0);
}

async fn read(store: &Store) -> anyhow::Result<()> {
    let start = Instant::now();
    let count = store.count(b"/registry/").await?;
    show(&format!("embedded_count_{count}_keys"), start.elapsed().as_secs_f64() * 1e3, "ms");
    let (start, gets) = (Instant::now(), 20_000);
    for _ in 0..gets {
        store.get(&key(rand::rng().random_range(0..count.max(1))), None).await?;
    }
    show("embedded_get_random_key", start.elapsed().as_secs_f64() * 1e6 / f64::from(gets), "us");
    show("embedded_resident_after_reads", memory("self", "RssAnon"), "MB");
    let (start, mut scanned, mut from) = (Instant::now(), 0, Bytes::from("/registry/"));
    // In pages, as a server reads.
    loop {
        let request = RangeRequest {
            prefix: "/registry/".into(),
            from: Some(from.clone()),
            limit: 20_000,
            at: None::<Revision>,
        };
        let page = store.range(request).await?;
        scanned += page.kvs.len();
        let Some(last) = page.kvs.last().filter(|_| page.remaining > 0) else { break };
        from = [&last.key[..], &[0]].concat().into();
    }
    show(&format!("embedded_scan_{scanned}_keys"), start.elapsed().as_secs_f64() * 1e3, "ms");
    Ok(())
}
