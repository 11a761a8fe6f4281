//! The storage contract on real etcds, of both kinds.

mod common;

use std::sync::Arc;

use common::{Etcd, Version};
use pintle_storage::conformance::{Capabilities, Fixture};

async fn fixture(version: Version) -> Fixture {
    let etcd = tokio::task::spawn_blocking(move || Etcd::start(version)).await.expect("etcd");
    let store = etcd.store().await;
    let progress = version == Version::New;
    Fixture::new(Arc::new(store))
        .with_capabilities(Capabilities { progress, last_deletions: progress })
        .guarded_by(etcd)
}

mod new_etcd {
    async fn fresh() -> super::Fixture {
        super::fixture(super::Version::New).await
    }
    pintle_storage::conformance_suite!(fresh);
}

mod old_etcd {
    async fn fresh() -> super::Fixture {
        super::fixture(super::Version::Old).await
    }
    pintle_storage::conformance_suite!(fresh);
}
