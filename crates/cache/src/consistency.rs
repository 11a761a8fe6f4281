//! Whether a cache has what the store has.
//!
//! Both are walked side by side at the revision that the cache is at, so that a page of the store is all that is held. They
//! differ where a key, the revision that wrote it, or the value is another one.

use pintle_storage::{KeyValue, RangeRequest, Revision};

use crate::Error;
use crate::entry::Entry;
use crate::objects::Snapshot;
use crate::resource::Resource;

/// Number of objects that are read at once.
const PAGE: usize = 500;

/// The first place where the store has something else than the cache.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Both were compared as they are at this revision.
    pub revision: u64,
    /// The key in the cache and the revision that wrote it; nothing if it has no more.
    pub cached: Option<(String, u64)>,
    /// The same in the store.
    pub stored: Option<(String, u64)>,
}

impl Resource {
    /// Compares with the store. A cache that differs is not asked for the past again until one that does not was seen.
    ///
    /// Errors: `NotReady` if it is not loaded, or what the store says.
    pub async fn check(&self) -> Result<Option<Difference>, Error> {
        let generation = self.generation();
        let snapshot = self.snapshot()?;
        let found = self.difference(&snapshot).await?;
        self.mark_inconsistent(found.is_some(), generation);
        Ok(found)
    }

    async fn difference(&self, snapshot: &Snapshot) -> Result<Option<Difference>, Error> {
        let mut cached = snapshot.objects.iter();
        let mut from = None;
        loop {
            let (prefix, at) = (self.full_key(""), Some(Revision(snapshot.revision)));
            let range = self.store().range(RangeRequest { prefix, from, limit: PAGE, at }).await?;
            for kv in &range.kvs {
                let Some(key) = self.own_key(&kv.key) else { continue };
                let entry = cached.next();
                if !entry.is_some_and(|entry| is_same(entry, key, kv)) {
                    let stored = Some((key.to_owned(), kv.mod_revision.0));
                    return Ok(Some(differs(snapshot.revision, entry.map(AsRef::as_ref), stored)));
                }
            }
            let Some(last) = range.kvs.last().filter(|_| range.remaining > 0) else { break };
            from = Some([&last.key[..], &[0]].concat().into());
        }
        Ok(cached.next().map(|entry| differs(snapshot.revision, Some(entry), None)))
    }
}

fn is_same(entry: &Entry, key: &str, kv: &KeyValue) -> bool {
    entry.key() == key && entry.revision() == kv.mod_revision.0 && *entry.stored() == kv.value
}

fn differs(revision: u64, cached: Option<&Entry>, stored: Option<(String, u64)>) -> Difference {
    let cached = cached.map(|entry| (entry.key().to_owned(), entry.revision()));
    Difference { revision, cached, stored }
}
