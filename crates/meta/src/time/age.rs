//! Human-readable durations, for the AGE columns of tables.

const SECOND: i64 = 1_000_000_000;
const MINUTE: i64 = 60 * SECOND;
const HOUR: i64 = 60 * MINUTE;

/// Formats a duration in nanoseconds with two or three significant figures: `5m30s`, `7h59m`, `3d5h`, `2y1d`. Because
/// of clock skew, less than two seconds in the future is now; anything further is `<invalid>`.
pub fn human_duration(nanos: i64) -> String {
    let (seconds, minutes, hours) = (nanos / SECOND, nanos / MINUTE, nanos / HOUR);
    let days = hours / 24;
    match () {
        () if seconds < -1 => "<invalid>".into(),
        () if seconds < 0 => "0s".into(),
        () if seconds < 120 => format!("{seconds}s"),
        () if minutes < 10 => two_units(minutes, "m", seconds % 60, "s"),
        () if minutes < 180 => format!("{minutes}m"),
        () if hours < 8 => two_units(hours, "h", minutes % 60, "m"),
        () if hours < 48 => format!("{hours}h"),
        () if days < 8 => two_units(days, "d", hours % 24, "h"),
        () if days < 365 * 2 => format!("{days}d"),
        () if days < 365 * 8 => two_units(days / 365, "y", days % 365, "d"),
        () => format!("{}y", days / 365),
    }
}

/// Formats one unit of a duration in nanoseconds: `5m`, `7h`, `3d`, `2y`.
pub fn short_human_duration(nanos: i64) -> String {
    let seconds = nanos / SECOND;
    // The reference computes these in floating point, which rounds up the last nanoseconds of large durations.
    let minutes = in_units(nanos, MINUTE) as i64;
    let hours = in_units(nanos, HOUR);
    match () {
        () if seconds < -1 => "<invalid>".into(),
        () if seconds < 0 => "0s".into(),
        () if seconds < 60 => format!("{seconds}s"),
        () if minutes < 60 => format!("{minutes}m"),
        () if hours < 24.0 => format!("{}h", hours as i64),
        () if hours < 24.0 * 365.0 => format!("{}d", hours as i64 / 24),
        () => format!("{}y", (hours / 24.0 / 365.0) as i64),
    }
}

fn two_units(large: i64, large_unit: &str, small: i64, small_unit: &str) -> String {
    match small {
        0 => format!("{large}{large_unit}"),
        _ => format!("{large}{large_unit}{small}{small_unit}"),
    }
}

fn in_units(nanos: i64, unit: i64) -> f64 {
    (nanos / unit) as f64 + (nanos % unit) as f64 / unit as f64
}
