//! The phases of namespaces, for plugins.

use std::sync::Arc;

use async_trait::async_trait;
use pintle_meta::{Reason, Value};
use pintle_registry::{Context, Store};

use crate::Result;

/// The phase of a namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    Active,
    Terminating,
    /// Absent or another one.
    Unknown,
}

impl From<&str> for Phase {
    fn from(text: &str) -> Phase {
        match text {
            "Active" => Phase::Active,
            "Terminating" => Phase::Terminating,
            _ => Phase::Unknown,
        }
    }
}

#[async_trait]
pub trait NamespaceLister: Send + Sync + 'static {
    /// Returns the phase by the cache; `None` if the cache does not have the namespace, or is not loaded.
    fn cached(&self, name: &str) -> Option<Phase>;

    /// Returns the phase by a read of the store; `None` if there is no such namespace.
    async fn live(&self, name: &str) -> Result<Option<Phase>>;
}

/// The namespaces of a store.
pub struct StoredNamespaces {
    store: Arc<Store>,
    phase: usize,
}

impl StoredNamespaces {
    /// `phase` is the index of `status.phase` among the fields that the cache knows of a namespace.
    pub fn new(store: Arc<Store>, phase: usize) -> StoredNamespaces {
        StoredNamespaces { store, phase }
    }
}

#[async_trait]
impl NamespaceLister for StoredNamespaces {
    fn cached(&self, name: &str) -> Option<Phase> {
        let entry = self.store.cache().get(name)?;
        Some(entry.field(self.phase)?.into())
    }

    async fn live(&self, name: &str) -> Result<Option<Phase>> {
        // Loads the cache for the next request; if that fails, this one is still answered by the store.
        if let Err(error) = self.store.cache().ready().await {
            tracing::warn!(%error, "cannot load namespaces into the cache");
        }
        match self.store.get(&Context::default(), name).await {
            Ok(namespace) => Ok(Some(phase_of(&namespace))),
            Err(status) if status.reason == Reason::NotFound => Ok(None),
            Err(status) => Err(status),
        }
    }
}

fn phase_of(namespace: &Value) -> Phase {
    namespace.text_at(&["status", "phase"]).into()
}
