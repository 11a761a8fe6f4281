//! Reservations: what objects hold beside themselves (addresses, ports). It is taken before the object is written, and given back if it is
//! not, or when the object goes.
//!
//! ```text
//! create   Reserve::on_create -> checks, admission -> write -> commit; or revert
//! update   Reserve::on_update -> checks, admission -> write -> commit; or revert, also before the next attempt
//! delete   removed from the store -> Reserve::on_delete
//! ```
//!
//! Where it is unknown whether the object was written, everything stays taken: holding too much is harmless and found by the
//! next repair; releasing what an object holds is not.

use async_trait::async_trait;
use pintle_meta::{Reason, Value};

use crate::Result;
use crate::store::WriteOptions;
use crate::strategy::Context;

/// One per resource whose objects hold something. In a dry run nothing is taken, and what would be is only guessed.
#[async_trait]
pub trait Reserve: Send + Sync + 'static {
    /// Called with a new object before it is prepared and validated. Sets in it what was taken for it.
    async fn on_create(
        &self,
        context: &Context,
        object: &mut Value,
        options: WriteOptions,
    ) -> Result<Reservation>;

    /// Called with a changed object before it is prepared and validated, on every attempt. The old one is as clients see it.
    async fn on_update(
        &self,
        context: &Context,
        new: &mut Value,
        old: &Value,
        options: WriteOptions,
    ) -> Result<Reservation>;

    /// Called with an object, as clients saw it, that is gone. Failures are its own business.
    async fn on_delete(&self, object: &Value);
}

/// The allocations of one write. One of the methods is called, once, and runs to its end even if its caller is dropped.
#[async_trait]
pub trait Allocation: Send + 'static {
    /// The object was written: what it no longer holds is given back.
    async fn commit(self: Box<Self>);

    /// It was not: what was taken for it is given back.
    async fn revert(self: Box<Self>);
}

/// Something taken for an object that is about to be written. Dropping it gives it back, unless the write may have happened.
#[must_use]
#[derive(Default)]
pub struct Reservation {
    taken: Option<Box<dyn Allocation>>,
    is_written: bool,
}

impl Reservation {
    pub fn new(taken: Box<dyn Allocation>) -> Reservation {
        Reservation { taken: Some(taken), is_written: false }
    }

    /// From here on the object may be in the store.
    pub(crate) fn writing(&mut self) {
        self.is_written = true;
    }

    /// Ends it as the write ended.
    pub(crate) async fn conclude<T>(self, outcome: &Result<T>) {
        match outcome {
            Ok(_) => self.commit().await,
            // Perhaps it was written.
            Err(status) if self.is_written && status.reason == Reason::Timeout => {}
            Err(_) => self.revert().await,
        }
    }

    pub(crate) async fn commit(mut self) {
        if let Some(taken) = self.taken.take() {
            // A request that is dropped must not leave it half done.
            let _ = tokio::spawn(taken.commit()).await;
        }
    }

    pub(crate) async fn revert(mut self) {
        if let Some(taken) = self.taken.take() {
            let _ = tokio::spawn(taken.revert()).await;
        }
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        if let Some(taken) = self.taken.take().filter(|_| !self.is_written)
            && let Ok(runtime) = tokio::runtime::Handle::try_current()
        {
            runtime.spawn(taken.revert());
        }
    }
}
