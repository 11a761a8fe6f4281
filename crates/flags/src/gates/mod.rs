//! `--feature-gates`: which features the command line switches, and the warnings that this earns.

mod lists;

use std::collections::BTreeMap;

use pintle_features::{Feature, Features, Stage, gates};

use self::lists::{IN_PART, WITH_EFFECT, WITHOUT_DIFFERENCE};
use crate::golang::parse_bool;

/// The values of `--feature-gates`.
#[derive(Clone, Debug, Default)]
pub(crate) struct GateFlags {
    /// The gates that the command line names.
    explicit: BTreeMap<Feature, bool>,
    /// All gates, with AllAlpha and AllBeta applied to those of their stage.
    features: Features,
}

impl GateFlags {
    /// Reads the values of `--feature-gates`, grouped by component.
    pub(crate) fn from_flag(components: &BTreeMap<String, Vec<String>>) -> Result<GateFlags, Vec<String>> {
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
        GateFlags::from_map(&wanted)
    }

    fn from_map(wanted: &BTreeMap<String, bool>) -> Result<GateFlags, Vec<String>> {
        let mut explicit = BTreeMap::new();
        let mut problems = Vec::new();
        for (name, value) in wanted {
            let Some(feature) = Feature::named(name) else {
                problems.push(format!("unrecognized feature gate: {name}"));
                continue;
            };
            let (locked, default) = (feature.gate().locked, feature.gate().default);
            if locked && default != *value {
                problems.push(format!(
                    "cannot set feature gate {name} to {value}, feature is locked to {default}"
                ));
                continue;
            }
            explicit.insert(feature, *value);
        }
        let mut features = Features::default();
        for (all, stage) in [(Feature::AllAlpha, Stage::Alpha), (Feature::AllBeta, Stage::Beta)] {
            let Some(value) = explicit.get(&all) else { continue };
            for gate in gates().iter().filter(|gate| gate.stage == stage && !gate.name.starts_with("All")) {
                features.set(gate.feature, *value);
            }
        }
        explicit.iter().for_each(|(feature, value)| features.set(*feature, *value));
        if problems.is_empty() {
            problems = features.unmet_dependencies().into_iter().map(unmet_dependency).collect();
        }
        if problems.is_empty() { Ok(GateFlags { explicit, features }) } else { Err(problems) }
    }

    pub(crate) fn features(&self) -> Features {
        self.features
    }

    /// Returns one sentence for each gate that was set although that does nothing, or soon will be an error.
    pub(crate) fn warnings(&self) -> Vec<String> {
        self.explicit.iter().filter_map(|(feature, value)| warning(*feature, *value)).collect()
    }
}

fn unmet_dependency((feature, missing): (Feature, Vec<Feature>)) -> String {
    let missing: Vec<&str> = missing.into_iter().map(Feature::name).collect();
    let (name, missing) = (feature.name(), missing.join(" "));
    format!("{name} is enabled, but depends on features that are disabled: [{missing}]")
}

fn warning(feature: Feature, value: bool) -> Option<String> {
    let (gate, name) = (feature.gate(), feature.name());
    let differs = gate.default != value;
    let has_effect = [WITH_EFFECT, WITHOUT_DIFFERENCE].iter().any(|list| list.contains(&feature));
    match gate.stage {
        _ if differs && IN_PART.contains(&feature) => {
            Some(format!("feature gate {name}={value} has not all of its effects in this version of Pintle"))
        }
        _ if differs && !has_effect => {
            Some(format!("feature gate {name}={value} has no effect in this version of Pintle"))
        }
        Stage::Ga => Some(format!("feature gate {name} is GA and will be removed in a future release")),
        Stage::Deprecated => {
            Some(format!("feature gate {name} is deprecated and will be removed in a future release"))
        }
        Stage::Alpha | Stage::Beta => None,
    }
}

#[cfg(test)]
mod tests {
    use pintle_features::Gate;

    use super::*;

    fn flags(values: &[(&str, &[&str])]) -> Result<GateFlags, Vec<String>> {
        let to_entry =
            |(k, v): &(&str, &[&str])| (k.to_string(), v.iter().map(ToString::to_string).collect());
        GateFlags::from_flag(&values.iter().map(to_entry).collect())
    }

    fn problem(value: &str) -> String {
        flags(&[("", &[value])]).unwrap_err().join("; ")
    }

    #[test]
    fn gates_have_their_defaults_until_set() {
        let default = Features::default();
        assert!(default.enabled(Feature::WatchList));
        assert!(!default.enabled(Feature::LoggingAlphaOptions));
        let set = flags(&[("kube", &["WatchList=false", "LoggingAlphaOptions=T"])]).unwrap();
        assert!(!set.features.enabled(Feature::WatchList));
        assert!(set.features.enabled(Feature::LoggingAlphaOptions));
    }

    #[test]
    fn a_deprecated_gate_may_be_locked_either_way() {
        let locked = |on: bool| {
            let is = move |gate: &&Gate| gate.stage == Stage::Deprecated && gate.locked && gate.default == on;
            gates().iter().filter(is).map(|gate| gate.name).collect::<Vec<_>>()
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
        let set = flags(&[("", &["AllAlpha=true", "MemoryQoS=false"])]).unwrap();
        assert!(
            set.features.enabled(Feature::AllAlpha) && set.features.enabled(Feature::LoggingAlphaOptions)
        );
        assert!(!set.features.enabled(Feature::MemoryQoS));
        assert!(!set.features.enabled(Feature::AllBeta));
        let off = flags(&[("", &["AllBeta=false"])]).unwrap();
        assert!(!off.features.enabled(Feature::WatchList));
        assert!(
            off.features.enabled(Feature::MultiCIDRServiceAllocator),
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
        let locked = gates().iter().find(|gate| gate.locked && gate.default).unwrap().name;
        assert_eq!(
            problem(&format!("{locked}=false")),
            format!("cannot set feature gate {locked} to false, feature is locked to true")
        );
        assert_eq!(
            problem("APIServerIdentity=false"),
            "UnknownVersionInteroperabilityProxy is enabled, but depends on features that are disabled: \
             [APIServerIdentity]"
        );
        assert_eq!(flags(&[("wardle", &["A=true"])]).unwrap_err(), ["component not registered: wardle"]);
        assert_eq!(
            flags(&[("", &["WatchList=true"]), ("kube", &["WatchList=true"])]).unwrap_err(),
            ["set kube feature gates with default empty prefix or kube: prefix consistently, do not mix use"]
        );
    }

    #[test]
    fn a_gate_without_effect_is_warned_about_by_name() {
        let set =
            flags(&[("", &["NativeHistograms=true", "PodsAPI=false", "LoggingAlphaOptions=true"])]).unwrap();
        assert_eq!(
            set.warnings(),
            ["feature gate NativeHistograms=true has no effect in this version of Pintle"]
        );
    }

    #[test]
    fn a_gate_that_does_only_some_of_what_it_should_is_warned_about() {
        let set = flags(&[("", &["VolumeLimitScaling=true"])]).unwrap();
        let told =
            "feature gate VolumeLimitScaling=true has not all of its effects in this version of Pintle";
        assert_eq!(set.warnings(), [told]);
    }

    #[test]
    fn gates_of_other_programs_are_taken_in_silence() {
        let set =
            flags(&[("", &["PodsAPI=true", "MemoryQoS=true", "SchedulerAsyncPreemption=false"])]).unwrap();
        assert!(set.warnings().is_empty());
        let finished = flags(&[("", &["AllowServiceExternalIPs=false"])]).unwrap().warnings();
        assert_eq!(
            finished,
            ["feature gate AllowServiceExternalIPs is GA and will be removed in a future release"]
        );
    }
}
