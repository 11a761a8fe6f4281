//! `volumeattributesclass-protection-controller`: a class that volumes or claims refer to is not removed.

use std::sync::Arc;

use async_trait::async_trait;
use pintle_cache::{Change, Entry};
use pintle_meta::gvk::GroupVersionResource;
use pintle_meta::{Status, Value};
use pintle_registry::{Result, Store};
use pintle_runtime::Clock;

use super::{Finalizer, current, report};
use crate::api::ApiClient;
use crate::runtime::{Controller, Key, Requeue, Seen, Source, Waiting, WorkQueue, follow};

/// Protects VolumeAttributesClasses.
#[derive(Clone)]
pub struct AttributesClassProtection {
    finalizer: Finalizer,
    volumes: Users,
    claims: Users,
    clock: Clock,
}

/// Objects that refer to classes.
#[derive(Clone)]
struct Users {
    store: Arc<Store>,
    references: fn(&Value) -> Vec<&str>,
}

impl Users {
    async fn use_class(&self, class: &str) -> Result<bool> {
        for entry in current(&self.store).await?.objects.iter() {
            if (self.references)(&self.store.object(entry)?).contains(&class) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Calls `released` with the classes that an object refers to no more.
    fn see(&self, change: &Change, released: impl Fn(&str)) {
        let read = |entry: &Arc<Entry>| self.store.object(entry).ok();
        let Some(old) = change.previous.as_ref().and_then(read) else { return };
        let new = read(&change.entry).filter(|_| !change.deleted);
        let kept = new.as_ref().map(|new| (self.references)(new)).unwrap_or_default();
        (self.references)(&old).into_iter().filter(|class| !kept.contains(class)).for_each(released);
    }
}

impl AttributesClassProtection {
    pub const NAME: &'static str = "volumeattributesclass-protection-controller";

    pub fn new(
        classes: Arc<Store>,
        volumes: Arc<Store>,
        claims: Arc<Store>,
        api: ApiClient,
        clock: Clock,
    ) -> AttributesClassProtection {
        let resource = GroupVersionResource::new("storage.k8s.io", "v1", "volumeattributesclasses");
        AttributesClassProtection {
            finalizer: Finalizer {
                name: "kubernetes.io/vac-protection",
                resource,
                objects: classes,
                api,
                waiting: Waiting::default(),
            },
            volumes: Users { store: volumes, references: of_volume },
            claims: Users { store: claims, references: of_claim },
            clock,
        }
    }

    async fn is_used(&self, class: &Value) -> Result<bool> {
        Ok(self.volumes.use_class(class.name()).await? || self.claims.use_class(class.name()).await?)
    }

    async fn follow(&self, users: &Users, queue: &WorkQueue<Key>) {
        let see = |seen: Seen<'_>| match seen {
            Seen::All(_) => self.finalizer.waiting.all().into_iter().for_each(|key| queue.add(key)),
            Seen::Change(change) => users.see(change, |class| {
                if self.finalizer.waiting.contains(class) {
                    queue.add(class.into());
                }
            }),
        };
        follow(&users.store, &self.clock, see).await;
    }
}

/// Returns the texts that are not empty.
fn present<const N: usize>(texts: [&str; N]) -> Vec<&str> {
    texts.into_iter().filter(|text| !text.is_empty()).collect()
}

fn of_volume(volume: &Value) -> Vec<&str> {
    present([volume.text_at(&["spec", "volumeAttributesClassName"])])
}

/// The class that is wanted, the one that is, and the one that it is being changed to.
fn of_claim(claim: &Value) -> Vec<&str> {
    present([
        claim.text_at(&["spec", "volumeAttributesClassName"]),
        claim.text_at(&["status", "currentVolumeAttributesClassName"]),
        claim.text_at(&["status", "modifyVolumeStatus", "targetVolumeAttributesClassName"]),
    ])
}

#[async_trait]
impl Controller for AttributesClassProtection {
    fn name(&self) -> &'static str {
        "vacprotection"
    }

    fn sources(&self) -> Vec<Source> {
        let own = self.clone();
        let users = Source::feeder(move |queue| async move {
            let while_waiting = || async {
                tokio::join!(own.follow(&own.volumes, &queue), own.follow(&own.claims, &queue));
            };
            own.finalizer.waiting.run(while_waiting).await;
        });
        vec![self.finalizer.source(|own, class| own.is_missing(class) || own.holds(class)), users]
    }

    async fn reconcile(&self, key: &str) -> Result<Requeue> {
        let Some(class) = self.finalizer.object(key).await? else {
            self.finalizer.waiting.remove(key);
            return Ok(Requeue::Never);
        };
        if self.finalizer.holds(&class) {
            self.finalizer.waiting.add(key);
            if !self.is_used(&class).await? {
                self.finalizer.remove(&class).await?;
            }
            return Ok(Requeue::Never);
        }
        self.finalizer.waiting.remove(key);
        if self.finalizer.is_missing(&class) {
            self.finalizer.add(&class).await?;
        }
        Ok(Requeue::Never)
    }

    fn failed(&self, key: &str, status: &Status) {
        report("VAC", key, status);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protection::object;

    #[test]
    fn claims_refer_to_the_classes_they_have_had_and_want() {
        let claim = object(
            r#"{"spec":{"volumeAttributesClassName":"new"},"status":{"currentVolumeAttributesClassName":"old",
                "modifyVolumeStatus":{"targetVolumeAttributesClassName":"next"}}}"#,
        );
        assert_eq!(of_claim(&claim), ["new", "old", "next"]);
        assert!(of_claim(&object("{}")).is_empty());
        assert_eq!(of_volume(&object(r#"{"spec":{"volumeAttributesClassName":"x"}}"#)), ["x"]);
    }
}
