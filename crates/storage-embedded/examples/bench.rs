//! What the embedded store does on this machine.
//!
//! ```text
//! cargo run --release -p pintle-storage-embedded --example bench [-- --seconds 5 --keys 100000 --dir DIR --puts-only yes]
//! ```
//!
//! The directory decides which disk is measured; the default is the current one, because temporary directories are
//! often in memory. One figure per line: name, value, unit.
#![allow(clippy::print_stdout, reason = "its output is its purpose")]

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::StreamExt;
use pintle_storage::{Backend, RangeRequest, Revision, Txn, WatchItem, WatchRequest};
use pintle_storage_embedded::{Options, Store};
use rand::{Rng, RngCore};

const WRITERS: u64 = 64;
const WATCHERS: u64 = 500;
const VALUE: usize = 1024;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let flags: HashMap<&str, &str> = arguments
        .chunks(2)
        .filter_map(|pair| Some((pair.first()?.as_str(), pair.get(1)?.as_str())))
        .collect();
    let number = |name, default| flags.get(name).map_or(default, |value| value.parse().expect("a number"));
    // The part that needs a fresh process calls this program again.
    if let Some(dir) = flags.get("--reopen") {
        return reopen(Path::new(dir));
    }
    let (seconds, keys) = (number("--seconds", 5), number("--keys", 100_000));
    let parent = flags.get("--dir").map_or_else(|| PathBuf::from("."), PathBuf::from);
    let dir = tempfile::tempdir_in(parent).expect("a directory");
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(async {
        puts("puts_new_keys", dir.path(), Duration::from_secs(seconds), None).await;
        if flags.contains_key("--puts-only") {
            return;
        }
        let dir = dir.path().join("filled");
        fill(&dir, keys).await;
        puts("puts_random_keys", &dir, Duration::from_secs(seconds), Some(keys)).await;
        compaction(&dir).await;
        fan_out(Duration::from_secs(seconds)).await;
    });
    let filled = dir.path().join("filled");
    if !filled.exists() {
        return;
    }
    let program = std::env::current_exe().expect("this program");
    for _ in 0..2 {
        // The first leaves the store as a crash would, which the second then finds.
        std::process::Command::new(&program)
            .arg("--reopen")
            .arg(&filled)
            .status()
            .expect("this program again");
    }
}

fn options(dir: &Path) -> Options {
    Options::directory(dir)
}

/// Values that do not compress, as objects hardly do in pages of this size.
fn random_value() -> Bytes {
    let mut value = vec![0; VALUE];
    rand::rng().fill_bytes(&mut value);
    value.into()
}

fn key(i: u64) -> Bytes {
    format!("/registry/pods/namespace-{:03}/pod-{i:08}", i % 100).into()
}

/// Durable puts by concurrent writers: of keys of their own, or of random ones of those that are there.
async fn puts(name: &str, dir: &Path, time: Duration, keys: Option<u64>) {
    let store = Arc::new(Store::open(options(dir)).expect("open"));
    let (start, cpu) = (Instant::now(), cpu_seconds());
    let mut writers = tokio::task::JoinSet::new();
    for writer in 0..WRITERS {
        let store = store.clone();
        writers.spawn(async move {
            let mut latencies = Vec::new();
            while start.elapsed() < time {
                let key = match keys {
                    Some(keys) => key(rand::rng().random_range(0..keys)),
                    None => format!("/new/{writer}/{}", latencies.len()).into(),
                };
                let sent = Instant::now();
                store.txn(Txn::put(key, random_value())).await.expect("put");
                latencies.push(sent.elapsed());
            }
            latencies
        });
    }
    let mut latencies: Vec<Duration> = writers.join_all().await.concat();
    let (elapsed, cpu) = (start.elapsed(), cpu_seconds() - cpu);
    latencies.sort_unstable();
    let count = latencies.len();
    figure(&format!("{name}_per_second"), count as f64 / elapsed.as_secs_f64(), "1/s");
    figure(&format!("{name}_p50"), latencies[count / 2].as_secs_f64() * 1e3, "ms");
    figure(&format!("{name}_p99"), latencies[count * 99 / 100].as_secs_f64() * 1e3, "ms");
    figure(&format!("{name}_cpu"), cpu * 1e6 / count as f64, "us");
    store.close().await.expect("close");
}

async fn fill(dir: &Path, keys: u64) {
    let store = Arc::new(Store::open(Options { no_fsync: true, ..options(dir) }).expect("open"));
    let mut writers = tokio::task::JoinSet::new();
    for writer in 0..WRITERS {
        let store = store.clone();
        writers.spawn(async move {
            for i in (writer..keys).step_by(WRITERS as usize) {
                store.txn(Txn::put(key(i), random_value())).await.expect("put");
            }
        });
    }
    writers.join_all().await;
    store.close().await.expect("close");
}

async fn compaction(dir: &Path) {
    let store = Store::open(options(dir)).expect("open");
    let before = store.stats().await.expect("stats");
    let start = Instant::now();
    store.compact(store.current_revision().await.expect("revision")).await.expect("compact");
    figure("compact_answer", start.elapsed().as_secs_f64() * 1e3, "ms");
    let (mut last, mut changed) = (before.size_in_use, start);
    while changed.elapsed() < Duration::from_secs(2) {
        tokio::time::sleep(Duration::from_millis(10)).await;
        let now = store.stats().await.expect("stats").size_in_use;
        if now != last {
            (last, changed) = (now, Instant::now());
        }
    }
    figure("compact_sweep", (changed - start).as_secs_f64() * 1e3, "ms");
    figure("bytes_before_compaction", before.size_in_use as f64 / 1e6, "MB");
    figure("bytes_after_compaction", last as f64 / 1e6, "MB");
    store.close().await.expect("close");
}

/// What it costs to tell many watches of one change. In memory, so that the disk is no part of it.
async fn fan_out(time: Duration) {
    let store = Arc::new(Store::open(Options::memory()).expect("open"));
    let delivered = Arc::new(AtomicU64::new(0));
    for _ in 0..WATCHERS {
        let request =
            WatchRequest { prefix: "/registry/".into(), from: Revision(2), prev: true, progress: true };
        let mut watch = store.watch(request).await.expect("watch");
        let delivered = delivered.clone();
        tokio::spawn(async move {
            while let Some(Ok(item)) = watch.next().await {
                if let WatchItem::Changes { events, .. } = item {
                    delivered.fetch_add(events.len() as u64, Ordering::Relaxed);
                }
            }
        });
    }
    let (start, cpu) = (Instant::now(), cpu_seconds());
    let mut sent = 0;
    while start.elapsed() < time {
        store.txn(Txn::put(key(sent % 100), random_value())).await.expect("put");
        sent += 1;
    }
    while delivered.load(Ordering::Relaxed) < sent * WATCHERS {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let (elapsed, cpu) = (start.elapsed(), cpu_seconds() - cpu);
    let events = (sent * WATCHERS) as f64;
    figure("watch_events_per_second", events / elapsed.as_secs_f64(), "1/s");
    figure("watch_cpu_per_event", cpu * 1e6 / events, "us");
}

/// In a process of its own: what is resident then is the store's.
fn reopen(dir: &Path) {
    let idle = resident("VmRSS");
    let clean = !dir.join("crashed").exists();
    let start = Instant::now();
    let store = Store::open(options(dir)).expect("open");
    let name = if clean { "reopen" } else { "reopen_after_kill" };
    figure(name, start.elapsed().as_secs_f64() * 1e3, "ms");
    figure(&format!("{name}_resident"), resident("VmRSS") - idle, "MB");
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    runtime.block_on(async {
        if clean {
            let start = Instant::now();
            let count = store.count(b"/registry/").await.expect("count");
            figure(&format!("count_{count}_keys"), start.elapsed().as_secs_f64() * 1e3, "ms");
            let (start, gets) = (Instant::now(), 20_000);
            for _ in 0..gets {
                let key = key(rand::rng().random_range(0..count.max(1)));
                store.get(&key, None).await.expect("get");
            }
            figure("get_random_key", start.elapsed().as_secs_f64() * 1e6 / f64::from(gets), "us");
            figure("resident_after_reads", resident("RssAnon"), "MB");
            let (start, mut scanned, mut from) = (Instant::now(), 0, Bytes::from("/registry/"));
            // In pages, as a server reads.
            loop {
                let request = RangeRequest {
                    prefix: "/registry/".into(),
                    from: Some(from.clone()),
                    limit: 20_000,
                    at: None,
                };
                let page = store.range(request).await.expect("range");
                scanned += page.kvs.len();
                let Some(last) = page.kvs.last().filter(|_| page.remaining > 0) else { break };
                from = [&last.key[..], &[0]].concat().into();
            }
            figure(&format!("scan_{scanned}_keys"), start.elapsed().as_secs_f64() * 1e3, "ms");
        }
        store.txn(Txn::put("/last".into(), random_value())).await.expect("put");
    });
    std::fs::write(dir.join("crashed"), "").expect("a note");
    // Without closing: no destructor runs, and the store looks as after SIGKILL.
    std::process::exit(0);
}

fn figure(name: &str, value: f64, unit: &str) {
    println!("{name:<32} {value:>12.2} {unit}");
}

/// User and system time of this process.
fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks = |i: usize| fields.get(i).and_then(|ticks| ticks.parse::<f64>().ok()).unwrap_or(0.0);
    (ticks(11) + ticks(12)) / 100.0
}

/// A figure of /proc/self/status, in MB.
fn resident(name: &str) -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with(name)).unwrap_or_default();
    line.split_whitespace().nth(1).and_then(|kib| kib.parse::<f64>().ok()).unwrap_or(0.0) * 1024.0 / 1e6
}
