//! Strategies: which fields of a resource a request may write, what counts as a new
//! generation, how a deletion goes.
//!
//! Every group has its own in `<group>/strategy.rs`, most of them as a line of a table of [`Rules`]; functions that a line
//! names are for what is conditional. A resource that no table names has no strategy, and cannot be served.
//!
//! ```text
//! pods           drop status, generation 1 | keep status, count spec | grace as the pod says
//! pods/status                              | keep spec               |
//! ```

pub(crate) mod labels;
pub(crate) mod rules;
#[cfg(test)]
pub(crate) mod testing;
pub(crate) mod tree;

use std::sync::Arc;
use std::time::Duration;

use pintle_features::Features;
use pintle_meta::Value;
use pintle_meta::time::Time;
use pintle_registry::Strategy;
use pintle_runtime::{Clock, Random};

use crate::framework::defaults;

pub(crate) use self::rules::{Entry, MetadataCheck, MetadataRecheck, Rules, find};

/// Inputs of strategies beside the objects: those of the control plane.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The life of an event after its last write.
    pub event_ttl: Duration,
    pub clock: Clock,
    /// Draws generated names.
    pub random: Random,
    pub features: Features,
    /// Whether services get IPv6 addresses first.
    pub ipv6_first: bool,
    /// Whether containers may be privileged (`--allow-privileged`).
    pub allow_privileged: bool,
}

impl Settings {
    /// Returns the present to the second, as objects record it.
    pub(crate) fn time(&self) -> Value {
        Time::from(self.clock.now()).truncated().to_string().into()
    }

    /// Returns the settings of defaulting in the same control plane.
    pub fn defaults(&self) -> defaults::Settings {
        defaults::Settings { features: self.features, clock: self.clock.clone() }
    }
}

impl Default for Settings {
    /// As Kubernetes 1.36 has them.
    fn default() -> Settings {
        Settings {
            event_ttl: Duration::from_secs(60 * 60),
            clock: Clock::system(),
            random: Random::system(),
            features: Features::default(),
            ipv6_first: false,
            allow_privileged: false,
        }
    }
}

/// The strategy of a resource (`pods`) or of a subresource (`pods/status`) of a group.
pub fn of(group: &str, name: &str, settings: &Settings) -> Option<Arc<dyn Strategy>> {
    let find = match group {
        "" => crate::core::strategy::strategy,
        "admissionregistration.k8s.io" => crate::admissionregistration::strategy::strategy,
        "apiextensions.k8s.io" => crate::apiextensions::strategy::strategy,
        "apiregistration.k8s.io" => crate::apiregistration::strategy::strategy,
        "apps" => crate::apps::strategy::strategy,
        "autoscaling" => crate::autoscaling::strategy::strategy,
        "batch" => crate::batch::strategy::strategy,
        "certificates.k8s.io" => crate::certificates::strategy::strategy,
        "coordination.k8s.io" => crate::coordination::strategy::strategy,
        "discovery.k8s.io" => crate::discovery::strategy::strategy,
        "events.k8s.io" => crate::events::strategy::strategy,
        "flowcontrol.apiserver.k8s.io" => crate::flowcontrol::strategy::strategy,
        "internal.apiserver.k8s.io" => crate::apiserverinternal::strategy::strategy,
        "networking.k8s.io" => crate::networking::strategy::strategy,
        "node.k8s.io" => crate::node::strategy::strategy,
        "policy" => crate::policy::strategy::strategy,
        "rbac.authorization.k8s.io" => crate::rbac::strategy::strategy,
        "resource.k8s.io" => crate::resource::strategy::strategy,
        "scheduling.k8s.io" => crate::scheduling::strategy::strategy,
        "storage.k8s.io" => crate::storage::strategy::strategy,
        "storagemigration.k8s.io" => crate::storagemigration::strategy::strategy,
        _ => return None,
    };
    find(name, settings)
}

#[cfg(test)]
mod tests;
