//! How figures look, and where the kernel's come from.

/// One line of output.
pub(crate) fn show(name: &str, value: f64, unit: &str) {
    println!("{name:<36} {value:>12.2} {unit}");
}

/// User and system time of a process, in seconds.
pub(crate) fn cpu_seconds(process: &str) -> f64 {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks = |field: usize| fields.get(field).and_then(|ticks| ticks.parse::<f64>().ok()).unwrap_or(0.0);
    (ticks(11) + ticks(12)) / rustix::param::clock_ticks_per_second() as f64
}

/// A figure of a process's status, in MB.
pub(crate) fn memory(process: &str, name: &str) -> f64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with(name)).unwrap_or_default();
    line.split_whitespace().nth(1).and_then(|kib| kib.parse::<f64>().ok()).unwrap_or(0.0) * 1024.0 / 1e6
}
