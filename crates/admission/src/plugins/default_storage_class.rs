//! `DefaultStorageClass`: gives new PersistentVolumeClaims that ask for no class the default one.

use async_trait::async_trait;
use pintle_meta::Value;

use crate::Result;
use crate::attributes::{Attributes, Operation, Target};
use crate::chain::Cluster;
use crate::default_class::DefaultClass;
use crate::objects::Resource;
use crate::plugin::Plugin;

/// The older one still counts.
const IS_DEFAULT: &[&str] =
    &["storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class"];

/// The annotation that stood for `spec.storageClassName`, and still precedes it.
const CLASS_ANNOTATION: &str = "volume.beta.kubernetes.io/storage-class";

pub(crate) struct DefaultStorageClass {
    default: DefaultClass,
}

impl DefaultStorageClass {
    pub(crate) fn new(cluster: &Cluster) -> DefaultStorageClass {
        DefaultStorageClass {
            default: DefaultClass::new(cluster.stores.get(Resource::StorageClass), IS_DEFAULT),
        }
    }
}

/// Returns the storage class that a claim asks for, which may be empty; `None` if it leaves the choice to the server.
pub(super) fn class_of(claim: &Value) -> Option<&str> {
    let named = || claim.at(&["spec", "storageClassName"]).and_then(Value::as_str);
    claim.annotation(CLASS_ANNOTATION).or_else(named)
}

#[async_trait]
impl Plugin for DefaultStorageClass {
    fn name(&self) -> &'static str {
        "DefaultStorageClass"
    }

    fn admits(&self, operation: Operation, target: &Target) -> bool {
        operation == Operation::Create
            && target.subresource.is_empty()
            && target.resource.group.is_empty()
            && target.resource.resource == "persistentvolumeclaims"
    }

    async fn admit(&self, attributes: &mut Attributes<'_>) -> Result<()> {
        if attributes.object().is_none_or(|claim| class_of(claim).is_some()) {
            return Ok(());
        }
        let Some(class) = self.default.name().await? else { return Ok(()) };
        let spec = attributes.object_mut().and_then(|claim| claim.get_mut("spec")?.as_object_mut());
        if let Some(spec) = spec {
            spec.insert("storageClassName", class);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{TestCluster, create, target};

    async fn class_given(plugin: &DefaultStorageClass, claim: &str) -> Option<String> {
        let outcome = create("persistentvolumeclaims").json(claim).run(plugin).await;
        let claim = outcome.normal("core/v1.PersistentVolumeClaim");
        claim.at(&["spec", "storageClassName"]).and_then(Value::as_str).map(str::to_owned)
    }

    #[tokio::test]
    async fn claims_without_a_class_get_the_default() {
        const ASKS: &str = r#"{"metadata":{"annotations":{"volume.beta.kubernetes.io/storage-class":""}}}"#;
        let cluster = TestCluster::new().await;
        let plugin = DefaultStorageClass::new(&cluster.cluster);
        assert_eq!(class_given(&plugin, "{}").await, None, "there is no default yet");
        let put = async |name: &str, annotation: &str| {
            let class =
                format!(r#"{{"metadata":{{"name":"{name}","annotations":{{"{annotation}":"true"}}}}}}"#);
            cluster.put(Resource::StorageClass, &class).await;
            // The cache is as new as the store after a list.
            cluster.cluster.objects.list(Resource::StorageClass, "").await.unwrap();
        };
        put("plain", "x").await;
        assert_eq!(class_given(&plugin, "{}").await, None, "no class is marked");
        put("old", "storageclass.beta.kubernetes.io/is-default-class").await;
        assert_eq!(class_given(&plugin, "{}").await.as_deref(), Some("old"));
        put("old", "x").await;
        put("new", "storageclass.kubernetes.io/is-default-class").await;
        for (claim, expected) in [
            ("{}", Some("new")),
            (r#"{"spec":{"accessModes":["ReadWriteOnce"],"volumeMode":"Block"}}"#, Some("new")),
            (r#"{"spec":{"storageClassName":"plain"}}"#, Some("plain")),
            (r#"{"spec":{"storageClassName":""}}"#, Some("")),
            (ASKS, None),
        ] {
            assert_eq!(class_given(&plugin, claim).await.as_deref(), expected, "{claim}");
        }
    }

    #[tokio::test]
    async fn only_new_claims_are_handled() {
        let plugin = DefaultStorageClass::new(&TestCluster::new().await.cluster);
        assert!(plugin.admits(Operation::Create, &target("persistentvolumeclaims")));
        for operation in [Operation::Update, Operation::Delete, Operation::Connect] {
            assert!(!plugin.admits(operation, &target("persistentvolumeclaims")), "{operation:?}");
        }
        for resource in ["persistentvolumeclaims/status", "persistentvolumes", "persistentvolumeclaims.x.io"]
        {
            assert!(!plugin.admits(Operation::Create, &target(resource)), "{resource}");
        }
    }
}
