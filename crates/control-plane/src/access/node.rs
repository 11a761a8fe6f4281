//! The graph of the node authorizer: pods and the objects that they use, as current as the cache.
//!
//! It is loaded with the first request of a kubelet, so that a server without nodes pays nothing.

use std::sync::Arc;

use async_trait::async_trait;
use pintle_auth::Metrics;
use pintle_auth::authorizer::node::{Graph, Kind, Relations};
use pintle_meta::Value;
use pintle_registry::{Mirror, Reflect, Store};
use pintle_runtime::Stopwatch;

/// The graph over the stores of the control plane.
pub(crate) struct NodeGraph {
    mirror: Mirror<Reflected>,
}

struct Reflected {
    graph: Graph,
    /// The kind of each store of the mirror.
    kinds: Vec<Kind>,
    metrics: Metrics,
}

impl NodeGraph {
    /// `store` finds the store of a resource by the path of its keys.
    pub(crate) fn new(store: impl Fn(&str) -> Option<Arc<Store>>, metrics: Metrics) -> NodeGraph {
        let (kinds, stores) =
            Kind::SOURCES.into_iter().filter_map(|kind| Some((kind, store(path(kind)?)?))).unzip();
        NodeGraph { mirror: Mirror::new(stores, Reflected { graph: Graph::new(), kinds, metrics }) }
    }
}

#[async_trait]
impl Relations for NodeGraph {
    async fn has_path(&self, kind: Kind, namespace: &str, name: &str, node: &str) -> Result<bool, String> {
        self.mirror.ready().await.map_err(|status| status.message.clone())?;
        let has_path = || self.mirror.read(|reflected| reflected.graph.has_path(kind, namespace, name, node));
        if has_path() {
            return Ok(true);
        }
        self.mirror.wait_for_writes().await;
        Ok(has_path())
    }
}

impl Reflect for Reflected {
    fn set(&mut self, resource: usize, key: &str, object: Option<&Value>) {
        let (namespace, name) = key.split_once('/').unwrap_or(("", key));
        let (kind, watch) = (self.kinds[resource], Stopwatch::start());
        match object {
            Some(object) => self.graph.set(kind, namespace, name, object),
            None => self.graph.remove(kind, namespace, name),
        }
        self.metrics.graph_changed(operation(kind, object.is_some()), watch.elapsed());
    }

    fn clear(&mut self, resource: usize) {
        self.graph.clear(self.kinds[resource]);
    }
}

/// Returns the name of a change in metrics.
fn operation(kind: Kind, is_there: bool) -> &'static str {
    match (kind, is_there) {
        (Kind::PersistentVolume, true) => "AddPV",
        (Kind::PersistentVolume, false) => "DeletePV",
        (Kind::VolumeAttachment, true) => "AddVolumeAttachment",
        (Kind::VolumeAttachment, false) => "DeleteVolumeAttachment",
        (Kind::ResourceSlice, true) => "AddResourceSlice",
        (Kind::ResourceSlice, false) => "DeleteResourceSlice",
        (Kind::PodCertificateRequest, true) => "AddPodCertificateRequest",
        (Kind::PodCertificateRequest, false) => "DeletePodCertificateRequest",
        (_, true) => "AddPod",
        (_, false) => "DeletePod",
    }
}

/// Returns the path of a kind's keys.
fn path(kind: Kind) -> Option<&'static str> {
    Some(match kind {
        Kind::Pod => "pods",
        Kind::PersistentVolume => "persistentvolumes",
        Kind::VolumeAttachment => "volumeattachments",
        Kind::ResourceSlice => "resourceslices",
        Kind::PodCertificateRequest => "podcertificaterequests",
        _ => return None,
    })
}
