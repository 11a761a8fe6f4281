//! Usage of quotas: how much of which resources an object takes, and which quotas it counts towards.
//!
//! Everything here is a function of objects, for two callers: the admission plugin `ResourceQuota`, which charges a request
//! before it is stored, and the quota controller, which counts all objects of a namespace again. Both get an [`Evaluator`] for a
//! resource from [`Evaluators`]; usage that depends on other objects reads them through [`Surroundings`].
//!
//! ```text
//! Quota          a ResourceQuota: its limits (status.hard), its usage (status.used), its scopes
//! Evaluator      for the objects of one resource: tracked names, matching scopes, usage
//! ResourceList   amounts by name: cpu=1,pods=3
//! ```

mod evaluator;
mod names;
pub mod pod_resources;
mod quota;
mod resource_list;
mod scope;
mod stored;

pub use evaluator::{
    Evaluator, Evaluators, NoSurroundings, Surroundings, extended_resource_owner, is_ignored,
};
pub use quota::Quota;
pub use resource_list::ResourceList;
pub use scope::ScopeRequirement;
pub use stored::StoredSurroundings;
