//! Registration: the APIServices of what this server serves, and the taking up of those of other servers.

mod automatic;
mod completion;
mod definitions;
mod remote;

pub(crate) use automatic::AutoRegistration;
pub use completion::Registered;
pub(crate) use definitions::DefinitionRegistration;
pub(crate) use remote::{RemoteRegistration, Subscribers, subscribe};
