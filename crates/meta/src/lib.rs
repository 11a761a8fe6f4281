//! Kubernetes' own vocabulary, free of any I/O: for now the `Status` object that every error becomes, and how its
//! messages quote.

mod quote;
mod status;

pub use quote::quote;
pub use status::{Cause, CauseType, Details, Reason, Status};
