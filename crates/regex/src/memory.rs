//! Memory of matches, kept from one match to the next and limited over all patterns.
//!
//! A CustomResourceDefinition of 1.5 MB can have some 30,000 patterns, and a match may need megabytes. So at most
//! [`MOST_BYTES`] are kept: beyond that the memory of the pattern that was registered first is freed.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use regex_automata::meta::Cache;

/// Limit of the kept memory of all patterns.
pub(super) const MOST_BYTES: usize = 64 << 20;

/// Memory of one match above which it is not kept.
const LARGE_BYTES: usize = MOST_BYTES / 2;

/// All kept memory. Locked before a pattern's memory, never after it.
static BUDGET: Mutex<MemoryBudget> =
    Mutex::new(MemoryBudget { next: 0, bytes: 0, patterns: BTreeMap::new() });

struct MemoryBudget {
    next: u64,
    /// Sum over all patterns, also of memory that a match has taken.
    bytes: usize,
    /// In the order of registration.
    patterns: BTreeMap<u64, Weak<Memory>>,
}

/// Memory of one pattern's matches: one part per concurrent match.
#[derive(Default)]
pub(super) struct Memory(Mutex<State>);

#[derive(Default)]
struct State {
    kept_parts: Vec<Part>,
    /// The pattern's number in [`MemoryBudget::patterns`] while it is there.
    number: Option<u64>,
}

/// Memory of one match.
pub(super) struct Part {
    pub(super) cache: Cache,
    /// Counted size.
    bytes: usize,
}

impl Memory {
    /// Returns memory for one match, new if none is kept.
    pub(super) fn take(&self, new: impl FnOnce() -> Cache) -> Part {
        let kept_parts = lock(&self.0).kept_parts.pop();
        kept_parts.unwrap_or_else(|| Part { cache: new(), bytes: 0 })
    }

    /// Keeps memory for the next match within the limits. It counts as `least` bytes or more.
    pub(super) fn give_back(self: &Arc<Memory>, mut part: Part, least: usize) {
        let bytes = part.cache.memory_usage().max(part.bytes).max(least);
        {
            let mut state = lock(&self.0);
            if bytes == part.bytes && state.number.is_some() {
                return state.kept_parts.push(part);
            }
        }
        let mut kept = lock(&BUDGET);
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
        state.kept_parts.push(part);
        drop(state);
        let given_up = kept.make_room();
        drop(kept);
        // The last reference to a pattern may be dropped here, which takes the lock.
        drop(given_up);
    }
}

impl MemoryBudget {
    /// Takes memory from patterns until the rest is within the limit.
    fn make_room(&mut self) -> Vec<(Option<Arc<Memory>>, Vec<Part>)> {
        let mut given_up = Vec::new();
        while self.bytes > MOST_BYTES
            && let Some((_, pattern)) = self.patterns.pop_first()
        {
            let pattern = pattern.upgrade();
            let parts = pattern.as_ref().map(|pattern| {
                let mut state = lock(&pattern.0);
                state.number = None;
                std::mem::take(&mut state.kept_parts)
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
        if state.number.is_none() && state.kept_parts.is_empty() {
            return;
        }
        let mut kept = lock(&BUDGET);
        kept.bytes -= state.kept_parts.iter().map(|part| part.bytes).sum::<usize>();
        if let Some(number) = state.number {
            kept.patterns.remove(&number);
        }
    }
}

/// Returns the kept bytes.
#[cfg(test)]
pub(super) fn kept_bytes() -> usize {
    lock(&BUDGET).bytes
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}
