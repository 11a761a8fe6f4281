//! Admission as the registry sees it: the seam through which plugins change or reject what is about to be written.

use std::sync::Arc;

use async_trait::async_trait;
use pintle_meta::Value;

use crate::Result;
use crate::delete::DeleteOptions;

/// The validating half of admission of one request. The store calls it in the same attempt that writes.
#[async_trait]
pub trait Admission: Send + Sync {
    async fn create(&self, object: &Value) -> Result<()>;
    async fn update(&self, new: &Value, old: &Value) -> Result<()>;
    /// `options` are as the strategy has completed them: a pod's have the grace period that it gets.
    async fn delete(&self, old: &Value, options: &DeleteOptions) -> Result<()>;
}

/// Admission of one request with its mutating half, which the write pipeline calls before the store.
#[async_trait]
pub trait MutatingAdmission: Admission {
    /// Called with a new object, also with one that an update creates. Returns it as plugins left it.
    async fn on_create(&self, object: Value) -> Result<Value> {
        Ok(object)
    }

    /// Called on every attempt of an update, with the object as it is now. Returns the new one as plugins left it.
    async fn on_update(&self, new: Value, _old: &Value) -> Result<Value> {
        Ok(new)
    }
}

/// Makes the admission of one write of the server itself, from the object's namespace and name.
pub type AdmissionFactory = Arc<dyn Fn(&str, &str) -> Box<dyn MutatingAdmission> + Send + Sync>;

/// Admission without plugins.
pub struct AdmitAll;

#[async_trait]
impl Admission for AdmitAll {
    async fn create(&self, _: &Value) -> Result<()> {
        Ok(())
    }

    async fn update(&self, _: &Value, _: &Value) -> Result<()> {
        Ok(())
    }

    async fn delete(&self, _: &Value, _: &DeleteOptions) -> Result<()> {
        Ok(())
    }
}

impl MutatingAdmission for AdmitAll {}
