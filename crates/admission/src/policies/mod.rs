//! Policies in CEL: what ValidatingAdmissionPolicies and MutatingAdmissionPolicies share.
//!
//! ```text
//! expression   compiles expressions, each once, and declares the variables of a policy
//! scope        evaluates them for one request: inputs, lazy variables, budgets
//! validating   ValidatingAdmissionPolicies
//! ```

mod expression;
mod scope;
pub(crate) mod validating;
