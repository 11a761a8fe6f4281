//! `AlwaysAdmit` and `AlwaysDeny`.

use async_trait::async_trait;

use crate::Result;
use crate::attributes::{Attributes, Operation, Target};
use crate::plugin::Plugin;

/// Admits every request, as an empty chain does.
pub(crate) struct Admit;

impl Plugin for Admit {
    fn name(&self) -> &'static str {
        "AlwaysAdmit"
    }
}

/// Rejects every request.
pub(crate) struct Deny;

#[async_trait]
impl Plugin for Deny {
    fn name(&self) -> &'static str {
        "AlwaysDeny"
    }

    fn admits(&self, _: Operation, _: &Target) -> bool {
        true
    }

    async fn admit(&self, attributes: &mut Attributes<'_>) -> Result<()> {
        self.validate(attributes).await
    }

    fn validates(&self, _: Operation, _: &Target) -> bool {
        true
    }

    async fn validate(&self, attributes: &Attributes<'_>) -> Result<()> {
        Err(attributes.forbidden("admission control is denying all modifications"))
    }
}
