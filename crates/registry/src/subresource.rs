//! Subresources with code of their own.

use std::borrow::Cow;

use async_trait::async_trait;
use pintle_meta::{Status, Value};

use crate::Result;
use crate::admission::Admission;
use crate::store::{Created, Transform, WriteOptions};
use crate::strategy::Context;

/// A subresource that is not simply its parent by other rules. What it does not do, its endpoint has no verb for.
#[async_trait]
pub trait Subresource: Send + Sync + 'static {
    /// Returns the object that the subresource shows.
    async fn get(&self, _context: &Context, name: &str) -> Result<Value> {
        Err(not_there(name))
    }

    /// As [`Subresource::get`], with the parameters of the request's query, for those that have options.
    async fn get_with(
        &self,
        context: &Context,
        name: &str,
        _query: &[(Cow<'_, str>, Cow<'_, str>)],
    ) -> Result<Value> {
        self.get(context, name).await
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
