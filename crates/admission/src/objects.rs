//! Objects that plugins look up by name.

use std::collections::HashMap;
use std::sync::Arc;

use async_trait::async_trait;
use pintle_meta::{Reason, Status, Value};
use pintle_registry::{Context, Store};

use crate::Result;

/// A resource whose objects plugins read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Resource {
    CsiDriver,
    DeviceClass,
    IngressClass,
    LimitRange,
    MutatingAdmissionPolicy,
    MutatingAdmissionPolicyBinding,
    MutatingWebhookConfiguration,
    Namespace,
    Node,
    PersistentVolume,
    PersistentVolumeClaim,
    Pod,
    PodGroup,
    ResourceQuota,
    RuntimeClass,
    ServiceAccount,
    StorageClass,
    ValidatingAdmissionPolicy,
    ValidatingAdmissionPolicyBinding,
    ValidatingWebhookConfiguration,
    Workload,
}

impl Resource {
    pub const ALL: [Resource; 21] = [
        Resource::CsiDriver,
        Resource::DeviceClass,
        Resource::IngressClass,
        Resource::LimitRange,
        Resource::MutatingAdmissionPolicy,
        Resource::MutatingAdmissionPolicyBinding,
        Resource::MutatingWebhookConfiguration,
        Resource::Namespace,
        Resource::Node,
        Resource::PersistentVolume,
        Resource::PersistentVolumeClaim,
        Resource::Pod,
        Resource::PodGroup,
        Resource::ResourceQuota,
        Resource::RuntimeClass,
        Resource::ServiceAccount,
        Resource::StorageClass,
        Resource::ValidatingAdmissionPolicy,
        Resource::ValidatingAdmissionPolicyBinding,
        Resource::ValidatingWebhookConfiguration,
        Resource::Workload,
    ];

    /// Returns the path of its keys in the store.
    pub fn path(self) -> &'static str {
        match self {
            Resource::CsiDriver => "csidrivers",
            Resource::DeviceClass => "deviceclasses",
            Resource::IngressClass => "ingressclasses",
            Resource::LimitRange => "limitranges",
            Resource::MutatingAdmissionPolicy => "mutatingadmissionpolicies",
            Resource::MutatingAdmissionPolicyBinding => "mutatingadmissionpolicybindings",
            Resource::MutatingWebhookConfiguration => "mutatingwebhookconfigurations",
            Resource::Namespace => "namespaces",
            Resource::Node => "minions",
            Resource::PersistentVolume => "persistentvolumes",
            Resource::PersistentVolumeClaim => "persistentvolumeclaims",
            Resource::Pod => "pods",
            Resource::PodGroup => "podgroups",
            Resource::ResourceQuota => "resourcequotas",
            Resource::RuntimeClass => "runtimeclasses",
            Resource::ServiceAccount => "serviceaccounts",
            Resource::StorageClass => "storageclasses",
            Resource::ValidatingAdmissionPolicy => "validatingadmissionpolicies",
            Resource::ValidatingAdmissionPolicyBinding => "validatingadmissionpolicybindings",
            Resource::ValidatingWebhookConfiguration => "validatingwebhookconfigurations",
            Resource::Workload => "workloads",
        }
    }

    /// Returns the group and the singular name that messages have.
    fn singular(self) -> (&'static str, &'static str) {
        match self {
            Resource::CsiDriver => ("storage.k8s.io", "csidriver"),
            Resource::DeviceClass => ("resource.k8s.io", "deviceclass"),
            Resource::IngressClass => ("networking.k8s.io", "ingressclass"),
            Resource::LimitRange => ("", "limitrange"),
            Resource::MutatingAdmissionPolicy => ("admissionregistration.k8s.io", "mutatingadmissionpolicy"),
            Resource::MutatingAdmissionPolicyBinding => {
                ("admissionregistration.k8s.io", "mutatingadmissionpolicybinding")
            }
            Resource::MutatingWebhookConfiguration => {
                ("admissionregistration.k8s.io", "mutatingwebhookconfiguration")
            }
            Resource::Namespace => ("", "namespace"),
            Resource::Node => ("", "node"),
            Resource::PersistentVolume => ("", "persistentvolume"),
            Resource::PersistentVolumeClaim => ("", "persistentvolumeclaim"),
            Resource::Pod => ("", "pod"),
            Resource::PodGroup => ("scheduling.k8s.io", "podgroup"),
            Resource::ResourceQuota => ("", "resourcequota"),
            Resource::RuntimeClass => ("node.k8s.io", "runtimeclass"),
            Resource::ServiceAccount => ("", "serviceaccount"),
            Resource::StorageClass => ("storage.k8s.io", "storageclass"),
            Resource::ValidatingAdmissionPolicy => {
                ("admissionregistration.k8s.io", "validatingadmissionpolicy")
            }
            Resource::ValidatingAdmissionPolicyBinding => {
                ("admissionregistration.k8s.io", "validatingadmissionpolicybinding")
            }
            Resource::ValidatingWebhookConfiguration => {
                ("admissionregistration.k8s.io", "validatingwebhookconfiguration")
            }
            Resource::Workload => ("scheduling.k8s.io", "workload"),
        }
    }

    /// `pod "a" not found`.
    pub(crate) fn not_found(self, name: &str) -> Box<Status> {
        let (group, resource) = self.singular();
        Box::new(Status::not_found(group, resource, name))
    }
}

#[async_trait]
pub trait ObjectLister: Send + Sync + 'static {
    /// Returns an object of the stored version as the cache has it. An object that the cache lacks is read from the
    /// store, so `None` means that there is no such object.
    async fn object(&self, resource: Resource, namespace: &str, name: &str) -> Result<Option<Value>>;

    /// Returns the objects of a namespace, in the stored version and by name, as the cache has them. An empty namespace
    /// stands for all. Waits until the cache is loaded. Costs the decoding of each: for what every request needs, a plugin
    /// has a [`pintle_registry::Mirror`] of [`AdmissionStores`].
    async fn list(&self, resource: Resource, namespace: &str) -> Result<Vec<Value>>;
}

/// The stores of the resources that plugins read, for mirrors of their objects.
#[derive(Clone, Default)]
pub struct AdmissionStores(Arc<HashMap<Resource, Arc<Store>>>);

impl AdmissionStores {
    /// `store` finds a store by the path of its keys.
    pub fn new(store: impl Fn(&str) -> Option<Arc<Store>>) -> AdmissionStores {
        let found =
            Resource::ALL.into_iter().filter_map(|resource| Some((resource, store(resource.path())?)));
        AdmissionStores(Arc::new(found.collect()))
    }

    /// Returns the store of a resource; `None` where the resource is not served.
    pub fn get(&self, resource: Resource) -> Option<&Arc<Store>> {
        self.0.get(&resource)
    }
}

/// The objects of stores. A resource without a store has no objects.
pub struct StoredObjects(AdmissionStores);

impl StoredObjects {
    pub fn new(stores: AdmissionStores) -> StoredObjects {
        StoredObjects(stores)
    }
}

#[async_trait]
impl ObjectLister for StoredObjects {
    async fn object(&self, resource: Resource, namespace: &str, name: &str) -> Result<Option<Value>> {
        let Some(store) = self.0.get(resource) else { return Ok(None) };
        let context = Context { namespace: namespace.into(), ..Context::default() };
        match store.cached_entry(&context, name).await.and_then(|entry| store.object(&entry)) {
            Ok(object) => Ok(Some(object)),
            Err(status) if status.reason == Reason::NotFound => Ok(None),
            Err(status) => Err(status),
        }
    }

    async fn list(&self, resource: Resource, namespace: &str) -> Result<Vec<Value>> {
        let Some(store) = self.0.get(resource) else { return Ok(Vec::new()) };
        store.list_cached(namespace).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::TestCluster;

    #[tokio::test]
    async fn objects_are_found_by_name_and_listed_by_namespace() {
        let cluster = TestCluster::new().await;
        for (namespace, name) in [("a", "two"), ("a", "one"), ("b", "three")] {
            let json = format!(r#"{{"metadata":{{"name":"{name}","namespace":"{namespace}"}}}}"#);
            cluster.put(Resource::LimitRange, &json).await;
        }
        let objects = &cluster.cluster.objects;
        let listed = async |resource, namespace: &str| {
            let found = objects.list(resource, namespace).await.unwrap();
            found.iter().map(|object| object.name().to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(listed(Resource::LimitRange, "a").await, ["one", "two"]);
        assert_eq!(listed(Resource::LimitRange, "").await, ["one", "two", "three"]);
        assert_eq!(listed(Resource::Pod, "a").await, [""; 0]);
        let one = objects.object(Resource::LimitRange, "a", "one").await.unwrap();
        assert_eq!(one.unwrap().namespace(), "a");
        assert_eq!(objects.object(Resource::LimitRange, "b", "one").await.unwrap(), None);
    }
}
