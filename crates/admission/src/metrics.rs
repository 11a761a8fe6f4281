//! Durations of admission: of each plugin, and of all mutating or validating plugins of an attempt.

use std::sync::OnceLock;

use pintle_metrics::{Error, Histogram, Histograms, Registry, Summary};

use crate::{AdmissionType, Observation, Observer, Operation};

const BUCKETS: [f64; 6] = [0.005, 0.025, 0.1, 0.5, 1.0, 2.5];
const STEP_SUMMARY: &str = "apiserver_admission_step_admission_duration_seconds_summary";
const STEP_LABELS: [&str; 3] = ["operation", "rejected", "type"];

/// The `apiserver_admission_*` families of a control plane.
pub struct Metrics {
    steps: Histograms,
    /// The histograms of `steps`, by [`index`], so that a step needs no lookup by text.
    step_histograms: [OnceLock<Histogram>; 16],
    step_summaries: Summary<16>,
    plugins: Histograms,
}

impl Metrics {
    pub fn new(registry: &Registry) -> Result<Metrics, Error> {
        let step_summaries = registry.summary(
            STEP_SUMMARY,
            "Time of all admission plugins of one type, with quantiles.",
            &STEP_LABELS,
        )?;
        Ok(Metrics {
            steps: registry.histograms(
                "apiserver_admission_step_admission_duration_seconds",
                "Time of all admission plugins of one type.",
                &STEP_LABELS,
                &BUCKETS,
            )?,
            step_histograms: Default::default(),
            step_summaries,
            plugins: registry.histograms(
                "apiserver_admission_controller_admission_duration_seconds",
                "Time of one admission plugin.",
                &["name", "operation", "rejected", "type"],
                &BUCKETS,
            )?,
        })
    }
}

fn index(observation: Observation) -> usize {
    let operation = match observation.operation {
        Operation::Create => 0,
        Operation::Update => 1,
        Operation::Delete => 2,
        Operation::Connect => 3,
    };
    operation * 4
        + usize::from(observation.rejected) * 2
        + usize::from(observation.admission == AdmissionType::Validate)
}

fn labels(observation: Observation) -> [&'static str; 3] {
    let rejected = if observation.rejected { "true" } else { "false" };
    [observation.operation.as_str(), rejected, observation.admission.as_str()]
}

impl Observer for Metrics {
    fn step(&self, observation: Observation) {
        let Metrics { steps, step_histograms, step_summaries, .. } = self;
        let (index, labels) = (index(observation), labels(observation));
        let seconds = observation.duration.as_secs_f64();
        step_histograms[index].get_or_init(|| steps.with(&labels)).observe(seconds);
        step_summaries.observe(index, labels, seconds);
    }

    fn plugin(&self, name: &'static str, observation: Observation) {
        let [operation, rejected, admission] = labels(observation);
        let histogram = self.plugins.with(&[name, operation, rejected, admission]);
        histogram.observe(observation.duration.as_secs_f64());
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn steps_and_plugins_have_the_labels_of_the_reference() {
        let registry = Registry::default();
        let metrics = Metrics::new(&registry).unwrap();
        let observation = Observation {
            admission: AdmissionType::Validate,
            operation: Operation::Create,
            rejected: true,
            duration: Duration::from_millis(20),
        };
        metrics.step(observation);
        metrics.plugin("AlwaysDeny", observation);
        let text = String::from_utf8(registry.render().unwrap()).unwrap();
        let step = "apiserver_admission_step_admission_duration_seconds";
        let of_step = r#"operation="CREATE",rejected="true",type="validate""#;
        for line in [
            format!(r#"{step}_bucket{{{of_step},le="0.025"}} 1"#),
            format!(r#"{step}_bucket{{{of_step},le="0.005"}} 0"#),
            format!(r#"{step}_summary_count{{{of_step}}} 1"#),
            format!(r#"{step}_summary_sum{{{of_step}}} 0.02"#),
            format!(
                r#"apiserver_admission_controller_admission_duration_seconds_count{{name="AlwaysDeny",{of_step}}} 1"#
            ),
        ] {
            assert!(text.contains(&line), "{line} is not in\n{text}");
        }
        let quantile = text.lines().find(|line| line.contains(r#"quantile="0.99""#)).expect("a quantile");
        let value: f64 = quantile.rsplit(' ').next().unwrap().parse().unwrap();
        assert!((value - 0.02).abs() < 0.002, "{quantile}");
    }
}
