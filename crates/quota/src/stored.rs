//! The surroundings of objects, out of the caches of stores.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use pintle_meta::Value;
use pintle_meta::time::Time;
use pintle_registry::{Mirror, Reflect, Result, Store};
use pintle_runtime::Clock;

use crate::evaluator::{Surroundings, extended_resource_owner};
use crate::names::DEVICE_CLASS;

/// Device classes, pods and claims of stores. A resource without a store has no objects.
pub struct StoredSurroundings {
    pods: Option<Arc<Store>>,
    device_classes: Mirror<DeviceClasses>,
    claims: Mirror<Claims>,
    clock: Clock,
}

impl StoredSurroundings {
    pub fn new(
        pods: Option<Arc<Store>>,
        device_classes: Option<Arc<Store>>,
        claims: Option<Arc<Store>>,
        clock: Clock,
    ) -> StoredSurroundings {
        StoredSurroundings {
            pods,
            device_classes: Mirror::new(device_classes.into_iter().collect(), DeviceClasses::default()),
            claims: Mirror::new(claims.into_iter().collect(), Claims::default()),
            clock,
        }
    }

    /// Loads the caches that the usage of a resource claim depends on; only the first call does.
    pub async fn ready_for_claim(&self, claim: &Value) -> Result<()> {
        self.device_classes.ready().await?;
        if extended_resource_owner(claim).is_none() {
            return Ok(());
        }
        if let Some(pods) = &self.pods {
            pods.cache().ready().await.map_err(|error| pintle_registry::cache_error(&error))?;
        }
        self.claims.ready().await
    }
}

impl Surroundings for StoredSurroundings {
    fn now(&self) -> Time {
        self.clock.now().into()
    }

    fn extended_resource(&self, device_class: &str) -> Option<String> {
        self.device_classes.read(|classes| classes.by_name.get(device_class).cloned().flatten())
    }

    fn has_device_class(&self, extended_resource: &str) -> bool {
        self.device_classes.read(|classes| {
            let implied = extended_resource.strip_prefix(DEVICE_CLASS);
            implied.is_some_and(|class| classes.by_name.contains_key(class))
                || classes.provided.contains_key(extended_resource)
        })
    }

    fn pod(&self, namespace: &str, name: &str) -> Option<Value> {
        let store = self.pods.as_ref()?;
        let entry = store.cache().get(&format!("{namespace}/{name}"))?;
        store.object(&entry).ok()
    }

    fn extended_resource_claims(&self, namespace: &str, pod_uid: &str) -> Vec<Value> {
        self.claims.read(|claims| {
            let of_pod = claims.by_pod.get(pod_uid).into_iter().flatten();
            of_pod
                .filter(|(_, claim)| claim.namespace() == namespace)
                .map(|(_, claim)| claim.clone())
                .collect()
        })
    }
}

#[derive(Default)]
struct DeviceClasses {
    /// The extended resource of each class, if it declares one.
    by_name: HashMap<String, Option<String>>,
    /// How many classes declare an extended resource.
    provided: HashMap<String, usize>,
}

impl Reflect for DeviceClasses {
    fn set(&mut self, _resource: usize, name: &str, object: Option<&Value>) {
        if let Some(Some(old)) = self.by_name.remove(name)
            && let Some(count) = self.provided.get_mut(&old)
        {
            *count -= 1;
            if *count == 0 {
                self.provided.remove(&old);
            }
        }
        let Some(class) = object else { return };
        let extended = class.at(&["spec", "extendedResourceName"]).and_then(Value::as_str);
        if let Some(extended) = extended {
            *self.provided.entry(extended.into()).or_default() += 1;
        }
        self.by_name.insert(name.into(), extended.map(str::to_owned));
    }

    fn clear(&mut self, _resource: usize) {
        *self = DeviceClasses::default();
    }
}

/// Claims for extended resources, by the UIDs of their pods and by key.
#[derive(Default)]
struct Claims {
    by_pod: HashMap<String, BTreeMap<String, Value>>,
    pods: HashMap<String, String>,
}

impl Reflect for Claims {
    fn set(&mut self, _resource: usize, key: &str, object: Option<&Value>) {
        if let Some(pod) = self.pods.remove(key)
            && let Some(claims) = self.by_pod.get_mut(&pod)
        {
            claims.remove(key);
            if claims.is_empty() {
                self.by_pod.remove(&pod);
            }
        }
        let Some(claim) = object else { return };
        let Some(owner) = extended_resource_owner(claim) else { return };
        let pod = owner.text_at(&["uid"]);
        self.pods.insert(key.into(), pod.into());
        self.by_pod.entry(pod.into()).or_default().insert(key.into(), claim.clone());
    }

    fn clear(&mut self, _resource: usize) {
        *self = Claims::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evaluator::tests::object;

    #[test]
    fn device_classes_are_known_by_the_extended_resources_that_they_provide() {
        let mut classes = DeviceClasses::default();
        let class = |extended: &str| {
            object(
                "resource/v1.DeviceClass",
                &format!(r#"{{"spec":{{"extendedResourceName":"{extended}"}}}}"#),
            )
        };
        classes.set(0, "one", Some(&class("example.com/gpu")));
        classes.set(0, "two", Some(&class("example.com/gpu")));
        classes.set(0, "plain", Some(&object("resource/v1.DeviceClass", "{}")));
        assert_eq!(classes.by_name["plain"], None);
        classes.set(0, "one", Some(&class("example.com/tpu")));
        assert!(classes.provided.contains_key("example.com/gpu"));
        classes.set(0, "two", None);
        assert_eq!(classes.provided.keys().collect::<Vec<_>>(), ["example.com/tpu"]);
        assert_eq!(classes.by_name.len(), 2);
    }

    #[test]
    fn claims_are_found_by_their_pods() {
        let mut claims = Claims::default();
        let claim = |pod: &str| {
            let owner =
                format!(r#"{{"apiVersion":"v1","kind":"Pod","name":"p","uid":"{pod}","controller":true}}"#);
            let mark = r#""annotations":{"resource.kubernetes.io/extended-resource-claim":"true"}"#;
            let json = format!(
                r#"{{"metadata":{{"name":"c","namespace":"n",{mark},"ownerReferences":[{owner}]}}}}"#
            );
            object("resource/v1.ResourceClaim", &json)
        };
        claims.set(0, "n/c", Some(&claim("u1")));
        claims.set(0, "n/d", Some(&object("resource/v1.ResourceClaim", r#"{"metadata":{"name":"d"}}"#)));
        assert_eq!(claims.by_pod.len(), 1);
        claims.set(0, "n/c", Some(&claim("u2")));
        assert_eq!(claims.by_pod.keys().collect::<Vec<_>>(), ["u2"]);
        claims.set(0, "n/c", None);
        assert!(claims.by_pod.is_empty() && claims.pods.is_empty());
    }
}
