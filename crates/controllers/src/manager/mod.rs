//! The controllers that kube-controller-manager runs for every cluster, here in the process of the API server: which of them run,
//! and on which server.
//!
//! ```text
//! --controllers ---> Selection ---> the controllers that are on
//! store of this server alone  ----> they run from the start
//! store of several servers  ------> Election: they run on the server that holds the Lease
//! ```

mod election;
mod names;
mod selection;

pub use election::{Election, ElectionConfig};
pub use selection::{ControllerName, MANAGED, NameError, Selection};
