//! The metrics of comparing caches with the store.

use pintle_metrics::{Counters, Error, Registry};

/// The metrics of this crate. Clones are the same metrics.
#[derive(Clone)]
pub struct Metrics {
    checks: Counters,
}

/// The result of comparing a cache with the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CacheCheck {
    Equal,
    Different,
    /// The comparison failed.
    Unknown,
}

impl Metrics {
    pub fn new(registry: &Registry) -> Result<Metrics, Error> {
        let checks = registry.counters(
            "apiserver_storage_consistency_checks_total",
            "Comparisons of caches with the store, by result.",
            &["group", "resource", "status"],
        )?;
        Ok(Metrics { checks })
    }

    /// Counts a comparison of the cache of a resource with the store.
    pub fn cache_checked(&self, group: &str, resource: &str, outcome: CacheCheck) {
        let status = match outcome {
            CacheCheck::Equal => "success",
            CacheCheck::Different => "failure",
            CacheCheck::Unknown => "error",
        };
        self.checks.with(&[group, resource, status]).inc();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn consistency_checks_are_counted_by_result() {
        let registry = Registry::default();
        let metrics = Metrics::new(&registry).unwrap();
        metrics.cache_checked("apps", "deployments", CacheCheck::Equal);
        metrics.cache_checked("apps", "deployments", CacheCheck::Equal);
        metrics.cache_checked("", "pods", CacheCheck::Different);
        metrics.cache_checked("", "pods", CacheCheck::Unknown);
        let text = String::from_utf8(registry.render().unwrap()).unwrap();
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
