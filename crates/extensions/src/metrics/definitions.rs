//! Changes of documents by definitions, and the time that validation of custom resources takes.

use std::time::Duration;

use pintle_metrics::{Counters, DEFAULT_BUCKETS, Error, Histogram, Registry};

use super::Metrics;

const RATCHETING_BUCKETS: [f64; 10] =
    [0.00001, 0.00004, 0.00016, 0.00064, 0.00256, 0.01024, 0.04096, 0.16384, 0.65536, 2.62144];

pub(super) struct DefinitionMetrics {
    documents_v2: Counters,
    documents_v3: Counters,
    ratcheting: Histogram,
    compilation: Histogram,
    evaluation: Histogram,
}

/// A change of a definition in the documents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DocumentChange {
    Added,
    Changed,
    Removed,
}

impl DocumentChange {
    fn label(self) -> &'static str {
        match self {
            DocumentChange::Added => "add",
            DocumentChange::Changed => "update",
            DocumentChange::Removed => "remove",
        }
    }
}

impl DefinitionMetrics {
    pub(super) fn new(registry: &Registry) -> Result<DefinitionMetrics, Error> {
        Ok(DefinitionMetrics {
            documents_v2: registry.counters(
                "apiextensions_openapi_v2_regeneration_count",
                "Definitions that OpenAPI v2 was made anew for, and why.",
                &["crd", "reason"],
            )?,
            documents_v3: registry.counters(
                "apiextensions_openapi_v3_regeneration_count",
                "Definitions that OpenAPI v3 of a group version was made anew for, and why.",
                &["group", "version", "crd", "reason"],
            )?,
            ratcheting: registry.histogram(
                "apiextensions_apiserver_validation_ratcheting_seconds",
                "Time of comparing changed custom resources with what they were, for what may stay wrong.",
                &RATCHETING_BUCKETS,
            )?,
            compilation: registry.histogram(
                "apiserver_cel_compilation_duration_seconds",
                "Time of compiling the rules of a schema.",
                &DEFAULT_BUCKETS,
            )?,
            evaluation: registry.histogram(
                "apiserver_cel_evaluation_duration_seconds",
                "Time of checking an object by rules.",
                &DEFAULT_BUCKETS,
            )?,
        })
    }
}

impl Metrics {
    /// Notes that OpenAPI v2 changes for a definition. The reference makes these counters and never increments them, so each
    /// says that something happened and not how often.
    pub(crate) fn definition_documented(&self, definition: &str, change: DocumentChange) {
        self.0.definitions.documents_v2.with(&[definition, change.label()]);
    }

    /// Notes that OpenAPI v3 changes for a version of a definition, in the same way.
    pub(crate) fn version_documented(
        &self,
        definition: &str,
        group: &str,
        version: &str,
        change: DocumentChange,
    ) {
        self.0.definitions.documents_v3.with(&[group, version, definition, change.label()]);
    }

    /// Counts a ratcheting comparison of an updated custom resource with the old object.
    pub(crate) fn ratcheted(&self, took: Duration) {
        self.0.definitions.ratcheting.observe(took.as_secs_f64());
    }

    /// Counts a compilation of the rules of a schema.
    pub(crate) fn rules_compiled(&self, took: Duration) {
        self.0.definitions.compilation.observe(took.as_secs_f64());
    }

    /// Counts an evaluation of the rules of a schema.
    pub(crate) fn rules_checked(&self, took: Duration) {
        self.0.definitions.evaluation.observe(took.as_secs_f64());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_exposed_from_the_start_and_document_changes_stay_zero() {
        let registry = Registry::default();
        let metrics = Metrics::new(&registry).unwrap();
        metrics.definition_documented("boats.example.com", DocumentChange::Added);
        metrics.definition_documented("boats.example.com", DocumentChange::Added);
        metrics.version_documented("boats.example.com", "example.com", "v1", DocumentChange::Changed);
        metrics.ratcheted(Duration::from_micros(20));
        let text = String::from_utf8(registry.render().unwrap()).unwrap();
        for line in [
            "apiextensions_openapi_v2_regeneration_count{crd=\"boats.example.com\",reason=\"add\"} 0",
            "apiextensions_openapi_v3_regeneration_count{crd=\"boats.example.com\",group=\"example.com\",\
             reason=\"update\",version=\"v1\"} 0",
            "apiextensions_apiserver_validation_ratcheting_seconds_bucket{le=\"0.00004\"} 1",
            "apiserver_cel_compilation_duration_seconds_count 0",
            "apiserver_cel_evaluation_duration_seconds_count 0",
        ] {
            assert!(text.contains(line), "{line}");
        }
    }
}
