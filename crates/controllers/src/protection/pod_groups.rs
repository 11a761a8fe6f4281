//! `podgroup-protection-controller`: a PodGroup is not removed while a pod that has not ended belongs to it.

use std::sync::Arc;

use async_trait::async_trait;
use pintle_cache::Change;
use pintle_meta::gvk::GroupVersionResource;
use pintle_meta::{Status, Value};
use pintle_registry::{Result, Store};
use pintle_runtime::Clock;

use super::{Finalizer, current, has_ended, report};
use crate::api::ApiClient;
use crate::runtime::{Controller, Key, Requeue, Source, Waiting, WorkQueue};

/// Protects PodGroups.
#[derive(Clone)]
pub struct PodGroupProtection {
    finalizer: Finalizer,
    pods: Arc<Store>,
    clock: Clock,
}

impl PodGroupProtection {
    pub const NAME: &'static str = "podgroup-protection-controller";

    pub fn new(groups: Arc<Store>, pods: Arc<Store>, api: ApiClient, clock: Clock) -> PodGroupProtection {
        let resource = GroupVersionResource::new("scheduling.k8s.io", "v1alpha2", "podgroups");
        let name = "scheduling.k8s.io/podgroup-protection";
        let finalizer = Finalizer { name, resource, objects: groups, api, waiting: Waiting::default() };
        PodGroupProtection { finalizer, pods, clock }
    }

    async fn is_used(&self, group: &Value) -> Result<bool> {
        let pods = current(&self.pods).await?;
        for entry in pods.objects.iter_prefix(&format!("{}/", group.namespace())) {
            let pod = self.pods.object(entry)?;
            if group_of(&pod) == group.name() && !has_ended(&pod) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Queues the waiting group of a pod that has left it.
    fn see_pod(&self, change: &Change, queue: &WorkQueue<Key>) {
        let Some((namespace, _)) = change.entry.key().split_once('/') else { return };
        if !self.finalizer.waiting.has_in(namespace) {
            return;
        }
        let Ok(pod) = self.pods.object(&change.entry) else { return };
        let previous = change.previous.as_ref().and_then(|entry| self.pods.object(entry).ok());
        let replaced = previous.filter(|previous| previous.uid() != pod.uid());
        let released = (change.deleted || has_ended(&pod)).then_some(pod);
        for pod in [released, replaced].into_iter().flatten() {
            let key = format!("{namespace}/{}", group_of(&pod));
            if self.finalizer.waiting.contains(&key) {
                queue.add(key.into());
            }
        }
    }
}

fn group_of(pod: &Value) -> &str {
    pod.text_at(&["spec", "schedulingGroup", "podGroupName"])
}

#[async_trait]
impl Controller for PodGroupProtection {
    fn name(&self) -> &'static str {
        "podgroupprotection"
    }

    fn sources(&self) -> Vec<Source> {
        let own = self.clone();
        let pods =
            self.finalizer.users(&self.pods, &self.clock, move |change, queue| own.see_pod(change, queue));
        vec![self.finalizer.source(Finalizer::holds), pods]
    }

    async fn reconcile(&self, key: &str) -> Result<Requeue> {
        let group = self.finalizer.object(key).await?.filter(|group| self.finalizer.holds(group));
        let Some(group) = group else {
            self.finalizer.waiting.remove(key);
            return Ok(Requeue::Never);
        };
        self.finalizer.waiting.add(key);
        if !self.is_used(&group).await? {
            self.finalizer.remove(&group).await?;
        }
        Ok(Requeue::Never)
    }

    fn failed(&self, key: &str, status: &Status) {
        report("PodGroup", key, status);
    }
}
