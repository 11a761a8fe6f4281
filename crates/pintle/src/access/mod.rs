//! What authenticators and authorizers know of this cluster: their traits over the stores of the control plane.

pub(crate) mod claims;
mod configured;
pub(crate) mod escalation;
pub(crate) mod issuers;
pub(crate) mod modes;
pub(crate) mod node;
pub(crate) mod rbac;
pub(crate) mod service_accounts;
pub(crate) mod webhooks;
