//! The contract's suite, on a store in a directory and on one in memory.

use std::sync::Arc;

use pintle_storage::conformance::Fixture;
use pintle_storage_embedded::{Options, Store};

mod directory {
    use super::*;

    async fn fresh() -> Fixture {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(Options::directory(dir.path())).unwrap();
        Fixture::from(Arc::new(store)).guarded_by(dir)
    }

    pintle_storage::conformance_suite!(fresh);
}

mod memory {
    use super::*;

    async fn fresh() -> Fixture {
        Arc::new(Store::open(Options::memory()).unwrap()).into()
    }

    pintle_storage::conformance_suite!(fresh);
}

/// With a feed so small that watches read nearly everything from the log.
mod without_feed {
    use super::*;

    async fn fresh() -> Fixture {
        Arc::new(Store::open(Options { feed_bytes: 600, ..Options::memory() }).unwrap()).into()
    }

    pintle_storage::conformance_suite!(fresh);
}
