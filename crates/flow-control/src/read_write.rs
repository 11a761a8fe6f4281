//! Requests that change something and requests that do not, counted apart.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pintle_metrics::{Sample, TimedRatio};

pub(crate) const BUCKETS: &[f64] =
    &[0.0, 0.001, 0.01, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 1.0];

/// The phase of a request, for the metrics of the whole server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    Waiting,
    Executing,
}

/// Called with the number of mutating requests (or of others) in a phase, after one has entered or left it.
pub(crate) type Note = Arc<dyn Fn(Phase, bool, usize) + Send + Sync>;

pub(crate) struct ReadWrite {
    counts: Mutex<Counts>,
    note: Note,
}

struct Counts {
    /// By phase, then by whether requests are mutating.
    numbers: [[usize; 2]; 2],
    ratios: [[TimedRatio; 2]; 2],
    at: u64,
}

impl ReadWrite {
    pub(crate) fn new(note: Note, now: u64) -> ReadWrite {
        let ratio = || TimedRatio::new(BUCKETS);
        let ratios = [[ratio(), ratio()], [ratio(), ratio()]];
        ReadWrite { counts: Mutex::new(Counts { numbers: [[0; 2]; 2], ratios, at: now }), note }
    }

    fn counts(&self) -> MutexGuard<'_, Counts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Moves a request from one phase to another, or into or out of the server.
    pub(crate) fn change(&self, is_mutating: bool, from: Option<Phase>, to: Option<Phase>, now: u64) {
        if from == to {
            return;
        }
        let kind = usize::from(is_mutating);
        let mut counts = self.counts();
        counts.pass_time(now);
        for (phase, is_more) in [(from, false), (to, true)] {
            let Some(phase) = phase else { continue };
            let number = &mut counts.numbers[phase as usize][kind];
            *number = if is_more { *number + 1 } else { number.saturating_sub(1) };
            let number = *number;
            counts.ratios[phase as usize][kind].set(number as f64);
            (self.note)(phase, is_mutating, number);
        }
    }

    /// Sets the limits that numbers are compared with.
    pub(crate) fn set_limits(&self, waiting: usize, executing: usize, now: u64) {
        let mut counts = self.counts();
        counts.pass_time(now);
        for (phase, limit) in [(Phase::Waiting, waiting), (Phase::Executing, executing)] {
            for ratio in &mut counts.ratios[phase as usize] {
                ratio.set_denominator(limit.max(1) as f64);
            }
        }
    }

    /// Returns the histograms with their labels: phase and kind of request.
    pub(crate) fn samples(&self, now: u64) -> Vec<(Vec<String>, Sample)> {
        let mut counts = self.counts();
        counts.pass_time(now);
        let phases = [(Phase::Waiting, "waiting"), (Phase::Executing, "executing")];
        let labels = phases.iter().flat_map(|phase| [(phase, 0, "readOnly"), (phase, 1, "mutating")]);
        labels
            .map(|((phase, name), kind, label)| {
                let sample = counts.ratios[*phase as usize][kind].sample();
                (vec![(*name).to_owned(), label.to_owned()], sample)
            })
            .collect()
    }
}

impl Counts {
    fn pass_time(&mut self, now: u64) {
        let passed = now.saturating_sub(self.at);
        if passed > 0 {
            self.at = now;
            self.ratios.iter_mut().flatten().for_each(|ratio| ratio.pass(passed));
        }
    }
}
