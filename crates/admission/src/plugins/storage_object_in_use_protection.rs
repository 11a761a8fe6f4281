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
    use std::sync::Arc;

    use pintle_meta::gvk::GroupVersionResource;

    use super::*;
    use crate::attributes::Request;

    async fn finalizers(group: &str, resource: &str, object: &str) -> Option<Vec<String>> {
        let resource = GroupVersionResource::new(group, "v1", resource);
        let target = Target { resource, ..Target::default() };
        let request = Request { target: Arc::new(target), ..Request::default() };
        let object = Some(pintle_registry::testing::object(object));
        let operation = Operation::Create;
        let mut attributes = Attributes::new(&request, operation, object, None);
        if !StorageObjectInUseProtection.admits(operation, attributes.target()) {
            return None;
        }
        StorageObjectInUseProtection.admit(&mut attributes).await.expect("admitted");
        Some(attributes.into_object()?.finalizers().map(str::to_owned).collect())
    }

    #[tokio::test]
    async fn the_finalizer_is_added_once() {
        let new = r#"{"metadata":{"name":"a"}}"#;
        let own = Some(vec!["kubernetes.io/pvc-protection".to_owned()]);
        assert_eq!(finalizers("", "persistentvolumeclaims", new).await, own);
        let there = r#"{"metadata":{"finalizers":["kubernetes.io/pvc-protection"]}}"#;
        assert_eq!(finalizers("", "persistentvolumeclaims", there).await, own);
        let other = r#"{"metadata":{"finalizers":["x.io/y"]}}"#;
        let both = vec!["x.io/y".to_owned(), "kubernetes.io/pv-protection".to_owned()];
        assert_eq!(finalizers("", "persistentvolumes", other).await, Some(both));
        assert_eq!(finalizers("", "pods", new).await, None);
    }
}
