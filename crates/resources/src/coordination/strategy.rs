//! The strategies of the group's resources.

use std::sync::Arc;

use pintle_registry::Strategy;

use super::{lease, lease_candidate};
use crate::framework::strategy::{Entry, Rules, Settings, find};

const TABLE: &[Entry] = &[
    Entry { name: "leases", kind: "coordination/v1.Lease", rules: lease::LEASES },
    Entry {
        name: "leasecandidates",
        kind: "coordination/v1beta1.LeaseCandidate",
        rules: lease_candidate::LEASE_CANDIDATES,
    },
];

/// The rules that both resources have.
pub(super) const COMMON: Rules =
    Rules { standard_finalizers: false, create_on_update: true, ..Rules::NAMESPACED };

/// The strategy of a resource or subresource.
pub(crate) fn strategy(name: &str, settings: &Settings) -> Option<Arc<dyn Strategy>> {
    find(TABLE, name, settings)
}
