//! Options of an open store.

use std::path::PathBuf;
use std::time::Duration;

use pintle_runtime::Clock;
use pintle_storage::lease::Window;

/// Where the data lives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Location {
    /// In this directory, which is made when missing.
    Directory(PathBuf),
    /// In memory; gone with the store.
    Memory,
}

impl Location {
    /// The meaning of `--data-dir`: `:memory:` or a path.
    pub fn from_flag(value: &str) -> Location {
        if value == ":memory:" { Location::Memory } else { Location::Directory(value.into()) }
    }
}

#[derive(Clone, Debug)]
pub struct Options {
    pub location: Location,
    /// Acknowledge before the disk has it. A crash of the machine then loses writes, or the store.
    pub no_fsync: bool,
    /// The engine's page cache, for reading and writing together.
    pub cache_bytes: usize,
    /// The largest transaction, keys and values together; etcd's default.
    pub max_request_bytes: usize,
    /// The most operations of one kind in a transaction; etcd's default.
    pub max_txn_ops: usize,
    /// Recent changes kept in memory for watches; older ones are read from disk.
    pub feed_bytes: usize,
    /// How often a watch that asked for it reports progress while it has nothing to deliver.
    pub progress_interval: Duration,
    /// After so long without writes, one more commit makes the next open fast even after a crash.
    pub save_free_pages_after: Option<Duration>,
    /// How leases are shared between keys.
    pub lease_window: Window,
    /// Ends leases, also those that expired while the store was closed.
    pub clock: Clock,
}

impl Options {
    pub fn new(location: Location) -> Self {
        Options {
            location,
            no_fsync: false,
            cache_bytes: 6 << 20,
            max_request_bytes: 1536 << 10,
            max_txn_ops: 128,
            feed_bytes: 2 << 20,
            progress_interval: Duration::from_secs(10),
            save_free_pages_after: Some(Duration::from_secs(2)),
            lease_window: Window::default(),
            clock: Clock::system(),
        }
    }

    pub fn memory() -> Self {
        Options { save_free_pages_after: None, ..Options::new(Location::Memory) }
    }

    pub fn directory(path: impl Into<PathBuf>) -> Self {
        Options::new(Location::Directory(path.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_flag_names_memory_or_a_directory() {
        assert_eq!(Location::from_flag(":memory:"), Location::Memory);
        assert_eq!(Location::from_flag("/var/lib/pintle"), Location::Directory("/var/lib/pintle".into()));
    }
}
