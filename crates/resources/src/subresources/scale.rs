//! `scale` of a workload.

use std::sync::Arc;

use async_trait::async_trait;
use pintle_meta::Value;
use pintle_registry::{
    Admission, Context, Created, Preconditions, Result, Store, Subresource, Transform, WriteOptions,
};

use crate::autoscaling::scale::Parent;

/// The scale of the objects of a store.
pub struct Scale {
    store: Arc<Store>,
    parent: &'static Parent,
    /// The version of the parent that the path names.
    api_version: String,
}

impl Scale {
    /// `None` if the resource has no scale.
    pub fn new(store: Arc<Store>, api_version: &str) -> Option<Scale> {
        let config = store.config();
        let parent = Parent::find(&config.group, &config.resource)?;
        Some(Scale { parent, api_version: api_version.to_owned(), store })
    }
}

#[async_trait]
impl Subresource for Scale {
    async fn get(&self, context: &Context, name: &str) -> Result<Value> {
        let parent = self.store.get(context, name).await;
        self.parent.of(&parent.map_err(|status| match status.code {
            404 => self.parent.not_found(name),
            _ => status,
        })?)
    }

    async fn update(
        &self,
        context: &mut Context,
        name: &str,
        transform: &mut dyn Transform,
        admission: &dyn Admission,
        options: WriteOptions,
    ) -> Result<Created> {
        let admission = OfScale { parent: self.parent, admission };
        let mut change = Change { scale: self, name, transform };
        let updated = self.store.update(context, name, &mut change, &admission, false, options).await?;
        Ok(Created { object: self.parent.of(&updated.object)?, created: false })
    }
}

/// A change of the scale as a change of the parent.
struct Change<'a> {
    scale: &'a Scale,
    name: &'a str,
    transform: &'a mut dyn Transform,
}

#[async_trait]
impl Transform for Change<'_> {
    async fn transform(&mut self, old: Option<&Value>) -> Result<Value> {
        let Scale { parent, api_version, .. } = self.scale;
        let old = old.ok_or_else(|| parent.not_found(self.name))?;
        let before = parent.before_update(old)?;
        let scale = self.transform.transform(Some(&before)).await?;
        parent.apply(old, &scale, api_version)
    }

    fn needs_managers(&self) -> bool {
        self.transform.needs_managers()
    }

    /// Of the scale's uid, which [`Parent::apply`] compares.
    fn preconditions(&self) -> Preconditions {
        Preconditions::default()
    }
}

/// Whoever is asked about a scale sees scales.
struct OfScale<'a> {
    parent: &'static Parent,
    admission: &'a dyn Admission,
}

#[async_trait]
impl Admission for OfScale<'_> {
    async fn create(&self, object: &Value) -> Result<()> {
        self.admission.create(&self.parent.of(object)?).await
    }

    async fn update(&self, new: &Value, old: &Value) -> Result<()> {
        self.admission.update(&self.parent.of(new)?, &self.parent.of(old)?).await
    }

    async fn delete(&self, old: &Value) -> Result<()> {
        self.admission.delete(&self.parent.of(old)?).await
    }
}
