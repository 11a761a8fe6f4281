//! The memory that matches need, kept from one match to the next and bounded for all patterns together.
//!
//! A definition of 1.5 MB has room for some 30,000 patterns, and a matcher may take megabytes for each. So no more than
//! [`MOST_BYTES`] rest at a time: beyond that the memory of the pattern that came first is given back.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use regex_automata::meta::Cache;

/// Bytes that rest at most, of all patterns.
pub(super) const MOST_BYTES: usize = 64 << 20;

/// Memory of one match that is too much to be kept.
const LARGE_BYTES: usize = MOST_BYTES / 2;

/// All memory that is kept. Locked before that of a pattern, never after it.
static KEPT: Mutex<Kept> = Mutex::new(Kept { next: 0, bytes: 0, patterns: BTreeMap::new() });

struct Kept {
    next: u64,
    /// Sum over all patterns, also of memory that a match has taken.
    bytes: usize,
    /// In the order in which they came.
    patterns: BTreeMap<u64, Weak<Memory>>,
}

/// The memory of one pattern's matches: one part for each that ran at the same time.
#[derive(Default)]
pub(super) struct Memory(Mutex<State>);

#[derive(Default)]
struct State {
    resting: Vec<Part>,
    /// The pattern's number in [`Kept::patterns`] while it is there.
    number: Option<u64>,
}

/// The memory of a match.
pub(super) struct Part {
    pub(super) cache: Cache,
    /// Its size as it is counted.
    bytes: usize,
}

impl Memory {
    /// Returns memory for one match, new if none rests.
    pub(super) fn take(&self, new: impl FnOnce() -> Cache) -> Part {
        let resting = lock(&self.0).resting.pop();
        resting.unwrap_or_else(|| Part { cache: new(), bytes: 0 })
    }

    /// Keeps memory for the next match if there is room. It is `least` bytes even where it says less of itself.
    pub(super) fn give_back(self: &Arc<Memory>, mut part: Part, least: usize) {
        let bytes = part.cache.memory_usage().max(part.bytes).max(least);
        {
            let mut state = lock(&self.0);
            if bytes == part.bytes && state.number.is_some() {
                return state.resting.push(part);
            }
        }
        let mut kept = lock(&KEPT);
        kept.bytes -= part.bytes;
        if bytes > LARGE_BYTES {
            return;
        }
        kept.bytes += bytes;
        part.bytes = bytes;
        let mut state = lock(&self.0);
        if state.number.is_none() {
            let number = kept.next;
            kept.next += 1;
            kept.patterns.insert(number, Arc::downgrade(self));
            state.number = Some(number);
        }
        state.resting.push(part);
        drop(state);
        let given_up = kept.make_room();
        drop(kept);
        // A pattern that ends here takes the lock itself.
        drop(given_up);
    }
}

impl Kept {
    /// Takes their memory from patterns until the rest is within the bound.
    fn make_room(&mut self) -> Vec<(Option<Arc<Memory>>, Vec<Part>)> {
        let mut given_up = Vec::new();
        while self.bytes > MOST_BYTES
            && let Some((_, pattern)) = self.patterns.pop_first()
        {
            let pattern = pattern.upgrade();
            let parts = pattern.as_ref().map(|pattern| {
                let mut state = lock(&pattern.0);
                state.number = None;
                std::mem::take(&mut state.resting)
            });
            let parts = parts.unwrap_or_default();
            self.bytes -= parts.iter().map(|part| part.bytes).sum::<usize>();
            given_up.push((pattern, parts));
        }
        given_up
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        let state = self.0.get_mut().unwrap_or_else(PoisonError::into_inner);
        if state.number.is_none() && state.resting.is_empty() {
            return;
        }
        let mut kept = lock(&KEPT);
        kept.bytes -= state.resting.iter().map(|part| part.bytes).sum::<usize>();
        if let Some(number) = state.number {
            kept.patterns.remove(&number);
        }
    }
}

/// Bytes that are kept now.
#[cfg(test)]
pub(super) fn kept_bytes() -> usize {
    lock(&KEPT).bytes
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}
