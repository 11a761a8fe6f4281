//! Figures of definitions and of how custom resources are checked.

use std::time::Duration;

use prometheus::{HistogramVec, IntCounterVec};

use super::labels::Labelled;
use super::{Maker, Metrics};

/// From ten microseconds, each four times the one before.
const RATCHETING_BUCKETS: [f64; 10] =
    [0.00001, 0.00004, 0.00016, 0.00064, 0.00256, 0.01024, 0.04096, 0.16384, 0.65536, 2.62144];
/// What Prometheus takes where nothing is said.
const USUAL_BUCKETS: [f64; 11] = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0];

pub(super) struct Definitions {
    documents_v2: Labelled<IntCounterVec>,
    documents_v3: Labelled<IntCounterVec>,
    ratcheting: Labelled<HistogramVec>,
    compilation: Labelled<HistogramVec>,
    evaluation: Labelled<HistogramVec>,
}

/// What happened to a definition that is documented.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Documented {
    Added,
    Changed,
    Removed,
}

impl Documented {
    fn label(self) -> &'static str {
        match self {
            Documented::Added => "add",
            Documented::Changed => "update",
            Documented::Removed => "remove",
        }
    }
}

impl Definitions {
    pub(super) fn new(maker: &Maker<'_>) -> Result<Definitions, prometheus::Error> {
        // There from the start, although nothing has been measured.
        let histogram = |name: &str, help: &str, buckets: &[f64]| {
            let made = maker.histogram(name, help, &[], buckets)?;
            made.with(&[]);
            Ok::<_, prometheus::Error>(made)
        };
        Ok(Definitions {
            documents_v2: maker.counter(
                "apiextensions_openapi_v2_regeneration_count",
                "Definitions that OpenAPI v2 was made anew for, and why.",
                &["crd", "reason"],
            )?,
            documents_v3: maker.counter(
                "apiextensions_openapi_v3_regeneration_count",
                "Definitions that OpenAPI v3 of a group version was made anew for, and why.",
                &["group", "version", "crd", "reason"],
            )?,
            ratcheting: histogram(
                "apiextensions_apiserver_validation_ratcheting_seconds",
                "Time of comparing changed custom resources with what they were, for what may stay wrong.",
                &RATCHETING_BUCKETS,
            )?,
            compilation: histogram(
                "apiserver_cel_compilation_duration_seconds",
                "Time of compiling the rules of a schema.",
                &USUAL_BUCKETS,
            )?,
            evaluation: histogram(
                "apiserver_cel_evaluation_duration_seconds",
                "Time of checking an object by rules.",
                &USUAL_BUCKETS,
            )?,
        })
    }
}

impl Metrics {
    /// Documents are about to show a definition differently. The reference makes such a figure and never adds to it, so
    /// that each says that something happened and not how often.
    pub fn definition_documented(&self, definition: &str, what: Documented) {
        self.0.definitions.documents_v2.with(&[definition, what.label()]);
    }

    /// The same for one of its versions.
    pub fn version_documented(&self, definition: &str, group: &str, version: &str, what: Documented) {
        self.0.definitions.documents_v3.with(&[group, version, definition, what.label()]);
    }

    /// A changed custom resource was compared with what it was.
    pub fn ratcheted(&self, took: Duration) {
        self.0.definitions.ratcheting.with(&[]).observe(took.as_secs_f64());
    }

    /// The rules of a schema were compiled.
    pub fn rules_compiled(&self, took: Duration) {
        self.0.definitions.compilation.with(&[]).observe(took.as_secs_f64());
    }

    /// An object was checked by the rules of its schema.
    pub fn rules_checked(&self, took: Duration) {
        self.0.definitions.evaluation.with(&[]).observe(took.as_secs_f64());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MetricsOptions;

    #[test]
    fn what_is_measured_is_there_from_the_start_and_what_happened_is_not_counted() {
        let metrics = Metrics::new(&MetricsOptions::default()).unwrap();
        metrics.definition_documented("boats.example.com", Documented::Added);
        metrics.definition_documented("boats.example.com", Documented::Added);
        metrics.version_documented("boats.example.com", "example.com", "v1", Documented::Changed);
        metrics.ratcheted(Duration::from_micros(20));
        let text = String::from_utf8(metrics.render().unwrap()).unwrap();
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
