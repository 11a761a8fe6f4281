//! The requests of a priority level, in a slab whose places are reused, so that a request that does not wait allocates nothing here.
//! Lists of waiting requests are linked through the entries, so that one that gives up is taken out at once.

use std::sync::Arc;
use std::task::Waker;

use super::Phase;
use crate::matching::Schema;
use crate::spec::Distinguisher;
use crate::work::SeatSeconds;
use crate::{Describe, WorkEstimate};

/// The place of a request in the slab. Its [`crate::Ticket`] owns it.
pub(crate) type Key = u32;

/// No place.
pub(crate) const NONE: u32 = u32::MAX;

/// A request that executes, waits, or has given its seats back for a while.
pub(crate) struct Entry {
    pub(crate) phase: Phase,
    /// The index of its queue; [`NONE`] if it came while the level had none.
    pub(crate) queue: u32,
    previous: Key,
    next: Key,
    pub(crate) estimate: WorkEstimate,
    /// The work that its queue pays when the request goes on: all of its work, or the initial part if the rest is paid.
    pub(crate) work: SeatSeconds,
    /// Virtual time of its arrival in the queue.
    pub(crate) arrival_r: SeatSeconds,
    /// Nanoseconds since the start of the clock: of its arrival, of the first moment that it executed, and of the last.
    pub(crate) arrival: u64,
    pub(crate) began: Option<u64>,
    pub(crate) started: u64,
    pub(crate) schema: Arc<Schema>,
    pub(crate) distinguisher: Option<Distinguisher>,
    pub(crate) description: Box<dyn Describe>,
    pub(crate) waker: Option<Waker>,
}

/// A request that arrives.
pub(crate) struct NewRequest {
    pub(crate) estimate: WorkEstimate,
    pub(crate) schema: Arc<Schema>,
    pub(crate) description: Box<dyn Describe>,
}

impl Entry {
    pub(super) fn new(request: NewRequest, phase: Phase, queue: u32, now: u64) -> Entry {
        Entry {
            phase,
            queue,
            previous: NONE,
            next: NONE,
            estimate: request.estimate,
            work: SeatSeconds::ZERO,
            arrival_r: SeatSeconds::ZERO,
            arrival: now,
            began: None,
            started: now,
            distinguisher: request.schema.distinguisher,
            schema: request.schema,
            description: request.description,
            waker: None,
        }
    }

    pub(crate) fn seats(&self) -> usize {
        self.estimate.max_seats()
    }
}

/// All requests of a priority level.
#[derive(Default)]
pub(crate) struct Entries {
    places: Vec<Place>,
    /// The first vacant place.
    vacant: Option<u32>,
}

enum Place {
    Taken(Entry),
    Vacant(Option<u32>),
}

impl Entries {
    pub(super) fn insert(&mut self, entry: Entry) -> Key {
        match self.vacant {
            Some(key) => {
                let place = std::mem::replace(&mut self.places[key as usize], Place::Taken(entry));
                self.vacant = match place {
                    Place::Vacant(next) => next,
                    Place::Taken(_) => None,
                };
                key
            }
            None => {
                self.places.push(Place::Taken(entry));
                (self.places.len() - 1) as Key
            }
        }
    }

    pub(super) fn remove(&mut self, key: Key) -> Option<Entry> {
        let place = self.places.get_mut(key as usize)?;
        if matches!(place, Place::Vacant(_)) {
            return None;
        }
        let Place::Taken(entry) = std::mem::replace(place, Place::Vacant(self.vacant)) else { return None };
        self.vacant = Some(key);
        Some(entry)
    }

    pub(crate) fn at(&self, key: Key) -> Option<&Entry> {
        match self.places.get(key as usize) {
            Some(Place::Taken(entry)) => Some(entry),
            _ => None,
        }
    }

    pub(crate) fn at_mut(&mut self, key: Key) -> Option<&mut Entry> {
        match self.places.get_mut(key as usize) {
            Some(Place::Taken(entry)) => Some(entry),
            _ => None,
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Entry> {
        self.places.iter().filter_map(|place| match place {
            Place::Taken(entry) => Some(entry),
            Place::Vacant(_) => None,
        })
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Entry> {
        self.places.iter_mut().filter_map(|place| match place {
            Place::Taken(entry) => Some(entry),
            Place::Vacant(_) => None,
        })
    }
}

/// A list of requests in order of arrival.
#[derive(Clone, Copy, Debug)]
pub(crate) struct List {
    first: Key,
    last: Key,
    length: usize,
}

impl Default for List {
    fn default() -> List {
        List { first: NONE, last: NONE, length: 0 }
    }
}

impl List {
    pub(crate) fn len(&self) -> usize {
        self.length
    }

    pub(super) fn is_empty(&self) -> bool {
        self.length == 0
    }

    pub(super) fn first(&self) -> Option<Key> {
        (self.first != NONE).then_some(self.first)
    }

    pub(super) fn push(&mut self, entries: &mut Entries, key: Key) {
        if let Some(entry) = entries.at_mut(key) {
            (entry.previous, entry.next) = (self.last, NONE);
        }
        match entries.at_mut(self.last) {
            Some(last) => last.next = key,
            None => self.first = key,
        }
        self.last = key;
        self.length += 1;
    }

    pub(super) fn remove(&mut self, entries: &mut Entries, key: Key) {
        let Some(entry) = entries.at_mut(key) else { return };
        let (previous, next) = (entry.previous, entry.next);
        (entry.previous, entry.next) = (NONE, NONE);
        match entries.at_mut(previous) {
            Some(before) => before.next = next,
            None => self.first = next,
        }
        match entries.at_mut(next) {
            Some(after) => after.previous = previous,
            None => self.last = previous,
        }
        self.length -= 1;
    }

    pub(crate) fn iter<'e>(&self, entries: &'e Entries) -> impl Iterator<Item = &'e Entry> + use<'e> {
        let first = entries.at(self.first);
        std::iter::successors(first, |entry| entries.at(entry.next))
    }
}
