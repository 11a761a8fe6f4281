//! Reads of single objects and of namespaces from their store: cheaper than requests, and as current.

use bytes::Bytes;
use pintle_codec::ownership::Ownership;
use pintle_meta::Status;
use pintle_meta::gvk::GroupVersionResource;
use pintle_registry::Result;
use pintle_storage::RangeRequest;

use super::GarbageCollector;
use super::node::{NodeId, Uid};
use super::resources::{Resource, split};

/// Namespaces that are read at once.
const PAGE: usize = 500;

/// A stored object.
pub(super) struct Live {
    value: Bytes,
    pub(super) resource_version: String,
}

impl Live {
    pub(super) fn metadata(&self) -> Result<Ownership<'_>> {
        Ownership::scan(&self.value).map_err(|error| Box::new(Status::internal(error)))
    }
}

impl GarbageCollector {
    /// Reads an object as it is now.
    pub(super) async fn read(&self, resource: &Resource, key: &str) -> Result<Option<Live>> {
        let Some(keys) = &resource.stored else { return Ok(None) };
        let key = [&keys.prefix, key.as_bytes()].concat();
        let (found, _) = keys.backend.get(&key, None).await.map_err(Status::internal)?;
        Ok(found.map(|found| Live { value: found.value, resource_version: found.mod_revision.to_string() }))
    }

    /// Reads an object as it is now, unless it is gone or another one has its name.
    pub(super) async fn read_same(&self, resource: &Resource, key: &str, uid: Uid) -> Result<Option<Live>> {
        let found = self.read(resource, key).await?;
        let is_same = |live: &Live| live.metadata().map(|metadata| Uid::of(&metadata.uid) == uid);
        match found {
            Some(live) if is_same(&live)? => Ok(Some(live)),
            _ => Ok(None),
        }
    }

    /// Looks in other namespaces for an object of the same name with a uid. Not every time: that takes a read for each namespace.
    pub(super) async fn is_elsewhere(&self, resource: &Resource, key: &str, uid: Uid) -> bool {
        if !resource.is_namespaced || !self.may_search() {
            return false;
        }
        let found = self.search(resource, key, uid).await;
        found.unwrap_or_else(|status| {
            tracing::debug!("other namespaces could not be searched: {}", status.message);
            false
        })
    }

    async fn search(&self, resource: &Resource, key: &str, uid: Uid) -> Result<bool> {
        let (own, name) = split(key);
        let namespaces = {
            let graph = self.graph();
            let id = graph.resources.of_resource(&GroupVersionResource::new("", "v1", "namespaces"));
            id.and_then(|id| graph.resources.get(id).cloned())
        };
        let Some(keys) = namespaces.and_then(|namespaces| namespaces.stored.clone()) else {
            return Ok(false);
        };
        let mut from = None;
        loop {
            let request = RangeRequest { prefix: keys.prefix.clone(), from, limit: PAGE, at: None };
            let range = keys.backend.range(request).await.map_err(Status::internal)?;
            for kv in &range.kvs {
                let namespace = String::from_utf8_lossy(&kv.key[keys.prefix.len()..]);
                let there = format!("{namespace}/{name}");
                if namespace != own && self.read_same(resource, &there, uid).await?.is_some() {
                    return Ok(true);
                }
            }
            match range.kvs.last().filter(|_| range.remaining > 0) {
                None => return Ok(false),
                Some(last) => from = Some([&last.key, &b"\0"[..]].concat().into()),
            }
        }
    }

    /// Returns a node in words.
    pub(super) fn describe(&self, key: &str) -> String {
        let view = NodeId::parse(key).and_then(|id| self.graph().view(id));
        view.map_or_else(String::new, |node| {
            let (namespace, name) = split(&node.key);
            let (version, kind) = (node.resource.api_version(), &node.resource.kind);
            format!("[{version}/{kind}, namespace: {namespace}, name: {name}]")
        })
    }
}
