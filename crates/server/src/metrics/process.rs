//! The kernel's figures about this process, for `/metrics`.

use std::time::UNIX_EPOCH;

use pintle_runtime::Clock;
use prometheus::core::{Collector, Desc};
use prometheus::proto::MetricFamily;
use prometheus::{Counter, Gauge, Opts};

/// Read anew on every scrape; nothing is kept up to date in between.
pub(crate) struct ProcessCollector {
    cpu: Counter,
    open_fds: Gauge,
    max_fds: Gauge,
    virtual_memory: Gauge,
    resident_memory: Gauge,
    start_time: Gauge,
}

impl ProcessCollector {
    pub(crate) fn new() -> Result<ProcessCollector, prometheus::Error> {
        let gauge = |name: &str, help: &str| Gauge::with_opts(Opts::new(name, help));
        let collector = ProcessCollector {
            cpu: {
                let help = "User and system CPU time spent, in seconds.";
                Counter::with_opts(Opts::new("process_cpu_seconds_total", help))?
            },
            open_fds: gauge("process_open_fds", "Open file descriptors.")?,
            max_fds: gauge("process_max_fds", "How many file descriptors may be open.")?,
            virtual_memory: gauge("process_virtual_memory_bytes", "Virtual memory, in bytes.")?,
            resident_memory: gauge("process_resident_memory_bytes", "Resident memory, in bytes.")?,
            start_time: gauge("process_start_time_seconds", "When the process started, in Unix time.")?,
        };
        let now = Clock::system().now().duration_since(UNIX_EPOCH).unwrap_or_default();
        collector.start_time.set(now.as_secs_f64());
        Ok(collector)
    }

    /// Returns the gauge of the start time.
    pub(crate) fn start_time(&self) -> Gauge {
        self.start_time.clone()
    }

    fn parts(&self) -> [&dyn Collector; 6] {
        [
            &self.cpu,
            &self.open_fds,
            &self.max_fds,
            &self.virtual_memory,
            &self.resident_memory,
            &self.start_time,
        ]
    }

    fn read(&self) {
        let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile);
        self.max_fds.set(limit.current.map_or(f64::INFINITY, |limit| limit as f64));
        if let Ok(entries) = std::fs::read_dir("/proc/self/fd") {
            // The directory we read is itself open while we count.
            self.open_fds.set(entries.count().saturating_sub(1) as f64);
        }
        let Ok(stat) = std::fs::read_to_string("/proc/self/stat") else { return };
        // The command may contain anything, but its closing parenthesis is the last one.
        let Some((_, fields)) = stat.rsplit_once(") ") else { return };
        let fields: Vec<f64> = fields.split(' ').map(|field| field.parse().unwrap_or(0.0)).collect();
        let field = |number: usize| fields.get(number - 3).copied().unwrap_or(0.0);
        let ticks = rustix::param::clock_ticks_per_second() as f64;
        // Adds the difference to the last scrape; the kernel's figure never goes down.
        self.cpu.inc_by(((field(14) + field(15)) / ticks - self.cpu.get()).max(0.0));
        self.virtual_memory.set(field(23));
        self.resident_memory.set(field(24) * rustix::param::page_size() as f64);
    }
}

impl Collector for ProcessCollector {
    fn desc(&self) -> Vec<&Desc> {
        self.parts().into_iter().flat_map(Collector::desc).collect()
    }

    fn collect(&self) -> Vec<MetricFamily> {
        self.read();
        self.parts().into_iter().flat_map(Collector::collect).collect()
    }
}
