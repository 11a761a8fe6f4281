//! The seam of admission: one rule about what may be stored.

use async_trait::async_trait;

use crate::Result;
use crate::attributes::{Attributes, Operation, Target};

/// The reason why a plugin cannot be made, in the reference's words: a server with such a plugin does not start.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum InitError {
    /// Its configuration cannot be decoded or is not valid.
    #[error("{0}")]
    Configuration(String),
    /// It cannot work with its configuration.
    #[error("{0}")]
    Initialization(String),
}

impl From<String> for InitError {
    fn from(why: String) -> InitError {
        InitError::Configuration(why)
    }
}

/// One admission plugin.
///
/// [`Plugin::admits`] and [`Plugin::validates`] are called for every write and must be cheap; a plugin that returns `false` costs
/// nothing else.
#[async_trait]
pub trait Plugin: Send + Sync + 'static {
    /// Returns the name, as in `--enable-admission-plugins`.
    fn name(&self) -> &'static str;

    /// Returns whether [`Plugin::admit`] handles an operation on a resource.
    fn admits(&self, _operation: Operation, _target: &Target) -> bool {
        false
    }

    /// Called before the object is validated, on every attempt; may change it. Later plugins see the change. An error rejects
    /// the request.
    async fn admit(&self, _attributes: &mut Attributes<'_>) -> Result<()> {
        Ok(())
    }

    /// Returns whether [`Plugin::validate`] handles an operation on a resource.
    fn validates(&self, _operation: Operation, _target: &Target) -> bool {
        false
    }

    /// Called with the object that will be stored, in the attempt that stores it. An error rejects the request.
    async fn validate(&self, _attributes: &Attributes<'_>) -> Result<()> {
        Ok(())
    }
}
