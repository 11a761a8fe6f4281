//! `metav1.Time` and `metav1.MicroTime`: times of objects, and ages in tables.
//!
//! Both print in UTC and truncate to their precision only then, so that arithmetic is exact before. The zero value is
//! Go's, the first second of year 1: it means "unset" and is null in JSON.

mod age;
mod civil;
mod json;
mod rfc3339;
#[cfg(test)]
mod tests;

use std::fmt;
use std::time::SystemTime;

pub use age::{human_duration, short_human_duration};
use rfc3339::Layout;

/// Unix seconds of Go's zero time.
const ZERO: i64 = -62_135_596_800;

/// Bounds dates to the range of calendar arithmetic; about 292 million years, as `time.Time` does.
const MAX_SECONDS: i64 = 9_223_372_028_715_321_600;

/// Parse error in Go's words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error(String);

/// Precision of seconds on the wire: `2006-01-02T15:04:05Z`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(Instant);

/// Precision of microseconds on the wire: `2006-01-02T15:04:05.000000Z`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MicroTime(Instant);

/// Unix time; nanoseconds count forward, also before 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Instant {
    seconds: i64,
    nanos: u32,
}

macro_rules! common {
    ($name:ident, $layout:expr) => {
        impl $name {
            pub fn parse(text: &str) -> Result<$name, Error> {
                rfc3339::parse($layout, text).map($name)
            }

            /// Parses a query parameter; empty and `null` are the zero time.
            pub fn from_query(text: &str) -> Result<$name, Error> {
                if text.is_empty() || text == "null" { Ok($name::default()) } else { $name::parse(text) }
            }

            /// Formats a query parameter; empty for the zero time.
            pub fn to_query(&self) -> String {
                if self.is_zero() { String::new() } else { self.to_string() }
            }

            /// Builds a time from Unix seconds and nanoseconds, which may be out of range or negative, as in Go.
            pub fn from_unix(seconds: i64, nanos: i64) -> $name {
                $name(Instant::new(seconds, nanos))
            }

            pub fn is_zero(&self) -> bool {
                *self == $name::default()
            }

            pub fn unix_seconds(&self) -> i64 {
                self.0.seconds
            }

            /// Returns the nanoseconds since `earlier`, saturated to an `i64`.
            pub fn nanos_since(&self, earlier: &$name) -> i64 {
                self.0.nanos_since(earlier.0)
            }
        }

        impl From<SystemTime> for $name {
            fn from(time: SystemTime) -> $name {
                $name(Instant::from(time))
            }
        }
    };
}

common!(Time, Layout::Seconds);
common!(MicroTime, Layout::Micros);

impl Time {
    /// Returns the time at its precision on the wire.
    pub fn truncated(self) -> Time {
        Time(Instant { nanos: 0, ..self.0 })
    }

    /// Formats like `Display`, without its overhead; `None` outside of four-digit years.
    pub fn to_ascii(&self) -> Option<[u8; 20]> {
        let mut text = *b"0000-00-00T00:00:00Z";
        self.0.digits(&mut text)?;
        Some(text)
    }
}

impl MicroTime {
    /// Returns the time at its precision on the wire.
    pub fn truncated(self) -> MicroTime {
        MicroTime(Instant { nanos: self.0.nanos / 1000 * 1000, ..self.0 })
    }

    /// Formats like `Display`, without its overhead; `None` outside of four-digit years.
    pub fn to_ascii(&self) -> Option<[u8; 27]> {
        let mut text = *b"0000-00-00T00:00:00.000000Z";
        self.0.digits(&mut text)?;
        let micros = self.0.nanos / 1000;
        for (index, power) in [100_000, 10_000, 1_000, 100, 10, 1].into_iter().enumerate() {
            text[20 + index] += (micros / power % 10) as u8;
        }
        Some(text)
    }

    /// Returns the nanoseconds of protobuf, truncated to microseconds.
    pub fn subsecond_nanos(&self) -> u32 {
        self.truncated().0.nanos
    }
}

impl From<MicroTime> for Time {
    fn from(time: MicroTime) -> Time {
        Time(time.0)
    }
}

impl From<Time> for MicroTime {
    fn from(time: Time) -> MicroTime {
        MicroTime(time.0)
    }
}

impl Instant {
    fn new(seconds: i64, nanos: i64) -> Instant {
        let seconds =
            seconds.saturating_add(nanos.div_euclid(1_000_000_000)).clamp(-MAX_SECONDS, MAX_SECONDS);
        Instant { seconds, nanos: nanos.rem_euclid(1_000_000_000) as u32 }
    }

    fn nanos_since(self, earlier: Instant) -> i64 {
        let seconds = i128::from(self.seconds) - i128::from(earlier.seconds);
        let nanos = seconds * 1_000_000_000 + i128::from(self.nanos) - i128::from(earlier.nanos);
        i64::try_from(nanos).unwrap_or(if nanos < 0 { i64::MIN } else { i64::MAX })
    }

    /// Adds the digits of date and time to the zeros at the start of a text.
    fn digits(self, text: &mut [u8]) -> Option<()> {
        let (year, month, day) = civil::date(self.seconds.div_euclid(86_400));
        if !(0..=9_999).contains(&year) {
            return None;
        }
        let second = self.seconds.rem_euclid(86_400);
        let pairs = [year / 100, year % 100, month, day, second / 3_600, second / 60 % 60, second % 60];
        for (index, pair) in [0, 2, 5, 8, 11, 14, 17].into_iter().zip(pairs) {
            text[index] += (pair / 10) as u8;
            text[index + 1] += (pair % 10) as u8;
        }
        Some(())
    }

    fn fmt_seconds(self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (year, month, day) = civil::date(self.seconds.div_euclid(86_400));
        let second = self.seconds.rem_euclid(86_400);
        let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
        // An offset can move a time out of the four-digit years; Go prints the sign before the padding.
        let sign = if year < 0 { "-" } else { "" };
        write!(f, "{sign}{:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}", year.abs())
    }
}

impl Default for Instant {
    fn default() -> Instant {
        Instant { seconds: ZERO, nanos: 0 }
    }
}

impl From<SystemTime> for Instant {
    fn from(time: SystemTime) -> Instant {
        match time.duration_since(SystemTime::UNIX_EPOCH) {
            Ok(after) => {
                let seconds = i64::try_from(after.as_secs()).unwrap_or(i64::MAX);
                Instant::new(seconds, i64::from(after.subsec_nanos()))
            }
            Err(error) => {
                let before = error.duration();
                let seconds = i64::try_from(before.as_secs()).unwrap_or(i64::MAX);
                Instant::new(-seconds, -i64::from(before.subsec_nanos()))
            }
        }
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt_seconds(f)?;
        f.write_str("Z")
    }
}

impl fmt::Display for MicroTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt_seconds(f)?;
        write!(f, ".{:06}Z", self.0.nanos / 1000)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Error {}
