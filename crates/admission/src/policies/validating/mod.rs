//! ValidatingAdmissionPolicies: compiled, and evaluated to decisions.

mod decisions;
mod metrics;
mod policy;
#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;

pub(crate) use decisions::{Annotation, Decision, Evaluated, Verdict, namespace_object};
pub(crate) use metrics::{Enforcement, Metrics};
pub(crate) use policy::ValidatingPolicy;
