//! CPU time and memory of other processes of this machine, as the kernel counts them.

use std::collections::BTreeMap;
use std::fs;

use anyhow::{Context, ensure};

use crate::figures::{cpu_seconds, memory};

/// The processes of one server: its own, and its store's if that is another.
#[derive(Clone, Debug)]
pub(crate) struct Processes(Vec<u32>);

/// How much CPU time processes had used at one moment.
pub(crate) struct Used {
    seconds: f64,
    /// Nanoseconds of each thread. Finer than the process's own count, but gone with the thread.
    threads: BTreeMap<String, u64>,
}

impl Processes {
    pub(crate) fn new(pids: Vec<u32>) -> anyhow::Result<Processes> {
        for pid in &pids {
            ensure!(fs::exists(format!("/proc/{pid}"))?, "there is no process {pid} on this machine");
        }
        Ok(Processes(pids))
    }

    /// Whether anything is known of them. A server on another machine has none.
    pub(crate) fn are_known(&self) -> bool {
        !self.0.is_empty()
    }

    pub(crate) fn used(&self) -> anyhow::Result<Used> {
        let mut used = Used { seconds: 0.0, threads: BTreeMap::new() };
        for pid in &self.0 {
            used.seconds += cpu_seconds(&pid.to_string());
            let threads = fs::read_dir(format!("/proc/{pid}/task"))
                .with_context(|| format!("the process {pid} has ended"))?;
            for thread in threads.flatten() {
                let path = thread.path().join("schedstat");
                let text = fs::read_to_string(&path).unwrap_or_default();
                if let Some(time) = text.split_whitespace().next().and_then(|time| time.parse().ok()) {
                    used.threads.insert(path.display().to_string(), time);
                }
            }
        }
        Ok(used)
    }

    /// Resident memory in MB.
    pub(crate) fn resident(&self) -> f64 {
        self.0.iter().map(|pid| memory(&pid.to_string(), "VmRSS")).sum()
    }

    /// The most that was resident since [`Processes::forget_peak`], in MB.
    pub(crate) fn peak(&self) -> f64 {
        self.0.iter().map(|pid| memory(&pid.to_string(), "VmHWM")).sum()
    }

    pub(crate) fn forget_peak(&self) -> anyhow::Result<()> {
        for pid in &self.0 {
            fs::write(format!("/proc/{pid}/clear_refs"), "5")
                .with_context(|| format!("may not reset the peak memory of process {pid}"))?;
        }
        Ok(())
    }
}

impl Used {
    /// Seconds from then to now.
    pub(crate) fn until(&self, later: &Used) -> f64 {
        let kept = self.threads.keys().all(|thread| later.threads.contains_key(thread));
        if !kept || self.threads.is_empty() {
            return later.seconds - self.seconds;
        }
        let sum = |used: &Used| used.threads.values().sum::<u64>();
        (sum(later).saturating_sub(sum(self))) as f64 / 1e9
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn used(seconds: f64, threads: &[(&str, u64)]) -> Used {
        Used { seconds, threads: threads.iter().map(|(name, time)| ((*name).to_owned(), *time)).collect() }
    }

    #[test]
    fn threads_are_counted_finely_while_all_of_them_live() {
        let before = used(1.0, &[("a", 1_000), ("b", 2_000)]);
        let later = used(1.02, &[("a", 1_500), ("b", 2_000), ("c", 700)]);
        assert!((before.until(&later) - 1.2e-6).abs() < 1e-12);
    }

    #[test]
    fn the_time_of_an_ended_thread_counts() {
        let before = used(1.0, &[("a", 1_000), ("b", 2_000)]);
        let later = used(1.5, &[("a", 1_500)]);
        assert!((before.until(&later) - 0.5).abs() < 1e-12);
    }

    #[test]
    fn this_process_has_memory_and_uses_time() {
        let own = Processes::new(vec![std::process::id()]).unwrap();
        let before = own.used().unwrap();
        let spent: u64 = (0..3_000_000_u64).map(|number| std::hint::black_box(number) % 7).sum();
        assert!(spent > 0 && before.until(&own.used().unwrap()) > 0.0);
        assert!(own.resident() > 0.0 && own.peak() >= own.resident() * 0.5);
    }

    #[test]
    fn a_process_that_is_not_there_is_named() {
        let error = Processes::new(vec![u32::MAX]).unwrap_err().to_string();
        assert_eq!(error, format!("there is no process {} on this machine", u32::MAX));
    }
}
