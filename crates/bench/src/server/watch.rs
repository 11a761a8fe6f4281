//! Many watchers of one resource, and how long each event is under way to each of them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::ensure;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use tokio::task::JoinSet;

use super::client::{Connection, Reading, Request};
use super::objects::{self, Objects};
use super::operations::Figures;
use super::table::Row;
use super::target::Target;
use crate::arguments::Arguments;

/// As many streams as servers allow on one connection.
pub(crate) const STREAMS: usize = 100;
const PATIENCE: Duration = Duration::from_secs(60);

/// The ConfigMap whose changes are watched.
const WATCHED: &str = "watched";

/// When each event was sent. Watchers see them in this order, so that counting identifies them.
pub(crate) struct Sent {
    start: Instant,
    micros: Vec<AtomicU64>,
    next: AtomicU64,
}

impl Sent {
    fn new(events: usize) -> Arc<Sent> {
        let micros = (0..events).map(|_| AtomicU64::new(0)).collect();
        Arc::new(Sent { start: Instant::now(), micros, next: AtomicU64::new(0) })
    }

    fn now(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_micros()).unwrap_or(u64::MAX)
    }

    /// Says that the next event is being sent; its number.
    fn send(&self) -> usize {
        let number = self.next.fetch_add(1, Ordering::Relaxed) as usize;
        if let Some(slot) = self.micros.get(number) {
            slot.store(self.now(), Ordering::Relaxed);
        }
        number
    }

    /// Microseconds that the event has been under way.
    fn delay(&self, number: usize) -> Option<u64> {
        let sent = self.micros.get(number)?.load(Ordering::Relaxed);
        Some(self.now().saturating_sub(sent))
    }
}

/// Watches that are open. They are closed with it.
pub(crate) struct Watchers {
    count: usize,
    sent: Arc<Sent>,
    received: Arc<AtomicU64>,
    ended: Arc<AtomicU32>,
    tasks: JoinSet<Vec<u64>>,
    connections: Vec<Connection>,
}

impl Watchers {
    /// Opens watches, so many on each connection, for at most so many events.
    pub(crate) async fn open(
        target: &Target,
        objects: &Objects,
        count: usize,
        on_each: usize,
        events: usize,
    ) -> anyhow::Result<Watchers> {
        let path = path(target, objects).await?;
        let mut watchers = Watchers {
            count,
            sent: Sent::new(events),
            received: Arc::default(),
            ended: Arc::default(),
            tasks: JoinSet::new(),
            connections: Vec::new(),
        };
        for first in (0..count).step_by(on_each) {
            let connection = target.client.connect().await?;
            for _ in first..count.min(first + on_each) {
                let body = connection.stream(Request::get(path.clone())).await?;
                let (sent, received) = (watchers.sent.clone(), watchers.received.clone());
                let ended = watchers.ended.clone();
                watchers.tasks.spawn(async move { read(body, &sent, &received, &ended).await });
            }
            watchers.connections.push(connection);
        }
        Ok(watchers)
    }

    /// Changes the watched object once.
    pub(crate) async fn send(&self, target: &Target, objects: &Objects, padding: &str) -> anyhow::Result<()> {
        let number = self.sent.send();
        change(target, objects, number, padding).await
    }

    /// Waits until everything that was sent has reached every watcher.
    pub(crate) async fn delivered(&self) -> anyhow::Result<()> {
        let start = Instant::now();
        let wanted = self.sent.next.load(Ordering::Relaxed) * self.count as u64;
        loop {
            let received = self.received.load(Ordering::Relaxed);
            if received >= wanted {
                return Ok(());
            }
            let ended = self.ended.load(Ordering::Relaxed);
            ensure!(ended == 0, "the server ended {ended} of {} watches", self.count);
            ensure!(
                start.elapsed() < PATIENCE,
                "{} events of {wanted} did not reach their watchers within {PATIENCE:?}",
                wanted - received
            );
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    /// How long events were under way, in microseconds and in no order, without the first ones of each watcher.
    pub(crate) async fn delays(mut self, without: usize) -> anyhow::Result<Vec<u64>> {
        self.connections.clear();
        let mut all = Vec::new();
        // A watcher ends with its connection, and then has what it saw.
        while let Some(delays) = self.tasks.join_next().await {
            all.extend(delays?.into_iter().skip(without));
        }
        Ok(all)
    }
}

/// Where changes of ConfigMaps from now on are seen.
async fn path(target: &Target, objects: &Objects) -> anyhow::Result<String> {
    // It has to be there before the first watch, so that each sees changes only.
    let body = objects::config_map(&objects.namespace, WATCHED, 0, "");
    target.connection().ask(Request::post(objects.path("configmaps"), body)).await?;
    let version = target.touch(objects).await?;
    let query = format!("watch=true&resourceVersion={version}&timeoutSeconds=3600");
    Ok(format!("{}?{query}", objects.path("configmaps")))
}

async fn change(target: &Target, objects: &Objects, number: usize, padding: &str) -> anyhow::Result<()> {
    let path = format!("{}/{WATCHED}", objects.path("configmaps"));
    // Never what it was before, also not in a later round.
    let revision = number * 1_000_000 + usize::from(rand::random::<u16>());
    let body = objects::config_map(&objects.namespace, WATCHED, revision, padding);
    target.connection().drain(Request::put(path, body)).await.map(drop)
}

/// Counts the events of a watch by their ends until it ends itself.
async fn read(mut body: Incoming, sent: &Sent, received: &AtomicU64, ended: &AtomicU32) -> Vec<u64> {
    let mut delays = Vec::new();
    while let Some(Ok(frame)) = body.frame().await {
        let Some(data) = frame.data_ref() else { continue };
        let events = data.iter().filter(|byte| **byte == b'\n').count();
        for _ in 0..events {
            delays.extend(sent.delay(delays.len()));
        }
        received.fetch_add(events as u64, Ordering::Relaxed);
    }
    ended.fetch_add(1, Ordering::Relaxed);
    delays
}

/// A watcher that takes nothing of what it is sent.
pub(crate) struct Stalled {
    _connection: Connection,
    _body: Incoming,
}

impl Stalled {
    /// Half of them stop reading their stream, half their socket.
    pub(crate) async fn open(
        target: &Target,
        objects: &Objects,
        count: usize,
    ) -> anyhow::Result<Vec<Stalled>> {
        let path = path(target, objects).await?;
        let mut stalled = Vec::new();
        for number in 0..count {
            let connection = target.client.connect_reading(Reading::Small).await?;
            let body = connection.stream(Request::get(path.clone())).await?;
            if number % 2 == 1 {
                connection.stop_reading();
            }
            stalled.push(Stalled { _connection: connection, _body: body });
        }
        Ok(stalled)
    }
}

/// Cost of delivering one event to one of many watchers: alone, and with the write that caused it.
pub(crate) async fn measure(targets: &[Target], arguments: &Arguments) -> anyhow::Result<Vec<Row>> {
    let (mut rows, watching, events) = (Vec::new(), arguments.watchers, arguments.events);
    for (on_each, how) in
        [(STREAMS, format!("{STREAMS} to a connection")), (1, "one to a connection".to_owned())]
    {
        let (mut alone, mut with_writes) = (Figures::new(targets), Figures::new(targets));
        for _ in 0..arguments.rounds {
            for (number, target) in targets.iter().enumerate() {
                let Some(objects) = &target.objects else { continue };
                // The object that is written is made by this too.
                path(target, objects).await?;
                let writes = target
                    .measure(async {
                        for number in 0..events {
                            change(target, objects, number, "").await?;
                        }
                        Ok(())
                    })
                    .await?;
                let watchers = Watchers::open(target, objects, watching, on_each, events).await?;
                tokio::time::sleep(Duration::from_millis(200)).await;
                let took = target
                    .measure(async {
                        for _ in 0..events {
                            watchers.send(target, objects, "").await?;
                        }
                        watchers.delivered().await
                    })
                    .await?;
                with_writes.add(number, &took, watching * events);
                alone.add(number, &took.without(&writes), watching * events);
            }
        }
        let what = format!("deliver one event, {watching} watchers, {how}, CPU");
        let row = Row::new(what.clone(), "us").of(alone.cpu(1e6));
        rows.push(if on_each == STREAMS && watching == 500 { row.reference("28").budget(4.0) } else { row });
        rows.push(Row::new(format!("{what} with the write"), "us").of(with_writes.cpu(1e6)));
    }
    Ok(rows)
}
