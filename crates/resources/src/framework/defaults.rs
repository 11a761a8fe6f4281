//! Defaulting: what the reference fills in after it has decoded an object and before anything else looks at it.
//!
//! Every group has its rules in `<group>/defaults.rs`: tables of values for fields that were not set, and functions for
//! what depends on something. [`plan`] joins them with the defaults that the type graph knows (`+default` of the
//! declarations) to one list of steps per type, in the reference's order: a type's own rule, then its fields as declared,
//! each with what is below it. Types without defaults below have no steps and are never looked into.
//!
//! ```text
//! Pod        call pod(); into spec
//! PodSpec    fill dnsPolicy, restartPolicy ...; each volumes, initContainers, containers ...; amend overhead
//! Container  call container(); each ports, env; into resources, livenessProbe ...
//! ```
//!
//! A walk looks before it changes: nothing is copied, allocated or taken for writing where all is as it should be. See
//! [`Place`] for how one function does both.

mod place;
mod plan;

use pintle_features::Features;
use pintle_meta::Value;
use pintle_runtime::Clock;
use pintle_schema::Type;

pub(crate) use self::place::Place;
pub(crate) use self::plan::{Fill, Rule};

/// Inputs of defaulting beside the object: those of the control plane.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    pub features: Features,
    /// Tells the default of fields that hold the time of the write, such as `timeAdded` of a device taint.
    pub clock: Clock,
}

/// Fills in the defaults of an object in normal form, which stays so. Lists of a kind have each item defaulted.
pub fn apply(of: &'static Type, value: &mut Value, settings: &Settings) {
    if let Some(plan) = plan::of(of)
        && plan.would_change(value, settings)
    {
        plan.change(value, settings);
    }
}

/// Whether the type, or a type below it, has defaults.
pub fn has_defaults(of: &'static Type) -> bool {
    plan::of(of).is_some()
}

/// Whether [`apply`] would leave an object as it is.
pub fn is_defaulted(of: &'static Type, value: &Value, settings: &Settings) -> bool {
    plan::of(of).is_none_or(|plan| !plan.would_change(value, settings))
}

#[cfg(test)]
pub(crate) mod tests;
