//! Decoded parameters, which are kept with the binding that refers to them: they go when it goes, when their object goes, and
//! never take more than the room that all bindings of a plugin share.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use pintle_cache::{Cursor, Entry, Interest, Next, Resource};
use pintle_meta::Value;
use pintle_registry::Served;

use super::params::ParamResource;

/// Bytes of decoded parameters that the bindings of a plugin keep. Those beyond are decoded by every request that needs them.
const MOST_BYTES: usize = 32 << 20;

/// Size of a decoded object, compared with its stored bytes; and of its place in the map.
const TREE: usize = 4;
const PLACE: usize = 256;

/// Room for decoded parameters.
#[derive(Debug)]
pub(crate) struct Room {
    left: AtomicUsize,
}

impl Default for Room {
    fn default() -> Room {
        Room::of(MOST_BYTES)
    }
}

impl Room {
    pub(crate) fn of(bytes: usize) -> Room {
        Room { left: AtomicUsize::new(bytes) }
    }

    #[cfg(test)]
    pub(super) fn left(&self) -> usize {
        self.left.load(Ordering::Relaxed)
    }

    fn take(&self, bytes: usize) -> bool {
        let take = |left: usize| left.checked_sub(bytes);
        self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).is_ok()
    }

    fn give_back(&self, bytes: usize) {
        self.left.fetch_add(bytes, Ordering::Relaxed);
    }
}

/// The decoded parameters of a binding. Empty until the first request.
#[derive(Default)]
pub(super) struct Decoded(Option<Kept>);

struct Kept {
    room: Arc<Room>,
    cache: Arc<Resource>,
    served: Arc<dyn Served>,
    /// Tells of changes, so that what was deleted is not kept.
    cursor: Cursor,
    objects: HashMap<String, Object>,
}

struct Object {
    revision: u64,
    size: usize,
    value: Arc<Value>,
}

impl Decoded {
    /// Drops objects that have changed or are gone since the last call.
    pub(super) fn follow(&mut self, resource: &ParamResource, interest: &Interest, room: &Arc<Room>) {
        let (cache, served) = (resource.store.cache(), &resource.served);
        let is_same = |kept: &Kept| Arc::ptr_eq(&kept.cache, cache) && Arc::ptr_eq(&kept.served, served);
        if self.0.as_mut().is_some_and(|kept| is_same(kept) && kept.catch_up()) {
            return;
        }
        self.0 = cache.snapshot_and_watch(interest.clone()).ok().map(|(_, cursor)| Kept {
            room: room.clone(),
            cache: cache.clone(),
            served: served.clone(),
            cursor,
            objects: HashMap::new(),
        });
    }

    pub(super) fn find(&self, entry: &Entry) -> Option<Arc<Value>> {
        let known = self.0.as_ref()?.objects.get(entry.key())?;
        (known.revision == entry.revision()).then(|| known.value.clone())
    }

    /// Keeps an object if there is room, and if it is still there: the change that removes it is then yet to come.
    pub(super) fn keep(&mut self, resource: &ParamResource, entry: &Entry, value: &Arc<Value>) {
        let Some(kept) = &mut self.0 else { return };
        let (cache, revision) = (resource.store.cache(), entry.revision());
        let is_current = cache.get(entry.key()).is_some_and(|current| current.revision() == revision);
        if !is_current || !Arc::ptr_eq(&kept.cache, cache) || !Arc::ptr_eq(&kept.served, &resource.served) {
            return;
        }
        kept.remove(entry.key());
        let size = entry.stored().len().saturating_mul(TREE).saturating_add(entry.key().len() + PLACE);
        if kept.room.take(size) {
            kept.objects.insert(entry.key().to_owned(), Object { revision, size, value: value.clone() });
        }
    }

    #[cfg(test)]
    pub(super) fn keys(&self) -> Vec<&str> {
        let kept = self.0.iter().flat_map(|kept| kept.objects.keys());
        let mut keys: Vec<&str> = kept.map(String::as_str).collect();
        keys.sort_unstable();
        keys
    }
}

impl Kept {
    /// Returns whether all changes are known; if not, nothing is of use any more.
    fn catch_up(&mut self) -> bool {
        while let Some(next) = self.cursor.try_changes() {
            let Next::Changes(changes) = next else { return false };
            for change in changes {
                self.remove(change.entry.key());
            }
        }
        true
    }

    fn remove(&mut self, key: &str) {
        if let Some(object) = self.objects.remove(key) {
            self.room.give_back(object.size);
        }
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        self.room.give_back(self.objects.values().map(|object| object.size).sum());
    }
}
