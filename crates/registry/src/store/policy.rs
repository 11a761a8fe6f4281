//! Options of stores, as the command line sets them for all and for single resources.

use std::time::Duration;

/// How a store serves its objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoreOptions {
    /// Clients' reads come from the cache; else from the store itself.
    pub watch_cache: bool,
    /// A garbage collector looks after dependents, and deletions leave it finalizers.
    pub garbage_collection: bool,
    /// Objects that cannot be read may be deleted, and are reported as such.
    pub unsafe_deletion: bool,
    /// Bytes of the keys' prefix that all resources share, such as `/registry`; errors of writes that are only tried leave it out.
    pub shared_prefix: usize,
    /// How long the answer to a deletion waits for the end of an object that finalizers hold. Zero: it does not wait.
    pub end_patience: Duration,
}

impl Default for StoreOptions {
    fn default() -> StoreOptions {
        StoreOptions {
            watch_cache: true,
            garbage_collection: true,
            unsafe_deletion: false,
            shared_prefix: 0,
            end_patience: Duration::ZERO,
        }
    }
}

/// The options of any store.
#[derive(Clone, Debug)]
pub struct StorePolicy {
    pub options: StoreOptions,
    /// Group and resource of what has no watch cache although others do.
    pub uncached: Vec<(String, String)>,
}

impl Default for StorePolicy {
    /// Events are short-lived and rarely read twice.
    fn default() -> StorePolicy {
        let events = |group: &str| (group.to_owned(), "events".to_owned());
        StorePolicy { options: StoreOptions::default(), uncached: vec![events(""), events("events.k8s.io")] }
    }
}

impl StorePolicy {
    pub fn of(&self, group: &str, resource: &str) -> StoreOptions {
        let is_uncached = self.uncached.iter().any(|(known, name)| known == group && name == resource);
        StoreOptions { watch_cache: self.options.watch_cache && !is_uncached, ..self.options }
    }
}
