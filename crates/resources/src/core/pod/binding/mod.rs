//! `pods/binding` and the older `bindings`: a scheduler's word on where a pod runs.

mod assign;

use std::sync::Arc;

use async_trait::async_trait;
use pintle_meta::{Status, Value};
use pintle_registry::{
    Admission, AdmitAll, Context, Preconditions, Result, Store, Strategy, Subresource, Transform,
    WriteOptions,
};

use self::assign::{assign, check, preconditions};
use crate::framework::strategy::Settings;

/// Binds pods of a store.
pub struct Binding {
    pods: Store,
    settings: Settings,
}

impl Binding {
    pub fn new(pods: &Store, settings: &Settings) -> Binding {
        Binding { pods: pods.with_strategy(Arc::new(AsItIs)), settings: settings.clone() }
    }
}

/// A bound pod is stored as binding has left it.
struct AsItIs;

impl Strategy for AsItIs {
    fn validates_metadata_on_update(&self) -> bool {
        false
    }

    fn allows_unconditional_update(&self) -> bool {
        true
    }
}

#[async_trait]
impl Subresource for Binding {
    /// The UID that the scheduler saw, so that no other pod of the same name is bound.
    fn keeps_system_fields(&self) -> bool {
        true
    }

    async fn create(
        &self,
        context: &mut Context,
        name: &str,
        object: Value,
        admission: &dyn Admission,
        options: WriteOptions,
    ) -> Result<Option<Value>> {
        // The older resource has the pod's name in the object.
        let name = if name.is_empty() { object.name().to_owned() } else { name.to_owned() };
        check(&name, &object)?;
        admission.create(&object).await?;
        let mut bind = Bind { binding: &object, settings: &self.settings };
        let bound = self.pods.update(context, &name, &mut bind, &AdmitAll, false, options).await;
        bound.map(|_| None).map_err(|status| match status.code {
            404 => Box::new(Status::not_found("", "pods", &name)),
            _ => status,
        })
    }
}

struct Bind<'a> {
    binding: &'a Value,
    settings: &'a Settings,
}

#[async_trait]
impl Transform for Bind<'_> {
    async fn transform(&mut self, old: Option<&Value>) -> Result<Value> {
        let mut pod = old.cloned().ok_or_else(|| Status::not_found("", "pods", self.binding.name()))?;
        assign(&mut pod, self.binding, self.settings)?;
        Ok(pod)
    }

    fn preconditions(&self) -> Preconditions {
        preconditions(self.binding)
    }
}
