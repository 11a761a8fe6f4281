//! Types of scalars: YAML 1.1, without base 60 numbers.

use crate::Error;

/// Tags with a meaning; any other makes a string.
pub(super) const STR: &str = "tag:yaml.org,2002:str";
pub(super) const BINARY: &str = "tag:yaml.org,2002:binary";
pub(super) const MERGE: &str = "tag:yaml.org,2002:merge";
const BOOL: &str = "tag:yaml.org,2002:bool";
const INT: &str = "tag:yaml.org,2002:int";
const FLOAT: &str = "tag:yaml.org,2002:float";
const NULL: &str = "tag:yaml.org,2002:null";
const TIMESTAMP: &str = "tag:yaml.org,2002:timestamp";

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Scalar {
    Null,
    Bool(bool),
    Int(i64),
    /// Beyond the range of [`Scalar::Int`].
    Uint(u64),
    Float(f64),
    /// Matches the syntax, and stays text.
    Timestamp,
    Text,
}

impl Scalar {
    fn tag(self) -> &'static str {
        match self {
            Scalar::Null => NULL,
            Scalar::Bool(_) => BOOL,
            Scalar::Int(_) | Scalar::Uint(_) => INT,
            Scalar::Float(_) => FLOAT,
            Scalar::Timestamp => TIMESTAMP,
            Scalar::Text => STR,
        }
    }
}

/// Resolves a scalar with or without a tag.
pub(super) fn resolve(tag: &str, text: &str) -> Result<Scalar, Error> {
    let found = match tag {
        "" => return Ok(resolve_plain(text, true)),
        BOOL | INT | FLOAT | NULL => resolve_plain(text, false),
        TIMESTAMP => resolve_plain(text, true),
        _ => return Ok(Scalar::Text),
    };
    match found {
        Scalar::Int(value) if tag == FLOAT => Ok(Scalar::Float(value as f64)),
        _ if found.tag() == tag => Ok(found),
        _ => Err(Error::new(format!(
            "yaml: cannot decode {} `{text}` as a {}",
            short_tag(found.tag()),
            short_tag(tag)
        ))),
    }
}

fn short_tag(tag: &str) -> String {
    match tag.strip_prefix("tag:yaml.org,2002:") {
        Some(name) => format!("!!{name}"),
        None => tag.into(),
    }
}

/// Resolves a plain scalar. `timestamps` is false if another tag is expected.
pub(super) fn resolve_plain(text: &str, timestamps: bool) -> Scalar {
    match text.as_bytes() {
        [] => Scalar::Null,
        [b'y' | b'Y' | b'n' | b'N' | b't' | b'T' | b'f' | b'F' | b'o' | b'O' | b'~', ..] => word(text),
        [b'.', ..] => match special_float(text) {
            Scalar::Text => parse_float(text).map_or(Scalar::Text, Scalar::Float),
            found => found,
        },
        [b'+' | b'-', ..] => match special_float(text) {
            Scalar::Text => number(text),
            found => found,
        },
        [b'0'..=b'9', ..] if timestamps && is_timestamp(text) => Scalar::Timestamp,
        [b'0'..=b'9', ..] => number(text),
        _ => Scalar::Text,
    }
}

fn word(text: &str) -> Scalar {
    match text {
        "y" | "Y" | "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => {
            Scalar::Bool(true)
        }
        "n" | "N" | "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => {
            Scalar::Bool(false)
        }
        "~" | "null" | "Null" | "NULL" => Scalar::Null,
        _ => Scalar::Text,
    }
}

fn special_float(text: &str) -> Scalar {
    match text {
        ".nan" | ".NaN" | ".NAN" => Scalar::Float(f64::NAN),
        ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" => Scalar::Float(f64::INFINITY),
        "-.inf" | "-.Inf" | "-.INF" => Scalar::Float(f64::NEG_INFINITY),
        _ => Scalar::Text,
    }
}

fn number(text: &str) -> Scalar {
    let without;
    let plain = if text.contains('_') {
        without = text.replace('_', "");
        without.as_str()
    } else {
        text
    };
    // A 0b prefix was tried already, but not with a sign after it.
    let binary = || {
        let digits = plain.strip_prefix("0b")?;
        integer(digits, |digits| (2, digits)).or_else(|| unsigned(digits, |digits| (2, digits)))
    };
    integer(plain, base)
        .or_else(|| unsigned(plain, base))
        .or_else(|| parse_float(plain).map(Scalar::Float))
        .or_else(binary)
        .unwrap_or(Scalar::Text)
}

/// Returns the base of a prefix, and the digits after it.
fn base(digits: &str) -> (u32, &str) {
    match digits.as_bytes() {
        [b'0', b'b' | b'B', _, ..] => (2, &digits[2..]),
        [b'0', b'o' | b'O', _, ..] => (8, &digits[2..]),
        [b'0', b'x' | b'X', _, ..] => (16, &digits[2..]),
        [b'0', _, ..] => (8, &digits[1..]),
        _ => (10, digits),
    }
}

fn integer(text: &str, base: impl Fn(&str) -> (u32, &str)) -> Option<Scalar> {
    let (negative, digits) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let (radix, digits) = base(digits);
    let value = i128::from(parse_digits(digits, radix)?);
    i64::try_from(if negative { -value } else { value }).ok().map(Scalar::Int)
}

fn unsigned(text: &str, base: impl Fn(&str) -> (u32, &str)) -> Option<Scalar> {
    let (radix, digits) = base(text);
    parse_digits(digits, radix).map(Scalar::Uint)
}

fn parse_digits(digits: &str, radix: u32) -> Option<u64> {
    // Signs are rejected, though the standard library accepts them.
    digits
        .bytes()
        .all(|digit| digit.is_ascii_alphanumeric())
        .then(|| u64::from_str_radix(digits, radix).ok())?
}

/// Parses a float in decimal notation that is not out of range.
pub(super) fn parse_float(text: &str) -> Option<f64> {
    let rest = text.strip_prefix(['+', '-']).unwrap_or(text);
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let whole = digits(rest);
    let mut rest = &rest[whole..];
    let mut fraction = 0;
    if let Some(after) = rest.strip_prefix('.') {
        fraction = digits(after);
        rest = &after[fraction..];
    }
    if whole + fraction == 0 {
        return None;
    }
    if let Some(exponent) = rest.strip_prefix(['e', 'E']) {
        let exponent = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
        if exponent.is_empty() || digits(exponent) != exponent.len() {
            return None;
        }
    } else if !rest.is_empty() {
        return None;
    }
    text.parse().ok().filter(|value: &f64| value.is_finite())
}

/// Returns whether a text is a date or time in one of the reference's forms, such as `2001-2-3` and
/// `2001-02-03T04:05:06Z`.
pub(super) fn is_timestamp(text: &str) -> bool {
    let mut clock = Clock(text.as_bytes());
    let Some((year, month, day)) = clock.date() else { return false };
    let length = match month {
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    };
    if !(1..=12).contains(&month) || !(1..=length).contains(&day) {
        return false;
    }
    match clock.0 {
        [] => true,
        [b'T' | b't', after @ ..] => {
            clock.0 = after;
            clock.time().is_some() && clock.zone().is_some() && clock.0.is_empty()
        }
        [b' ', ..] => {
            clock.0 = clock.0.trim_ascii_start();
            clock.time().is_some() && clock.0.is_empty()
        }
        _ => false,
    }
}

/// Parser of the parts of a timestamp.
struct Clock<'a>(&'a [u8]);

impl Clock<'_> {
    fn literal(&mut self, byte: u8) -> Option<()> {
        self.0 = self.0.strip_prefix(&[byte])?;
        Some(())
    }

    /// Parses one or two digits.
    fn short(&mut self) -> Option<u32> {
        let digit = |byte: &u8| byte.is_ascii_digit().then(|| u32::from(byte - b'0'));
        let tens = digit(self.0.first()?)?;
        let (value, width) = match self.0.get(1).and_then(digit) {
            Some(ones) => (tens * 10 + ones, 2),
            None => (tens, 1),
        };
        self.0 = &self.0[width..];
        Some(value)
    }

    fn date(&mut self) -> Option<(u32, u32, u32)> {
        let (century, year) = match self.0 {
            [a, b, c, d, b'-', ..] if [a, b, c, d].iter().all(|digit| digit.is_ascii_digit()) => {
                (self.short()?, self.short()?)
            }
            _ => return None,
        };
        self.literal(b'-')?;
        let month = self.short()?;
        self.literal(b'-')?;
        Some((century * 100 + year, month, self.short()?))
    }

    fn time(&mut self) -> Option<()> {
        let hour = self.short()?;
        self.literal(b':')?;
        let minute = self.short()?;
        self.literal(b':')?;
        let second = self.short()?;
        if let [b'.' | b',', b'0'..=b'9', ..] = self.0 {
            let digits = self.0[1..].iter().take_while(|digit| digit.is_ascii_digit()).count();
            self.0 = &self.0[1 + digits..];
        }
        (hour < 24 && minute < 60 && second < 60).then_some(())
    }

    fn zone(&mut self) -> Option<()> {
        if self.literal(b'Z').is_some() {
            return Some(());
        }
        let [b'+' | b'-', a, b, b':', c, d, after @ ..] = self.0 else { return None };
        let pair = |tens: u8, ones: u8| {
            (tens.is_ascii_digit() && ones.is_ascii_digit()).then(|| (tens - b'0') * 10 + (ones - b'0'))
        };
        // Go accepts the inclusive ends of the ranges.
        let fits = pair(*a, *b)? <= 24 && pair(*c, *d)? <= 60;
        self.0 = after;
        fits.then_some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn yaml_1_1_words_are_booleans_and_nulls() {
        for text in ["y", "Y", "yes", "On", "TRUE", "true"] {
            assert_eq!(resolve_plain(text, true), Scalar::Bool(true), "{text}");
        }
        for text in ["n", "N", "no", "Off", "FALSE"] {
            assert_eq!(resolve_plain(text, true), Scalar::Bool(false), "{text}");
        }
        for text in ["", "~", "null", "Null", "NULL"] {
            assert_eq!(resolve_plain(text, true), Scalar::Null, "{text}");
        }
        for text in ["yEs", "oN", "nULL", "tru", "<<", "-", "+", ".", "_", "none"] {
            assert_eq!(resolve_plain(text, true), Scalar::Text, "{text}");
        }
    }

    #[test]
    fn integers_have_bases_and_underscores() {
        let cases = [
            ("0", 0),
            ("-0", 0),
            ("+12", 12),
            ("1_000", 1000),
            ("0x1F", 31),
            ("0X1f", 31),
            ("-0x10", -16),
            ("010", 8),
            ("0o17", 15),
            ("0O17", 15),
            ("0b101", 5),
            ("-0b101", -5),
            ("0b+1", 1),
            ("0b-1", -1),
            ("9223372036854775807", i64::MAX),
            ("-9223372036854775808", i64::MIN),
            ("685_230", 685_230),
            ("0_", 0),
        ];
        for (text, value) in cases {
            assert_eq!(resolve_plain(text, true), Scalar::Int(value), "{text}");
        }
        assert_eq!(resolve_plain("18446744073709551615", true), Scalar::Uint(u64::MAX));
        assert_eq!(resolve_plain("0xffffffffffffffff", true), Scalar::Uint(u64::MAX));
        assert_eq!(resolve_plain("18446744073709551616", true), Scalar::Float(18446744073709551616.0));
        for text in ["0x", "0xg", "0b2", "0o8", "1-2", "190:20:30", "1__", "--1", "0b"] {
            let expected = if text == "1__" { Scalar::Int(1) } else { Scalar::Text };
            assert_eq!(resolve_plain(text, true), expected, "{text}");
        }
    }

    #[test]
    fn floats_are_decimal_and_finite_or_named() {
        let cases = [
            ("1.5", 1.5),
            (".5", 0.5),
            ("5.", 5.0),
            ("-1e3", -1000.0),
            ("08", 8.0),
            ("1e-400", 0.0),
            ("+.5", 0.5),
        ];
        for (text, value) in cases {
            assert_eq!(resolve_plain(text, true), Scalar::Float(value), "{text}");
        }
        assert_eq!(resolve_plain("-.inf", true), Scalar::Float(f64::NEG_INFINITY));
        assert!(matches!(resolve_plain(".NaN", true), Scalar::Float(value) if value.is_nan()));
        for text in ["1e400", "1.5.2", "1e", ".e5", "nan", "inf", "1e+", "0x1p-2", "._5"] {
            assert_eq!(resolve_plain(text, true), Scalar::Text, "{text}");
        }
    }

    #[test]
    fn timestamps_match_gos_layouts() {
        for text in [
            "2001-12-14",
            "2001-1-4",
            "2001-12-14T21:59:43Z",
            "2001-12-14t21:59:43.1234567890123Z",
            "2001-12-14T1:2:3,5+01:00",
            "2001-12-14T21:59:43-24:60",
            "2001-12-14 21:59:43",
            "2001-12-14   21:59:43.5",
            "2000-02-29",
        ] {
            assert_eq!(resolve_plain(text, true), Scalar::Timestamp, "{text}");
        }
        for text in [
            "2001-13-14",
            "2001-02-29",
            "1900-02-29",
            "2001-12-00",
            "20011-12-14",
            "2001-12-14T21:59:43",
            "2001-12-14 21:59:43Z",
            "2001-12-14T24:00:00Z",
            "2001-12-14T21:59:60Z",
            "2001-12-14T21:59:43+0100",
            "2001-12-14T21:59:43Z ",
            "2001-12-",
            "2001-12",
        ] {
            assert_eq!(resolve_plain(text, true), Scalar::Text, "{text}");
        }
    }

    #[test]
    fn tags_must_match_their_text() {
        assert_eq!(resolve("tag:yaml.org,2002:float", "1"), Ok(Scalar::Float(1.0)));
        assert_eq!(resolve("tag:yaml.org,2002:str", "1"), Ok(Scalar::Text));
        assert_eq!(resolve("!other", "1"), Ok(Scalar::Text));
        assert_eq!(
            resolve("tag:yaml.org,2002:int", "a").unwrap_err().to_string(),
            "yaml: cannot decode !!str `a` as a !!int"
        );
        assert_eq!(
            resolve("tag:yaml.org,2002:float", "18446744073709551615").unwrap_err().to_string(),
            "yaml: cannot decode !!int `18446744073709551615` as a !!float"
        );
        assert_eq!(resolve("tag:yaml.org,2002:int", "2001-01-01").unwrap_err().to_string(), {
            "yaml: cannot decode !!str `2001-01-01` as a !!int"
        });
    }
}
