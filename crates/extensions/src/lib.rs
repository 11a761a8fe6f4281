//! Custom resources: served as their definitions say, by the same stores, caches and handlers as built-in kinds.
//!
//! ```text
//! Definitions   which there are, as current as the cache of definitions; tells the documents what is served
//! Extensions    requests: finds the definition, has its endpoints made if nobody asked before, hands them to `Rest`
//! Serving       a definition being served: per version how objects are read, checked and shown; one cache for all
//! Keeper        the statuses of definitions, and the deletion of their objects
//! ```
//!
//! A definition that nobody uses costs what is stored of it and a summary. Once its objects are asked for, its schemas are
//! compiled ([`shape`]); when it changes, what follows takes over, and what has not changed for a watch goes on.

mod columns;
mod conditions;
pub mod conversion;
mod definition;
mod documented;
mod emptying;
mod encoding;
mod handler;
mod keeper;
mod metrics;
mod scale;
mod served;
mod serving;
mod shape;
mod strategy;
mod table;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use pintle_cache::Feed;
use pintle_meta::Value;
use pintle_registry::{Mirror, Result, Store, StorePolicy};
use pintle_schema::Resources;
use pintle_server::Documents;
use pintle_storage::Backend;

pub use encoding::StoredAs;
pub use handler::Extensions;
pub use keeper::Keeper;
pub use metrics::Metrics;

use conversion::Means;
use serving::Ground;
use table::{Registered, Table};

/// How long somebody waits for what the store has already.
const WAIT: Duration = Duration::from_secs(3);

/// How long nobody asks the store again for a definition that it did not have.
const ABSENT: Duration = Duration::from_millis(100);

/// How often the store is asked at most, and for how many names it is remembered that it was.
const BETWEEN: Duration = Duration::from_millis(20);
const REMEMBERED: usize = 1024;

/// The definitions that there are.
pub struct Definitions {
    mirror: Mirror<Table>,
    store: Arc<Store>,
    backend: Arc<dyn Backend>,
    /// When the store was last asked, for each name that it did not have.
    absent: Mutex<HashMap<String, Instant>>,
    /// One at a time asks the store.
    asking: tokio::sync::Mutex<Option<Instant>>,
}

/// What definitions and their objects are kept in.
pub struct DefinitionsConfig {
    /// Of the definitions themselves.
    pub store: Arc<Store>,
    pub backend: Arc<dyn Backend>,
    pub feed: Arc<Feed>,
    /// Of all keys, with slashes around it: `/registry/`.
    pub root: String,
    pub resources: Arc<Resources>,
    pub documents: Arc<Documents>,
    pub webhooks: Means,
    /// Of the custom resources.
    pub policy: Arc<StorePolicy>,
    pub stored_as: StoredAs,
}

impl Definitions {
    /// Done once all of them are known.
    pub const HOOK: &'static str = "crd-informer-synced";

    pub fn new(config: DefinitionsConfig) -> Definitions {
        let DefinitionsConfig {
            store,
            backend,
            feed,
            root,
            resources,
            documents,
            webhooks,
            policy,
            stored_as,
        } = config;
        let ground = Ground { backend: backend.clone(), feed, root, resources, webhooks, policy, stored_as };
        let table = Table::new(ground, store.clone(), documents);
        Definitions {
            mirror: Mirror::new(vec![store.clone()], table),
            store,
            backend,
            absent: Mutex::default(),
            asking: tokio::sync::Mutex::default(),
        }
    }

    /// Loads what there is.
    pub async fn ready(&self) -> Result<()> {
        self.mirror.ready().await
    }

    /// Takes in what has changed, so that the documents show it.
    pub fn refresh(&self) {
        self.mirror.read(|_| ());
    }

    /// Group, resource and the beginning of the keys of all custom resources.
    pub fn prefixes(&self) -> Vec<(String, String, Bytes)> {
        self.mirror.read(Table::prefixes)
    }

    pub(crate) fn store(&self) -> &Arc<Store> {
        &self.store
    }

    pub(crate) fn read<R>(&self, read: impl FnOnce(&Table) -> R) -> R {
        self.mirror.read(read)
    }

    pub(crate) fn get(&self, name: &str) -> Option<Arc<Registered>> {
        self.mirror.read(|table| table.get(name))
    }

    /// A definition as the cache has it.
    pub(crate) fn cached(&self, name: &str) -> Option<Value> {
        self.store.object(&*self.store.cache().get(name)?).ok()
    }

    pub(crate) async fn wait_for(&self, revision: &str) {
        if let Ok(revision) = revision.parse() {
            // Who cannot be waited for comes later.
            let _ = self.store.cache().wait_for(revision, WAIT).await;
        }
    }

    /// A definition that the cache does not have may have been written a moment ago, perhaps by another server. So the cache
    /// is brought to what the store has now; for names that nobody has ever heard of, not too often.
    pub(crate) async fn get_current(&self, name: &str) -> Option<Arc<Registered>> {
        if self.ready().await.is_err() {
            return self.get(name);
        }
        if self.backend.known_revision().is_some() {
            self.mirror.settle().await;
            return self.get(name);
        }
        // A definition that is there and not served yet may be established in the store already: a client that has seen that
        // must be served, also one that asked for the name before the definition came.
        if self.is_absent(name) && self.get(name).is_none() {
            return None;
        }
        let begun = Instant::now();
        let mut asked = self.asking.lock().await;
        // Somebody else may have asked while this one waited for its turn.
        if asked.is_none_or(|asked| asked < begun) {
            if let Some(left) = asked.and_then(|asked| BETWEEN.checked_sub(asked.elapsed())) {
                tokio::time::sleep(left).await;
            }
            *asked = Some(Instant::now());
            if let Ok(revision) = self.backend.current_revision().await {
                let _ = self.store.cache().wait_for(revision.0, WAIT).await;
            }
        }
        drop(asked);
        let found = self.get(name);
        if found.is_none() {
            let mut absent = self.absent.lock().unwrap_or_else(PoisonError::into_inner);
            if absent.len() >= REMEMBERED {
                absent.clear();
            }
            absent.insert(name.to_owned(), Instant::now());
        }
        found
    }

    /// Waits until the table has all definitions that the store has now.
    ///
    /// Errors: it does not after a while.
    pub(crate) async fn current(&self) -> std::result::Result<(), String> {
        self.store.cache().wait_for_current(WAIT).await.map(drop).map_err(|error| error.to_string())
    }

    fn is_absent(&self, name: &str) -> bool {
        let absent = self.absent.lock().unwrap_or_else(PoisonError::into_inner);
        absent.get(name).is_some_and(|since| since.elapsed() < ABSENT)
    }
}
