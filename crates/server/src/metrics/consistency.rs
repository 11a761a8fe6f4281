//! How often caches were compared with the store.

use prometheus::IntCounterVec;

use super::Metrics;
use super::labels::Labelled;

pub(super) type Checks = Labelled<IntCounterVec>;

/// What came of comparing a cache with the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CacheCheck {
    Equal,
    Different,
    /// They could not be compared.
    Unknown,
}

impl Metrics {
    /// The cache of a resource was compared with the store.
    pub fn cache_checked(&self, group: &str, resource: &str, outcome: CacheCheck) {
        let status = match outcome {
            CacheCheck::Equal => "success",
            CacheCheck::Different => "failure",
            CacheCheck::Unknown => "error",
        };
        self.0.cache_checks.with(&[group, resource, status]).inc();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::MetricsOptions;

    #[test]
    fn checks_are_counted_by_what_came_of_them() {
        let metrics = Metrics::new(&MetricsOptions::default()).unwrap();
        metrics.cache_checked("apps", "deployments", CacheCheck::Equal);
        metrics.cache_checked("apps", "deployments", CacheCheck::Equal);
        metrics.cache_checked("", "pods", CacheCheck::Different);
        metrics.cache_checked("", "pods", CacheCheck::Unknown);
        let text = String::from_utf8(metrics.render().unwrap()).unwrap();
        let name = "apiserver_storage_consistency_checks_total";
        let lines: Vec<_> = text.lines().filter(|line| line.starts_with(name)).collect();
        assert_eq!(
            lines,
            [
                format!(r#"{name}{{group="",resource="pods",status="error"}} 1"#),
                format!(r#"{name}{{group="",resource="pods",status="failure"}} 1"#),
                format!(r#"{name}{{group="apps",resource="deployments",status="success"}} 2"#),
            ]
        );
    }
}
