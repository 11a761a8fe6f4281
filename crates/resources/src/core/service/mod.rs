//! Services and their allocations: cluster IPs, which are `IPAddress` objects of their own, and node ports, which
//! are bits of one record. Both are taken before a service is written and given back when it goes.
//!
//! ```text
//! fields       reading and completing the fields that belong together
//! families     which IP families a service gets
//! ranges       the networks that `ServiceCIDR` objects name
//! addresses    cluster IPs: an `IPAddress` that could be created is taken
//! bitmap       node ports as they are stored
//! ports        node ports: a bit that could be written is taken
//! node_ports   which of them a service needs
//! allocations  all of it, on the registry's seam; what a write has taken
//! strategy     the strategy of services
//! validation   their validation
//! repair       what was lost or left behind when a server died
//! ```

mod addresses;
mod allocations;
mod bitmap;
pub(in crate::core) mod columns;
pub(in crate::core) mod defaults;
mod families;
pub(crate) mod fields;
mod node_ports;
mod ports;
mod ranges;
mod repair;
pub(in crate::core) mod strategy;
pub(crate) mod validation;

pub use allocations::{Links, ServiceAllocations, ServiceNetwork};
pub use ports::PortRange;
