//! `StorageObjectInUseProtection`: adds a finalizer to every new PersistentVolumeClaim, PersistentVolume and
//! VolumeAttributesClass, which controllers remove when it is not in use.

use async_trait::async_trait;
use pintle_meta::Value;

use crate::Result;
use crate::attributes::{Attributes, Operation, Target};
use crate::plugin::Plugin;

pub(crate) struct StorageObjectInUseProtection;

/// Group, resource and finalizer.
const PROTECTED: [(&str, &str, &str); 3] = [
    ("", "persistentvolumeclaims", "kubernetes.io/pvc-protection"),
    ("", "persistentvolumes", "kubernetes.io/pv-protection"),
    ("storage.k8s.io", "volumeattributesclasses", "kubernetes.io/vac-protection"),
];

fn finalizer(target: &Target) -> Option<&'static str> {
    let (group, resource) = (target.resource.group.as_str(), target.resource.resource.as_str());
    let found = PROTECTED.iter().find(|(of, name, _)| (*of, *name) == (group, resource))?;
    Some(found.2)
}

#[async_trait]
impl Plugin for StorageObjectInUseProtection {
    fn name(&self) -> &'static str {
        "StorageObjectInUseProtection"
    }

    fn admits(&self, operation: Operation, target: &Target) -> bool {
        operation == Operation::Create && target.subresource.is_empty() && finalizer(target).is_some()
    }

    async fn admit(&self, attributes: &mut Attributes<'_>) -> Result<()> {
        let finalizer = finalizer(attributes.target());
        let (Some(finalizer), Some(object)) = (finalizer, attributes.object_mut()) else { return Ok(()) };
        if object.finalizers().any(|there| there == finalizer) {
            return Ok(());
        }
        let Some(metadata) = object.metadata_mut() else { return Ok(()) };
        let list = metadata.get_or_insert_with("finalizers", || Value::list(Vec::new()));
        if let Some(list) = list.as_list_mut() {
            list.push(finalizer.into());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::create;

    async fn finalizers(resource: &str, object: &str) -> Vec<String> {
        let object = create(resource).json(object).run(&StorageObjectInUseProtection).await.object();
        object.finalizers().map(str::to_owned).collect()
    }

    #[tokio::test]
    async fn the_finalizer_is_added_once() {
        let new = r#"{"metadata":{"name":"a"}}"#;
        let own = ["kubernetes.io/pvc-protection"];
        assert_eq!(finalizers("persistentvolumeclaims", new).await, own);
        let there = r#"{"metadata":{"finalizers":["kubernetes.io/pvc-protection"]}}"#;
        assert_eq!(finalizers("persistentvolumeclaims", there).await, own);
        let other = r#"{"metadata":{"finalizers":["x.io/y"]}}"#;
        let both = ["x.io/y", "kubernetes.io/pv-protection"];
        assert_eq!(finalizers("persistentvolumes", other).await, both);
        assert!(!create("pods").json(new).run(&StorageObjectInUseProtection).await.is_handled());
    }
}
