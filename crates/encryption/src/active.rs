//! The transformers that are in use, by resource.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use pintle_runtime::Tasks;

use crate::chain::Chain;
use crate::health::Probes;
use crate::resources::{GroupResource, StoredResources};

/// A resource that the configuration names, and its providers.
pub(crate) struct Encrypted {
    /// The name in metrics.
    pub(crate) resource: String,
    pub(crate) chain: Arc<Chain>,
}

/// The transformers of one configuration. Dropping it ends the tasks of its plugins; a request that still uses one holds it.
pub(crate) struct Active {
    resources: HashMap<GroupResource, Arc<Chain>>,
    /// By the part of keys that a resource has to itself; one that is not encrypted is found as nothing.
    found: RwLock<HashMap<Box<str>, Option<Arc<Encrypted>>>>,
    pub(crate) probes: Probes,
    /// Whether all plugins have one health check together.
    pub(crate) has_one_check: bool,
    /// How long all plugins may take to answer.
    pub(crate) patience: Duration,
    _tasks: Tasks,
}

/// Number of resources that are remembered at most. There are not more in any cluster; more only cost a search.
const MOST_FOUND: usize = 10_000;

impl Active {
    pub(crate) fn new(
        resources: HashMap<GroupResource, Arc<Chain>>,
        probes: Probes,
        has_one_check: bool,
        patience: Duration,
        tasks: Tasks,
    ) -> Active {
        Active { resources, found: RwLock::default(), probes, has_one_check, patience, _tasks: tasks }
    }

    pub(crate) fn empty() -> Active {
        Active::new(HashMap::new(), Probes::default(), false, Duration::ZERO, Tasks::new())
    }

    /// Whether no resource has providers.
    pub(crate) fn is_empty(&self) -> bool {
        self.resources.is_empty()
    }

    /// Returns the providers of a key's value, if it has any.
    pub(crate) fn of(&self, stored: &StoredResources, key: &[u8]) -> Option<Arc<Encrypted>> {
        let path = stored.path(key)?;
        if let Some(known) = self.found.read().unwrap_or_else(PoisonError::into_inner).get(path) {
            return known.clone();
        }
        let encrypted = stored.resource(path).and_then(|resource| {
            let chain = resource.and_wildcards().iter().find_map(|of| self.resources.get(of))?.clone();
            Some(Arc::new(Encrypted { resource: resource.to_string(), chain }))
        });
        let mut found = self.found.write().unwrap_or_else(PoisonError::into_inner);
        if found.len() < MOST_FOUND {
            found.insert(path.into(), encrypted.clone());
        }
        encrypted
    }
}
