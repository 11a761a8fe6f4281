//! Options of a registry: disabled metrics, and the values that labels may have.
//!
//! A label whose values come from clients can grow a family without bound. `--allow-metric-labels` names the values that are
//! told apart; all others become `unexpected` before anything is stored for them.

use std::collections::{BTreeMap, BTreeSet};

/// `--disabled-metrics`, `--allow-metric-labels` and `--allow-metric-labels-manifest`.
#[derive(Clone, Debug, Default)]
pub struct Options {
    disabled: BTreeSet<String>,
    /// Allowed values, by `metric,label`.
    allowed: BTreeMap<String, BTreeSet<String>>,
}

/// The reason why a list of allowed values cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AllowListError {
    #[error("{0:?} is not of the form metric,label=value1,value2")]
    Key(String),
    #[error("line {0} of the manifest is not of the form metric,label: value1,value2")]
    Line(usize),
}

impl Options {
    pub fn disable(&mut self, names: &[String]) {
        self.disabled.extend(names.iter().cloned());
    }

    pub(crate) fn disables(&self, name: &str) -> bool {
        self.disabled.contains(name)
    }

    /// Returns the values that a label may have; `None` if it may have all.
    pub(crate) fn allowed_values(&self, metric: &str, label: &str) -> Option<&BTreeSet<String>> {
        self.allowed.get(&format!("{metric},{label}"))
    }

    /// Allows only these values of a label: `metric,label` and `value1,value2`.
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

    /// Reads a manifest: a flat YAML mapping of the arguments of [`Options::allow`].
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manifest_is_a_flat_mapping() {
        let mut options = Options::default();
        options.allow_manifest("# comment\n\"a,b\": \"x,y\"\nc,d: z\n").unwrap();
        assert_eq!(options.allowed_values("a", "b").unwrap().len(), 2);
        assert!(options.allowed_values("c", "d").unwrap().contains("z"));
        assert!(options.allowed_values("a", "d").is_none());
        assert_eq!(options.allow_manifest("a,b: x\nnonsense\n"), Err(AllowListError::Line(2)));
        assert!(matches!(options.allow("a", "x"), Err(AllowListError::Key(_))));
    }
}
