//! Topics: the changes that concern each watch, so that a watch of one namespace, object or node is not woken by other changes.
//!
//! ```text
//! history:  first=41 [ 41:a/x 42:b/y 43:a/z 44:b/y ] end=45
//! topic of namespace b:  numbers [ 42 44 ]  lost=40      38 and 39 concerned it too, and are gone
//! cursor at 45: waits      at 42: reads 42 and 44      at 40: reads the same, since 40 was not of b      at 39: expired
//! ```
//!
//! There is a topic for each interest of a current watch. The invariants, for a topic with `since`, `numbers`, `lost`:
//!
//! - Each change at or after `since` that concerns it is in `numbers` while the history has it. Once it leaves the history,
//!   `lost` is the number after it.
//! - No cursor of the topic is before `since`. So for a cursor at `next`, either `next < lost` and something that it must see
//!   is gone; or what it must see is exactly those of `numbers` from `next` on, however far the history has scrolled. A
//!   cursor that nothing concerns may thus stay where it is for as long as it likes.
//!
//! A change belongs to few topics, found by its key and values, so that the cost of a change grows with the watches that it
//! concerns and not with the others.

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;

use smol_str::SmolStr;

use crate::entry::Entry;
use crate::history::{Change, History};
use crate::subscription::{Notifier, Publisher, Subscription};

/// Which changes a watch must see. It may be wider than what the client asked for, never narrower.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Interest {
    Everything,
    /// Objects whose keys start with this and a slash.
    Namespace(SmolStr),
    /// One object.
    Key(Box<str>),
    /// Objects whose field, by its place in [`crate::Read::fields`], has the value, or had it before the change. What cannot
    /// be read has no values.
    Field(usize, SmolStr),
}

impl Interest {
    pub fn concerns(&self, change: &Change) -> bool {
        match self {
            Interest::Everything => true,
            Interest::Namespace(namespace) => namespace_of(change.entry.key()) == Some(namespace.as_str()),
            Interest::Key(key) => change.entry.key() == &**key,
            Interest::Field(field, value) => {
                let has = |entry: &Entry| entry.field(*field) == Some(value.as_str());
                has(&change.entry) || change.previous.as_deref().is_some_and(has)
            }
        }
    }
}

fn namespace_of(key: &str) -> Option<&str> {
    key.split_once('/').map(|(namespace, _)| namespace)
}

/// The changes that concern one interest, kept while a watch has it.
#[derive(Debug)]
pub(crate) struct Topic {
    numbers: VecDeque<u64>,
    /// Changes before this were not looked at.
    since: u64,
    /// The number after the last change of `numbers` that has left the history.
    lost: u64,
    watchers: usize,
    publisher: Publisher,
}

impl Topic {
    fn new(since: u64) -> Topic {
        Topic { numbers: VecDeque::new(), since, lost: 0, watchers: 0, publisher: Publisher::default() }
    }

    fn push(&mut self, number: u64) {
        // A change may concern a topic by what it is and by what it was.
        if self.numbers.back() != Some(&number) {
            self.numbers.push_back(number);
        }
    }

    fn drop_first(&mut self, number: u64) {
        if self.numbers.front() == Some(&number) {
            self.numbers.pop_front();
            self.lost = number + 1;
        }
    }
}

/// The topics of a resource. Everything is one without numbers of its own: it has those of the history.
#[derive(Debug, Default)]
pub(crate) struct Topics {
    everything: Publisher,
    namespaces: HashMap<SmolStr, Topic>,
    keys: HashMap<Box<str>, Topic>,
    /// By field. Few fields are asked for.
    fields: Vec<(usize, HashMap<SmolStr, Topic>)>,
}

/// The changes that a cursor has to read.
#[derive(Debug)]
pub(crate) enum Pending<'a> {
    /// Changes that it must see are gone.
    Lost,
    /// The numbers of the changes to read.
    Numbers(Numbers<'a>),
}

#[derive(Debug)]
pub(crate) enum Numbers<'a> {
    All(std::ops::Range<u64>),
    Some(std::collections::vec_deque::Iter<'a, u64>),
}

impl Iterator for Numbers<'_> {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        match self {
            Numbers::All(range) => range.next(),
            Numbers::Some(numbers) => numbers.next().copied(),
        }
    }
}

impl Topics {
    /// Takes up a watch that begins at a number, which the history has or will have next.
    pub(crate) fn enter(&mut self, interest: &Interest, next: u64, history: &History) -> Subscription {
        let new = || Topic::new(next);
        let topic = match interest {
            Interest::Everything => return self.everything.subscribe(),
            Interest::Namespace(name) => self.namespaces.entry(name.clone()).or_insert_with(new),
            Interest::Key(key) => self.keys.entry(key.clone()).or_insert_with(new),
            Interest::Field(field, value) => {
                let place = self.fields.iter().position(|(known, _)| known == field).unwrap_or_else(|| {
                    self.fields.push((*field, HashMap::new()));
                    self.fields.len() - 1
                });
                self.fields[place].1.entry(value.clone()).or_insert_with(new)
            }
        };
        let looked_at = if topic.watchers == 0 { history.end() } else { topic.since };
        for number in (next..looked_at).rev() {
            if history.get(number).is_some_and(|change| interest.concerns(change)) {
                topic.numbers.push_front(number);
            }
        }
        topic.since = topic.since.min(next);
        topic.watchers += 1;
        topic.publisher.subscribe()
    }

    pub(crate) fn leave(&mut self, interest: &Interest) {
        fn leave<K: Hash + Eq + std::borrow::Borrow<Q>, Q: Hash + Eq + ?Sized>(
            topics: &mut HashMap<K, Topic>,
            key: &Q,
        ) {
            let Some(topic) = topics.get_mut(key) else { return };
            topic.watchers -= 1;
            if topic.watchers == 0 {
                topics.remove(key);
                if topics.len() < topics.capacity() / 4 {
                    topics.shrink_to_fit();
                }
            }
        }
        match interest {
            Interest::Everything => {}
            Interest::Namespace(name) => leave(&mut self.namespaces, name.as_str()),
            Interest::Key(key) => leave(&mut self.keys, &**key),
            Interest::Field(field, value) => {
                let Some(place) = self.fields.iter().position(|(known, _)| known == field) else { return };
                leave(&mut self.fields[place].1, value.as_str());
                if self.fields[place].1.is_empty() {
                    self.fields.remove(place);
                }
            }
        }
    }

    fn topic(&self, interest: &Interest) -> Option<&Topic> {
        match interest {
            Interest::Everything => None,
            Interest::Namespace(name) => self.namespaces.get(name),
            Interest::Key(key) => self.keys.get(key),
            Interest::Field(field, value) => {
                self.fields.iter().find(|(known, _)| known == field)?.1.get(value)
            }
        }
    }

    /// Returns the changes that a registered watch has to read from a number on.
    pub(crate) fn pending(&self, interest: &Interest, next: u64, history: &History) -> Pending<'_> {
        match self.topic(interest) {
            None if next < history.first() => Pending::Lost,
            None => Pending::Numbers(Numbers::All(next..history.end())),
            Some(topic) if next < topic.lost => Pending::Lost,
            Some(topic) => {
                let read = topic.numbers.partition_point(|number| *number < next);
                Pending::Numbers(Numbers::Some(topic.numbers.range(read..)))
            }
        }
    }

    /// Each topic of a change, some of them twice.
    fn each(&mut self, change: &Change, mut to: impl FnMut(&mut Topic)) {
        if let Some(topic) = self.keys.get_mut(change.entry.key()) {
            to(topic);
        }
        if let Some(topic) = namespace_of(change.entry.key()).and_then(|name| self.namespaces.get_mut(name)) {
            to(topic);
        }
        for (field, topics) in &mut self.fields {
            for entry in [Some(&change.entry), change.previous.as_ref()].into_iter().flatten() {
                if let Some(topic) = entry.field(*field).and_then(|value| topics.get_mut(value)) {
                    to(topic);
                }
            }
        }
    }

    /// Records a change that was added to the history; the bells of the topics that it concerns go into `wake`.
    pub(crate) fn added(&mut self, number: u64, change: &Change, wake: &mut Wake) {
        wake.everything.get_or_insert_with(|| self.everything.notifier());
        self.each(change, |topic| {
            topic.push(number);
            wake.topics.push(topic.publisher.notifier());
        });
    }

    /// Notes that a change has left the history.
    pub(crate) fn dropped(&mut self, number: u64, change: &Change) {
        self.each(change, |topic| topic.drop_first(number));
    }
}

/// The notifiers of the topics that changes concern. They are called after the lock is released, so that no watch is woken
/// only to wait for it.
#[derive(Debug, Default)]
pub(crate) struct Wake {
    everything: Option<Notifier>,
    topics: Vec<Notifier>,
}

impl Wake {
    pub(crate) fn wake(self) {
        self.everything.iter().chain(&self.topics).for_each(Notifier::notify);
    }
}
