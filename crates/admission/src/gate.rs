//! The chain for one request: what verb handlers call before the registry, and what the registry calls back.

use async_trait::async_trait;
use pintle_meta::Value;
use pintle_registry::{Admission, MutatingAdmission};

use crate::Result;
use crate::attributes::{Attributes, Operation, Request};
use crate::chain::Chain;

/// Lets one request through, or not.
#[derive(Clone)]
pub struct Gate {
    chain: Chain,
    request: Request,
}

impl Gate {
    pub fn new(chain: Chain, request: Request) -> Gate {
        Gate { chain, request }
    }

    pub fn request(&self) -> &Request {
        &self.request
    }

    /// Called with a new object before it goes to the registry, also with one that an update creates. Returns it as
    /// plugins left it.
    pub async fn on_create(&self, object: Value) -> Result<Value> {
        self.admitted(Operation::Create, Some(object), None).await
    }

    /// Called on every attempt of an update, with what there is.
    pub async fn on_update(&self, new: Value, old: &Value) -> Result<Value> {
        self.admitted(Operation::Update, Some(new), Some(old)).await
    }

    /// Called before a connection is made; both halves.
    pub async fn on_connect(&self, options: Value) -> Result<Value> {
        let options = self.admitted(Operation::Connect, Some(options), None).await?;
        self.validated(Operation::Connect, Some(&options), None).await?;
        Ok(options)
    }

    fn attributes(
        &self,
        operation: Operation,
        object: Option<Value>,
        old_object: Option<&Value>,
    ) -> Attributes<'_> {
        Attributes { request: &self.request, operation, object, old_object: old_object.cloned() }
    }

    async fn admitted(
        &self,
        operation: Operation,
        object: Option<Value>,
        old: Option<&Value>,
    ) -> Result<Value> {
        let mut attributes = self.attributes(operation, object, old);
        self.chain.admit(&mut attributes).await?;
        Ok(attributes.object.unwrap_or_default())
    }

    async fn validated(
        &self,
        operation: Operation,
        object: Option<&Value>,
        old: Option<&Value>,
    ) -> Result<()> {
        self.chain.validate(&self.attributes(operation, object.cloned(), old)).await
    }
}

#[async_trait]
impl MutatingAdmission for Gate {
    async fn on_create(&self, object: Value) -> Result<Value> {
        Gate::on_create(self, object).await
    }

    async fn on_update(&self, new: Value, old: &Value) -> Result<Value> {
        Gate::on_update(self, new, old).await
    }
}

#[async_trait]
impl Admission for Gate {
    async fn create(&self, object: &Value) -> Result<()> {
        self.validated(Operation::Create, Some(object), None).await
    }

    async fn update(&self, new: &Value, old: &Value) -> Result<()> {
        self.validated(Operation::Update, Some(new), Some(old)).await
    }

    /// Both halves: there is no object that a plugin could change, and only here is the old one known.
    async fn delete(&self, old: &Value) -> Result<()> {
        let mut attributes = self.attributes(Operation::Delete, None, Some(old));
        self.chain.admit(&mut attributes).await?;
        self.chain.validate(&attributes).await
    }
}
