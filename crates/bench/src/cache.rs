//! Cost of the cache: memory of an object besides its bytes, a change among many objects while lists hold snapshots, and
//! a change among many watchers that match it or do not.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context;
use bytes::Bytes;
use pintle_cache::{Cursor, Feed, Interest, Keyed, Limits, Map, Next, Resource};
use pintle_resources::builtin::Builtin;
use pintle_schema::{Resources, find};
use pintle_storage::{Backend, Op, Txn};
use pintle_storage_embedded::{Options, Store};

use crate::codec::{POD, normal};
use crate::figures::{cpu_seconds, memory, show};

const PODS: usize = 20_000;
const OBJECTS: usize = 100_000;
const WATCHERS: usize = 2_000;
const WAIT: Duration = Duration::from_secs(10);

pub(crate) async fn measure(directory: &Path) -> anyhow::Result<()> {
    changes()?;
    let store = Arc::new(Store::open(Options::directory(directory.join("cache")))?);
    let bytes = fill(&store).await?;
    let feed = Feed::start(store.clone(), Bytes::from_static(b"/registry/"), Limits::default()).await?;
    let kind = Builtin::new(find("core/v1.Pod").context("there is no Pod")?, &Resources::builtin()?);
    let pods = feed.resource(Bytes::from_static(b"/registry/pods/"), || kind);
    let (before, start) = (memory("self", "RssAnon"), Instant::now());
    pods.ready().await?;
    show("cache_load_pod", start.elapsed().as_secs_f64() * 1e6 / PODS as f64, "us");
    let taken = (memory("self", "RssAnon") - before) * 1e6 / PODS as f64;
    show("cache_pod_stored", bytes as f64 / PODS as f64, "bytes");
    show("cache_pod_besides", taken - bytes as f64 / PODS as f64, "bytes");
    watchers(&store, &pods, "everything", |_| Interest::Everything).await?;
    watchers(&store, &pods, "own_namespace", |number| Interest::Namespace(format!("w{number}").into()))
        .await?;
    watchers(&store, &pods, "own_key", |number| Interest::Key(format!("w{number}/pod").into())).await
}

/// Pods that differ in name, node and labels. Returns how many bytes are stored.
async fn fill(store: &Store) -> anyhow::Result<usize> {
    let of = find("core/v1.Pod").context("there is no Pod")?;
    let builtin = Builtin::new(of, &Resources::builtin()?);
    let mut bytes = 0;
    for batch in 0..PODS / 100 {
        let mut then = Vec::with_capacity(100);
        for pod in batch * 100..batch * 100 + 100 {
            let name = format!("\"name\":\"web-7d9c5b8f6-{pod:05}\"");
            let text = POD.trim_end().replacen("\"name\":\"checkout-7d9c6b5f44-x2k8p\"", &name, 1);
            let value = normal(&builtin, of, text.as_bytes())?;
            bytes += value.len();
            let key = Bytes::from(format!("/registry/pods/shop-{:02}/web-7d9c5b8f6-{pod:05}", pod % 50));
            then.push(Op::Put { key, value, lease: None });
        }
        store.txn(Txn { then, ..Txn::default() }).await?;
    }
    Ok(bytes)
}

#[derive(Debug)]
struct Item(String);

impl Keyed for Item {
    fn key(&self) -> &str {
        &self.0
    }
}

/// Changes of a map of many objects, with snapshots held and without.
fn changes() -> anyhow::Result<()> {
    let item = |number: usize| Arc::new(Item(format!("namespace-{:03}/object-{number:06}", number % 100)));
    let mut items: Vec<_> = (0..OBJECTS).map(item).collect();
    items.sort_by(|a, b| a.key().cmp(b.key()));
    for (name, every) in [("no", usize::MAX), ("a_lasting", 1000), ("a_fresh", 1)] {
        let mut map = Map::from_sorted(&items);
        let mut snapshot = None;
        let (start, rounds) = (Instant::now(), 50_000);
        for round in 0..rounds {
            if every != usize::MAX && round % every == 0 {
                snapshot = Some(map.clone());
            }
            map.insert(items[round * 7919 % OBJECTS].clone());
        }
        let each = start.elapsed().as_secs_f64() * 1e6 / rounds as f64;
        anyhow::ensure!(snapshot.is_none_or(|snapshot| snapshot.len() == OBJECTS));
        show(&format!("cache_change_with_{name}_snapshot"), each, "us");
    }
    Ok(())
}

/// The CPU time of a change that concerns one watcher, or all, of many.
async fn watchers(
    store: &Store,
    pods: &Arc<Resource>,
    name: &str,
    interest: impl Fn(usize) -> Interest,
) -> anyhow::Result<()> {
    let value = pods.snapshot()?.objects.iter().next().context("there are no pods")?.stored().clone();
    let key = |number: usize| Bytes::from(format!("/registry/pods/w{number}/pod"));
    let follow = |mut cursor: Cursor| {
        tokio::spawn(async move { while matches!(cursor.next().await, Next::Changes(_)) {} })
    };
    let mut tasks = Vec::new();
    for number in 0..WATCHERS {
        tasks.push(follow(pods.snapshot_and_watch(interest(number))?.1));
    }
    tokio::time::sleep(Duration::from_millis(100)).await;
    let (rounds, before) = (400, cpu_seconds("self"));
    for round in 0..rounds {
        let revision = store.txn(Txn::put(key(round * 31 % WATCHERS), value.clone())).await?.revision;
        pods.wait_for(revision.0, WAIT).await?;
    }
    tokio::time::sleep(Duration::from_millis(100)).await;
    let each = (cpu_seconds("self") - before) * 1e6 / rounds as f64;
    show(&format!("cache_change_watched_{name}"), each, "us");
    tasks.iter().for_each(tokio::task::JoinHandle::abort);
    for task in tasks {
        let _ = task.await;
    }
    Ok(())
}
