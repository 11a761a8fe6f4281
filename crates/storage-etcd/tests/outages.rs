//! etcd goes away and comes back, under load.

mod common;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use common::{DEAD, Etcd, Version, free_port};
use futures_util::StreamExt;
use pintle_storage::conformance::history::{self, Commit, Recording};
use pintle_storage::{Backend, Error, Revision, Txn, WatchItem, WatchRequest};
use pintle_storage_etcd::{Config, Store};

/// The log of one writer: acknowledged writes, and writes with an unknown outcome.
#[derive(Default)]
struct Log {
    commits: Vec<Commit>,
    unknown: Vec<(Bytes, Bytes)>,
    refused: Vec<(Bytes, Bytes)>,
}

/// Writes a new value to a key of its own, again and again.
async fn write(store: Store, id: usize, stop: Arc<AtomicBool>, written: Arc<AtomicU64>) -> Log {
    let mut log = Log::default();
    for round in 0.. {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        let (key, value) = (Bytes::from(format!("/load/{id}")), Bytes::from(format!("{id} {round}")));
        match store.txn(Txn::put(key.clone(), value.clone())).await {
            Ok(done) => {
                written.fetch_add(1, Ordering::Relaxed);
                log.commits.push(Commit { revision: done.revision, changes: vec![(key, Some(value))] });
            }
            Err(Error::Unknown(_)) => log.unknown.push((key, value)),
            Err(Error::Unavailable(_)) => log.refused.push((key, value)),
            Err(error) => panic!("a write failed with {error:?}"),
        }
    }
    log
}

/// Records a watch until it sees the key `/load/end`.
async fn record(store: Store, name: &'static str, from: Revision) -> Recording {
    let request = WatchRequest { prefix: "/load/".into(), from, prev: false, progress: true };
    let mut stream = store.watch(request).await.expect("watch");
    let mut items = Vec::new();
    loop {
        let item = stream.next().await.expect("a watch does not just end").expect("a watch survives");
        let end = matches!(&item, WatchItem::Changes { events, .. } if events[0].key() == "/load/end");
        items.push(item);
        if let (true, Some(WatchItem::Changes { revision, .. })) = (end, items.last()) {
            let until = *revision;
            return Recording { name: name.to_owned(), prefix: "/load/".into(), from, until, items };
        }
    }
}

/// Runs writers and watchers while `disturb` does its worst, then judges what they saw.
async fn under_load<F>(store: Store, disturb: impl FnOnce() -> F)
where
    F: Future<Output = ()>,
{
    let from = store.current_revision().await.unwrap().next();
    let stop = Arc::new(AtomicBool::new(false));
    let written = Arc::new(AtomicU64::new(0));
    let reference = tokio::spawn(record(store.clone(), "from the start", from));
    let mut writers = tokio::task::JoinSet::new();
    for id in 0..8 {
        writers.spawn(write(store.clone(), id, stop.clone(), written.clone()));
    }
    let second = tokio::spawn(record(store.clone(), "beside it", from));
    Box::pin(disturb()).await;
    // Writes go on after the last disturbance.
    let before = written.load(Ordering::Relaxed);
    let patience = Instant::now() + Duration::from_secs(20);
    while written.load(Ordering::Relaxed) < before + 50 {
        assert!(Instant::now() < patience, "writes do not go on");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    stop.store(true, Ordering::Relaxed);
    let logs = writers.join_all().await;
    let late = tokio::spawn(record(store.clone(), "from the end", from));
    let end = store.txn(Txn::put("/load/end".into(), "end".into())).await.expect("the last write");
    let reference = reference.await.unwrap();
    let recordings = [second.await.unwrap(), late.await.unwrap()];

    let mut commits: Vec<_> = logs.iter().flat_map(|log| log.commits.clone()).collect();
    commits.push(Commit { revision: end.revision, changes: vec![("/load/end".into(), Some("end".into()))] });
    // Writes of unknown outcome that did happen are found in the reference; those that were refused must not be there.
    let known: std::collections::BTreeSet<_> = commits.iter().map(|commit| commit.revision).collect();
    let happened = reference.items.iter().filter_map(|item| match item {
        WatchItem::Changes { revision, events } if !known.contains(revision) => Some((*revision, &events[0])),
        _ => None,
    });
    for (revision, event) in happened {
        let pintle_storage::Event::Put { kv, .. } = event else { panic!("nobody deletes") };
        let change = (kv.key.clone(), kv.value.clone());
        assert!(
            logs.iter().any(|log| log.unknown.contains(&change)),
            "{change:?} happened and nobody wrote it"
        );
        assert!(logs.iter().all(|log| !log.refused.contains(&change)), "{change:?} happened and was refused");
        commits.push(Commit { revision, changes: vec![(change.0, Some(change.1))] });
    }
    commits.sort_by_key(|commit| commit.revision);
    history::check(&commits, &reference, &recordings).unwrap_or_else(|violation| panic!("{violation}"));

    // No acknowledged write is lost: each key holds its last acknowledged value or a later one of unknown outcome.
    for log in &logs {
        let last = log.commits.last().expect("every writer wrote");
        let kv = store.get(&last.changes[0].0, None).await.unwrap().0.expect("written");
        assert!(kv.mod_revision >= last.revision);
        let acknowledged = last.changes[0].1.as_ref() == Some(&kv.value);
        assert!(acknowledged || log.unknown.iter().any(|(_, value)| *value == kv.value), "{:?}", kv.value);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_lost_when_etcd_is_killed_and_restarted_under_load() {
    let mut etcd = Etcd::start(Version::New);
    let store = etcd.store().await;
    under_load(store, || async move {
        for _ in 0..3 {
            tokio::time::sleep(Duration::from_millis(400)).await;
            tokio::task::block_in_place(|| {
                etcd.kill();
                std::thread::sleep(Duration::from_millis(150));
                assert!(etcd.run());
            });
        }
        keep(etcd);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_lost_when_etcd_is_stopped_and_restarted_under_load() {
    let mut etcd = Etcd::start(Version::Old);
    let store = etcd.store().await;
    under_load(store, || async move {
        for _ in 0..2 {
            tokio::time::sleep(Duration::from_millis(400)).await;
            tokio::task::block_in_place(|| {
                etcd.stop();
                assert!(etcd.run());
            });
        }
        keep(etcd);
    })
    .await;
}

/// The process outlives the disturbance, until the runtime of the test ends.
fn keep(etcd: Etcd) {
    tokio::spawn(async move {
        let _etcd = etcd;
        std::future::pending::<()>().await;
    });
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_lost_when_the_leader_of_three_is_killed_under_load() {
    let mut members = tokio::task::block_in_place(cluster);
    let endpoints = members.iter().map(Etcd::endpoint).collect();
    let store = Store::connect(Config { endpoints, ..Config::default() }).await.unwrap();
    under_load(store, || async move {
        for _ in 0..2 {
            tokio::time::sleep(Duration::from_millis(500)).await;
            let victim = leader(&members).await;
            tokio::task::block_in_place(|| {
                members[victim].kill();
                std::thread::sleep(Duration::from_millis(1500));
                assert!(members[victim].run());
            });
        }
        members.into_iter().for_each(keep);
    })
    .await;
}

async fn leader(members: &[Etcd]) -> usize {
    loop {
        for (i, member) in members.iter().enumerate() {
            if member.metric("etcd_server_is_leader ").await == 1.0 {
                return i;
            }
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// One of three members is alone: it has no leader and must not pretend.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_member_without_a_leader_refuses_writes_and_its_watch_goes_on_later() {
    let mut members = tokio::task::block_in_place(cluster);
    let endpoints = vec![members[0].endpoint()];
    let request_timeout = Duration::from_secs(3);
    let store = Store::connect(Config { endpoints, request_timeout, ..Config::default() }).await.unwrap();
    let from = store.txn(Txn::put("/a".into(), "1".into())).await.unwrap().revision;
    let request = WatchRequest { prefix: "/a".into(), from, ..WatchRequest::default() };
    let mut watch = store.watch(request).await.unwrap();
    watch.next().await.unwrap().unwrap();
    tokio::task::block_in_place(|| members[1..].iter_mut().for_each(Etcd::kill));
    // While the member has not noticed, a write may be in its log; afterwards it refuses.
    let patience = Instant::now() + Duration::from_secs(20);
    loop {
        match store.txn(Txn::put("/a".into(), "lost".into())).await.unwrap_err() {
            Error::Unavailable(_) => break,
            Error::Unknown(_) => assert!(Instant::now() < patience, "it never refuses"),
            error => panic!("{error:?}"),
        }
    }
    tokio::task::block_in_place(|| members[1..].iter_mut().for_each(|member| assert!(member.run())));
    let last = loop {
        match store.txn(Txn::put("/a".into(), "last".into())).await {
            Ok(done) => break done.revision,
            Err(error) => assert!(matches!(error, Error::Unavailable(_) | Error::Unknown(_)), "{error:?}"),
        }
    };
    let mut expected = from.next();
    while expected <= last {
        let Some(Ok(WatchItem::Changes { revision, .. })) = watch.next().await else {
            panic!("the watch ended")
        };
        assert_eq!(revision, expected, "nothing is skipped");
        expected = expected.next();
    }
}

fn cluster() -> Vec<Etcd> {
    (0..3).find_map(|_| try_cluster()).expect("a cluster of three should start")
}

fn try_cluster() -> Option<Vec<Etcd>> {
    let peers: Vec<_> = (0..3).map(|_| free_port()).collect();
    let all: Vec<_> =
        peers.iter().enumerate().map(|(i, port)| format!("m{i}=http://127.0.0.1:{port}")).collect();
    let member = |(i, peer): (usize, &u16)| {
        let arguments = vec![
            format!("--name=m{i}"),
            format!("--listen-peer-urls=http://127.0.0.1:{peer}"),
            format!("--initial-advertise-peer-urls=http://127.0.0.1:{peer}"),
            format!("--initial-cluster={}", all.join(",")),
            "--heartbeat-interval=50".to_owned(),
            "--election-timeout=300".to_owned(),
        ];
        let mut member = Etcd::prepare(Version::New, "http", free_port(), arguments);
        member.spawn();
        member
    };
    let mut members: Vec<_> = peers.iter().enumerate().map(member).collect();
    members.iter_mut().all(Etcd::listens).then_some(members)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_write_to_an_etcd_that_is_down_is_known_not_to_have_happened() {
    let mut etcd = Etcd::start(Version::New);
    let config = Config { request_timeout: Duration::from_millis(700), ..etcd.config() };
    let store = Store::connect(config).await.unwrap();
    let before = store.txn(Txn::put("/a".into(), "1".into())).await.unwrap().revision;
    tokio::task::block_in_place(|| etcd.kill());
    // The first one may find the connection broken under it; from then on there is none.
    let _ = store.txn(Txn::put("/a".into(), "2".into())).await;
    for _ in 0..3 {
        let error = store.txn(Txn::put("/b".into(), "2".into())).await.unwrap_err();
        assert!(matches!(error, Error::Unavailable(_)), "{error:?}");
    }
    assert!(matches!(store.health().await, Err(Error::Unavailable(_))));
    tokio::task::block_in_place(|| assert!(etcd.run()));
    let patience = Instant::now() + Duration::from_secs(10);
    while store.health().await.is_err() {
        assert!(Instant::now() < patience, "it should be healthy again");
    }
    assert_eq!(store.get(b"/b", None).await.unwrap().0, None);
    assert!(store.current_revision().await.unwrap() >= before);
}

/// A stopped process takes requests and answers none: the outcome is unknown.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_write_that_is_not_answered_in_time_has_an_unknown_outcome() {
    let etcd = Etcd::start(Version::New);
    let config = Config { request_timeout: Duration::from_millis(500), ..etcd.config() };
    let store = Store::connect(config).await.unwrap();
    let first = store.txn(Txn::put("/a".into(), "1".into())).await.unwrap().revision;
    etcd.signal("STOP");
    let error = store.txn(Txn::put("/a".into(), "2".into())).await.unwrap_err();
    assert!(matches!(error, Error::Unknown(_)), "{error:?}");
    let error = store.get(b"/a", None).await.unwrap_err();
    assert!(matches!(error, Error::Unavailable(_)), "a read has no outcome to wonder about: {error:?}");
    etcd.signal("CONT");
    let kv = loop {
        match store.get(b"/a", None).await {
            Ok((kv, _)) => break kv.expect("written"),
            Err(error) => assert!(matches!(error, Error::Unavailable(_)), "{error:?}"),
        }
    };
    assert!(kv.mod_revision >= first);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn connecting_to_nothing_fails_within_the_dial_timeout_and_says_where() {
    let endpoint = DEAD.to_owned();
    let dial_timeout = Duration::from_millis(400);
    let start = Instant::now();
    let config = Config { endpoints: vec![endpoint.clone()], dial_timeout, ..Config::default() };
    let Err(error) = Store::connect(config).await else { panic!("there is nothing to connect to") };
    assert!(start.elapsed() < Duration::from_secs(3));
    let text = error.to_string();
    assert!(text.contains(&endpoint) && text.contains("refused"), "{text}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dead_endpoint_beside_a_living_one_does_not_matter() {
    let etcd = Etcd::start(Version::New);
    // Takes connections and says nothing, which is worse than refusing them.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let silent = format!("http://{}", silent.local_addr().unwrap());
    for dead in [DEAD.to_owned(), silent] {
        for dead_first in [true, false] {
            let mut endpoints = vec![dead.clone(), etcd.endpoint()];
            if !dead_first {
                endpoints.reverse();
            }
            let start = Instant::now();
            let store = Store::connect(Config { endpoints, ..etcd.config() }).await.unwrap();
            for i in 0..20 {
                store.txn(Txn::put("/a".into(), i.to_string().into())).await.unwrap();
            }
            store.request_progress().await.unwrap();
            assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
        }
    }
}

/// The client's member stops answering; the other one serves reads within a fraction of the time limit.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_read_moves_on_from_a_member_that_hangs() {
    let members = tokio::task::block_in_place(cluster);
    let follower = (leader(&members).await + 1) % 3;
    let endpoints = members.iter().map(Etcd::endpoint).collect();
    let request_timeout = Duration::from_secs(3);
    let store = Store::connect(Config { endpoints, request_timeout, ..Config::default() }).await.unwrap();
    store.txn(Txn::put("/a".into(), "1".into())).await.unwrap();
    members[follower].signal("STOP");
    for _ in 0..6 {
        assert!(store.get(b"/a", None).await.unwrap().0.is_some());
        store.txn(Txn::put("/b".into(), "1".into())).await.map_or_else(
            |error| assert!(matches!(error, Error::Unknown(_)), "{error:?}"),
            |done| assert!(done.succeeded),
        );
    }
    members[follower].signal("CONT");
}
