//! The quotas of namespaces: read from the cache, written by compare and swap.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use pintle_meta::{Reason, Value};
use pintle_quota::{Quota, ResourceList};
use pintle_registry::{Client, Store};

use crate::Result;
use crate::by_namespace::ByNamespace;

/// With more quotas that are newer than the cache, all are forgotten, at the price of conflicts.
const MOST: usize = 1000;

/// How quotas are read and written. The seam for tests of conflicts.
#[async_trait]
pub(super) trait QuotaAccess: Send + Sync + 'static {
    /// Returns the quotas of a namespace, as new as this server knows them. Cheap: called for every request.
    async fn quotas(&self, namespace: &str) -> Result<Vec<Arc<Quota>>>;

    /// Writes the usage of exactly this version of a quota.
    ///
    /// Errors: `Conflict` if there is a newer version; `NotFound`.
    async fn write(&self, quota: &Quota, used: &ResourceList) -> Result<()>;

    /// Returns the quota as the store has it; `None` if it is gone. Called after a conflict.
    async fn read(&self, quota: &Quota) -> Result<Option<Arc<Quota>>>;
}

/// The quotas of a store.
pub(super) struct StoredQuotas {
    cached: ByNamespace<Quota>,
    /// Writes by the rules of the status.
    client: Option<Client>,
    /// Quotas that this server wrote or read and the cache may not have yet, by namespace and name.
    recent: Mutex<HashMap<(String, String), Arc<Quota>>>,
}

impl StoredQuotas {
    /// Without a store there are no quotas, and nothing to write.
    pub(super) fn new(store: Option<&Arc<Store>>, client: Option<Client>) -> StoredQuotas {
        StoredQuotas { cached: ByNamespace::new(store, Quota::read), client, recent: Mutex::default() }
    }

    /// Returns the newer one of the cache's quota and the one that this server has seen last.
    fn newest(&self, cached: Arc<Quota>) -> Arc<Quota> {
        let mut recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        if recent.is_empty() {
            return cached;
        }
        let key = (cached.namespace.clone(), cached.name.clone());
        match recent.get(&key) {
            Some(seen) if version(seen) > version(&cached) => seen.clone(),
            Some(_) => {
                recent.remove(&key);
                cached
            }
            None => cached,
        }
    }

    /// Remembers a quota until the cache has it.
    fn saw(&self, quota: &Value) -> Arc<Quota> {
        let quota = Arc::new(Quota::read(quota));
        let key = (quota.namespace.clone(), quota.name.clone());
        let mut recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        if recent.len() >= MOST {
            recent.clear();
        }
        recent.insert(key, quota.clone());
        quota
    }
}

/// Versions of one store are numbers that grow.
fn version(quota: &Quota) -> u64 {
    quota.resource_version.parse().unwrap_or(0)
}

#[async_trait]
impl QuotaAccess for StoredQuotas {
    async fn quotas(&self, namespace: &str) -> Result<Vec<Arc<Quota>>> {
        let cached = self.cached.of(namespace).await?;
        Ok(cached.into_iter().map(|quota| self.newest(quota)).collect())
    }

    async fn write(&self, quota: &Quota, used: &ResourceList) -> Result<()> {
        let Some(client) = &self.client else { return Ok(()) };
        let used = used.to_value();
        let mut change = |current: &Value| {
            let mut new = current.clone();
            if let Some(status) = new.get_mut("status").and_then(Value::as_object_mut) {
                status.insert("used", used.clone());
            }
            Ok(Some(new))
        };
        let written = client.update_known(&quota.namespace, &quota.object, &mut change).await?;
        self.saw(&written);
        Ok(())
    }

    async fn read(&self, quota: &Quota) -> Result<Option<Arc<Quota>>> {
        let Some(client) = &self.client else { return Ok(None) };
        match client.get(&quota.namespace, &quota.name).await {
            Ok(current) => Ok(Some(self.saw(&current))),
            Err(status) if status.reason == Reason::NotFound => Ok(None),
            Err(status) => Err(status),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::objects::Resource;
    use crate::testing::TestCluster;

    const NAMESPACE: &str = "n";

    #[tokio::test]
    async fn quotas_come_from_the_cache_unless_this_server_has_seen_newer_ones() {
        let cluster = TestCluster::new().await;
        let quotas = StoredQuotas::new(cluster.cluster.stores.get(Resource::ResourceQuota), None);
        let json = |version: &str, used: &str| {
            format!(
                r#"{{"metadata":{{"name":"q","namespace":"{NAMESPACE}"{version}}},"status":{{"hard":{{"pods":"9"}},"used":{{"pods":"{used}"}}}}}}"#
            )
        };
        let seen = async || {
            let found = quotas.quotas(NAMESPACE).await.unwrap();
            found.iter().map(|quota| quota.used.to_string()).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(seen().await, "");
        cluster.put(Resource::ResourceQuota, &json("", "1")).await;
        assert_eq!(seen().await, "pods=1");
        let newer = |version: u64, used: &str| {
            let json = json(&format!(r#","resourceVersion":"{version}""#), used);
            quotas.saw(&pintle_registry::testing::object(&json));
        };
        let version = quotas.quotas(NAMESPACE).await.unwrap()[0].resource_version.parse::<u64>().unwrap();
        newer(version + 1, "2");
        assert_eq!(seen().await, "pods=2");
        for used in ["3", "4"] {
            cluster.put(Resource::ResourceQuota, &json("", used)).await;
        }
        assert_eq!(seen().await, "pods=4");
        assert!(quotas.recent.lock().unwrap().is_empty(), "the cache has caught up");
    }
}
