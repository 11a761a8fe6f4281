//! What plugins know of namespaces.

use std::sync::Arc;

use async_trait::async_trait;
use pintle_meta::{Reason, Value};
use pintle_registry::{Context, Store};

use crate::Result;

/// Where a namespace stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    Active,
    Terminating,
    /// It does not say.
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
    /// The phase of a namespace as it was a moment ago; `None` if it was not there, or nothing is known yet.
    fn cached(&self, name: &str) -> Option<Phase>;

    /// The phase now, from the store; `None` if there is no such namespace.
    async fn live(&self, name: &str) -> Result<Option<Phase>>;
}

/// The namespaces of a store.
pub struct StoredNamespaces {
    store: Arc<Store>,
    phase: usize,
}

impl StoredNamespaces {
    /// `phase` is the place of `status.phase` among the fields that the cache knows of a namespace.
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
        // Whoever asks next finds them in the cache; if it cannot be loaded, the store still answers.
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
