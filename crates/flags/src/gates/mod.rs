//! Feature gates: which exist, how `--feature-gates` sets them, and whether one is on.

mod lists;
mod table;

use std::collections::BTreeMap;

use self::lists::{IN_PART, WITH_EFFECT, WITHOUT_DIFFERENCE};
use crate::golang::parse_bool;

/// How mature a feature is.
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
    /// The word for it in `--help` and metrics; none for what is finished.
    pub fn as_str(self) -> &'static str {
        match self {
            Stage::Alpha => "ALPHA",
            Stage::Beta => "BETA",
            Stage::Ga => "",
            Stage::Deprecated => "DEPRECATED",
        }
    }
}

/// One gate.
#[derive(Clone, Copy, Debug)]
pub struct Gate {
    /// Name as on the command line.
    pub name: &'static str,
    /// Stage in this release.
    pub stage: Stage,
    /// Whether the feature is on when nobody says anything.
    pub default: bool,
    /// Whether the default is the only allowed value.
    pub locked: bool,
}

const fn gate(name: &'static str, stage: Stage, default: bool) -> Gate {
    Gate { name, stage, default, locked: false }
}

const fn alpha(name: &'static str) -> Gate {
    gate(name, Stage::Alpha, false)
}

const fn beta(name: &'static str, default: bool) -> Gate {
    gate(name, Stage::Beta, default)
}

const fn ga(name: &'static str, default: bool) -> Gate {
    gate(name, Stage::Ga, default)
}

const fn deprecated(name: &'static str, default: bool) -> Gate {
    gate(name, Stage::Deprecated, default)
}

impl Gate {
    const fn locked(mut self) -> Self {
        self.locked = true;
        self
    }
}

/// Whether setting a gate does what it does in the reference.
fn has_effect(name: &str) -> bool {
    [WITH_EFFECT, WITHOUT_DIFFERENCE].iter().any(|list| list.contains(&name))
}

/// Every gate, sorted by name.
pub fn known() -> &'static [Gate] {
    table::GATES
}

fn find(name: &str) -> Option<&'static Gate> {
    table::GATES.binary_search_by(|gate| gate.name.cmp(name)).ok().map(|at| &table::GATES[at])
}

/// The state of every gate.
#[derive(Clone, Debug, Default)]
pub struct FeatureGates {
    /// What the command line says, by gate name.
    explicit: BTreeMap<&'static str, bool>,
    /// The same with AllAlpha and AllBeta spread over their gates.
    enabled: BTreeMap<&'static str, bool>,
}

impl FeatureGates {
    /// Reads the values of `--feature-gates`, grouped by component.
    pub(crate) fn from_flag(components: &BTreeMap<String, Vec<String>>) -> Result<FeatureGates, Vec<String>> {
        if components.contains_key("") && components.contains_key("kube") {
            let text = "set kube feature gates with default empty prefix or kube: prefix consistently, do not mix use";
            return Err(vec![text.into()]);
        }
        if let Some(other) = components.keys().find(|name| !matches!(name.as_str(), "" | "kube")) {
            return Err(vec![format!("component not registered: {other}")]);
        }
        let entries: Vec<&String> = components.values().flatten().collect();
        let mut wanted = BTreeMap::new();
        for entry in entries.iter().flat_map(|entry| entry.split(',')).filter(|entry| !entry.is_empty()) {
            let (name, value) = match entry.split_once('=') {
                Some((name, value)) => (name.trim(), value.trim()),
                None => return Err(vec![format!("missing bool value for {}", entry.trim())]),
            };
            let value = parse_bool(value)
                .map_err(|reason| vec![format!("invalid value of {name}={value}, err: {reason}")])?;
            wanted.insert(name.to_owned(), value);
        }
        FeatureGates::from_map(&wanted)
    }

    fn from_map(wanted: &BTreeMap<String, bool>) -> Result<FeatureGates, Vec<String>> {
        let mut explicit = BTreeMap::new();
        let mut problems = Vec::new();
        for (name, value) in wanted {
            let Some(gate) = find(name) else {
                problems.push(format!("unrecognized feature gate: {name}"));
                continue;
            };
            if gate.locked && gate.default != *value {
                let locked = gate.default;
                problems.push(format!(
                    "cannot set feature gate {name} to {value}, feature is locked to {locked}"
                ));
                continue;
            }
            explicit.insert(gate.name, *value);
        }
        let mut enabled = explicit.clone();
        for (all, stage) in [("AllAlpha", Stage::Alpha), ("AllBeta", Stage::Beta)] {
            let Some(value) = explicit.get(all) else { continue };
            for gate in
                table::GATES.iter().filter(|gate| gate.stage == stage && !gate.name.starts_with("All"))
            {
                enabled.entry(gate.name).or_insert(*value);
            }
        }
        let gates = FeatureGates { explicit, enabled };
        if problems.is_empty() {
            problems = gates.unmet_dependencies();
        }
        if problems.is_empty() { Ok(gates) } else { Err(problems) }
    }

    fn unmet_dependencies(&self) -> Vec<String> {
        let unmet = |(name, needs): &(&str, &[&str])| {
            let missing: Vec<&str> = needs.iter().copied().filter(|need| !self.enabled(need)).collect();
            (self.enabled(name) && !missing.is_empty()).then(|| {
                format!(
                    "{name} is enabled, but depends on features that are disabled: [{}]",
                    missing.join(" ")
                )
            })
        };
        table::DEPENDENCIES.iter().filter_map(unmet).collect()
    }

    /// Whether a feature is on.
    ///
    /// # Panics
    ///
    /// When there is no gate of that name, which is a mistake of the caller.
    pub fn enabled(&self, name: &str) -> bool {
        let gate = find(name).unwrap_or_else(|| panic!("there is no feature gate {name}"));
        self.enabled.get(gate.name).copied().unwrap_or(gate.default)
    }

    /// Every gate with whether it is on, sorted by name.
    pub fn iter(&self) -> impl Iterator<Item = (&'static Gate, bool)> {
        table::GATES.iter().map(|gate| (gate, self.enabled(gate.name)))
    }

    /// One sentence for each gate that was set although that does nothing, or soon will be an error.
    pub(crate) fn warnings(&self) -> Vec<String> {
        let warn = |(name, value): (&&'static str, &bool)| {
            let gate = find(name)?;
            match gate.stage {
                _ if gate.default != *value && IN_PART.contains(name) => Some(format!(
                    "feature gate {name}={value} has not all of its effects in this version of Pintle"
                )),
                _ if gate.default != *value && !has_effect(name) => {
                    Some(format!("feature gate {name}={value} has no effect in this version of Pintle"))
                }
                Stage::Ga => {
                    Some(format!("feature gate {name} is GA and will be removed in a future release"))
                }
                Stage::Deprecated => {
                    Some(format!("feature gate {name} is deprecated and will be removed in a future release"))
                }
                Stage::Alpha | Stage::Beta => None,
            }
        };
        self.explicit.iter().filter_map(warn).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gates(values: &[(&str, &[&str])]) -> Result<FeatureGates, Vec<String>> {
        let to_entry =
            |(k, v): &(&str, &[&str])| (k.to_string(), v.iter().map(ToString::to_string).collect());
        FeatureGates::from_flag(&values.iter().map(to_entry).collect())
    }

    fn problem(value: &str) -> String {
        gates(&[("", &[value])]).unwrap_err().join("; ")
    }

    #[test]
    fn the_table_is_sorted_and_dependencies_name_gates() {
        assert!(known().is_sorted_by(|a, b| a.name < b.name));
        assert!(known().len() > 200);
        assert!(known().iter().all(|gate| gate.stage != Stage::Alpha || !gate.default));
        assert!(table::DEPENDENCIES.is_sorted_by(|a, b| a.0 < b.0));
        for (name, needs) in table::DEPENDENCIES {
            assert!(find(name).is_some() && needs.iter().all(|need| find(need).is_some()), "{name}");
        }
        assert!(FeatureGates::default().unmet_dependencies().is_empty());
    }

    #[test]
    fn gates_have_their_defaults_until_set() {
        let default = FeatureGates::default();
        assert!(default.enabled("WatchList"));
        assert!(!default.enabled("LoggingAlphaOptions"));
        let set = gates(&[("kube", &["WatchList=false", "LoggingAlphaOptions=T"])]).unwrap();
        assert!(!set.enabled("WatchList"));
        assert!(set.enabled("LoggingAlphaOptions"));
    }

    #[test]
    fn what_is_on_its_way_out_may_be_locked_either_way() {
        let locked = |on: bool| {
            let is = move |gate: &&Gate| gate.stage == Stage::Deprecated && gate.locked && gate.default == on;
            known().iter().filter(is).map(|gate| gate.name).collect::<Vec<_>>()
        };
        assert_eq!(locked(true), ["AggregatedDiscoveryRemoveBetaType", "DisableNodeKubeProxyVersion"]);
        let off =
            ["AllowOverwriteTerminationGracePeriodSeconds", "GitRepoVolumeDriver", "SeparateCacheWatchRPC"];
        assert_eq!(locked(false), off);
        let told = "cannot set feature gate GitRepoVolumeDriver to true, feature is locked to false";
        assert_eq!(problem("GitRepoVolumeDriver=true"), told);
    }

    #[test]
    fn all_alpha_spares_the_gates_that_are_set() {
        let set = gates(&[("", &["AllAlpha=true", "MemoryQoS=false"])]).unwrap();
        assert!(set.enabled("AllAlpha") && set.enabled("LoggingAlphaOptions"));
        assert!(!set.enabled("MemoryQoS"));
        assert!(!set.enabled("AllBeta"));
        let off = gates(&[("", &["AllBeta=false"])]).unwrap();
        assert!(!off.enabled("WatchList"));
        assert!(
            off.enabled("MultiCIDRServiceAllocator"),
            "a gate that graduated is none of AllBeta's business"
        );
    }

    #[test]
    fn bad_gates_get_the_references_messages() {
        assert_eq!(problem("Nope=true"), "unrecognized feature gate: Nope");
        assert_eq!(problem("WatchList"), "missing bool value for WatchList");
        assert_eq!(
            problem("WatchList=yes"),
            r#"invalid value of WatchList=yes, err: strconv.ParseBool: parsing "yes": invalid syntax"#
        );
        let locked = known().iter().find(|gate| gate.locked && gate.default).unwrap().name;
        assert_eq!(
            problem(&format!("{locked}=false")),
            format!("cannot set feature gate {locked} to false, feature is locked to true")
        );
        assert_eq!(
            problem("APIServerIdentity=false"),
            "UnknownVersionInteroperabilityProxy is enabled, but depends on features that are disabled: \
             [APIServerIdentity]"
        );
        assert_eq!(gates(&[("wardle", &["A=true"])]).unwrap_err(), ["component not registered: wardle"]);
        assert_eq!(
            gates(&[("", &["WatchList=true"]), ("kube", &["WatchList=true"])]).unwrap_err(),
            ["set kube feature gates with default empty prefix or kube: prefix consistently, do not mix use"]
        );
    }

    #[test]
    fn a_gate_without_effect_is_warned_about_by_name() {
        let set =
            gates(&[("", &["NativeHistograms=true", "PodsAPI=false", "LoggingAlphaOptions=true"])]).unwrap();
        assert_eq!(
            set.warnings(),
            ["feature gate NativeHistograms=true has no effect in this version of Pintle"]
        );
    }

    #[test]
    fn a_gate_that_does_only_some_of_what_it_should_is_warned_about() {
        let set = gates(&[("", &["VolumeLimitScaling=true"])]).unwrap();
        let told =
            "feature gate VolumeLimitScaling=true has not all of its effects in this version of Pintle";
        assert_eq!(set.warnings(), [told]);
    }

    #[test]
    fn gates_of_other_programs_are_taken_in_silence() {
        let set =
            gates(&[("", &["PodsAPI=true", "MemoryQoS=true", "SchedulerAsyncPreemption=false"])]).unwrap();
        assert!(set.warnings().is_empty());
        let finished = gates(&[("", &["AllowServiceExternalIPs=false"])]).unwrap().warnings();
        assert_eq!(
            finished,
            ["feature gate AllowServiceExternalIPs is GA and will be removed in a future release"]
        );
    }

    #[test]
    #[should_panic(expected = "there is no feature gate Nope")]
    fn asking_for_a_gate_that_does_not_exist_is_a_bug() {
        FeatureGates::default().enabled("Nope");
    }
}
