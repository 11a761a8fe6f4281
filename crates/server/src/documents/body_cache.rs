//! The bytes of large documents, the most recently used ones only: what is asked for often stays, and a client that reads
//! everything once does not make the server keep everything.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use pintle_openapi::custom::Format;

use super::served::LazyDocument;

pub(super) struct BodyCache {
    budget: usize,
    /// Least recently used first.
    kept: Mutex<VecDeque<CachedBody>>,
}

struct CachedBody {
    document: Arc<LazyDocument>,
    format: Format,
    body: Bytes,
}

impl CachedBody {
    fn is_for(&self, document: &Arc<LazyDocument>, format: Format) -> bool {
        Arc::ptr_eq(&self.document, document) && self.format == format
    }
}

impl BodyCache {
    /// `budget` is in bytes; a single document may be larger.
    pub(super) fn new(budget: usize) -> BodyCache {
        BodyCache { budget, kept: Mutex::default() }
    }

    pub(super) fn find(&self, document: &Arc<LazyDocument>, format: Format) -> Option<Bytes> {
        let mut kept = self.lock();
        let index = kept.iter().position(|kept| kept.is_for(document, format))?;
        let found = kept.remove(index)?;
        let body = found.body.clone();
        kept.push_back(found);
        Some(body)
    }

    pub(super) fn keep(&self, document: &Arc<LazyDocument>, format: Format, body: Bytes) {
        let mut kept = self.lock();
        kept.retain(|kept| !kept.is_for(document, format));
        kept.push_back(CachedBody { document: Arc::clone(document), format, body });
        let mut size: usize = kept.iter().map(|kept| kept.body.len()).sum();
        while size > self.budget && kept.len() > 1 {
            size -= kept.pop_front().map_or(0, |kept| kept.body.len());
        }
    }

    /// Forgets all but these.
    pub(super) fn retain(&self, keep: impl Fn(&Arc<LazyDocument>) -> bool) {
        self.lock().retain(|kept| keep(&kept.document));
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<CachedBody>> {
        // Nothing in here panics half way, so a poisoned lock guards a consistent value.
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_recently_used_bodies_stay() {
        let bodies = BodyCache::new(10);
        let documents: [Arc<LazyDocument>; 4] = Default::default();
        let kept = |document: usize, format| bodies.find(&documents[document], format).is_some();
        for document in &documents[..3] {
            bodies.keep(document, Format::Json, Bytes::from_static(b"four"));
            assert!(kept(0, Format::Json));
        }
        assert!(!kept(1, Format::Json));
        assert!(kept(2, Format::Json) && !kept(2, Format::Protobuf));
        bodies.keep(&documents[3], Format::Json, Bytes::from_static(b"longer than the budget"));
        assert!(kept(3, Format::Json) && !kept(0, Format::Json));
        bodies.retain(|document| !Arc::ptr_eq(document, &documents[3]));
        assert!(!kept(3, Format::Json));
    }
}
