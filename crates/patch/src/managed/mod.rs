//! `metadata.managedFields`: which manager set which fields, at which version, when.
//!
//! Every write that is no [`apply`] goes through [`update`]: what it changed belongs to its manager from then on, and to
//! nobody else. The steps, as the reference has them from the outside in:
//!
//! ```text
//! take     the request's managedFields if they are valid, else the live object's; none through a subresource
//! skip     what has none and is not being created stays without (somebody has cleared them)
//! update   compare live and new in every version that somebody manages; changed fields leave their managers
//! strip    metadata that the server sets is nobody's
//! merge    the rest joins what the manager had, with the time of now
//! cap      of more than ten updaters, the oldest become "ancient-changes"
//! sort     by operation, time, manager, version, subresource
//! ```

mod apply;
#[cfg(test)]
mod apply_properties;
#[cfg(test)]
mod apply_tests;
mod cap;
mod conflicts;
#[cfg(test)]
mod custom_tests;
mod entries;
mod last_applied;
mod prune;
mod scale;
#[cfg(test)]
mod tests;
mod timestamps;
mod update;
mod versions;

pub use self::apply::{Applied, Refusal, apply};
pub use self::conflicts::Conflicts;
pub use self::entries::{Error, Id, Managed, Manager, Operation};
pub use self::last_applied::{ANNOTATION as LAST_APPLIED, keep_last_applied};
pub use self::scale::{to_parent, to_scale};
pub use self::timestamps::keep_timestamps;
pub use self::update::{Converter, Resets, SameShape, Write, update};

/// The longest name of a manager, in bytes.
pub const MAX_NAME: usize = 128;

/// The manager of a request: what it says, or else what its `User-Agent` begins with.
pub fn manager_name(field_manager: &str, user_agent: &str) -> String {
    if !field_manager.is_empty() {
        return field_manager.into();
    }
    let mut name = String::new();
    let program = user_agent.split('/').next().unwrap_or_default();
    for c in program.chars().filter(|c| pintle_meta::is_printable(*c)) {
        if name.len() + c.len_utf8() > MAX_NAME {
            break;
        }
        name.push(c);
    }
    name
}
