//! The chain for one request: called by the write pipeline before the registry, and by the registry in each attempt.

use async_trait::async_trait;
use pintle_meta::Value;
use pintle_registry::{Admission, DeleteOptions, MutatingAdmission};

use crate::Result;
use crate::attributes::{Attributes, Operation, Request};
use crate::chain::Chain;

/// Admits or rejects the writes of one request.
#[derive(Clone)]
pub struct RequestAdmission {
    chain: Chain,
    request: Request,
}

impl RequestAdmission {
    pub fn new(chain: Chain, request: Request) -> RequestAdmission {
        RequestAdmission { chain, request }
    }

    pub fn request(&self) -> &Request {
        &self.request
    }

    /// Called with a new object before it goes to the registry, also with one that an update creates. Returns it as
    /// plugins left it.
    pub async fn on_create(&self, object: Value) -> Result<Value> {
        self.mutated(Operation::Create, object, None).await
    }

    /// Called on every attempt of an update, with the stored object. Returns the new object as plugins left it.
    pub async fn on_update(&self, new: Value, old: &Value) -> Result<Value> {
        self.mutated(Operation::Update, new, Some(old)).await
    }

    /// Called on every attempt of a deletion, with the stored object. Mutating plugins run here too, since only the registry
    /// knows the object.
    pub async fn on_delete(&self, old: &Value, options: &DeleteOptions) -> Result<()> {
        // Options of a collection are shown as the request has them, those of one object as its strategy completed them.
        let completed = match &self.request.options {
            Some(_) if !self.request.name.is_empty() => Some(options.fields()),
            _ => None,
        };
        let mut attributes = self.attributes(Operation::Delete, None, Some(old)).with_options(completed);
        self.chain.admit(&mut attributes).await?;
        self.chain.validate(&attributes).await
    }

    /// Called before a connection is made, with its options (`PodExecOptions` and others). Returns them as plugins left them.
    pub async fn on_connect(&self, options: Value) -> Result<Value> {
        let mut attributes = self.attributes(Operation::Connect, Some(options), None);
        self.chain.admit(&mut attributes).await?;
        self.chain.validate(&attributes).await?;
        Ok(attributes.into_object().unwrap_or_default())
    }

    fn attributes(&self, operation: Operation, object: Option<Value>, old: Option<&Value>) -> Attributes<'_> {
        Attributes::new(&self.request, operation, object, old.cloned())
    }

    async fn mutated(&self, operation: Operation, object: Value, old: Option<&Value>) -> Result<Value> {
        let mut attributes = self.attributes(operation, Some(object), old);
        self.chain.admit(&mut attributes).await?;
        Ok(attributes.into_object().unwrap_or_default())
    }
}

#[async_trait]
impl MutatingAdmission for RequestAdmission {
    async fn on_create(&self, object: Value) -> Result<Value> {
        RequestAdmission::on_create(self, object).await
    }

    async fn on_update(&self, new: Value, old: &Value) -> Result<Value> {
        RequestAdmission::on_update(self, new, old).await
    }
}

#[async_trait]
impl Admission for RequestAdmission {
    async fn create(&self, object: &Value) -> Result<()> {
        self.chain.validate(&self.attributes(Operation::Create, Some(object.clone()), None)).await
    }

    async fn update(&self, new: &Value, old: &Value) -> Result<()> {
        self.chain.validate(&self.attributes(Operation::Update, Some(new.clone()), Some(old))).await
    }

    async fn delete(&self, old: &Value, options: &DeleteOptions) -> Result<()> {
        self.on_delete(old, options).await
    }
}
