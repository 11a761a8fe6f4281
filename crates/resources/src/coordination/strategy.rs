//! The strategies of the group's resources.

use std::sync::Arc;

use pintle_features::Feature;
use pintle_meta::Value;
use pintle_meta::validation::config_map_key;
use pintle_registry::Strategy;

use crate::framework::strategy::{Entry, Rules, Settings, find, tree};

const TABLE: &[Entry] = &[
    Entry {
        name: "leases",
        kind: "coordination/v1.Lease",
        rules: Rules {
            on_create: |settings, _, lease| drop_election(settings, lease, None),
            on_update: |settings, _, lease, old| drop_election(settings, lease, Some(old)),
            ..LEASES
        },
    },
    Entry {
        name: "leasecandidates",
        kind: "coordination/v1beta1.LeaseCandidate",
        rules: Rules { name: |name, _| config_map_key(name), ..LEASES },
    },
];

const LEASES: Rules = Rules { standard_finalizers: false, create_on_update: true, ..Rules::NAMESPACED };

/// Where there are no coordinated elections, what is for them stays only where it is already.
fn drop_election(settings: &Settings, lease: &mut Value, old: Option<&Value>) {
    if settings.features.enabled(Feature::CoordinatedLeaderElection) {
        return;
    }
    for path in [&["spec", "strategy"], &["spec", "preferredHolder"]] {
        if old.is_none_or(|old| old.at(path).is_none()) {
            tree::remove(lease, path);
        }
    }
}

/// The strategy of a resource or subresource.
pub(crate) fn strategy(name: &str, settings: &Settings) -> Option<Arc<dyn Strategy>> {
    find(TABLE, name, settings)
}

#[cfg(test)]
mod tests {
    use crate::framework::strategy::testing::{of, text};

    const ELECTION: &str = r#"{"metadata":{"name":"a","namespace":"n"},"spec":{"holderIdentity":"h","strategy":"s","preferredHolder":"p"}}"#;
    const PLAIN: &str = r#"{"metadata":{"name":"a","namespace":"n"},"spec":{"holderIdentity":"h"}}"#;

    #[test]
    fn a_lease_says_nothing_about_elections_unless_it_did_before() {
        let leases = of("coordination.k8s.io", "leases");
        assert_eq!(text(&leases.created(ELECTION)), PLAIN);
        assert_eq!(text(&leases.updated(ELECTION, PLAIN)), PLAIN);
        assert_eq!(text(&leases.updated(ELECTION, ELECTION)), ELECTION);
        assert!(leases.strategy.allows_create_on_update() && !leases.strategy.allows_unconditional_update());
    }

    #[test]
    fn a_candidate_has_a_name_like_a_key() {
        let candidates = of("coordination.k8s.io", "leasecandidates");
        assert!(candidates.strategy.validate_name("Some_Name.1-", true).is_empty());
        assert!(!candidates.strategy.validate_name("a:b", false).is_empty());
    }
}
