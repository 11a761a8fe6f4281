//! Deletion of the objects of one resource in a namespace.

use std::collections::BTreeMap;
use std::time::Duration;

use pintle_meta::gvk::GroupVersionResource;
use pintle_meta::{Reason, Status, Value};
use pintle_registry::Result;
use serde_json::json;

use crate::api::{ApiClient, Location};
use crate::catalog::CatalogResource;

/// Seconds that objects with finalizers are given.
const FINALIZER_SECONDS: u64 = 15;

/// What is left of a resource after an attempt to delete its objects.
#[derive(Debug, Default)]
pub(super) struct Leftovers {
    pub(super) count: usize,
    /// Numbers of objects that have a finalizer.
    pub(super) finalizers: BTreeMap<String, usize>,
    /// Seconds until the objects may be gone.
    pub(super) estimate: u64,
    pub(super) error: Option<String>,
}

/// A namespace whose content is deleted.
pub(super) struct Content<'a> {
    pub(super) api: &'a ApiClient,
    pub(super) namespace: &'a str,
    /// How long ago the deletion of the namespace began.
    pub(super) age: Duration,
}

impl Content<'_> {
    /// Deletes all objects of a resource, and looks for what is left.
    pub(super) async fn delete(&self, resource: &CatalogResource) -> Leftovers {
        let mut estimate = 0;
        match self.try_delete(resource, &mut estimate).await {
            Ok(leftovers) => leftovers,
            Err(status) => {
                Leftovers { estimate, error: Some(status.message.to_string()), ..Leftovers::default() }
            }
        }
    }

    async fn try_delete(&self, resource: &CatalogResource, estimate: &mut u64) -> Result<Leftovers> {
        // Most resources have no objects in a namespace, which their store knows at the cost of one read.
        if let Some(keys) = &resource.stored
            && keys.is_empty(self.namespace).await?
        {
            return Ok(Leftovers::default());
        }
        let collection = Location::collection(resource.resource.clone(), self.namespace);
        *estimate = self.grace(resource, &collection).await?;
        if !self.delete_collection(resource, &collection).await? {
            self.delete_each(resource, &collection).await?;
        }
        let left = self.list(resource, &collection).await?;
        let mut finalizers = BTreeMap::new();
        for finalizer in left.iter().flat_map(Value::finalizers) {
            *finalizers.entry(finalizer.to_owned()).or_default() += 1;
        }
        let mut leftovers = Leftovers { count: left.len(), finalizers, ..Leftovers::default() };
        if leftovers.count > 0 {
            leftovers.estimate = *estimate;
            if *estimate == 0 && !leftovers.finalizers.is_empty() {
                leftovers.estimate = FINALIZER_SECONDS;
            } else if *estimate == 0 {
                leftovers.error = Some(unexpected(self.namespace, &resource.resource));
            }
        }
        Ok(leftovers)
    }

    /// Returns the longest grace period of the pods that run, in seconds; zero once it has passed.
    async fn grace(&self, resource: &CatalogResource, collection: &Location) -> Result<u64> {
        if !is_pods(&resource.resource) {
            return Ok(0);
        }
        let pods = self.api.list(collection).await?;
        let running = pods
            .iter()
            .filter(|pod| !["Succeeded", "Failed"].contains(&pod.text_at(&["status", "phase"])))
            .filter_map(|pod| pod.at(&["spec", "terminationGracePeriodSeconds"]).and_then(Value::as_i64));
        let longest = running.max().and_then(|seconds| u64::try_from(seconds).ok()).unwrap_or_default();
        Ok(if self.age >= Duration::from_secs(longest) { 0 } else { longest })
    }

    /// Deletes all objects with one request. Returns whether the resource can do that.
    async fn delete_collection(&self, resource: &CatalogResource, collection: &Location) -> Result<bool> {
        if !resource.verbs.delete_collection {
            return Ok(false);
        }
        match self.api.delete(collection, background()).await {
            Ok(_) => Ok(true),
            Err(status) if is_unsupported(&status) => Ok(false),
            Err(status) => Err(status),
        }
    }

    async fn delete_each(&self, resource: &CatalogResource, collection: &Location) -> Result<()> {
        for object in self.list(resource, collection).await? {
            let location = Location { name: object.name().into(), ..collection.clone() };
            match self.api.delete(&location, background()).await {
                Err(status) if !is_unsupported(&status) => return Err(status),
                _ => {}
            }
        }
        Ok(())
    }

    async fn list(&self, resource: &CatalogResource, collection: &Location) -> Result<Vec<Value>> {
        if !resource.verbs.list {
            return Ok(Vec::new());
        }
        match self.api.list_metadata(collection).await {
            Err(status) if is_unsupported(&status) => Ok(Vec::new()),
            listed => listed,
        }
    }
}

pub(super) fn is_pods(resource: &GroupVersionResource) -> bool {
    resource.group.is_empty() && resource.resource == "pods"
}

/// Returns options that have no object orphan its dependents: all of them go.
fn background() -> serde_json::Value {
    json!({ "propagationPolicy": "Background" })
}

fn is_unsupported(status: &Status) -> bool {
    matches!(status.reason, Reason::MethodNotAllowed | Reason::NotFound)
}

fn unexpected(namespace: &str, resource: &GroupVersionResource) -> String {
    let GroupVersionResource { group, version, resource } = resource;
    format!(
        "unexpected items still remain in namespace: {namespace} for gvr: {group}/{version}, Resource={resource}"
    )
}
