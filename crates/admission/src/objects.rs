//! Objects that plugins look up by name.

use std::collections::HashMap;
use std::sync::Arc;

use async_trait::async_trait;
use pintle_meta::validation::path_segment_name;
use pintle_meta::{Reason, Status, Value, quote};
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
    ResourceClaim,
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
    pub const ALL: [Resource; 22] = [
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
        Resource::ResourceClaim,
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
            Resource::ResourceClaim => "resourceclaims",
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
            Resource::ResourceClaim => ("resource.k8s.io", "resourceclaim"),
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

/// Checks that an object can have this name, for plugins that look it up with a client in the reference: a client refuses such
/// a name before it sends a request, so the error has no reason.
pub(crate) fn check_name(name: &str) -> Result<()> {
    let wrong = path_segment_name(name);
    if name.is_empty() {
        Err(Box::new(Status::plain("resource name may not be empty")))
    } else if !wrong.is_empty() {
        let why = format!("invalid resource name {}: [{}]", quote(name), wrong.join(" "));
        Err(Box::new(Status::plain(why)))
    } else {
        Ok(())
    }
}

#[async_trait]
pub trait ObjectLister: Send + Sync + 'static {
    /// Returns an object of the stored version as the cache has it. An object that the cache lacks is read from the
    /// store, so `None` means that there is no such object; it is also returned for a name that no object can have.
    async fn object(&self, resource: Resource, namespace: &str, name: &str) -> Result<Option<Value>>;

    /// Returns the objects of a namespace, in the stored version and by name, as the cache has them. An empty namespace
    /// stands for all. Waits until the cache is loaded. Costs the decoding of each: for what every request needs, a plugin
    /// has a [`pintle_registry::Mirror`] of [`AdmissionStores`].
    async fn list(&self, resource: Resource, namespace: &str) -> Result<Vec<Value>>;

    /// Returns the labels of an object as the cache has it, without decoding it: for large objects, such as nodes. Unlike
    /// [`ObjectLister::object`] it does not read etcd for an object that the cache lacks.
    async fn labels(&self, resource: Resource, namespace: &str, name: &str) -> Result<Option<Labels>> {
        let found = self.object(resource, namespace, name).await?;
        Ok(found.map(|object| owned(object.labels())))
    }
}

/// Keys and values.
pub type Labels = Vec<(String, String)>;

fn owned<'a>(labels: impl Iterator<Item = (&'a str, &'a str)>) -> Labels {
    labels.map(|(key, value)| (key.to_owned(), value.to_owned())).collect()
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
            // A bad request is a name that cannot be part of a key.
            Err(status) if matches!(status.reason, Reason::NotFound | Reason::BadRequest) => Ok(None),
            Err(status) => Err(status),
        }
    }

    async fn list(&self, resource: Resource, namespace: &str) -> Result<Vec<Value>> {
        let Some(store) = self.0.get(resource) else { return Ok(Vec::new()) };
        store.list_cached(namespace).await
    }

    async fn labels(&self, resource: Resource, namespace: &str, name: &str) -> Result<Option<Labels>> {
        let Some(store) = self.0.get(resource) else { return Ok(None) };
        let context = Context { namespace: namespace.into(), ..Context::default() };
        let entry = store.entry_if_cached(&context, name).await?;
        Ok(entry.and_then(|entry| Some(owned(entry.read().ok()?.labels()))))
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

    #[tokio::test]
    async fn labels_are_found_without_the_object() {
        let cluster = TestCluster::new().await;
        cluster.put(Resource::Node, r#"{"metadata":{"name":"n","labels":{"a":"1","b":""}}}"#).await;
        cluster.put(Resource::Node, r#"{"metadata":{"name":"plain"}}"#).await;
        let labels =
            async |name: &str| cluster.cluster.objects.labels(Resource::Node, "", name).await.unwrap();
        let expected = vec![("a".to_owned(), "1".to_owned()), ("b".to_owned(), String::new())];
        assert_eq!(labels("n").await, Some(expected));
        assert_eq!(labels("plain").await, Some(Vec::new()));
        for missing in ["none", "", "..", "a/b"] {
            assert_eq!(labels(missing).await, None, "{missing}");
            assert_eq!(cluster.cluster.objects.object(Resource::Node, "", missing).await.unwrap(), None);
        }
    }
}
