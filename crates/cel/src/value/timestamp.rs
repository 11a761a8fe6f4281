//! Timestamps, which keep the UTC offset of their text for display.

use std::fmt;

use pintle_meta::time::Time;

use super::Error;

/// First second of year 1.
pub(crate) const FIRST: i64 = -62_135_596_800;
/// Last second of year 9999.
pub(crate) const LAST: i64 = 253_402_300_799;

#[derive(Clone, Copy, Debug)]
pub struct Timestamp {
    /// Unix time.
    pub seconds: i64,
    /// Added to `seconds`.
    pub nanos: u32,
    /// Seconds east of UTC, for display.
    pub offset: i32,
}

/// Calendar date and time of day in some time zone.
pub(crate) struct Civil {
    pub(crate) year: i64,
    /// Starts at 1.
    pub(crate) month: i64,
    /// Starts at 1.
    pub(crate) day: i64,
    /// Starts at 0.
    pub(crate) day_of_year: i64,
    /// Starts at 0, Sunday.
    pub(crate) weekday: i64,
    /// Since midnight.
    pub(crate) second: i64,
}

impl Timestamp {
    pub fn new(seconds: i64, nanos: u32) -> Timestamp {
        Timestamp { seconds, nanos, offset: 0 }
    }

    /// Parses RFC 3339 as leniently as Go. `None` if the syntax is invalid; an error if out of range.
    pub(crate) fn parse(text: &str) -> Option<Result<Timestamp, Error>> {
        let time = Time::parse(text).ok()?;
        let seconds = time.unix_seconds();
        let nanos = time.nanos_since(&Time::from_unix(seconds, 0)) as u32;
        Some(Timestamp { seconds, nanos, offset: offset(text) }.in_range())
    }

    pub(crate) fn in_range(self) -> Result<Timestamp, Error> {
        if (FIRST..=LAST).contains(&self.seconds) { Ok(self) } else { Err(Error::new("timestamp overflow")) }
    }

    /// Adds a duration, which may be negative.
    pub(crate) fn plus(self, nanos: i64) -> Result<Timestamp, Error> {
        let total = i64::from(self.nanos) + nanos.rem_euclid(1_000_000_000);
        let seconds = self.seconds + nanos.div_euclid(1_000_000_000) + total / 1_000_000_000;
        Timestamp { seconds, nanos: (total % 1_000_000_000) as u32, ..self }.in_range()
    }

    /// Returns the nanoseconds since an earlier timestamp.
    pub(crate) fn since(self, earlier: Timestamp) -> Result<i64, Error> {
        (self.seconds - earlier.seconds)
            .checked_mul(1_000_000_000)
            .and_then(|nanos| nanos.checked_add(i64::from(self.nanos) - i64::from(earlier.nanos)))
            .ok_or_else(|| Error::new("integer overflow"))
    }

    pub(crate) fn is_year_one(self) -> bool {
        self.seconds == FIRST && self.nanos == 0
    }

    pub(crate) fn instant(self) -> (i64, u32) {
        (self.seconds, self.nanos)
    }

    /// Returns date and time at an offset from UTC in seconds.
    pub(crate) fn civil(self, offset: i64) -> Civil {
        let local = self.seconds + offset;
        let days = local.div_euclid(86_400);
        let (year, month, day) = date(days);
        Civil {
            year,
            month,
            day,
            day_of_year: days - day_number(year, 1, 1),
            weekday: (days + 4).rem_euclid(7),
            second: local.rem_euclid(86_400),
        }
    }
}

/// Formats as RFC 3339 with as many fractional digits as needed.
impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at = self.civil(i64::from(self.offset));
        let (hour, minute, second) = (at.second / 3600, at.second / 60 % 60, at.second % 60);
        write!(f, "{:04}-{:02}-{:02}T{hour:02}:{minute:02}:{second:02}", at.year, at.month, at.day)?;
        if self.nanos > 0 {
            write!(f, ".{}", format!("{:09}", self.nanos).trim_end_matches('0'))?;
        }
        if self.offset == 0 {
            return f.write_str("Z");
        }
        let sign = if self.offset < 0 { '-' } else { '+' };
        let minutes = self.offset.abs() / 60;
        write!(f, "{sign}{:02}:{:02}", minutes / 60, minutes % 60)
    }
}

/// Returns the UTC offset in the text of a valid timestamp.
fn offset(text: &str) -> i32 {
    let Some(start) = text.len().checked_sub(6).filter(|_| !text.ends_with(['Z', 'z'])) else { return 0 };
    let Some(offset) = text.get(start..) else { return 0 };
    let part = |range: std::ops::Range<usize>| offset.get(range).and_then(|part| part.parse::<i32>().ok());
    match (part(1..3), part(4..6)) {
        (Some(hours), Some(minutes)) => {
            (hours * 3600 + minutes * 60) * if offset.starts_with('-') { -1 } else { 1 }
        }
        _ => 0,
    }
}

/// Returns the date of a number of days after 1 January 1970.
fn date(days: i64) -> (i64, i64, i64) {
    // Counted from 1 March of year 0, so that leap days come last; eras of 400 years repeat.
    let shifted = days + 719_468;
    let (era, day) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (era * 400 + year + i64::from(month <= 2), month, day)
}

fn day_number(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let month = if month > 2 { month - 3 } else { month + 9 };
    let of_year = (153 * month + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}
