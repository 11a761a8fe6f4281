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

use std::time::SystemTime;

use pintle_features::Features;
use pintle_meta::Value;
use pintle_meta::time::Time;
use pintle_schema::Type;

pub(crate) use self::place::Place;
pub(crate) use self::plan::{Fill, Rule};

/// What defaults depend on beside the object.
#[derive(Clone, Copy)]
pub struct Settings<'a> {
    pub features: Features,
    /// When a device's taint was added, if nobody said.
    pub now: &'a dyn Fn() -> Time,
}

impl Default for Settings<'_> {
    fn default() -> Self {
        Settings { features: Features::default(), now: &|| SystemTime::now().into() }
    }
}

/// Fills in the defaults of an object in normal form, which stays so. Lists of a kind have each item defaulted.
pub fn apply(of: &'static Type, value: &mut Value) {
    apply_with(of, value, &Settings::default());
}

/// [`apply`] with other feature gates or another clock.
pub fn apply_with(of: &'static Type, value: &mut Value, settings: &Settings<'_>) {
    if let Some(plan) = plan::of(of)
        && plan.would_change(value, settings)
    {
        plan.change(value, settings);
    }
}

/// Whether there is anything that [`apply`] could fill in.
pub fn has_defaults(of: &'static Type) -> bool {
    plan::of(of).is_some()
}

/// Whether [`apply`] would leave an object as it is.
pub fn is_defaulted(of: &'static Type, value: &Value) -> bool {
    is_defaulted_with(of, value, &Settings::default())
}

/// [`is_defaulted`] with other feature gates.
pub fn is_defaulted_with(of: &'static Type, value: &Value, settings: &Settings<'_>) -> bool {
    plan::of(of).is_none_or(|plan| !plan.would_change(value, settings))
}

#[cfg(test)]
pub(crate) mod tests;
