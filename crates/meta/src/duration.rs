//! `time.Duration`: nanoseconds in an `i64`, parsed and printed as Go does.

use crate::quote;

const UNITS: [(&str, u64); 8] = [
    ("ns", 1),
    ("us", 1_000),
    ("µs", 1_000), // U+00B5, micro sign
    ("μs", 1_000), // U+03BC, Greek letter
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60_000_000_000),
    ("h", 3_600_000_000_000),
];

/// One more than the largest magnitude of a positive duration; allowed only below zero.
const LIMIT: u64 = 1 << 63;

/// `time.ParseDuration`: `1h30m`, `1.5s`, `-2m`, `0`.
pub fn parse_duration(input: &str) -> Result<i64, String> {
    let invalid = || format!("time: invalid duration {}", quote(input));
    let (negative, mut rest) = match input.as_bytes().first() {
        Some(b'-') => (true, &input[1..]),
        Some(b'+') => (false, &input[1..]),
        _ => (false, input),
    };
    if rest == "0" {
        return Ok(0);
    }
    if rest.is_empty() {
        return Err(invalid());
    }
    let mut total: u64 = 0;
    while !rest.is_empty() {
        let (whole, after) = split_digits(rest);
        let (fraction, after) = match after.strip_prefix('.') {
            Some(after) => split_digits(after),
            None => ("", after),
        };
        if whole.is_empty() && fraction.is_empty() {
            return Err(invalid());
        }
        let end = after.find(|c: char| c == '.' || c.is_ascii_digit()).unwrap_or(after.len());
        let (name, after) = after.split_at(end);
        if name.is_empty() {
            return Err(format!("time: missing unit in duration {}", quote(input)));
        }
        let Some((_, unit)) = UNITS.iter().find(|(unit, _)| *unit == name) else {
            return Err(format!("time: unknown unit {} in duration {}", quote(name), quote(input)));
        };
        let whole = if whole.is_empty() { Some(0) } else { whole.parse::<u64>().ok() };
        total = whole
            .and_then(|whole| whole.checked_mul(*unit))
            .and_then(|part| part.checked_add(fraction_of(fraction, *unit)))
            .and_then(|part| part.checked_add(total))
            .filter(|total| *total <= LIMIT)
            .ok_or_else(invalid)?;
        rest = after;
    }
    match (negative, i64::try_from(total)) {
        (false, Ok(nanos)) => Ok(nanos),
        (true, _) => Ok((total as i64).wrapping_neg()),
        (false, Err(_)) => Err(invalid()),
    }
}

/// `Duration.String`: `1m0s`, `1.5s`, `300ms`, `0s`.
pub fn format_duration(nanos: i64) -> String {
    let sign = if nanos < 0 { "-" } else { "" };
    let left = nanos.unsigned_abs();
    if left < 1_000_000_000 {
        let (unit, digits) = match left {
            0 => return "0s".into(),
            1..1_000 => ("ns", 0),
            1_000..1_000_000 => ("µs", 3),
            _ => ("ms", 6),
        };
        return format!("{sign}{}{unit}", decimal(left, digits));
    }
    let (minutes, seconds) = (left / 60_000_000_000, left % 60_000_000_000);
    let seconds = decimal(seconds, 9);
    match (minutes / 60, minutes % 60) {
        (0, 0) => format!("{sign}{seconds}s"),
        (0, minutes) => format!("{sign}{minutes}m{seconds}s"),
        (hours, minutes) => format!("{sign}{hours}h{minutes}m{seconds}s"),
    }
}

fn split_digits(text: &str) -> (&str, &str) {
    text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()))
}

/// Parses a decimal fraction of a unit. Go computes it in floating point, and stops reading digits before they
/// overflow.
fn fraction_of(digits: &str, unit: u64) -> u64 {
    let mut value: u64 = 0;
    let mut scale = 1.0;
    for digit in digits.bytes() {
        let Some(next) = value.checked_mul(10).and_then(|v| v.checked_add(u64::from(digit - b'0'))) else {
            break;
        };
        if next >= LIMIT {
            break;
        }
        value = next;
        scale *= 10.0;
    }
    (value as f64 * (unit as f64 / scale)) as u64
}

/// Formats `value / 10^digits` without trailing zeros.
fn decimal(value: u64, digits: u32) -> String {
    let one = 10u64.pow(digits);
    let fraction = format!("{:0width$}", value % one, width = digits as usize);
    match fraction.trim_end_matches('0') {
        "" => (value / one).to_string(),
        fraction => format!("{}.{fraction}", value / one),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_parsed_and_printed_as_in_go() {
        let cases = [
            ("0", 0, "0s"),
            ("0s", 0, "0s"),
            ("1h30m", 5_400_000_000_000, "1h30m0s"),
            ("1.5s", 1_500_000_000, "1.5s"),
            (".5m", 30_000_000_000, "30s"),
            ("1.h", 3_600_000_000_000, "1h0m0s"),
            ("-2m", -120_000_000_000, "-2m0s"),
            ("+300ms", 300_000_000, "300ms"),
            ("100us", 100_000, "100µs"),
            ("1.5µs", 1_500, "1.5µs"),
            ("7ns", 7, "7ns"),
            ("24h", 86_400_000_000_000, "24h0m0s"),
            ("9223372036854775807ns", i64::MAX, "2562047h47m16.854775807s"),
            ("-9223372036854775808ns", i64::MIN, "-2562047h47m16.854775808s"),
        ];
        for (input, nanos, printed) in cases {
            assert_eq!(parse_duration(input), Ok(nanos), "{input}");
            assert_eq!(format_duration(nanos), printed, "{input}");
        }
    }

    #[test]
    fn invalid_durations_have_gos_messages() {
        let cases = [
            ("", r#"time: invalid duration """#),
            ("-", r#"time: invalid duration "-""#),
            ("5", r#"time: missing unit in duration "5""#),
            ("1h5", r#"time: missing unit in duration "1h5""#),
            ("5d", r#"time: unknown unit "d" in duration "5d""#),
            ("h", r#"time: invalid duration "h""#),
            (".s", r#"time: invalid duration ".s""#),
            ("1 h", r#"time: unknown unit " h" in duration "1 h""#),
            ("9223372036854775808ns", r#"time: invalid duration "9223372036854775808ns""#),
            ("3000000h", r#"time: invalid duration "3000000h""#),
            ("99999999999999999999s", r#"time: invalid duration "99999999999999999999s""#),
        ];
        for (input, want) in cases {
            assert_eq!(parse_duration(input), Err(want.into()), "{input}");
        }
    }
}
