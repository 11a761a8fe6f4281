//! The strategies of the group's resources.

use std::sync::Arc;

use pintle_registry::Strategy;

use crate::framework::strategy::{Entry, MetadataRecheck, Rules, Settings, find};

const TABLE: &[Entry] = &[
    Entry {
        name: "storageversionmigrations",
        kind: "storagemigration/v1beta1.StorageVersionMigration",
        rules: MIGRATIONS,
    },
    Entry {
        name: "storageversionmigrations/status",
        kind: "storagemigration/v1beta1.StorageVersionMigration",
        rules: MIGRATIONS.of_status_alone(),
    },
];

const MIGRATIONS: Rules = Rules { recheck: MetadataRecheck::Both, ..Rules::CLUSTER.with_status() };

/// The strategy of a resource or subresource.
pub(crate) fn strategy(name: &str, settings: &Settings) -> Option<Arc<dyn Strategy>> {
    find(TABLE, name, settings)
}
