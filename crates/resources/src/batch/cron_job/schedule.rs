//! Schedules: the five fields of cron, or a word for some of them.
//!
//! ```text
//! */5 0-6,22 * jan-mar mon       lists of ranges with steps
//! @daily                         a descriptor
//! @every 1h30m                   a descriptor with an interval
//! TZ=Asia/Tokyo 0 6 * * *        any of them in a time zone
//! ```
//!
//! The server only checks them. The errors are those of the library that the reference uses (robfig/cron), which
//! stops at the first.

use std::num::IntErrorKind;

use pintle_meta::{parse_duration, quote};

use super::time_zones;

/// A field: its smallest and largest value, and the names of values from the smallest on.
struct Field {
    min: u64,
    max: u64,
    names: &'static [&'static str],
}

const FIELDS: [Field; 5] = [
    Field { min: 0, max: 59, names: &[] },
    Field { min: 0, max: 23, names: &[] },
    Field { min: 1, max: 31, names: &[] },
    Field {
        min: 1,
        max: 12,
        names: &["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"],
    },
    Field { min: 0, max: 6, names: &["sun", "mon", "tue", "wed", "thu", "fri", "sat"] },
];

const DESCRIPTORS: &[&str] =
    &["@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly"];

/// Checks a schedule that is not empty.
pub(super) fn check(schedule: &str) -> Result<(), String> {
    let zoned = schedule.strip_prefix("TZ=").or_else(|| schedule.strip_prefix("CRON_TZ="));
    let schedule = match zoned {
        None => schedule,
        Some(zoned) => {
            // The library panics without a space, and the reference reports that.
            let Some((zone, rest)) = zoned.split_once(' ') else {
                return Err(
                    "invalid schedule format: runtime error: slice bounds out of range [:-1]".to_owned()
                );
            };
            time_zones::find(zone).map_err(|why| format!("provided bad location {zone}: {why}"))?;
            rest.trim()
        }
    };
    if schedule.starts_with('@') {
        return check_descriptor(schedule);
    }
    let parts: Vec<&str> = schedule.split_whitespace().collect();
    if parts.len() != FIELDS.len() {
        let (count, parts) = (parts.len(), parts.join(" "));
        return Err(format!("expected exactly 5 fields, found {count}: [{parts}]"));
    }
    for (part, field) in parts.iter().zip(&FIELDS) {
        for range in part.split(',').filter(|range| !range.is_empty()) {
            check_range(range, field)?;
        }
    }
    Ok(())
}

fn check_descriptor(descriptor: &str) -> Result<(), String> {
    if DESCRIPTORS.contains(&descriptor) {
        return Ok(());
    }
    match descriptor.strip_prefix("@every ") {
        None => Err(format!("unrecognized descriptor: {descriptor}")),
        Some(interval) => parse_duration(interval)
            .map(drop)
            .map_err(|why| format!("failed to parse duration {descriptor}: {why}")),
    }
}

/// Checks `5`, `1-5`, `*`, each with a step after a slash or without.
fn check_range(range: &str, field: &Field) -> Result<(), String> {
    let mut parts = range.split('/');
    let mut limits = parts.next().unwrap_or_default().split('-');
    let first = limits.next().unwrap_or_default();
    let (mut start, mut end, mut is_single) = (field.min, field.max, true);
    if first == "*" || first == "?" {
        is_single = limits.next().is_none();
    } else {
        start = value(first, field)?;
        end = start;
        if let Some(last) = limits.next() {
            is_single = false;
            if limits.clone().next().is_some() {
                return Err(format!("too many hyphens: {range}"));
            }
            end = value(last, field)?;
        }
    }
    let mut step = 1;
    if let Some(text) = parts.next() {
        if parts.next().is_some() {
            return Err(format!("too many slashes: {range}"));
        }
        step = number(text)?;
        if is_single {
            end = field.max;
        }
    }
    if start < field.min {
        return Err(format!("beginning of range ({start}) below minimum ({}): {range}", field.min));
    }
    if end > field.max {
        return Err(format!("end of range ({end}) above maximum ({}): {range}", field.max));
    }
    if start > end {
        return Err(format!("beginning of range ({start}) beyond end of range ({end}): {range}"));
    }
    if step == 0 {
        return Err(format!("step of range should be a positive number: {range}"));
    }
    Ok(())
}

/// Returns a number, or that of a name.
fn value(text: &str, field: &Field) -> Result<u64, String> {
    match field.names.iter().position(|name| name.eq_ignore_ascii_case(text)) {
        Some(place) => Ok(field.min + place as u64),
        None => number(text),
    }
}

fn number(text: &str) -> Result<u64, String> {
    let number = text.parse::<i64>().map_err(|error| {
        let why = match error.kind() {
            IntErrorKind::PosOverflow | IntErrorKind::NegOverflow => "value out of range",
            _ => "invalid syntax",
        };
        format!("failed to parse int from {text}: strconv.Atoi: parsing {}: {why}", quote(text))
    })?;
    u64::try_from(number).map_err(|_| format!("negative number ({number}) not allowed: {text}"))
}

#[cfg(test)]
mod tests;
