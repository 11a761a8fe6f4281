//! The bytes of large documents, the most recently used ones only: what is asked for often stays, and a client that reads
//! everything once does not make the server keep everything.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use pintle_openapi::custom::Format;

use super::served::Slot;

pub(super) struct Bodies {
    budget: usize,
    /// Least recently used first.
    kept: Mutex<VecDeque<Kept>>,
}

struct Kept {
    slot: Arc<Slot>,
    format: Format,
    body: Bytes,
}

impl Kept {
    fn is(&self, slot: &Arc<Slot>, format: Format) -> bool {
        Arc::ptr_eq(&self.slot, slot) && self.format == format
    }
}

impl Bodies {
    /// `budget` is in bytes; a single document may be larger.
    pub(super) fn new(budget: usize) -> Bodies {
        Bodies { budget, kept: Mutex::default() }
    }

    pub(super) fn find(&self, slot: &Arc<Slot>, format: Format) -> Option<Bytes> {
        let mut kept = self.lock();
        let place = kept.iter().position(|kept| kept.is(slot, format))?;
        let found = kept.remove(place)?;
        let body = found.body.clone();
        kept.push_back(found);
        Some(body)
    }

    pub(super) fn keep(&self, slot: &Arc<Slot>, format: Format, body: Bytes) {
        let mut kept = self.lock();
        kept.retain(|kept| !kept.is(slot, format));
        kept.push_back(Kept { slot: Arc::clone(slot), format, body });
        let mut size: usize = kept.iter().map(|kept| kept.body.len()).sum();
        while size > self.budget && kept.len() > 1 {
            size -= kept.pop_front().map_or(0, |kept| kept.body.len());
        }
    }

    /// Forgets all but these.
    pub(super) fn retain(&self, keep: impl Fn(&Arc<Slot>) -> bool) {
        self.lock().retain(|kept| keep(&kept.slot));
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Kept>> {
        // Nothing in here panics half way, so a poisoned lock guards a consistent value.
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_used_last_stays() {
        let bodies = Bodies::new(10);
        let slots: [Arc<Slot>; 4] = Default::default();
        let kept = |slot: usize, format| bodies.find(&slots[slot], format).is_some();
        for slot in &slots[..3] {
            bodies.keep(slot, Format::Json, Bytes::from_static(b"four"));
            assert!(kept(0, Format::Json));
        }
        assert!(!kept(1, Format::Json));
        assert!(kept(2, Format::Json) && !kept(2, Format::Protobuf));
        bodies.keep(&slots[3], Format::Json, Bytes::from_static(b"more than there is room for"));
        assert!(kept(3, Format::Json) && !kept(0, Format::Json));
        bodies.retain(|slot| !Arc::ptr_eq(slot, &slots[3]));
        assert!(!kept(3, Format::Json));
    }
}
