//! Authenticators and authorizers that flags and files name.

mod configured;
pub(crate) mod issuers;
pub(crate) mod modes;
pub(crate) mod webhooks;
