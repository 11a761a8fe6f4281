//! `metadata.managedFields`: the manager, version and time of every field.
//!
//! Every write other than [`apply`] goes through [`update`]: its manager becomes the only owner of the changed
//! fields. The steps, in the reference's order:
//!
//! ```text
//! take     the request's managedFields if they are valid, else the live object's; none through a subresource
//! skip     an object without managers that is not being created stays without (a client cleared them)
//! update   compare live and new in every version with managers; changed fields leave their managers
//! strip    metadata that the server sets has no manager
//! merge    the rest joins the manager's fields, with the current time
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

/// Maximal length of a manager's name in bytes.
pub const MAX_NAME: usize = 128;

/// Returns the manager of a request: the given one, or else the prefix of its `User-Agent`.
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
