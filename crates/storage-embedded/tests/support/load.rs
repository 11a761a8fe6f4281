//! A load whose traces can be judged after a crash.
//!
//! Client `c` writes the numbers 1, 2, 3... one transaction each, to two keys at once. It reports a number only after
//! the store acknowledged it. After a crash, both keys must hold the same number, at least the last one reported and
//! at most the last one tried, and the history must have every transaction as it was.

use std::collections::BTreeMap;

use bytes::Bytes;
use pintle_storage::{Backend, Event, Op, Revision, Txn};
use pintle_storage_embedded::Store;

use super::{bytes, get, history};

/// An acknowledged write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ack {
    pub client: u64,
    pub number: u64,
    pub revision: u64,
}

pub fn keys(client: u64) -> [String; 2] {
    [format!("/load/{client:03}/a"), format!("/load/{client:03}/b")]
}

/// Sizes from a few bytes to several pages.
fn payload(client: u64, number: u64) -> Bytes {
    let filler = (client * 7 + number * 13) % 11;
    bytes(format!("{number} {}", "x".repeat((filler * filler * 60) as usize)))
}

fn number(value: &[u8]) -> u64 {
    let text = std::str::from_utf8(value).expect("what was written is text");
    text.split(' ').next().unwrap().parse().expect("what was written starts with its number")
}

/// The transaction of one number: both keys, or every so often a deletion of the second followed by its return.
pub fn txn(client: u64, number: u64) -> Txn {
    let [first, second] = keys(client).map(bytes);
    let value = payload(client, number);
    let first = Op::Put { key: first, value: value.clone(), lease: None };
    let second = if number.is_multiple_of(5) {
        Op::Delete { key: second }
    } else {
        Op::Put { key: second, value, lease: None }
    };
    Txn { then: vec![first, second], ..Txn::default() }
}

/// The last number a client has in the store.
pub async fn last_number(store: &Store, client: u64) -> u64 {
    get(store, &keys(client)[0]).await.map_or(0, |kv| number(&kv.value))
}

/// Checks a store after a crash: its keys, and its history after `since`. `tried` has the last number each client may
/// have sent. Returns the newest revision.
pub async fn check(store: &Store, since: Revision, acks: &[Ack], tried: impl Fn(u64) -> u64) -> Revision {
    let newest = store.current_revision().await.unwrap();
    let seen = history(store, since.next()).await.expect("history after what was seen is there");
    let revisions: Vec<u64> = seen.iter().map(|(revision, _)| revision.0).collect();
    let expected: Vec<u64> = (since.0 + 1..=newest.0).collect();
    assert_eq!(revisions, expected, "every revision once, in order, without gaps");

    let mut last: BTreeMap<u64, u64> = BTreeMap::new();
    let by_revision: BTreeMap<u64, &Vec<Event>> = seen.iter().map(|(at, events)| (at.0, events)).collect();
    for (revision, events) in &seen {
        let (client, number) = whole(*revision, events);
        if let Some(before) = last.insert(client, number) {
            assert_eq!(number, before + 1, "client {client} wrote its numbers in order");
        }
    }
    for ack in acks {
        assert!(ack.revision > since.0, "an acknowledged revision is a new one");
        let events = by_revision.get(&ack.revision).unwrap_or_else(|| panic!("{ack:?} is lost"));
        assert_eq!(whole(Revision(ack.revision), events), (ack.client, ack.number), "{ack:?} is another");
    }
    for (client, number) in last {
        assert!(number <= tried(client), "client {client} never wrote {number}");
        check_keys(store, client, number).await;
    }
    newest
}

/// The keys of a client as its last number left them.
async fn check_keys(store: &Store, client: u64, last: u64) {
    let [first, second] = keys(client);
    assert_eq!(number(&get(store, &first).await.unwrap().value), last);
    let second = get(store, &second).await;
    match last % 5 {
        0 => assert_eq!(second, None, "deleted by number {last}"),
        _ => assert_eq!(number(&second.unwrap().value), last),
    }
}

/// The client and number of a transaction, all of whose changes must be there.
fn whole(revision: Revision, events: &[Event]) -> (u64, u64) {
    let [Event::Put { kv, .. }, second] = events else {
        panic!("revision {revision} is not whole: {events:?}");
    };
    let client = std::str::from_utf8(&kv.key[6..9]).unwrap().parse().unwrap();
    let written = number(&kv.value);
    assert_eq!(kv.value, payload(client, written), "revision {revision} has the value that was written");
    assert_eq!(kv.key, keys(client)[0]);
    assert_eq!(second.key(), keys(client)[1].as_bytes());
    match second {
        Event::Put { kv: other, .. } => assert_eq!(other.value, kv.value),
        Event::Delete { .. } => assert_eq!(written % 5, 0),
        Event::Unreadable(value) => panic!("unreadable: {value:?}"),
    }
    (client, written)
}
