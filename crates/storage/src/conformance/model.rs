//! Random operations on the store and on a plain map of revisions, which must agree.
//!
//! `PINTLE_CONFORMANCE_CASES` sets how many sequences are tried.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use super::Capabilities;
use super::support::{Store, bytes, next};
use crate::{
    Compare, Error, Event, KeyValue, Op, RangeRequest, Revision, Txn, TxnResult, WatchItem, WatchRequest,
    WatchStream,
};

const KEYS: u8 = 6;

#[derive(Clone, Debug)]
enum Step {
    /// Comparisons are right or stale; a change is a value or a deletion. Keys may repeat, which is refused.
    Txn {
        compare: Vec<(u8, bool)>,
        changes: Vec<(u8, Option<u8>)>,
        read: Vec<u8>,
    },
    /// `back` counts revisions from the newest; a negative one lies ahead.
    Get {
        key: u8,
        back: i64,
    },
    Range {
        narrow: bool,
        from: Option<u8>,
        limit: usize,
        back: Option<i64>,
    },
    Count {
        narrow: bool,
    },
    Compact {
        back: i64,
    },
    Watch {
        narrow: bool,
        back: i64,
        prev: bool,
    },
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let key = 0..KEYS;
    let compare = prop::collection::vec((key.clone(), prop::bool::weighted(0.8)), 0..2);
    let changes = prop::collection::vec((key.clone(), prop::option::weighted(0.7, any::<u8>())), 0..4);
    let read = prop::collection::vec(key.clone(), 0..3);
    let back = -2i64..30;
    let step = prop_oneof![
        10 => (compare, changes, read).prop_map(|(compare, changes, read)| Step::Txn { compare, changes, read }),
        3 => (key.clone(), back.clone()).prop_map(|(key, back)| Step::Get { key, back }),
        3 => (any::<bool>(), prop::option::of(key), 0usize..5, prop::option::of(back.clone()))
            .prop_map(|(narrow, from, limit, back)| Step::Range { narrow, from, limit, back }),
        1 => any::<bool>().prop_map(|narrow| Step::Count { narrow }),
        1 => (-1i64..20).prop_map(|back| Step::Compact { back }),
        2 => (any::<bool>(), back, any::<bool>()).prop_map(|(narrow, back, prev)| Step::Watch { narrow, back, prev }),
    ];
    prop::collection::vec(step, 1..50)
}

type State = BTreeMap<Bytes, KeyValue>;

/// The plain map of revisions, for the keys under one prefix of the store.
struct Model<'a> {
    prefix: String,
    /// The state at each revision since this sequence began. Before the first, nothing was there.
    states: BTreeMap<Revision, State>,
    /// The changes of each revision, with previous values.
    events: BTreeMap<Revision, Vec<Event>>,
    /// Of the whole store, so it outlives a sequence.
    compacted: &'a Cell<Revision>,
    /// The revisions of this sequence up to which the store was compacted.
    compactions: BTreeSet<Revision>,
    capabilities: Capabilities,
}

impl Model<'_> {
    fn key(&self, key: u8) -> Bytes {
        bytes(format!("{}{}/{}", self.prefix, if key < KEYS / 2 { 'a' } else { 'b' }, key))
    }

    fn prefix(&self, narrow: bool) -> Bytes {
        bytes(if narrow { format!("{}b/", self.prefix) } else { self.prefix.clone() })
    }

    fn newest(&self) -> Revision {
        *self.states.last_key_value().expect("the first state is always there").0
    }

    fn back(&self, back: i64) -> Revision {
        Revision((self.newest().0 as i64 - back).max(1) as u64)
    }

    fn state(&self, at: Revision) -> State {
        self.states.range(..=at).next_back().map(|(_, state)| state.clone()).unwrap_or_default()
    }

    /// Whether a read at this revision must fail.
    fn readable(&self, at: Option<Revision>) -> Result<Revision, &'static str> {
        match at {
            Some(at) if at < self.compacted.get() => Err("compacted"),
            Some(at) if at > self.newest() => Err("future"),
            at => Ok(at.unwrap_or(self.newest())),
        }
    }

    fn apply(&mut self, ops: &[Op]) -> Revision {
        let (mut state, revision) = (self.state(self.newest()), self.newest().next());
        let mut events = Vec::new();
        for op in ops {
            let prev = state.remove(op.key());
            match op {
                Op::Put { key, value, lease } => {
                    let create_revision = prev.as_ref().map_or(revision, |kv| kv.create_revision);
                    let (key, value) = (key.clone(), value.clone());
                    let kv = KeyValue {
                        key,
                        value,
                        create_revision,
                        mod_revision: revision,
                        lease: *lease,
                        stale: false,
                    };
                    state.insert(kv.key.clone(), kv.clone());
                    events.push(Event::Put { kv, prev });
                }
                Op::Delete { key } if prev.is_some() => {
                    events.push(Event::Delete { key: key.clone(), revision, prev });
                }
                Op::Delete { .. } => {}
            }
        }
        if events.is_empty() {
            return self.newest();
        }
        self.states.insert(revision, state);
        self.events.insert(revision, events);
        revision
    }

    /// Returns the part of a change that every watch delivers.
    fn certain(&self, revision: Revision, mut events: Vec<Event>) -> Option<(Revision, Vec<Event>)> {
        if !self.capabilities.last_deletions && self.compactions.contains(&revision) {
            events.retain(|event| matches!(event, Event::Put { .. }));
        }
        (!events.is_empty()).then_some((revision, events))
    }

    /// Returns the events that a watch must deliver from `from` on.
    fn expected(&self, prefix: &[u8], from: Revision, prev: bool) -> Vec<(Revision, Vec<Event>)> {
        let visible = |(revision, events): (&Revision, &Vec<Event>)| {
            let mut events: Vec<_> =
                events.iter().filter(|event| event.key().starts_with(prefix)).cloned().collect();
            if !prev {
                events.iter_mut().for_each(forget_prev);
            }
            (*revision, events)
        };
        self.events.range(from..).map(visible).filter(|(_, events)| !events.is_empty()).collect()
    }
}

fn forget_prev(event: &mut Event) {
    match event {
        Event::Put { prev, .. } | Event::Delete { prev, .. } => *prev = None,
        Event::Unreadable(_) => {}
    }
}

fn kind(error: &Error) -> &'static str {
    match error {
        Error::Compacted { .. } => "compacted",
        Error::FutureRevision { .. } => "future",
        error => panic!("unexpected error: {error}"),
    }
}

struct Watch {
    prefix: Bytes,
    from: Revision,
    prev: bool,
    stream: WatchStream,
}

impl Watch {
    /// Reads to the end of the sequence. A later compaction may have taken away what was not delivered yet.
    async fn check(mut self, model: &Model<'_>, end: Revision) {
        let expected = model.expected(&self.prefix, self.from, self.prev).into_iter();
        let mut expected = expected.filter_map(|(revision, events)| model.certain(revision, events));
        let mut position = self.from;
        loop {
            match next(&mut self.stream).await {
                Ok(WatchItem::Progress(_)) => {}
                Ok(WatchItem::Changes { revision, events }) => {
                    let Some((_, mut events)) = model.certain(revision, events) else { continue };
                    let (due, mut changes) = expected.next().expect("an event that nobody wrote");
                    if revision <= model.compacted.get() {
                        events.iter_mut().chain(&mut changes).for_each(forget_prev);
                    }
                    assert_eq!((revision, events), (due, changes), "watch from {}", self.from);
                    position = revision.next();
                    if revision == end {
                        return;
                    }
                }
                Err(error) => {
                    assert_eq!(kind(&error), "compacted");
                    assert!(position <= model.compacted.get(), "{error}, but {position} is there");
                    return;
                }
            }
        }
    }
}

async fn transact(
    store: &Store,
    model: &mut Model<'_>,
    compare: &[(u8, bool)],
    changes: &[(u8, Option<u8>)],
    read: &[u8],
) {
    let state = model.state(model.newest());
    let current = |key: &Bytes| state.get(key).map_or(Revision::ZERO, |kv| kv.mod_revision);
    let compare: Vec<_> = compare
        .iter()
        .map(|(key, right)| {
            let key = model.key(*key);
            let now = current(&key);
            Compare { mod_revision: if *right { now } else { now.next() }, key }
        })
        .collect();
    let holds = compare.iter().all(|compare| current(&compare.key) == compare.mod_revision);
    let then: Vec<_> = changes
        .iter()
        .map(|(key, value)| match value {
            Some(value) => Op::Put { key: model.key(*key), value: bytes(value.to_string()), lease: None },
            None => Op::Delete { key: model.key(*key) },
        })
        .collect();
    let twice = (1..then.len()).any(|i| then[..i].iter().any(|op| op.key() == then[i].key()));
    let otherwise: Vec<_> = read.iter().map(|key| model.key(*key)).collect();
    let done = store.txn(Txn { compare, then: then.clone(), otherwise: otherwise.clone() }).await;
    if twice {
        assert!(matches!(done, Err(Error::InvalidArgument(_))), "{done:?}");
        return;
    }
    let expected = if holds {
        TxnResult { succeeded: true, revision: model.apply(&then), read: Vec::new(), written: Vec::new() }
    } else {
        let read = otherwise.iter().map(|key| state.get(key).cloned()).collect();
        TxnResult { succeeded: false, revision: model.newest(), read, written: Vec::new() }
    };
    assert_eq!(done, Ok(expected));
}

async fn read_range(
    store: &Store,
    model: &Model<'_>,
    prefix: Bytes,
    from: Option<Bytes>,
    limit: usize,
    at: Option<Revision>,
) {
    let found = store.range(RangeRequest { prefix: prefix.clone(), from: from.clone(), limit, at }).await;
    match model.readable(at) {
        Err(expected) => assert_eq!(kind(&found.unwrap_err()), expected),
        Ok(at) => {
            let found = found.unwrap();
            let first = from.unwrap_or(prefix.clone());
            let state = model.state(at);
            let all = state.values().filter(|kv| kv.key.starts_with(&prefix) && kv.key >= first);
            let all: Vec<_> = all.cloned().collect();
            let taken = if limit == 0 { all.len() } else { limit.min(all.len()) };
            assert_eq!(found.kvs, all[..taken]);
            assert_eq!(found.remaining, (all.len() - taken) as u64);
            assert_eq!(found.revision, model.newest());
        }
    }
}

async fn open_watch(store: &Store, model: &Model<'_>, narrow: bool, back: i64, prev: bool) -> Option<Watch> {
    // At the compacted revision itself a store may have forgotten a deletion, so nothing is promised there.
    let from = match model.back(back) {
        from if from == model.compacted.get() => from.next(),
        from => from,
    };
    let prefix = model.prefix(narrow);
    let opened = store.watch(WatchRequest { prefix: prefix.clone(), from, prev, progress: false }).await;
    if from < model.compacted.get() {
        let error = match opened {
            Ok(mut stream) => next(&mut stream).await.expect_err("its history is gone"),
            Err(error) => error,
        };
        assert_eq!(kind(&error), "compacted");
        return None;
    }
    Some(Watch { prefix, from, prev, stream: opened.expect("watch") })
}

/// Runs one sequence under a prefix of its own.
async fn run(
    store: &Store,
    capabilities: Capabilities,
    prefix: String,
    compacted: &Cell<Revision>,
    steps: &[Step],
) {
    let start = store.current_revision().await.expect("current_revision");
    let states = BTreeMap::from([(start, State::new())]);
    let mut model = Model {
        prefix,
        states,
        events: BTreeMap::new(),
        compacted,
        compactions: BTreeSet::new(),
        capabilities,
    };
    let mut watches = Vec::new();
    for step in steps {
        match step {
            Step::Txn { compare, changes, read } => transact(store, &mut model, compare, changes, read).await,
            Step::Get { key, back } => {
                let (key, at) = (model.key(*key), model.back(*back));
                let found = store.get(&key, Some(at)).await;
                match model.readable(Some(at)) {
                    Err(expected) => assert_eq!(kind(&found.unwrap_err()), expected),
                    Ok(at) => {
                        assert_eq!(found.unwrap(), (model.state(at).get(&key).cloned(), model.newest()));
                    }
                }
            }
            Step::Range { narrow, from, limit, back } => {
                // `from` must lie at or after the prefix.
                let from = from.map(|key| model.key(if *narrow { key.max(KEYS / 2) } else { key }));
                let at = back.map(|back| model.back(back));
                read_range(store, &model, model.prefix(*narrow), from, *limit, at).await;
            }
            Step::Count { narrow } => {
                let prefix = model.prefix(*narrow);
                let expected =
                    model.state(model.newest()).keys().filter(|key| key.starts_with(&prefix)).count();
                assert_eq!(store.count(&prefix).await.expect("count"), expected as u64);
            }
            Step::Compact { back } => {
                let revision = model.back(*back);
                let done = store.compact(revision).await;
                if revision > model.newest() {
                    assert_eq!(kind(&done.unwrap_err()), "future");
                } else {
                    done.expect("compact");
                    model.compacted.set(model.compacted.get().max(revision));
                    model.compactions.insert(revision);
                }
            }
            Step::Watch { narrow, back, prev } => {
                watches.extend(open_watch(store, &model, *narrow, *back, *prev).await);
            }
        }
    }
    // A last change in both folders gives every watch an end to wait for.
    let last = [0, KEYS - 1].map(|key| Op::Put { key: model.key(key), value: bytes("end"), lease: None });
    let end =
        store.txn(Txn { then: last.to_vec(), ..Txn::default() }).await.expect("the last change").revision;
    assert_eq!(model.apply(&last), end);
    for watch in watches {
        // One that starts ahead of the last change has nothing to wait for.
        if watch.from <= end {
            watch.check(&model, end).await;
        }
    }
}

pub async fn random_operations_agree_with_a_model(store: Store, capabilities: Capabilities) {
    let cases =
        std::env::var("PINTLE_CONFORMANCE_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(24);
    let config = Config { cases, failure_persistence: None, max_shrink_iters: 200, ..Config::default() };
    let runtime = tokio::runtime::Handle::current();
    // The store stays the same, so each sequence gets a prefix of its own.
    let (number, compacted) = (Cell::new(0), Cell::new(Revision::ZERO));
    let outcome = tokio::task::block_in_place(|| {
        TestRunner::new(config).run(&steps(), |steps| {
            number.set(number.get() + 1);
            let prefix = format!("/model/{:04}/", number.get());
            runtime.block_on(run(&store, capabilities, prefix, &compacted, &steps));
            Ok(())
        })
    });
    if let Err(failure) = outcome {
        panic!("{failure}");
    }
}
