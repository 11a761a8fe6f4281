//! MutatingAdmissionPolicies: compiled, and applied to objects.

mod metrics;
mod mutation;
mod policy;
mod reinvocation;
#[cfg(test)]
mod tests;

pub(crate) use metrics::{ErrorType, Metrics};
pub(crate) use mutation::{Failure, MutatedObject};
pub(crate) use policy::MutatingPolicy;
pub(crate) use reinvocation::{InvocationKey, Record};
