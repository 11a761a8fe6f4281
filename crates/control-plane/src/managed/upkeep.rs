//! The controllers that keep what other objects need up to date: usage of quotas, finalizers of what is in use, endpoints of services,
//! and objects whose time has come.

use std::collections::HashMap;
use std::sync::Arc;

use pintle_controllers::{
    ApiClient, AttributesClassProtection, ClaimProtection, Controller, EndpointSliceStores, EndpointSlices,
    MigrationRunner, MigrationVersions, Migrations, Migrator, PodGroupProtection, QuotaConfig,
    ResourceQuotas, ServiceCidrs, StorageVersionEntries, StorageVersionLeases, TtlAfterFinished,
    VolumeProtection,
};
use pintle_features::Feature;
use pintle_quota::StoredSurroundings;
use pintle_registry::Store;
use pintle_runtime::Clock;

use super::ManagedControllers;
use crate::Error;
use crate::resources::pod_node_name;

type Made = Vec<Arc<dyn Controller>>;

impl ManagedControllers<'_> {
    /// Makes the parts of a controller; `None` if there is none of this name here.
    pub(super) fn make_upkeep(&self, name: &str) -> Result<Option<Made>, Error> {
        Ok(Some(match name {
            AttributesClassProtection::NAME => vec![Arc::new(AttributesClassProtection::new(
                self.store("volumeattributesclasses")?,
                self.store("persistentvolumes")?,
                self.store("persistentvolumeclaims")?,
                self.client(name),
                self.clock(),
            ))],
            ClaimProtection::NAME => vec![Arc::new(ClaimProtection::new(
                self.store("persistentvolumeclaims")?,
                (self.store("pods")?, pod_node_name()?),
                self.client(ClaimProtection::ACCOUNT),
                self.clock(),
                self.features.enabled(Feature::PersistentVolumeClaimUnusedSinceTime),
            ))],
            EndpointSlices::NAME => {
                let stores = EndpointSliceStores {
                    services: self.store("services/specs")?,
                    pods: self.store("pods")?,
                    nodes: self.store("minions")?,
                    slices: self.store("endpointslices")?,
                };
                let random = self.runtime.random.clone();
                let made =
                    EndpointSlices::new(stores, self.client(name), self.clock(), random, self.registry);
                vec![Arc::new(made.map_err(Error::part)?)]
            }
            Migrator::NAME if !self.features.enabled(Feature::StorageVersionMigrator) => Vec::new(),
            Migrator::NAME => {
                let migrations = Migrations {
                    migrations: self.store("storageversionmigrations")?,
                    api: self.client(name),
                    catalog: self.catalog.clone(),
                    clock: self.clock(),
                };
                vec![
                    Arc::new(MigrationRunner(migrations.clone())),
                    Arc::new(MigrationVersions(migrations.clone())),
                    Arc::new(Migrator(migrations)),
                ]
            }
            PodGroupProtection::NAME if !self.features.enabled(Feature::GenericWorkload) => Vec::new(),
            PodGroupProtection::NAME => vec![Arc::new(PodGroupProtection::new(
                self.store("podgroups")?,
                self.store("pods")?,
                self.client(name),
                self.clock(),
            ))],
            ResourceQuotas::NAME => self.resource_quotas()?,
            ServiceCidrs::NAME => vec![Arc::new(ServiceCidrs::new(
                self.store("servicecidrs")?,
                self.store("ipaddresses")?,
                self.client(ServiceCidrs::ACCOUNT),
                self.clock(),
                self.runtime.random.clone(),
            ))],
            StorageVersionLeases::NAME => {
                let gates = [Feature::StorageVersionAPI, Feature::APIServerIdentity];
                match gates.iter().all(|gate| self.features.enabled(*gate)) {
                    true => self.storage_version_collection()?,
                    false => Vec::new(),
                }
            }
            TtlAfterFinished::NAME => {
                let made = TtlAfterFinished::new(
                    self.store("jobs")?,
                    self.client(name),
                    self.clock(),
                    self.registry,
                );
                vec![Arc::new(made.map_err(Error::part)?)]
            }
            VolumeProtection::NAME => vec![Arc::new(VolumeProtection::new(
                self.store("persistentvolumes")?,
                self.client(VolumeProtection::ACCOUNT),
            ))],
            _ => return Ok(None),
        }))
    }

    /// Returns requests in the name of a service account.
    fn client(&self, account: &str) -> ApiClient {
        ApiClient::new(self.api.clone(), account)
    }

    fn store(&self, path: &str) -> Result<Arc<Store>, Error> {
        self.stores.require_store(path)
    }

    fn clock(&self) -> Clock {
        self.runtime.clock.clone()
    }

    fn storage_version_collection(&self) -> Result<Made, Error> {
        let client = self.client(StorageVersionLeases::ACCOUNT);
        let versions = self.stores.require_store("storageversions")?;
        let leases = StorageVersionLeases::new(self.store("leases")?, client.clone(), self.clock());
        let entries = StorageVersionEntries::new(versions, client, self.clock());
        Ok(vec![Arc::new(leases), Arc::new(entries)])
    }

    fn resource_quotas(&self) -> Result<Made, Error> {
        let clock = self.clock();
        let store = |path| self.stores.store(path);
        let evaluated = [
            ("", "pods", "pods"),
            ("", "services", "services/specs"),
            ("", "persistentvolumeclaims", "persistentvolumeclaims"),
            ("resource.k8s.io", "resourceclaims", "resourceclaims"),
        ];
        let stores: HashMap<_, _> = evaluated
            .into_iter()
            .filter_map(|(group, resource, path)| Some(((group.into(), resource.into()), store(path)?)))
            .collect();
        let surroundings = StoredSurroundings::new(
            store("pods"),
            store("deviceclasses"),
            store("resourceclaims"),
            clock.clone(),
        );
        let (counted, uncounted) = ResourceQuotas::pair(QuotaConfig {
            quotas: self.stores.require_store("resourcequotas")?,
            stores,
            surroundings: Arc::new(surroundings),
            features: self.features,
            catalog: self.catalog.clone(),
            api: self.client(ResourceQuotas::NAME),
            clock,
            is_shared: self.election.is_some(),
        });
        Ok(vec![Arc::new(counted), Arc::new(uncounted)])
    }
}
