//! `scale` of a workload, and of whatever else has replicas.

use std::sync::Arc;

use async_trait::async_trait;
use pintle_meta::Value;
use pintle_registry::{
    Admission, Context, Created, DeleteOptions, Preconditions, Result, Store, Subresource, Transform,
    WriteOptions,
};

use super::Parent;

/// How the replicas of a kind of objects are found and set.
pub trait Scaled: Send + Sync + 'static {
    /// The scale of an object, as clients get it.
    fn of(&self, parent: &Value) -> Result<Value>;

    /// Returns the scale for a read of the subresource; `of` makes that of an answer to a write.
    fn asked_for(&self, parent: &Value) -> Result<Value> {
        self.of(parent)
    }

    /// The scale that a write starts from: with the managers of the replicas.
    fn before_update(&self, parent: &Value) -> Result<Value>;

    /// The object after a write of its scale.
    fn apply(&self, parent: &Value, scale: &Value) -> Result<Value>;
}

/// The scale of the objects of a store.
pub struct Scale<S> {
    store: Arc<Store>,
    scaled: S,
}

impl<S: Scaled> Scale<S> {
    pub fn of(store: Arc<Store>, scaled: S) -> Scale<S> {
        Scale { store, scaled }
    }
}

/// A built-in workload.
pub struct Workload {
    parent: &'static Parent,
    /// The version of the parent that the path names.
    api_version: String,
}

impl Scale<Workload> {
    /// `None` if the resource has no scale.
    pub fn new(store: Arc<Store>, api_version: &str) -> Option<Scale<Workload>> {
        let config = store.config();
        let parent = Parent::find(&config.group, &config.resource)?;
        Some(Scale::of(store, Workload { parent, api_version: api_version.to_owned() }))
    }
}

impl Scaled for Workload {
    fn of(&self, parent: &Value) -> Result<Value> {
        self.parent.of(parent)
    }

    fn before_update(&self, parent: &Value) -> Result<Value> {
        self.parent.before_update(parent)
    }

    fn apply(&self, parent: &Value, scale: &Value) -> Result<Value> {
        self.parent.apply(parent, scale, &self.api_version)
    }
}

#[async_trait]
impl<S: Scaled> Subresource for Scale<S> {
    async fn get(&self, context: &Context, name: &str) -> Result<Value> {
        self.scaled.asked_for(&self.store.get(context, name).await?)
    }

    async fn update(
        &self,
        context: &mut Context,
        name: &str,
        transform: &mut dyn Transform,
        admission: &dyn Admission,
        options: WriteOptions,
    ) -> Result<Created> {
        let admission = OfScale { scaled: &self.scaled, admission };
        let mut change = Change { scaled: &self.scaled, transform };
        let updated = self.store.update(context, name, &mut change, &admission, false, options).await?;
        Ok(Created { object: self.scaled.of(&updated.object)?, created: false })
    }
}

/// A change of the scale as a change of the parent.
struct Change<'a, S> {
    scaled: &'a S,
    transform: &'a mut dyn Transform,
}

#[async_trait]
impl<S: Scaled> Transform for Change<'_, S> {
    async fn transform(&mut self, old: Option<&Value>) -> Result<Value> {
        // A parent is not created through its scale.
        let Some(old) = old else { return Ok(Value::NULL) };
        let before = self.scaled.before_update(old)?;
        let scale = self.transform.transform(Some(&before)).await?;
        self.scaled.apply(old, &scale)
    }

    fn needs_managers(&self) -> bool {
        self.transform.needs_managers()
    }

    fn preconditions(&self) -> Preconditions {
        self.transform.preconditions()
    }
}

/// Admission sees scales, not the parents.
struct OfScale<'a, S> {
    scaled: &'a S,
    admission: &'a dyn Admission,
}

#[async_trait]
impl<S: Scaled> Admission for OfScale<'_, S> {
    async fn create(&self, object: &Value) -> Result<()> {
        self.admission.create(&self.scaled.of(object)?).await
    }

    async fn update(&self, new: &Value, old: &Value) -> Result<()> {
        self.admission.update(&self.scaled.of(new)?, &self.scaled.of(old)?).await
    }

    async fn delete(&self, old: &Value, options: &DeleteOptions) -> Result<()> {
        self.admission.delete(&self.scaled.of(old)?, options).await
    }
}
