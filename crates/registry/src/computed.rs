//! Resources that are computed and not stored.

use async_trait::async_trait;
use pintle_meta::Value;

use crate::Result;
use crate::strategy::Context;

/// A resource whose objects are made when they are asked for. They can only be read.
#[async_trait]
pub trait Computed: Send + Sync + 'static {
    async fn get(&self, context: &Context, name: &str) -> Result<Value>;

    /// All of them; the caller selects among them.
    async fn list(&self, context: &Context) -> Result<Vec<Value>>;
}
