//! RFC 3339 as Go's `time.Parse` does it, with its leniencies and messages: one digit suffices for the hour, a comma
//! starts a fraction, an offset may be 24:60.

use super::{Error, Instant, civil};

const SECONDS_LAYOUT: &str = "2006-01-02T15:04:05Z07:00";
const MICROS_LAYOUT: &str = "2006-01-02T15:04:05.000000Z07:00";

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Layout {
    /// A fraction of any length may follow the seconds; digits beyond nanoseconds are dropped.
    Seconds,
    /// Exactly six digits.
    Micros,
}

pub(super) fn parse(layout: Layout, text: &str) -> Result<Instant, Error> {
    let mut cursor = Cursor { layout, text: text.as_bytes(), rest: text.as_bytes() };
    let year = cursor.year()?;
    cursor.skip("-")?;
    let month = cursor.two_digits("01")?;
    if !(1..=12).contains(&month) {
        return Err(cursor.out_of_range("month"));
    }
    cursor.skip("-")?;
    let day = cursor.two_digits("02")?;
    cursor.skip("T")?;
    let hour = cursor.hour()?;
    cursor.skip(":")?;
    let minute = cursor.two_digits("04")?;
    if minute >= 60 {
        return Err(cursor.out_of_range("minute"));
    }
    cursor.skip(":")?;
    let second = cursor.two_digits("05")?;
    if second >= 60 {
        return Err(cursor.out_of_range("second"));
    }
    let nanos = match layout {
        Layout::Seconds => cursor.any_fraction(),
        Layout::Micros => cursor.micros()?,
    };
    let offset = cursor.offset()?;
    if !cursor.rest.is_empty() {
        return Err(cursor.message(&format!(": extra text: {}", quote(cursor.rest))));
    }
    // Checked last, since it depends on year and month.
    if day < 1 || day > civil::days_in_month(year, month) {
        return Err(cursor.out_of_range("day"));
    }
    let days = civil::days_since_epoch(year, month, day);
    Ok(Instant { seconds: days * 86_400 + hour * 3_600 + minute * 60 + second - offset, nanos })
}

struct Cursor<'a> {
    layout: Layout,
    text: &'a [u8],
    rest: &'a [u8],
}

impl<'a> Cursor<'a> {
    fn year(&mut self) -> Result<i64, Error> {
        match self.rest.split_at_checked(4) {
            Some((year, rest)) if year.iter().all(u8::is_ascii_digit) => {
                self.rest = rest;
                Ok(number(year))
            }
            _ => Err(self.cannot_parse(self.rest, "2006")),
        }
    }

    fn two_digits(&mut self, element: &str) -> Result<i64, Error> {
        match two_digits(self.rest) {
            Some(number) => {
                self.rest = &self.rest[2..];
                Ok(number)
            }
            None => Err(self.cannot_parse(self.rest, element)),
        }
    }

    fn hour(&mut self) -> Result<i64, Error> {
        let length = self.rest.iter().take(2).take_while(|byte| byte.is_ascii_digit()).count();
        if length == 0 {
            return Err(self.cannot_parse(self.rest, "15"));
        }
        let hour = number(&self.rest[..length]);
        self.rest = &self.rest[length..];
        if hour >= 24 { Err(self.out_of_range("hour")) } else { Ok(hour) }
    }

    fn any_fraction(&mut self) -> u32 {
        let [b'.' | b',', digits @ ..] = self.rest else {
            return 0;
        };
        let length = digits.iter().take_while(|byte| byte.is_ascii_digit()).count();
        if length == 0 {
            return 0;
        }
        self.rest = &digits[length..];
        let nine_digits = digits[..length].iter().chain([b'0'; 9].iter()).take(9);
        nine_digits.fold(0, |nanos, digit| nanos * 10 + u32::from(digit - b'0'))
    }

    /// Go parses the six characters as a number, which may have a plus sign but not be negative.
    fn micros(&mut self) -> Result<u32, Error> {
        let wrong = |cursor: &Cursor<'_>| cursor.cannot_parse(cursor.rest, ".000000");
        let ([b'.' | b',', six @ ..], rest) = self.rest.split_at_checked(7).ok_or_else(|| wrong(self))?
        else {
            return Err(wrong(self));
        };
        let (negative, digits) = match six {
            [b'-', digits @ ..] => (true, digits),
            [b'+', digits @ ..] => (false, digits),
            digits => (false, digits),
        };
        if !digits.iter().all(u8::is_ascii_digit) {
            return Err(wrong(self));
        }
        let micros = number(digits);
        if negative && micros != 0 {
            return Err(self.out_of_range("fractional second"));
        }
        self.rest = rest;
        Ok(micros as u32 * 1000)
    }

    /// Parses an offset in seconds east of UTC.
    fn offset(&mut self) -> Result<i64, Error> {
        if let [b'Z', rest @ ..] = self.rest {
            self.rest = rest;
            return Ok(0);
        }
        let wrong = |cursor: &Cursor<'_>| cursor.cannot_parse(cursor.rest, "Z07:00");
        let (&[sign, h1, h2, b':', m1, m2], rest) =
            self.rest.split_first_chunk::<6>().ok_or_else(|| wrong(self))?
        else {
            return Err(wrong(self));
        };
        // A value out of range is reported before an unexpected character.
        let hours = two_digits(&[h1, h2]);
        let minutes = hours.and_then(|_| two_digits(&[m1, m2]));
        if minutes.is_some_and(|minutes| minutes > 60) {
            return Err(self.out_of_range("time zone offset minute"));
        }
        if hours.is_some_and(|hours| hours > 24) {
            return Err(self.out_of_range("time zone offset hour"));
        }
        match (sign, hours, minutes) {
            (b'+' | b'-', Some(hours), Some(minutes)) => {
                self.rest = rest;
                let size = hours * 3_600 + minutes * 60;
                Ok(if sign == b'-' { -size } else { size })
            }
            _ => Err(wrong(self)),
        }
    }

    fn skip(&mut self, separator: &str) -> Result<(), Error> {
        match self.rest.strip_prefix(separator.as_bytes()) {
            Some(rest) => {
                self.rest = rest;
                Ok(())
            }
            None => Err(self.cannot_parse(self.rest, separator)),
        }
    }

    fn cannot_parse(&self, part: &[u8], element: &str) -> Error {
        let layout = match self.layout {
            Layout::Seconds => SECONDS_LAYOUT,
            Layout::Micros => MICROS_LAYOUT,
        };
        self.message(&format!(" as \"{layout}\": cannot parse {} as \"{element}\"", quote(part)))
    }

    fn out_of_range(&self, what: &str) -> Error {
        self.message(&format!(": {what} out of range"))
    }

    fn message(&self, rest: &str) -> Error {
        Error(format!("parsing time {}{rest}", quote(self.text)))
    }
}

fn two_digits(text: &[u8]) -> Option<i64> {
    match text {
        [a @ b'0'..=b'9', b @ b'0'..=b'9', ..] => Some(i64::from(a - b'0') * 10 + i64::from(b - b'0')),
        _ => None,
    }
}

/// Parses a few digits.
fn number(digits: &[u8]) -> i64 {
    digits.iter().fold(0, |sum, digit| sum * 10 + i64::from(digit - b'0'))
}

/// Not `strconv.Quote`: the time package has its own, which escapes everything beyond ASCII byte by byte.
fn quote(text: &[u8]) -> String {
    let mut out = String::from('"');
    for byte in text {
        match byte {
            b'"' | b'\\' => out.extend(['\\', char::from(*byte)]),
            b' '..=0x7f => out.push(char::from(*byte)),
            _ => out.push_str(&format!("\\x{byte:02x}")),
        }
    }
    out.push('"');
    out
}
