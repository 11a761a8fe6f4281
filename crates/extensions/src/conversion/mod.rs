//! Objects of a definition in other versions than the one that they are stored in.
//!
//! ```text
//! None       versions differ in their name only
//! Webhook    a webhook converts, many objects in one review; its answer is checked
//! ConvertingBackend a store over another one, whose values are all of one version
//! ```

mod backend;
mod cache;
mod failure;
mod review;
#[cfg(test)]
mod tests;
mod webhook;

use async_trait::async_trait;
use pintle_meta::Value;

pub use backend::{ConvertingBackend, ConvertingBackendConfig, ObjectSchemas};
pub use failure::Failure;
pub use webhook::{Webhook, WebhookEnvironment};

/// Converts objects.
#[async_trait]
pub trait Converter: Send + Sync + 'static {
    /// The objects in another version (`example.com/v2`), in their order. None of them is of that version already.
    async fn convert(&self, objects: Vec<Value>, to: &str) -> Result<Vec<Value>, Failure>;
}

/// For versions that differ in their name only.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoConversion;

#[async_trait]
impl Converter for NoConversion {
    async fn convert(&self, mut objects: Vec<Value>, to: &str) -> Result<Vec<Value>, Failure> {
        objects.iter_mut().for_each(|object| rename(object, to));
        Ok(objects)
    }
}

/// Changes nothing but the version that an object says.
pub(crate) fn rename(object: &mut Value, to: &str) {
    if let Some(object) = object.as_object_mut() {
        object.insert("apiVersion", to);
    }
}
