//! `persistentvolume-protection-controller`: a volume that is bound to a claim is not removed.

use std::sync::Arc;

use async_trait::async_trait;
use pintle_meta::gvk::GroupVersionResource;
use pintle_meta::{Status, Value};
use pintle_registry::{Result, Store};

use super::{Finalizer, report};
use crate::api::ApiClient;
use crate::runtime::{Controller, Requeue, Source, Waiting};

/// Protects PersistentVolumes.
pub struct VolumeProtection(Finalizer);

impl VolumeProtection {
    pub const NAME: &'static str = "persistentvolume-protection-controller";
    /// The service account, whose name is older.
    pub const ACCOUNT: &'static str = "pv-protection-controller";

    pub fn new(volumes: Arc<Store>, api: ApiClient) -> VolumeProtection {
        let resource = GroupVersionResource::new("", "v1", "persistentvolumes");
        let name = "kubernetes.io/pv-protection";
        VolumeProtection(Finalizer { name, resource, objects: volumes, api, waiting: Waiting::default() })
    }
}

#[async_trait]
impl Controller for VolumeProtection {
    fn name(&self) -> &'static str {
        "pvprotection"
    }

    fn sources(&self) -> Vec<Source> {
        vec![self.0.source(|own, volume| own.is_missing(volume) || own.holds(volume))]
    }

    async fn reconcile(&self, key: &str) -> Result<Requeue> {
        let Some(volume) = self.0.object(key).await? else { return Ok(Requeue::Never) };
        if self.0.holds(&volume) && !is_used(&volume) {
            self.0.remove(&volume).await?;
        } else if self.0.is_missing(&volume) {
            self.0.add(&volume).await?;
        }
        Ok(Requeue::Never)
    }

    fn failed(&self, key: &str, status: &Status) {
        report("PV", key, status);
    }
}

fn is_used(volume: &Value) -> bool {
    volume.text_at(&["status", "phase"]) == "Bound"
}
