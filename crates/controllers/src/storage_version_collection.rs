//! `storageversion-garbage-collector-controller`: entries of API servers that have no lease any more leave the StorageVersions, and a
//! StorageVersion without entries is deleted.
//!
//! ```text
//! lease of a server is deleted  -> its entries of all StorageVersions go
//! StorageVersion is written     -> its entries of servers without a lease go
//! ```

use std::sync::Arc;

use async_trait::async_trait;
use pintle_cache::Entry;
use pintle_meta::gvk::GroupVersionResource;
use pintle_meta::time::Time;
use pintle_meta::{Object, Status, Value};
use pintle_registry::{Result, Store};
use pintle_runtime::Clock;
use serde_json::json;

use crate::api::{ApiClient, Location, SYSTEM_NAMESPACE, found};
use crate::runtime::{Controller, Key, Requeue, Source};
use crate::storage_versions::common_version;

/// The label of leases of API servers, and its value.
const IDENTITY: (&str, &str) = ("apiserver.kubernetes.io/identity", "kube-apiserver");

/// Writes StorageVersions without some of their entries.
#[derive(Clone)]
struct Collector {
    api: ApiClient,
    clock: Clock,
}

impl Collector {
    /// Keeps the entries of a StorageVersion that a predicate selects; writes nothing if that is all of them.
    async fn keep(&self, version: &Value, is_kept: impl Fn(&Value) -> bool) -> Result<()> {
        let entries = version.items_at(&["status", "storageVersions"]);
        let kept: Vec<Value> = entries.iter().filter(|entry| is_kept(entry)).cloned().collect();
        let location = storage_version(version.name());
        if kept.len() == entries.len() {
            return Ok(());
        }
        if kept.is_empty() {
            return found(self.api.delete(&location, json!({})).await).map(drop);
        }
        let now = Time::from(self.clock.now()).to_string();
        let new = with_entries(version, kept, &now);
        found(self.api.replace(&location.subresource("status"), &new).await).map(drop)
    }

    async fn lease(&self, name: &str) -> Result<Option<Value>> {
        let leases = GroupVersionResource::new("coordination.k8s.io", "v1", "leases");
        self.api.find(&Location::object(leases, SYSTEM_NAMESPACE, name)).await
    }
}

fn resource() -> GroupVersionResource {
    GroupVersionResource::new("internal.apiserver.k8s.io", "v1alpha1", "storageversions")
}

fn storage_version(name: &str) -> Location {
    Location::object(resource(), "", name)
}

fn server_of(entry: &Value) -> &str {
    entry.text_at(&["apiServerID"])
}

/// Returns a StorageVersion with other entries, and what follows from them.
fn with_entries(version: &Value, entries: Vec<Value>, now: &str) -> Value {
    let (common, conditions) = common_version(version, &entries, now);
    let mut status = Object::default();
    status.insert("storageVersions", entries);
    if let Some(common) = common {
        status.insert("commonEncodingVersion", common);
    }
    status.insert("conditions", conditions);
    let mut new = version.clone();
    if let Some(fields) = new.as_object_mut() {
        fields.insert("status", Value::object(status));
    }
    new
}

/// Removes the entries of servers whose lease was deleted.
pub struct StorageVersionLeases {
    leases: Arc<Store>,
    collector: Collector,
}

impl StorageVersionLeases {
    pub const NAME: &'static str = "storageversion-garbage-collector-controller";
    /// The service account, whose name is older.
    pub const ACCOUNT: &'static str = "storage-version-garbage-collector";

    pub fn new(leases: Arc<Store>, api: ApiClient, clock: Clock) -> StorageVersionLeases {
        StorageVersionLeases { leases, collector: Collector { api, clock } }
    }
}

#[async_trait]
impl Controller for StorageVersionLeases {
    fn name(&self) -> &'static str {
        "storage_version_garbage_collector_leases"
    }

    fn sources(&self) -> Vec<Source> {
        let keys = |entry: &Entry, deleted: bool| {
            let name = entry.key().strip_prefix("kube-system/").filter(|_| deleted)?;
            let is_server = entry.read().is_ok_and(|facts| facts.label(IDENTITY.0) == Some(IDENTITY.1));
            is_server.then(|| Key::from(name))
        };
        vec![Source::informer(self.leases.clone(), keys)]
    }

    async fn reconcile(&self, name: &str) -> Result<Requeue> {
        if self.collector.lease(name).await?.is_some() {
            return Ok(Requeue::Never);
        }
        for version in self.collector.api.list(&Location::collection(resource(), "")).await? {
            self.collector.keep(&version, |entry| server_of(entry) != name).await?;
        }
        Ok(Requeue::Never)
    }

    fn failed(&self, name: &str, status: &Status) {
        tracing::error!("lease {name} failed with: {}", status.message);
    }
}

/// Removes the entries of servers without a lease from StorageVersions that are written.
pub struct StorageVersionEntries {
    versions: Arc<Store>,
    collector: Collector,
}

impl StorageVersionEntries {
    pub fn new(versions: Arc<Store>, api: ApiClient, clock: Clock) -> StorageVersionEntries {
        StorageVersionEntries { versions, collector: Collector { api, clock } }
    }
}

#[async_trait]
impl Controller for StorageVersionEntries {
    fn name(&self) -> &'static str {
        "storage_version_garbage_collector_storageversions"
    }

    fn sources(&self) -> Vec<Source> {
        let keys = |entry: &Entry, deleted: bool| (!deleted).then(|| Key::from(entry.key()));
        vec![Source::informer(self.versions.clone(), keys)]
    }

    async fn reconcile(&self, name: &str) -> Result<Requeue> {
        let Some(version) = self.collector.api.find(&storage_version(name)).await? else {
            return Ok(Requeue::Never);
        };
        let mut gone = Vec::new();
        for entry in version.items_at(&["status", "storageVersions"]) {
            let lease = self.collector.lease(server_of(entry)).await?;
            if lease.is_none_or(|lease| lease.label(IDENTITY.0) != Some(IDENTITY.1)) {
                gone.push(server_of(entry));
            }
        }
        self.collector.keep(&version, |entry| !gone.contains(&server_of(entry))).await?;
        Ok(Requeue::Never)
    }

    fn failed(&self, name: &str, status: &Status) {
        tracing::error!("storage version {name} failed with: {}", status.message);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_common_version_is_that_of_the_servers_that_are_left() {
        let json = r#"{"metadata":{"name":"core.pods","generation":2},"status":{"storageVersions":[
            {"apiServerID":"a","encodingVersion":"v1"},{"apiServerID":"b","encodingVersion":"v2"}],
            "conditions":[{"type":"AllEncodingVersionsEqual","status":"False","lastTransitionTime":"0"}]}}"#;
        let version = pintle_codec::json::decode_untyped(json.as_bytes()).expect("JSON").value;
        let left = version.items_at(&["status", "storageVersions"])[1..].to_vec();
        let new = with_entries(&version, left, "1");
        assert_eq!(new.text_at(&["status", "commonEncodingVersion"]), "v2");
        let condition = &new.items_at(&["status", "conditions"])[0];
        assert_eq!(["status", "lastTransitionTime"].map(|field| condition.text_at(&[field])), ["True", "1"]);
        assert_eq!(new.name(), "core.pods");
    }
}
