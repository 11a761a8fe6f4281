//! LeaseCandidates: those that could hold a lease, with their versions.

use pintle_meta::validation::config_map_key;

use super::lease::{OLDEST_EMULATION_VERSION, check_strategy};
use super::semantic_version::Version;
use super::strategy::COMMON;
use crate::framework::strategy::Rules;
use crate::framework::validation::Cursor;

pub(super) const LEASE_CANDIDATES: Rules = Rules {
    name: |name, _| config_map_key(name),
    validate: |_, candidate| validate(&candidate.field("spec")),
    validate_update: |_, candidate| {
        validate(&candidate.field("spec"));
        candidate.at(&["spec", "leaseName"]).immutable("string");
    },
    ..COMMON
};

fn validate(spec: &Cursor<'_, '_>) {
    if spec.field("leaseName").is_empty() {
        spec.field("leaseName").required("");
    }
    let (emulated, binary) = (spec.field("emulationVersion"), spec.field("binaryVersion"));
    let emulated_version = if emulated.is_empty() { Version::default() } else { version(&emulated) };
    if binary.is_empty() {
        binary.required("");
    } else {
        let binary_version = version(&binary);
        if !emulated.is_empty() && binary_version < emulated_version {
            binary.invalid(binary.text(), "must be greater than or equal to `emulationVersion`");
        }
    }
    let strategy = spec.field("strategy");
    if strategy.is_empty() {
        return strategy.required("");
    }
    if strategy.text() == OLDEST_EMULATION_VERSION && emulated_version == Version::default() {
        emulated.required("must be specified when `strategy` is 'OldestEmulationVersion'");
    }
    check_strategy(&strategy);
}

/// Returns a version; an invalid one is reported, and is 0.0.0.
fn version<'v>(at: &Cursor<'_, 'v>) -> Version<'v> {
    Version::parse(at.text()).unwrap_or_else(|| {
        at.invalid(at.text(), "must be a valid semantic version");
        Version::default()
    })
}

#[cfg(test)]
mod tests {
    use crate::framework::strategy::testing::of;
    use crate::framework::validation::testing::Base;

    const GROUP: &str = "coordination.k8s.io";
    const CANDIDATE: &str = r#"{"metadata":{"name":"a","namespace":"n"},"spec":{"leaseName":"l","binaryVersion":"1.36.0",
        "emulationVersion":"1.35.0","strategy":"OldestEmulationVersion"}}"#;

    fn base() -> Base {
        Base::new(GROUP, "leasecandidates", CANDIDATE)
    }

    #[test]
    fn a_candidate_has_a_name_like_a_key() {
        let candidates = of(GROUP, "leasecandidates");
        assert!(candidates.strategy.validate_name("Some_Name.1-", true).is_empty());
        assert!(!candidates.strategy.validate_name("a:b", false).is_empty());
    }

    #[test]
    fn versions_are_given_in_order() {
        const BINARY: &str = "/spec/binaryVersion";
        const EMULATED: &str = "/spec/emulationVersion";
        base().accepts(&[&[(BINARY, r#""1.35.0""#)], &[(EMULATED, ""), ("/spec/strategy", r#""a.b/c""#)]]);
        base().refuses(&[
            (&[("/spec/leaseName", r#""""#)], &["spec.leaseName: Required value"]),
            (
                &[(EMULATED, r#""1.36""#)],
                &[
                    r#"spec.emulationVersion: Invalid value: "1.36": must be a valid semantic version"#,
                    "spec.emulationVersion: Required value: must be specified when `strategy` is 'OldestEmulationVersion'",
                ],
            ),
            (&[(BINARY, r#""""#)], &["spec.binaryVersion: Required value"]),
            (
                &[(BINARY, r#""x""#)],
                &[
                    r#"spec.binaryVersion: Invalid value: "x": must be a valid semantic version"#,
                    r#"spec.binaryVersion: Invalid value: "x": must be greater than or equal to `emulationVersion`"#,
                ],
            ),
            (
                &[(BINARY, r#""1.34.9""#)],
                &[
                    r#"spec.binaryVersion: Invalid value: "1.34.9": must be greater than or equal to `emulationVersion`"#,
                ],
            ),
            (
                &[(EMULATED, "")],
                &[
                    "spec.emulationVersion: Required value: must be specified when `strategy` is 'OldestEmulationVersion'",
                ],
            ),
            (&[("/spec/strategy", r#""""#)], &["spec.strategy: Required value"]),
        ]);
    }

    #[test]
    fn a_candidate_stays_with_its_lease() {
        base().accepts_update(&[&[("/spec/binaryVersion", r#""1.37.0""#)]]);
        base().refuses_update(&[(
            &[("/spec/leaseName", r#""m""#)],
            &[r#"spec.leaseName: Invalid value: "m": field is immutable"#],
        )]);
    }
}
