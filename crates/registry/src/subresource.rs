//! What is made of other objects, or done to them, under a path of its own.

use async_trait::async_trait;
use pintle_meta::{Status, Value};

use crate::Result;
use crate::admission::Admission;
use crate::store::{Created, Transform, WriteOptions};
use crate::strategy::Context;

/// A subresource that is not simply its parent by other rules. What it does not do, its endpoint has no verb for.
#[async_trait]
pub trait Subresource: Send + Sync + 'static {
    /// What it shows.
    async fn get(&self, _context: &Context, name: &str) -> Result<Value> {
        Err(not_there(name))
    }

    /// Takes what was sent to it, with its defaults. `name` is the parent's; empty where there is none. Answers with nothing
    /// where there is nothing to show.
    async fn create(
        &self,
        _context: &mut Context,
        name: &str,
        _object: Value,
        _admission: &dyn Admission,
        _options: WriteOptions,
    ) -> Result<Option<Value>> {
        Err(not_there(name))
    }

    /// Whether what is sent to [`Subresource::create`] keeps its UID and what else only the system says about objects: it is
    /// then about the parent. Asked only where there is one.
    fn keeps_system_fields(&self) -> bool {
        false
    }

    /// Changes the parent by a change of what is shown. The transform's objects are what this shows.
    async fn update(
        &self,
        _context: &mut Context,
        name: &str,
        _transform: &mut dyn Transform,
        _admission: &dyn Admission,
        _options: WriteOptions,
    ) -> Result<Created> {
        Err(not_there(name))
    }
}

fn not_there(name: &str) -> Box<Status> {
    Box::new(Status::internal(format_args!("{name} cannot be asked for this")))
}
