//! Leases: locks that their holders renew.

use pintle_features::Feature;
use pintle_meta::Value;
use pintle_meta::field_path::Value as Printed;
use pintle_meta::validation::qualified_name;

use super::strategy::COMMON;
use crate::framework::strategy::{Rules, Settings, tree};
use crate::framework::validation::Cursor;

pub(super) const LEASES: Rules = Rules {
    on_create: |settings, _, lease| drop_election(settings, lease, None),
    on_update: |settings, _, lease, old| drop_election(settings, lease, Some(old)),
    validate: |_, lease| validate(&lease.field("spec")),
    validate_update: |_, lease| validate(&lease.field("spec")),
    ..COMMON
};

/// The strategy that Kubernetes defines.
pub(super) const OLDEST_EMULATION_VERSION: &str = "OldestEmulationVersion";

/// Drops the fields of coordinated elections where there are none, each unless it is there already.
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

fn validate(spec: &Cursor<'_, '_>) {
    let duration = spec.field("leaseDurationSeconds");
    if duration.optional_integer().is_some_and(|seconds| seconds <= 0) {
        duration.invalid(duration.integer(), "must be greater than 0");
    }
    spec.field("leaseTransitions").non_negative();
    let strategy = spec.field("strategy");
    if strategy.is_set() {
        check_strategy(&strategy);
    }
    if !spec.field("preferredHolder").is_empty() && strategy.is_empty() {
        spec.field("preferredHolder").forbidden("may only be specified if `strategy` is defined");
    }
}

/// Checks a strategy of elections: one of Kubernetes', or one with a domain. The reference's errors name the field twice.
pub(super) fn check_strategy(strategy: &Cursor<'_, '_>) {
    let named_twice = strategy.at_as(&[], "strategy");
    let text = strategy.text();
    if text.contains('/') {
        for why in qualified_name(text) {
            named_twice.invalid(Printed::json(text), why);
        }
    } else if text != OLDEST_EMULATION_VERSION {
        named_twice.not_supported(Printed::json(text), &[OLDEST_EMULATION_VERSION]);
    }
}

#[cfg(test)]
mod tests {
    use pintle_features::Feature;

    use crate::framework::strategy::testing::{of, text};
    use crate::framework::validation::testing::Base;

    const GROUP: &str = "coordination.k8s.io";
    const ELECTION: &str = r#"{"metadata":{"name":"a","namespace":"n"},"spec":{"holderIdentity":"h","strategy":"s","preferredHolder":"p"}}"#;
    const PLAIN: &str = r#"{"metadata":{"name":"a","namespace":"n"},"spec":{"holderIdentity":"h"}}"#;

    #[test]
    fn a_lease_says_nothing_about_elections_unless_it_did_before() {
        let leases = of(GROUP, "leases");
        assert_eq!(text(&leases.created(ELECTION)), PLAIN);
        assert_eq!(text(&leases.updated(ELECTION, PLAIN)), PLAIN);
        assert_eq!(text(&leases.updated(ELECTION, ELECTION)), ELECTION);
        assert!(leases.strategy.allows_create_on_update() && !leases.strategy.allows_unconditional_update());
    }

    #[test]
    fn durations_and_transitions_are_counts() {
        let base = Base::new(GROUP, "leases", PLAIN);
        let cases: &[(&[(&str, &str)], &[&str])] = &[
            (
                &[("/spec/leaseDurationSeconds", "0")],
                &["spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0"],
            ),
            (
                &[("/spec/leaseTransitions", "-1")],
                &["spec.leaseTransitions: Invalid value: -1: must be greater than or equal to 0"],
            ),
        ];
        base.refuses(cases);
        base.refuses_update(cases);
        base.accepts(&[&[("/spec/leaseTransitions", "0"), ("/spec/leaseDurationSeconds", "1")]]);
    }

    #[test]
    fn strategies_are_known_or_have_a_domain() {
        let elections = [(Feature::CoordinatedLeaderElection, true)];
        let base = Base::with_features(GROUP, "leases", PLAIN, &elections);
        base.accepts(&[
            &[("/spec/strategy", r#""OldestEmulationVersion""#), ("/spec/preferredHolder", r#""p""#)],
            &[("/spec/strategy", r#""a.b/c""#)],
            &[("/spec/preferredHolder", r#""""#)],
        ]);
        base.refuses(&[
            (
                &[("/spec/strategy", r#""x""#)],
                &[
                    r#"spec.strategy.strategy: Unsupported value: "x": supported values: "OldestEmulationVersion""#,
                ],
            ),
            (
                &[("/spec/strategy", r#""/x""#)],
                &[r#"spec.strategy.strategy: Invalid value: "/x": prefix part must be non-empty"#],
            ),
            (
                &[("/spec/preferredHolder", r#""p""#)],
                &["spec.preferredHolder: Forbidden: may only be specified if `strategy` is defined"],
            ),
        ]);
    }
}
