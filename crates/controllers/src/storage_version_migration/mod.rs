//! `storage-version-migrator-controller`: every object of a resource is stored again in today's storage version, as a
//! StorageVersionMigration asks for.
//!
//! ```text
//! MigrationRunner      the oldest migration of a resource      Running=True; its definition StorageMigrating=True
//! MigrationVersions    a running migration                     status.resourceVersion: what was written later needs no migration
//! Migrator             a migration with a resourceVersion      each older object is applied without a change; Succeeded or Failed
//! MigrationRunner      a migration that has ended              Running=False; its definition has one stored version left
//! ```

mod migrator;
mod runner;
mod versions;

use std::sync::Arc;
use std::time::Duration;

use pintle_cache::Entry;
use pintle_meta::gvk::GroupVersionResource;
use pintle_meta::time::Time;
use pintle_meta::{Object, Value};
use pintle_registry::{Result, Store, cache_error};
use pintle_runtime::Clock;

use crate::api::{ApiClient, Location};
use crate::catalog::{Catalog, CatalogResource};
use crate::runtime::{Key, Source};

pub use migrator::Migrator;
pub use runner::MigrationRunner;
pub use versions::MigrationVersions;

/// The condition of a migration that was chosen, and those of its end.
const RUNNING: &str = "Running";
const SUCCEEDED: &str = "Succeeded";
const FAILED: &str = "Failed";

/// How long a migration may wait for its resource to be served.
const PATIENCE: Duration = Duration::from_secs(60);

/// The state that the three parts share.
#[derive(Clone)]
pub struct Migrations {
    pub migrations: Arc<Store>,
    pub api: ApiClient,
    pub catalog: Arc<dyn Catalog>,
    pub clock: Clock,
}

impl Migrations {
    /// Follows migrations, under keys that `key` makes of them.
    fn source(&self, key: impl Fn(&Value) -> String + Send + Sync + 'static) -> Source {
        let migrations = self.migrations.clone();
        let keys = move |entry: &Entry, deleted: bool| {
            let migration = migrations.object(entry).ok().filter(|_| !deleted)?;
            Some(Key::from(key(&migration)))
        };
        Source::informer(self.migrations.clone(), keys)
    }

    async fn migration(&self, name: &str) -> Result<Option<Value>> {
        self.migrations.cache().ready().await.map_err(|error| cache_error(&error))?;
        self.migrations.cache().get(name).map(|entry| self.migrations.object(&entry)).transpose()
    }

    /// Returns the resource of a migration as it is served.
    async fn resource(&self, migration: &Value) -> Option<CatalogResource> {
        let (group, resource) = resource_of(migration);
        let mut served = self.catalog.snapshot().await.resources.into_iter();
        served.find(|known| known.resource.group == group && known.resource.resource == resource)
    }

    /// Returns whether a migration is so new that its resource may still come.
    fn is_new(&self, migration: &Value) -> bool {
        let created = Time::parse(migration.text_at(&["metadata", "creationTimestamp"])).unwrap_or_default();
        let age = Time::from(self.clock.now()).nanos_since(&created);
        u64::try_from(age).is_ok_and(|age| Duration::from_nanos(age) < PATIENCE)
    }

    fn now(&self) -> String {
        Time::from(self.clock.now()).to_string()
    }

    /// Adds a condition that is true, unless the migration has one of this type.
    async fn add_condition(&self, migration: &Value, name: &str, reason: &str, message: &str) -> Result<()> {
        if condition(migration, name).is_some() {
            return Ok(());
        }
        self.set_condition(migration, name, "True", reason, message).await
    }

    async fn set_condition(
        &self,
        migration: &Value,
        name: &str,
        status: &str,
        reason: &str,
        message: &str,
    ) -> Result<()> {
        let mut new =
            Object::from_iter([("type", name), ("status", status), ("reason", reason), ("message", message)]);
        new.insert("lastTransitionTime", self.now());
        let mut conditions = migration.items_at(&["status", "conditions"]).to_vec();
        match conditions.iter_mut().find(|found| found.text_at(&["type"]) == name) {
            Some(found) => {
                new.insert("observedGeneration", migration.generation());
                *found = Value::object(new);
            }
            None => conditions.push(Value::object(new)),
        }
        self.set_status(migration, "conditions", Value::list(conditions)).await
    }

    async fn set_status(&self, migration: &Value, field: &'static str, value: Value) -> Result<()> {
        let mut new = migration.clone();
        if let Some(fields) = new.as_object_mut() {
            let status = fields.get_or_insert_with("status", || Value::object(Object::default()));
            if let Some(status) = status.as_object_mut() {
                status.insert(field, value);
            }
        }
        let resource =
            GroupVersionResource::new("storagemigration.k8s.io", "v1beta1", "storageversionmigrations");
        let location = Location::object(resource, "", migration.name()).subresource("status");
        self.api.replace(&location, &new).await.map(drop)
    }

    async fn fail(&self, migration: &Value, message: &str) -> Result<()> {
        self.add_condition(migration, FAILED, "StorageVersionMigrationFailed", message).await
    }
}

/// Returns group and plural name of the resource of a migration.
fn resource_of(migration: &Value) -> (&str, &str) {
    let field = |field| migration.text_at(&["spec", "resource", field]);
    (field("group"), field("resource"))
}

fn condition<'m>(migration: &'m Value, name: &str) -> Option<&'m Value> {
    migration.items_at(&["status", "conditions"]).iter().find(|found| found.text_at(&["type"]) == name)
}

fn is_true(migration: &Value, name: &str) -> bool {
    condition(migration, name).is_some_and(|found| found.text_at(&["status"]) == "True")
}

fn has_ended(migration: &Value) -> bool {
    is_true(migration, SUCCEEDED) || is_true(migration, FAILED)
}
