//! A server under many clients: its memory, and the delays of other clients.

use std::time::{Duration, Instant};

use anyhow::ensure;
use tokio::task::JoinSet;

use super::client::{JSON, Request};
use super::operations::{list_all, push};
use super::table::{Cell, Row};
use super::target::Target;
use super::watch::{STREAMS, Stalled, Watchers};
use crate::arguments::Arguments;

const LISTERS: usize = 32;
const STALLED: usize = 10;
/// The time between two events whose delay counts.
const PACE: Duration = Duration::from_millis(50);
/// Events before those, in bursts, until the buffers of clients that do not read are full.
const BURSTS: usize = 6;
const BURST: usize = 50;
/// Padding that makes an event about a kilobyte long.
const PADDING: usize = 500;

/// Everybody lists everything at the same time.
pub(crate) async fn lists(targets: &[Target], arguments: &Arguments) -> anyhow::Result<Vec<Row>> {
    let mut before = vec![Cell::NotThere; targets.len()];
    let (mut peaks, mut times) = (before.clone(), before.clone());
    let (mut over_data, mut over_listed) = (before.clone(), before.clone());
    let mut with_data = vec![0.0; targets.len()];
    for (number, target) in targets.iter().enumerate() {
        let Some(objects) = &target.objects else { continue };
        super::warm_up(target, objects).await?;
        before[number] = target.resident_after_rest().await;
        with_data[number] = target.processes.resident();
        // Bodies cached for the next LIST are there from now on.
        list_all(target, objects, JSON, 1).await?;
    }
    for _ in 0..arguments.rounds {
        for (number, target) in targets.iter().enumerate() {
            let Some(objects) = &target.objects else { continue };
            let path = objects.path("pods");
            let mut connections = Vec::new();
            for _ in 0..LISTERS {
                connections.push(target.client.connect().await?);
            }
            let known = target.processes.are_known();
            if known {
                target.processes.forget_peak()?;
            }
            let idle = target.processes.resident();
            let start = Instant::now();
            let mut listers = JoinSet::new();
            for connection in connections {
                let path = path.clone();
                listers.spawn(async move { connection.drain(Request::get(path)).await });
            }
            while let Some(lister) = listers.join_next().await {
                lister??;
            }
            let peak = target.processes.peak();
            push(&mut times[number], Some(start.elapsed().as_secs_f64() * 1e3));
            push(&mut peaks[number], known.then_some(peak));
            push(&mut over_data[number], known.then_some(peak / with_data[number]));
            push(&mut over_listed[number], known.then_some(peak / idle));
        }
    }
    let what = format!("{LISTERS} clients LIST {} pods at once", super::table::count(arguments.pods));
    Ok(vec![
        Row::new(format!("{what}: memory before any LIST"), "MB").of(before),
        Row::new(format!("{what}: peak memory"), "MB").of(peaks),
        Row::new(format!("{what}: peak over before any LIST"), "x").budget(2.0).of(over_data),
        Row::new(format!("{what}: peak over after one"), "x").budget(2.0).of(over_listed),
        Row::new(format!("{what}: until the last is done"), "ms").of(times),
    ])
}

/// One server's watchers in one round.
struct Delays {
    p50: f64,
    p99: f64,
    before: f64,
    after: f64,
}

/// Many watch, a few of them never read.
pub(crate) async fn watches(targets: &[Target], arguments: &Arguments) -> anyhow::Result<Vec<Row>> {
    let (mut rows, many) = (Vec::new(), super::table::count(arguments.many_watchers));
    ensure!(arguments.many_watchers > STALLED, "--many-watchers must be more than {STALLED}");
    let none = vec![Cell::NotThere; targets.len()];
    let mut cells =
        [0, STALLED].map(|stalled| (stalled, [none.clone(), none.clone(), none.clone(), none.clone()]));
    for _ in 0..arguments.rounds {
        for (stalled, columns) in &mut cells {
            for (number, target) in targets.iter().enumerate() {
                let Some(delays) = round(target, arguments, *stalled).await? else { continue };
                let known = target.processes.are_known();
                push(&mut columns[0][number], Some(delays.p50));
                push(&mut columns[1][number], Some(delays.p99));
                push(&mut columns[2][number], known.then_some(delays.before));
                push(&mut columns[3][number], known.then_some(delays.after));
            }
        }
    }
    for (stalled, [p50, p99, before, after]) in cells {
        let what = format!("{many} watchers, {stalled} stalled");
        rows.push(Row::new(format!("{what}: delay of an event, p50"), "ms").of(p50));
        rows.push(Row::new(format!("{what}: delay of an event, p99"), "ms").of(p99));
        rows.push(Row::new(format!("{what}: memory before"), "MB").of(before));
        rows.push(Row::new(format!("{what}: memory after"), "MB").of(after));
    }
    Ok(rows)
}

async fn round(target: &Target, arguments: &Arguments, stalled: usize) -> anyhow::Result<Option<Delays>> {
    let Some(objects) = &target.objects else { return Ok(None) };
    let padding = "x".repeat(PADDING);
    let before = target.processes.resident();
    let events = BURSTS * BURST + arguments.events;
    let reading = arguments.many_watchers - stalled;
    let stalled = Stalled::open(target, objects, stalled).await?;
    let watchers = Watchers::open(target, objects, reading, STREAMS, events).await?;
    for _ in 0..BURSTS {
        for _ in 0..BURST {
            watchers.send(target, objects, &padding).await?;
        }
        watchers.delivered().await?;
    }
    let mut pace = tokio::time::interval(PACE);
    for _ in 0..arguments.events {
        pace.tick().await;
        watchers.send(target, objects, &padding).await?;
    }
    watchers.delivered().await?;
    let after = target.processes.resident();
    let mut delays = watchers.delays(BURSTS * BURST).await?;
    drop(stalled);
    delays.sort_unstable();
    let quantile = |percent: usize| delays[(delays.len() - 1) * percent / 100] as f64 / 1e3;
    Ok(Some(Delays { p50: quantile(50), p99: quantile(99), before, after }))
}
