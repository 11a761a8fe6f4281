//! The labels of a request's namespace.

use std::sync::Arc;

use pintle_meta::selector::label::Selector;
use pintle_meta::{Reason, Status, Value};
use pintle_registry::{Context, Store};

use crate::Result;
use crate::attributes::{Attributes, Operation};
use crate::objects::{AdmissionStores, Resource};

/// Applies namespace selectors.
#[derive(Clone)]
pub(crate) struct NamespaceLabels(Option<Arc<Store>>);

impl NamespaceLabels {
    pub(crate) fn new(stores: &AdmissionStores) -> NamespaceLabels {
        NamespaceLabels(stores.get(Resource::Namespace).cloned())
    }

    /// Reports whether the namespace of a request is selected. Cluster-scoped objects always are; a namespace is selected by its
    /// own labels, as they will be.
    pub(crate) async fn matches(
        &self,
        selector: &Result<Selector, String>,
        attributes: &Attributes<'_>,
    ) -> Result<bool> {
        let target = attributes.target();
        let is_namespace = target.resource.resource == "namespaces";
        if attributes.namespace().is_empty() && !is_namespace {
            return Ok(true);
        }
        let selector = selector.as_ref().map_err(|why| Box::new(Status::internal(why)))?;
        if selector.is_empty() {
            return Ok(true);
        }
        let is_written = matches!(attributes.operation, Operation::Create | Operation::Update);
        if is_namespace && target.subresource.is_empty() && is_written {
            let object = attributes.object();
            return Ok(selector.matches(|key| object.and_then(|object: &Value| object.label(key))));
        }
        self.selects(selector, attributes.namespace()).await
    }

    /// Reads the labels as the cache has them. A namespace that the cache lacks is read from the store.
    async fn selects(&self, selector: &Selector, name: &str) -> Result<bool> {
        let missing = || Box::new(Status::not_found("", "namespaces", name));
        let store = self.0.as_ref().ok_or_else(missing)?;
        let entry = store.cached_entry(&Context::default(), name).await;
        let entry = entry.map_err(|status| match status.reason {
            Reason::NotFound => missing(),
            _ => Box::new(Status::internal(status.message)),
        })?;
        let facts = entry.read().map_err(|error| Box::new(Status::internal(error)))?;
        Ok(selector.matches(|key| facts.label(key)))
    }
}
