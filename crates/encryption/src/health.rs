//! The health of KMS plugins.

use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use pintle_runtime::Clock;

/// How long an answer holds, by whether it was good.
const GOOD: Duration = Duration::from_secs(20);
const BAD: Duration = Duration::from_secs(3);

/// The check of one plugin.
#[async_trait]
pub(crate) trait Probe: Send + Sync + 'static {
    /// Asks the plugin, unless it was asked a moment ago. The error says what is wrong.
    async fn check(&self) -> Result<(), String>;
}

/// The last answer of a plugin, for as long as it holds.
pub(crate) struct AnswerKept {
    clock: Clock,
    last: Option<(Instant, Result<(), String>)>,
}

impl AnswerKept {
    pub(crate) fn new(clock: Clock) -> AnswerKept {
        AnswerKept { clock, last: None }
    }

    pub(crate) fn answer(&self) -> Option<Result<(), String>> {
        let (at, answer) = self.last.as_ref()?;
        let age = self.clock.instant().saturating_duration_since(*at);
        (age < if answer.is_ok() { GOOD } else { BAD }).then(|| answer.clone())
    }

    pub(crate) fn keep(&mut self, answer: Result<(), String>) {
        self.last = Some((self.clock.instant(), answer));
    }
}

/// The checks of all plugins of a configuration.
#[derive(Clone, Default)]
pub(crate) struct Probes(pub(crate) Vec<Arc<dyn Probe>>);

impl Probes {
    /// Asks one plugin after the other.
    pub(crate) async fn check(&self) -> Result<(), String> {
        let mut failures = Vec::new();
        for (index, probe) in self.0.iter().enumerate() {
            if let Err(why) = probe.check().await {
                failures.push(format!("{}: {why}", name_of(index)));
            }
        }
        match failures.is_empty() {
            true => Ok(()),
            false => Err(pintle_meta::field_path::aggregate(&failures)),
        }
    }
}

/// The name of the check of a plugin, by its place among them.
pub(crate) fn name_of(index: usize) -> String {
    format!("kms-provider-{index}")
}
