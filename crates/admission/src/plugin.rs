//! The seam: one rule about what may be stored.

use async_trait::async_trait;

use crate::Result;
use crate::attributes::{Attributes, Operation, Target};

/// One admission plugin.
///
/// The two questions before each half are asked for every request and must cost nothing; a plugin that answers no costs
/// nothing else.
#[async_trait]
pub trait Plugin: Send + Sync + 'static {
    /// As on the command line.
    fn name(&self) -> &'static str;

    /// Whether [`Plugin::admit`] is to be called.
    fn admits(&self, _operation: Operation, _target: &Target) -> bool {
        false
    }

    /// Called before the object is validated, on every attempt; may change it. Later plugins see the change.
    async fn admit(&self, _attributes: &mut Attributes<'_>) -> Result<()> {
        Ok(())
    }

    /// Whether [`Plugin::validate`] is to be called.
    fn validates(&self, _operation: Operation, _target: &Target) -> bool {
        false
    }

    /// Called with what will be stored, in the attempt that stores it.
    async fn validate(&self, _attributes: &Attributes<'_>) -> Result<()> {
        Ok(())
    }
}
