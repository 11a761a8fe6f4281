//! Feature gates: the table of all gates, and the set of features that are on in one control plane.
//!
//! A [`Features`] is made once, from `--feature-gates` or by a test, and handed down by value. Code asks for a [`Feature`] by
//! its variant, so a gate that does not exist does not compile.

mod table;

pub use self::table::Feature;
use self::table::{DEPENDENCIES, GATES};

/// The maturity of a feature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Off by default, may vanish.
    Alpha,
    /// Complete, may still change.
    Beta,
    /// Finished; the gate is on its way out.
    Ga,
    /// On its way out together with the feature.
    Deprecated,
}

impl Stage {
    /// The stage's name in `--help` and metrics; empty for [`Stage::Ga`].
    pub fn as_str(self) -> &'static str {
        match self {
            Stage::Alpha => "ALPHA",
            Stage::Beta => "BETA",
            Stage::Ga => "",
            Stage::Deprecated => "DEPRECATED",
        }
    }
}

/// The gate of one feature.
#[derive(Clone, Copy, Debug)]
pub struct Gate {
    pub feature: Feature,
    /// The name on the command line.
    pub name: &'static str,
    /// The stage in this release.
    pub stage: Stage,
    /// Whether the feature is on unless the command line says otherwise.
    pub default: bool,
    /// Whether the default is the only allowed value.
    pub locked: bool,
}

/// Returns every gate, sorted by name.
pub fn gates() -> &'static [Gate] {
    GATES
}

impl Feature {
    /// Returns the feature whose gate has this name.
    pub fn named(name: &str) -> Option<Feature> {
        GATES.binary_search_by(|gate| gate.name.cmp(name)).ok().map(|at| GATES[at].feature)
    }

    pub fn gate(self) -> &'static Gate {
        &GATES[self as usize]
    }

    pub fn name(self) -> &'static str {
        self.gate().name
    }
}

const WORDS: usize = 4;

/// The set of features that are on. [`Features::default`] has the reference's defaults.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Features([u64; WORDS]);

impl Features {
    pub fn enabled(&self, feature: Feature) -> bool {
        let (word, bit) = position(feature);
        self.0[word] & bit != 0
    }

    /// Returns whether the feature whose gate has this name is on, for tables of facts that name gates; false if there is none.
    pub fn enabled_by_name(&self, name: &str) -> bool {
        Feature::named(name).is_some_and(|feature| self.enabled(feature))
    }

    /// Returns whether all of these features are on.
    pub fn all_enabled(&self, features: &[Feature]) -> bool {
        features.iter().all(|feature| self.enabled(*feature))
    }

    pub fn set(&mut self, feature: Feature, on: bool) {
        let (word, bit) = position(feature);
        if on {
            self.0[word] |= bit;
        } else {
            self.0[word] &= !bit;
        }
    }

    /// Returns this set with one feature switched; for tests.
    #[must_use]
    pub fn with(mut self, feature: Feature, on: bool) -> Features {
        self.set(feature, on);
        self
    }

    /// Returns a set with every feature on; for tests of what gates add.
    pub fn all() -> Features {
        GATES.iter().fold(Features::none(), |features, gate| features.with(gate.feature, true))
    }

    /// Returns a set with every feature off; for tests.
    pub fn none() -> Features {
        Features([0; WORDS])
    }

    /// Iterates over all gates, sorted by name, with whether each is on.
    pub fn iter(&self) -> impl Iterator<Item = (&'static Gate, bool)> {
        let features = *self;
        GATES.iter().map(move |gate| (gate, features.enabled(gate.feature)))
    }

    /// Returns the features that are on although some that they depend on are off, with those.
    pub fn unmet_dependencies(&self) -> Vec<(Feature, Vec<Feature>)> {
        let unmet = |(feature, needs): &(Feature, &[Feature])| {
            let missing: Vec<Feature> = needs.iter().copied().filter(|need| !self.enabled(*need)).collect();
            (self.enabled(*feature) && !missing.is_empty()).then_some((*feature, missing))
        };
        DEPENDENCIES.iter().filter_map(unmet).collect()
    }
}

fn position(feature: Feature) -> (usize, u64) {
    (feature as usize / 64, 1 << (feature as usize % 64))
}

impl Default for Features {
    /// The defaults of Kubernetes 1.36.
    fn default() -> Features {
        GATES.iter().fold(Features::none(), |features, gate| features.with(gate.feature, gate.default))
    }
}

impl std::fmt::Debug for Features {
    /// Shows the gates that are not at their default.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let changed = self.iter().filter(|(gate, on)| gate.default != *on);
        f.debug_map().entries(changed.map(|(gate, on)| (gate.name, on))).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted_and_fits_the_set() {
        assert!(gates().is_sorted_by(|a, b| a.name < b.name));
        assert!((200..=WORDS * 64).contains(&gates().len()));
        assert!(gates().iter().all(|gate| gate.stage != Stage::Alpha || !gate.default));
        assert!(gates().iter().enumerate().all(|(at, gate)| gate.feature as usize == at));
        assert!(DEPENDENCIES.is_sorted_by(|a, b| a.0 < b.0));
        assert!(Features::default().unmet_dependencies().is_empty());
    }

    #[test]
    fn features_have_their_defaults_until_set() {
        let features = Features::default();
        assert!(features.enabled(Feature::WatchList) && !features.enabled(Feature::WorkloadWithJob));
        let set = features.with(Feature::WatchList, false).with(Feature::WorkloadWithJob, true);
        assert!(!set.enabled(Feature::WatchList) && set.enabled(Feature::WorkloadWithJob));
        assert_eq!(set.unmet_dependencies(), [(Feature::WorkloadWithJob, vec![Feature::GenericWorkload])]);
        assert_eq!(format!("{set:?}"), r#"{"WatchList": false, "WorkloadWithJob": true}"#);
    }

    #[test]
    fn a_feature_is_found_by_the_name_of_its_gate() {
        assert_eq!(Feature::named("WatchList"), Some(Feature::WatchList));
        assert_eq!(Feature::WatchList.name(), "WatchList");
        assert_eq!(Feature::named("Nope"), None);
    }
}
