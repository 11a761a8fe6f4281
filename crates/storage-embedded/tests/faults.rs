//! Faults of the disk, injected below the engine.

mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures_util::StreamExt;
use pintle_storage::{Backend, Error, Revision, Txn, WatchItem, WatchRequest};
use pintle_storage_embedded::{Options, Store};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use support::disk::TestDisk;
use support::load::{self, Ack};
use support::{bytes, put, value};

fn open(disk: &TestDisk) -> Store {
    open_saving_free_pages(disk, None)
}

fn open_saving_free_pages(disk: &TestDisk, save_free_pages_after: Option<Duration>) -> Store {
    let options = Options { cache_bytes: 1 << 20, save_free_pages_after, ..Options::memory() };
    Store::on_disk(Arc::new(disk.clone()), &options).expect("open")
}

fn rounds() -> u64 {
    std::env::var("PINTLE_CRASH_ROUNDS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(100)
}

/// Several clients write until the disk is gone. Returns what was acknowledged, and what each has tried last.
async fn write_until_failure(store: &Arc<Store>, mut tried: Vec<u64>) -> (Vec<Ack>, Vec<u64>) {
    let mut tasks = tokio::task::JoinSet::new();
    for client in 0..tried.len() as u64 {
        let store = store.clone();
        let mut number = tried[client as usize];
        tasks.spawn(async move {
            let mut acks = Vec::new();
            loop {
                number += 1;
                match store.txn(load::txn(client, number)).await {
                    Ok(done) => acks.push(Ack { client, number, revision: done.revision.0 }),
                    Err(_) => return (client, acks, number),
                }
            }
        });
    }
    let mut acks = Vec::new();
    while let Some(done) = tasks.join_next().await {
        let (client, more, number) = done.unwrap();
        acks.extend(more);
        tried[client as usize] = number;
    }
    (acks, tried)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_acknowledged_write_is_lost_when_the_power_goes() {
    let mut disk = TestDisk::default();
    let mut seen = Revision(1);
    for round in 0..rounds() {
        let mut rng = StdRng::seed_from_u64(round);
        // In every third round each commit is followed by one that prepares for a fast open.
        let store = Arc::new(open_saving_free_pages(&disk, (round % 3 == 0).then_some(Duration::ZERO)));
        let mut last = Vec::new();
        for client in 0..6 {
            last.push(load::last_number(&store, client).await);
        }
        // Compaction's sweep runs while the power goes, too.
        store.compact(seen).await.unwrap();
        disk.cut_power_after(rng.random_range(1..400));
        let (acks, tried) = write_until_failure(&store, last).await;
        drop(store);
        disk = disk.after_power_loss(&mut rng);
        let store = open(&disk);
        seen = load::check(&store, seen, &acks, |client| tried[client as usize]).await;
        store.close().await.unwrap();
    }
}

/// A client that knows what errors mean writes on through failures.
async fn write_stubbornly(
    store: Arc<Store>,
    client: u64,
    numbers: u64,
    failures: Arc<AtomicU64>,
) -> Vec<Ack> {
    let mut acks = Vec::new();
    let mut number = 1;
    while number <= numbers {
        let result = store.txn(load::txn(client, number)).await;
        failures.fetch_add(u64::from(result.is_err()), Ordering::SeqCst);
        match result {
            Ok(done) => {
                acks.push(Ack { client, number, revision: done.revision.0 });
                number += 1;
            }
            // Perhaps: only a read can tell.
            Err(Error::Unknown(_)) => {
                while store.get(b"/", None).await.is_err() {
                    tokio::time::sleep(Duration::from_millis(1)).await;
                }
                number = load::last_number(&store, client).await + 1;
            }
            // Surely not: again.
            Err(_) => tokio::time::sleep(Duration::from_millis(1)).await,
        }
    }
    acks
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_disk_that_fails_now_and_then_breaks_no_promise() {
    let disk = TestDisk::default();
    // A small feed, so that the watch is at the mercy of the disk, too.
    let options = Options { feed_bytes: 20_000, cache_bytes: 64 << 10, ..Options::memory() };
    let store = Arc::new(Store::on_disk(Arc::new(disk.clone()), &options).unwrap());
    let request = WatchRequest { from: Revision(2), ..WatchRequest::default() };
    let mut watch = store.watch(request).await.unwrap();
    let failures = Arc::new(AtomicU64::new(0));
    let mut clients = tokio::task::JoinSet::new();
    for client in 0..6 {
        clients.spawn(write_stubbornly(store.clone(), client, 150, failures.clone()));
    }
    let flaky = disk.clone();
    let saboteur = tokio::spawn(async move {
        let mut rng = StdRng::seed_from_u64(1);
        loop {
            tokio::time::sleep(Duration::from_millis(rng.random_range(1..8))).await;
            flaky.fail_writes(true);
            tokio::time::sleep(Duration::from_millis(rng.random_range(0..3))).await;
            flaky.fail_writes(false);
        }
    });
    let acks =
        tokio::time::timeout(Duration::from_secs(30), clients.join_all()).await.expect("it goes on").concat();
    saboteur.abort();
    let _ = saboteur.await;
    disk.fail_writes(false);
    // Recovers the store from any state that this left.
    support::eventually("health", async || store.health().await.is_ok()).await;
    assert!(failures.load(Ordering::SeqCst) > 0, "the disk never failed");
    let newest = load::check(&store, Revision(1), &acks, |_| 150).await;
    for revision in 2..=newest.0 {
        let item = tokio::time::timeout(Duration::from_secs(10), watch.next()).await.expect("soon");
        match item.unwrap().unwrap() {
            WatchItem::Changes { revision: seen, .. } => assert_eq!(seen.0, revision),
            WatchItem::Progress(_) => panic!("nobody asked"),
        }
    }
}

#[tokio::test]
async fn a_power_loss_while_the_store_is_made_leaves_nothing_or_a_store() {
    for round in 0..60 {
        let mut rng = StdRng::seed_from_u64(round);
        let disk = TestDisk::default();
        disk.cut_power_after(round);
        let options = Options::memory();
        let opened = Store::on_disk(Arc::new(disk.clone()), &options).is_ok();
        let found = Store::on_disk(Arc::new(disk.after_power_loss(&mut rng)), &options);
        // In a directory, a store that is not complete has no name yet, so it may be unusable here.
        if opened {
            put(&found.expect("a store that was open once"), "/a", "").await;
        }
    }
}

#[tokio::test]
async fn concurrent_writers_share_syncs() {
    let disk = TestDisk::default();
    let store = Arc::new(open(&disk));
    let before = disk.syncs.load(Ordering::SeqCst);
    let mut tasks = tokio::task::JoinSet::new();
    for i in 0..400 {
        let store = store.clone();
        tasks.spawn(async move { put(&store, &format!("/{i}"), "").await.0 });
    }
    let mut revisions = tasks.join_all().await;
    revisions.sort_unstable();
    assert_eq!(revisions, (2..=401).collect::<Vec<_>>(), "each has its own revision");
    let syncs = disk.syncs.load(Ordering::SeqCst) - before;
    assert!(syncs < 100, "{syncs} syncs for 400 writes");
}

#[tokio::test]
async fn a_failed_comparison_costs_no_sync() {
    let disk = TestDisk::default();
    let store = open(&disk);
    put(&store, "/a", "").await;
    let before = disk.syncs.load(Ordering::SeqCst);
    assert!(!store.txn(Txn::create(bytes("/a"), bytes(""), None)).await.unwrap().succeeded);
    assert_eq!(disk.syncs.load(Ordering::SeqCst), before);
}

#[tokio::test]
async fn a_full_disk_refuses_puts_and_goes_on_when_there_is_room() {
    let disk = TestDisk::default();
    let store = open(&disk);
    put(&store, "/before", "1").await;
    disk.limit(Some(disk.len() + (4 << 20)), true);
    let refused = store.txn(Txn::put(bytes("/after"), bytes("1"))).await;
    assert!(matches!(refused, Err(Error::NoSpace(_))), "{refused:?}");
    assert_eq!(value(&store, "/before").await.as_deref(), Some("1"), "reads go on");
    support::delete(&store, "/before").await;
    store.compact(store.current_revision().await.unwrap()).await.expect("what makes room is allowed longer");
    disk.limit(None, true);
    put(&store, "/after", "2").await;
    assert_eq!(value(&store, "/after").await.as_deref(), Some("2"));
}

#[tokio::test]
async fn compaction_makes_room_on_a_full_disk() {
    let disk = TestDisk::default();
    let store = open(&disk);
    disk.limit(Some(disk.len() + (20 << 20)), true);
    let put = |i: usize| Txn::put(bytes(format!("/{i}")), bytes("x".repeat(100_000)));
    let mut puts = 0;
    let error = loop {
        match store.txn(put(puts)).await {
            Ok(_) => puts += 1,
            Err(error) => break error,
        }
    };
    assert!(matches!(error, Error::NoSpace(_)), "{error:?}");
    for i in 0..puts {
        support::delete(&store, &format!("/{i}")).await;
    }
    store.compact(store.current_revision().await.unwrap()).await.unwrap();
    support::eventually("room in the file", async || store.txn(put(0)).await.is_ok()).await;
}

/// Where the free space is unknown, the engine runs into the end of the disk.
#[tokio::test]
async fn a_disk_that_fills_up_unforeseen_loses_nothing_and_recovers() {
    let disk = TestDisk::default();
    let store = Arc::new(open(&disk));
    let first = store.current_revision().await.unwrap();
    disk.limit(Some(disk.len()), false);
    let mut acks = Vec::new();
    let mut number = 0;
    let error = loop {
        number += 1;
        match store.txn(load::txn(0, number)).await {
            Ok(done) => acks.push(Ack { client: 0, number, revision: done.revision.0 }),
            Err(error) => break error,
        }
        assert!(number < 100_000, "the disk should be full by now");
    };
    assert!(matches!(error, Error::NoSpace(_)), "{error:?}");
    load::check(&store, first, &acks, |_| number - 1).await;
    disk.limit(None, false);
    let done = store.txn(load::txn(0, number)).await.expect("room again");
    acks.push(Ack { client: 0, number, revision: done.revision.0 });
    load::check(&store, first, &acks, |_| number).await;
    drop(store);
    load::check(&open(&disk.as_it_is()), first, &acks, |_| number).await;
}

#[tokio::test]
async fn a_failed_write_is_not_applied_and_the_store_recovers() {
    let disk = TestDisk::default();
    let store = open(&disk);
    let kept = put(&store, "/kept", "1").await;
    disk.fail_writes(true);
    for _ in 0..3 {
        let failed = store.txn(Txn::put(bytes("/lost"), bytes("1"))).await;
        assert!(matches!(failed, Err(Error::Unavailable(_) | Error::Unknown(_))), "{failed:?}");
    }
    disk.fail_writes(false);
    let next = put(&store, "/next", "1").await;
    assert_eq!(next, kept.next(), "the failed write took no revision");
    assert_eq!(value(&store, "/lost").await, None);
    assert_eq!(value(&store, "/kept").await.as_deref(), Some("1"));
    store.health().await.unwrap();
}

#[tokio::test]
async fn after_a_failed_sync_the_outcome_is_unknown_and_the_store_stops() {
    let disk = TestDisk::default();
    let store = open(&disk);
    put(&store, "/kept", "1").await;
    disk.fail_syncs(true);
    let failed = store.txn(Txn::put(bytes("/perhaps"), bytes("1"))).await;
    assert!(matches!(failed, Err(Error::Unknown(_))), "{failed:?}");
    disk.fail_syncs(false);
    let refused = store.txn(Txn::put(bytes("/no"), bytes("1"))).await;
    assert!(
        matches!(refused, Err(Error::Unavailable(_))),
        "it must not build on what may be lost: {refused:?}"
    );
    assert!(store.health().await.is_err());
    drop(store);
    let store = open(&disk.as_it_is());
    assert_eq!(value(&store, "/kept").await.as_deref(), Some("1"));
    assert_eq!(value(&store, "/no").await, None);
}
