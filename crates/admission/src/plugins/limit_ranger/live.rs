//! Lookups in the store, for namespaces where the cache has no LimitRanges: another server may have written one a moment ago.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use pintle_registry::Store;
use pintle_runtime::Clock;
use tokio::sync::OnceCell;

use super::limit_range::LimitRange;
use crate::Result;

/// Answers stand for this long: a namespace without ranges is not looked up for every pod.
const LIFETIME: Duration = Duration::from_secs(30);

/// With more namespaces, all answers are forgotten.
const MOST: usize = 10_000;

pub(super) struct LiveLookups {
    store: Arc<Store>,
    clock: Clock,
    by_namespace: Mutex<HashMap<String, Arc<Lookup>>>,
}

/// One lookup, for which all requests wait that come while it runs.
struct Lookup {
    since: Instant,
    found: OnceCell<Vec<Arc<LimitRange>>>,
}

impl LiveLookups {
    pub(super) fn new(store: &Arc<Store>, clock: &Clock) -> LiveLookups {
        LiveLookups { store: store.clone(), clock: clock.clone(), by_namespace: Mutex::default() }
    }

    pub(super) async fn of(&self, namespace: &str) -> Result<Vec<Arc<LimitRange>>> {
        let lookup = self.lookup(namespace);
        let found = lookup.found.get_or_try_init(|| async {
            let ranges = self.store.list_stored(namespace).await?;
            Ok(ranges.iter().map(|range| Arc::new(LimitRange::read(range))).collect())
        });
        found.await.cloned()
    }

    fn lookup(&self, namespace: &str) -> Arc<Lookup> {
        let now = self.clock.instant();
        let mut lookups = self.by_namespace.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(lookup) = lookups.get(namespace)
            && now.saturating_duration_since(lookup.since) <= LIFETIME
        {
            return lookup.clone();
        }
        if lookups.len() >= MOST {
            lookups.clear();
        }
        let lookup = Arc::new(Lookup { since: now, found: OnceCell::new() });
        lookups.insert(namespace.into(), lookup.clone());
        lookup
    }
}
