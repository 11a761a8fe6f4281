//! What operators may say about metrics: which not to show, and which values of a label to tell apart.
//!
//! A label whose values come from outside can grow a metric without bound. `--allow-metric-labels` names the values that
//! count; all others become `unexpected` before anything is stored for them.

use std::collections::{BTreeMap, BTreeSet};

use prometheus::core::{MetricVec, MetricVecBuilder};

const UNEXPECTED: &str = "unexpected";

/// `--disabled-metrics`, `--allow-metric-labels` and `--allow-metric-labels-manifest`.
#[derive(Clone, Debug, Default)]
pub struct MetricsOptions {
    disabled: BTreeSet<String>,
    /// By `metric,label`.
    allowed: BTreeMap<String, BTreeSet<String>>,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AllowListError {
    #[error("{0:?} is not of the form metric,label=value1,value2")]
    Key(String),
    #[error("line {0} of the manifest is not of the form metric,label: value1,value2")]
    Line(usize),
}

impl MetricsOptions {
    pub fn disable(&mut self, names: &[String]) {
        self.disabled.extend(names.iter().cloned());
    }

    pub(super) fn disables(&self, name: &str) -> bool {
        self.disabled.contains(name)
    }

    /// Lets only these values of a label be told apart: `metric,label` and `value1,value2`.
    pub fn allow(&mut self, key: &str, values: &str) -> Result<(), AllowListError> {
        let well_formed = key.split(',').count() == 2 && key.split(',').all(|part| !part.trim().is_empty());
        if !well_formed {
            return Err(AllowListError::Key(key.into()));
        }
        let key = key.split(',').map(str::trim).collect::<Vec<_>>().join(",");
        let values = values.split(',').map(|value| value.trim().to_owned());
        self.allowed.entry(key).or_default().extend(values);
        Ok(())
    }

    /// Reads a manifest: a flat YAML mapping of what [`MetricsOptions::allow`] takes.
    pub fn allow_manifest(&mut self, text: &str) -> Result<(), AllowListError> {
        let unquoted = |text: &str| text.trim().trim_matches(['"', '\'']).to_owned();
        for (index, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') || line == "---" {
                continue;
            }
            let (key, values) = line.rsplit_once(": ").ok_or(AllowListError::Line(index + 1))?;
            self.allow(&unquoted(key), &unquoted(values)).map_err(|_| AllowListError::Line(index + 1))?;
        }
        Ok(())
    }
}

/// A metric with the values that its labels may have.
pub(super) struct Labelled<V> {
    metric: V,
    /// By position of the label; `None` allows all.
    allowed: Vec<Option<BTreeSet<String>>>,
}

impl<V> Labelled<V> {
    pub(super) fn new(metric: V, name: &str, labels: &[&str], options: &MetricsOptions) -> Labelled<V> {
        let allowed: Vec<_> =
            labels.iter().map(|label| options.allowed.get(&format!("{name},{label}")).cloned()).collect();
        // The usual case costs nothing per use.
        let allowed = if allowed.iter().any(Option::is_some) { allowed } else { Vec::new() };
        Labelled { metric, allowed }
    }
}

impl<B: MetricVecBuilder> Labelled<MetricVec<B>> {
    pub(super) fn with(&self, values: &[&str]) -> B::M {
        if self.allowed.is_empty() {
            return self.metric.with_label_values(values);
        }
        let known = |(value, allowed): (&&'_ str, &Option<BTreeSet<String>>)| match allowed {
            Some(allowed) if !allowed.contains(*value) => UNEXPECTED.to_owned(),
            _ => (*value).to_owned(),
        };
        let values: Vec<String> = values.iter().zip(&self.allowed).map(known).collect();
        self.metric.with_label_values(&values)
    }

    /// Shows the figure of these values no more.
    pub(super) fn remove(&self, values: &[&str]) {
        // Where values were not allowed, others may count under the same.
        if self.allowed.is_empty() {
            let _ = self.metric.remove_label_values(values);
        }
    }
}

#[cfg(test)]
mod tests {
    use prometheus::{IntCounterVec, Opts};

    use super::*;

    #[test]
    fn values_that_are_not_allowed_become_unexpected() {
        let mut options = MetricsOptions::default();
        options.allow("requests, verb", "GET,LIST").unwrap();
        let labels = ["code", "verb"];
        let counter = IntCounterVec::new(Opts::new("requests", "h"), &labels).unwrap();
        let labelled = Labelled::new(counter.clone(), "requests", &labels, &options);
        labelled.with(&["200", "GET"]).inc();
        labelled.with(&["200", "EVIL"]).inc();
        labelled.with(&["404", "WORSE"]).inc();
        assert_eq!(counter.with_label_values(&["200", "GET"]).get(), 1);
        assert_eq!(counter.with_label_values(&["200", "unexpected"]).get(), 1);
        assert_eq!(counter.with_label_values(&["404", "unexpected"]).get(), 1);
    }

    #[test]
    fn a_manifest_is_a_flat_mapping() {
        let mut options = MetricsOptions::default();
        options.allow_manifest("# comment\n\"a,b\": \"x,y\"\nc,d: z\n").unwrap();
        assert_eq!(options.allowed["a,b"].len(), 2);
        assert!(options.allowed["c,d"].contains("z"));
        assert_eq!(options.allow_manifest("a,b: x\nnonsense\n"), Err(AllowListError::Line(2)));
        assert!(matches!(options.allow("a", "x"), Err(AllowListError::Key(_))));
    }
}
