//! Watches receive all changes that concern them, and are woken by no others.

mod support;

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use bytes::Bytes;
use pintle_cache::{Cursor, Interest, Limits, Next};
use pintle_storage::{Backend, Op, Txn};
use proptest::prelude::*;
use support::{Fixture, WAIT, changes, fixture};

#[derive(Default)]
struct Count(AtomicUsize);

impl Wake for Count {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

fn key(key: &str) -> Interest {
    Interest::Key(key.into())
}

fn namespace(name: &str) -> Interest {
    Interest::Namespace(name.into())
}

fn value(value: &str) -> Interest {
    Interest::Field(0, value.into())
}

fn watch(fixture: &Fixture, interest: Interest) -> Cursor {
    fixture.pods.snapshot_and_watch(interest).unwrap().1
}

#[tokio::test]
async fn a_watch_is_woken_only_by_what_concerns_it() {
    let fixture = fixture(Limits::default()).await;
    fixture.pods.ready().await.unwrap();
    for (interest, expected) in [
        (Interest::Everything, [true, true, true, true]),
        (namespace("a"), [true, false, true, true]),
        (namespace("b"), [false, true, false, false]),
        (key("a/x"), [true, false, true, false]),
        (key("a"), [false; 4]),
        (value("1"), [true, false, true, false]),
        (value("2"), [false, false, true, false]),
        (value("4"), [false, false, false, true]),
        (Interest::Field(7, "1".into()), [false; 4]),
    ] {
        for (number, (changed, to)) in
            [("a/x", "1"), ("b/x", "3"), ("a/x", "2"), ("a/y", "4")].into_iter().enumerate()
        {
            let mut cursor = watch(&fixture, interest.clone());
            let count = Arc::new(Count::default());
            let waker = Waker::from(count.clone());
            let mut waiting = pin!(cursor.next());
            assert!(waiting.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
            let revision = fixture.put(&format!("pods/{changed}"), to).await;
            fixture.pods.wait_for(revision, WAIT).await.unwrap();
            // The feed wakes before it says what it has seen, so that there is no wake still to come.
            let expected = expected[number];
            assert_eq!(count.0.load(Ordering::Relaxed) > 0, expected, "{interest:?} {changed}");
            let ready = waiting.as_mut().poll(&mut Context::from_waker(&waker));
            assert_eq!(matches!(ready, Poll::Ready(Next::Changes(_))), expected, "{interest:?} {changed}");
        }
        for gone in ["a/x", "b/x", "a/y"] {
            let revision = fixture.delete(&format!("pods/{gone}")).await;
            fixture.pods.wait_for(revision, WAIT).await.unwrap();
        }
    }
}

#[tokio::test]
async fn a_deletion_concerns_those_of_its_last_value() {
    let fixture = fixture(Limits::default()).await;
    fixture.pods.ready().await.unwrap();
    fixture.put("pods/a/x", "1").await;
    fixture.put("pods/a/x", "2").await;
    fixture.pods.wait_for_current(WAIT).await.unwrap();
    let (mut old, mut last) = (watch(&fixture, value("1")), watch(&fixture, value("2")));
    fixture.delete("pods/a/x").await;
    assert_eq!(changes(&mut last).await, ["-a/x"]);
    assert!(old.try_next().is_none());
}

#[tokio::test]
async fn a_watch_that_nothing_concerns_does_not_expire_however_much_else_changes() {
    let fixture = fixture(Limits { changes: 8, bytes: 1 << 20 }).await;
    fixture.pods.ready().await.unwrap();
    let interests = || [key("b/x"), namespace("b"), value("mine")];
    let mut quiet = interests().map(|interest| watch(&fixture, interest));
    let mut reading = interests().map(|interest| watch(&fixture, interest));
    let mut late = interests().map(|interest| watch(&fixture, interest));
    let mut everything = watch(&fixture, Interest::Everything);
    let mine = fixture.put("pods/b/x", "mine").await;
    fixture.pods.wait_for(mine, WAIT).await.unwrap();
    for cursor in quiet.iter_mut().chain(&mut reading) {
        assert_eq!(changes(cursor).await, ["+b/x"]);
    }
    for round in 0..50 {
        fixture.put("pods/a/x", &round.to_string()).await;
    }
    let last = fixture.pods.wait_for_current(WAIT).await.unwrap();
    assert!(matches!(everything.try_next(), Some(Next::Expired)));
    for cursor in &mut quiet {
        assert_eq!(cursor.progress(), Some(last));
        assert!(cursor.try_next().is_none());
    }
    // Cursors that have not read the changes that concerned them, and cannot any more, expire.
    for cursor in &mut late {
        assert_eq!(cursor.progress(), None);
        assert!(matches!(cursor.try_next(), Some(Next::Expired)));
    }
    fixture.put("pods/b/x", "mine").await;
    for cursor in quiet.iter_mut().chain(&mut reading) {
        assert_eq!(changes(cursor).await, ["+b/x"]);
    }
}

#[tokio::test]
async fn a_watch_from_the_past_sees_what_concerned_it_since_also_where_others_watch_the_same() {
    let fixture = fixture(Limits::default()).await;
    fixture.pods.ready().await.unwrap();
    let start = fixture.pods.snapshot().unwrap().revision;
    for name in ["a/1", "b/1", "a/2", "b/2", "a/3"] {
        fixture.put(&format!("pods/{name}"), "1").await;
    }
    let middle = start + 3;
    fixture.pods.wait_for_current(WAIT).await.unwrap();
    let mut now = watch(&fixture, namespace("a"));
    let mut halfway = fixture.pods.watch(middle, namespace("a")).unwrap();
    let mut from_start = fixture.pods.watch(start, namespace("a")).unwrap();
    let mut again = fixture.pods.watch(middle, namespace("a")).unwrap();
    fixture.put("pods/a/4", "1").await;
    fixture.pods.wait_for_current(WAIT).await.unwrap();
    assert_eq!(changes(&mut now).await, ["+a/4"]);
    assert_eq!(changes(&mut halfway).await, ["+a/3", "+a/4"]);
    assert_eq!(changes(&mut from_start).await, ["+a/1", "+a/2", "+a/3", "+a/4"]);
    assert_eq!(changes(&mut again).await, ["+a/3", "+a/4"]);
    drop((now, halfway, from_start));
    fixture.put("pods/a/5", "1").await;
    assert_eq!(changes(&mut again).await, ["+a/5"]);
    drop(again);
    // Topics of dropped cursors are removed.
    assert!(format!("{:?}", fixture.pods).contains("namespaces: {}"));
}

#[tokio::test]
async fn changes_of_one_transaction_come_together_however_many() {
    let fixture = fixture(Limits::default()).await;
    fixture.pods.ready().await.unwrap();
    let mut cursor = watch(&fixture, Interest::Everything);
    let mut narrow = watch(&fixture, namespace("a"));
    let mut sizes = Vec::new();
    for size in [100, 120, 100, 128, 1] {
        let op = |item: u32| Op::Put {
            key: Bytes::from(format!("/r/pods/a/{item}")),
            value: Bytes::from(size.to_string()),
            lease: None,
        };
        let txn = Txn { then: (0..size).map(op).collect(), ..Txn::default() };
        sizes.push((fixture.store.txn(txn).await.unwrap().revision.0, size as usize));
    }
    fixture.pods.wait_for_current(WAIT).await.unwrap();
    for cursor in [&mut cursor, &mut narrow] {
        let mut seen: Vec<(u64, usize)> = Vec::new();
        while let Some(Next::Changes(changes)) = cursor.try_next() {
            // Never the second half of something.
            assert!(seen.last().is_none_or(|(last, _)| *last < changes[0].revision));
            for change in changes {
                match seen.last_mut() {
                    Some((revision, count)) if *revision == change.revision => *count += 1,
                    _ => seen.push((change.revision, 1)),
                }
            }
        }
        assert_eq!(seen, sizes);
    }
}

#[tokio::test]
async fn a_watch_may_begin_at_a_revision_that_lies_ahead() {
    let fixture = fixture(Limits::default()).await;
    fixture.pods.ready().await.unwrap();
    let now = fixture.pods.snapshot().unwrap().revision;
    for interest in [Interest::Everything, namespace("a")] {
        let mut cursor = fixture.pods.watch(now + 2, interest).unwrap();
        assert_eq!(cursor.progress(), None);
    }
    let mut cursor = fixture.pods.watch(now + 2, namespace("a")).unwrap();
    for name in ["a/1", "a/2", "a/3"] {
        fixture.put(&format!("pods/{name}"), "1").await;
    }
    assert_eq!(changes(&mut cursor).await, ["+a/3"]);
    assert_eq!(cursor.progress(), Some(now + 3));
}

#[derive(Clone, Debug)]
enum Step {
    Put(u8, u8),
    Delete(u8),
    Several(Vec<(u8, u8)>),
    Elsewhere,
    Watch(Interest, u8),
    Read(u8),
    Progress(u8),
    Leave(u8),
}

fn interests() -> impl Strategy<Value = Interest> {
    prop_oneof![
        Just(Interest::Everything),
        (0u8..3).prop_map(|n| namespace(&n.to_string())),
        (0u8..9).prop_map(|n| key(&name(n))),
        (0u8..3).prop_map(|n| value(&n.to_string())),
    ]
}

fn steps() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0u8..9, 0u8..3).prop_map(|(key, value)| Step::Put(key, value)),
        2 => (0u8..9).prop_map(Step::Delete),
        1 => prop::collection::vec((0u8..9, 0u8..4), 1..5).prop_map(Step::Several),
        1 => Just(Step::Elsewhere),
        2 => (interests(), 0u8..12).prop_map(|(interest, back)| Step::Watch(interest, back)),
        3 => any::<u8>().prop_map(Step::Read),
        3 => any::<u8>().prop_map(Step::Progress),
        1 => any::<u8>().prop_map(Step::Leave),
    ]
}

/// Nine objects in three namespaces.
fn name(number: u8) -> String {
    format!("{}/{}", number / 3, number % 3)
}

/// A change as it was written: revision, key, value before and after.
type Happened = (u64, String, Option<String>, Option<String>);

fn concerns(interest: &Interest, (_, key, before, after): &Happened) -> bool {
    match interest {
        Interest::Everything => true,
        Interest::Namespace(name) => key.starts_with(&format!("{name}/")),
        Interest::Key(one) => **one == **key,
        Interest::Field(_, value) => [before, after].into_iter().flatten().any(|has| has == value),
    }
}

/// A cursor, and what the model knows of it.
struct Watcher {
    cursor: Cursor,
    /// Everything that happened before this was read or is before its start.
    read: usize,
    bookmark: u64,
}

const KEPT: usize = 10;

async fn run(all: Vec<Step>) -> Result<(), TestCaseError> {
    let fixture = fixture(Limits { changes: KEPT, bytes: 1 << 20 }).await;
    fixture.pods.ready().await.unwrap();
    let start = fixture.pods.snapshot().unwrap().revision;
    let mut now = std::collections::BTreeMap::<String, String>::new();
    let mut happened: Vec<Happened> = Vec::new();
    let (mut revision, mut watchers) = (start, Vec::<Watcher>::new());
    for step in all {
        let ops: Vec<(String, Option<String>)> = match step {
            Step::Put(key, value) => vec![(name(key), Some(value.to_string()))],
            Step::Delete(key) => vec![(name(key), None)],
            Step::Several(all) => {
                let all: std::collections::BTreeMap<_, _> = all.into_iter().collect();
                let value = |value: u8| (value < 3).then(|| value.to_string());
                all.into_iter().map(|(key, to)| (name(key), value(to))).collect()
            }
            Step::Elsewhere => {
                revision = fixture.put("other/x", "").await;
                fixture.pods.wait_for(revision, WAIT).await.unwrap();
                continue;
            }
            Step::Watch(interest, back) => {
                let after = revision.saturating_sub(u64::from(back)).max(start);
                let oldest = happened.len().checked_sub(KEPT + 1).map_or(start, |gone| happened[gone].0);
                let cursor = fixture.pods.watch(after, interest);
                prop_assert_eq!(cursor.is_ok(), after >= oldest);
                if let Ok(cursor) = cursor {
                    let read = happened.partition_point(|(revision, ..)| *revision <= after);
                    watchers.push(Watcher { cursor, read, bookmark: 0 });
                }
                continue;
            }
            Step::Read(which) | Step::Progress(which) | Step::Leave(which) if watchers.is_empty() => {
                let _ = which;
                continue;
            }
            Step::Leave(which) => {
                watchers.swap_remove(usize::from(which) % watchers.len());
                continue;
            }
            Step::Read(which) | Step::Progress(which) => {
                let which = usize::from(which) % watchers.len();
                let Watcher { cursor, read, bookmark } = &mut watchers[which];
                let interest = cursor.interest().clone();
                let due: Vec<(usize, &Happened)> = happened
                    .iter()
                    .enumerate()
                    .skip(*read)
                    .filter(|(_, one)| concerns(&interest, one))
                    .collect();
                let gone = happened.len().saturating_sub(KEPT);
                let is_lost = due.iter().any(|(place, _)| *place < gone);
                if matches!(step, Step::Progress(_)) {
                    let progress = cursor.progress();
                    prop_assert_eq!(progress, due.is_empty().then_some(revision), "{:?}", interest);
                    *bookmark = progress.unwrap_or(*bookmark);
                    continue;
                }
                match cursor.try_next() {
                    Some(Next::Expired) => {
                        prop_assert!(is_lost, "{:?} expired without reason", interest);
                        watchers.swap_remove(which);
                    }
                    None => prop_assert!(due.is_empty(), "{:?} missed {:?}", interest, due),
                    Some(Next::Changes(changes)) => {
                        prop_assert!(!is_lost);
                        let seen: Vec<_> = changes
                            .iter()
                            .map(|change| {
                                let text = |entry: &pintle_cache::Entry| {
                                    String::from_utf8_lossy(entry.stored()).into_owned()
                                };
                                let before = change.previous.as_deref().map(text);
                                let after = (!change.deleted).then(|| text(&change.entry));
                                (change.revision, change.entry.key().to_owned(), before, after)
                            })
                            .collect();
                        let due: Vec<_> = due.into_iter().map(|(_, one)| one.clone()).collect();
                        prop_assert_eq!(&seen, &due, "{:?}", interest);
                        prop_assert!(seen[0].0 > *bookmark, "{:?}: a bookmark overtook a change", interest);
                        *read = happened.len();
                    }
                }
                continue;
            }
        };
        let op = |(own, to): &(String, Option<String>)| {
            let key = Bytes::from(format!("/r/pods/{own}"));
            match to {
                Some(value) => Op::Put { key, value: value.clone().into(), lease: None },
                None => Op::Delete { key },
            }
        };
        let txn = Txn { then: ops.iter().map(op).collect(), ..Txn::default() };
        revision = fixture.store.txn(txn).await.unwrap().revision.0;
        for (key, to) in ops {
            let before = match &to {
                Some(value) => now.insert(key.clone(), value.clone()),
                None => now.remove(&key),
            };
            if before.is_some() || to.is_some() {
                happened.push((revision, key, before, to));
            }
        }
        fixture.pods.wait_for(revision, WAIT).await.unwrap();
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]
    #[test]
    fn each_cursor_gets_exactly_what_concerns_it_in_order_and_bookmarks_never_overtake(
        all in prop::collection::vec(steps(), 1..150),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(run(all))?;
    }
}
