//! The controllers that keep what other objects need up to date: usage of quotas, finalizers of what is in use, endpoints of services,
//! and objects whose time has come.

use std::collections::HashMap;
use std::sync::Arc;

use pintle_controllers::{ApiClient, Controller, QuotaConfig, ResourceQuotas};
use pintle_quota::StoredSurroundings;

use super::ManagedControllers;
use crate::Error;

type Made = Vec<Arc<dyn Controller>>;

impl ManagedControllers<'_> {
    /// Makes the parts of a controller; `None` if there is none of this name here.
    pub(super) fn make_upkeep(&self, name: &str) -> Result<Option<Made>, Error> {
        Ok(Some(match name {
            ResourceQuotas::NAME => self.resource_quotas()?,
            _ => return Ok(None),
        }))
    }

    /// Returns requests in the name of a service account.
    fn client(&self, account: &str) -> ApiClient {
        ApiClient::new(self.api.clone(), account)
    }

    fn resource_quotas(&self) -> Result<Made, Error> {
        let clock = self.runtime.clock.clone();
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
