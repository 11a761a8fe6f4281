//! Parses quantities.

use super::{Amount, Decimal, Error, Format, Quantity};

/// Maximal number of decimal digits that always fit an `i64`.
const SAFE_DIGITS: usize = 18;

/// Smallest unit, to which everything smaller is rounded up.
const NANO: i32 = -9;

/// Lexical parts of a quantity. The scanner is as lenient as the reference's: digits may be missing altogether, so
/// that `Ki`, `-` and `.` are zeros.
struct Parts<'a> {
    negative: bool,
    /// Whether the number has digits; without any, the exact path has no number.
    has_digits: bool,
    /// Digits before the point without leading zeros, `0` if none are left.
    whole: &'a str,
    fraction: &'a str,
    suffix: &'a str,
}

pub(super) fn parse(text: &str) -> Result<Quantity, Error> {
    if text.is_empty() {
        return Err(Error::Format);
    }
    let parts = split(text)?;
    let suffix = Suffix::read(parts.suffix).ok_or(Error::Suffix)?;
    Ok(match parse_small(text, &parts, &suffix) {
        Some(quantity) => quantity,
        None => parse_exact(&parts, &suffix)?,
    })
}

fn split(text: &str) -> Result<Parts<'_>, Error> {
    let (negative, unsigned) = match text.as_bytes().first() {
        Some(b'-') => (true, &text[1..]),
        Some(b'+') => (false, &text[1..]),
        _ => (false, text),
    };
    let (digits, rest) = take_while(unsigned, |byte| byte.is_ascii_digit());
    let (fraction, rest) = match rest.strip_prefix('.') {
        Some(rest) => take_while(rest, |byte| byte.is_ascii_digit()),
        None => ("", rest),
    };
    let (_, tail) = take_while(rest, |byte| b"eEinumkKMGTP".contains(&byte));
    let tail = tail.strip_prefix(['-', '+']).unwrap_or(tail);
    if !tail.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(Error::Format);
    }
    let whole = match digits.trim_start_matches('0') {
        "" => "0",
        whole => whole,
    };
    let has_digits = !digits.is_empty() || !fraction.is_empty();
    Ok(Parts { negative, has_digits, whole, fraction, suffix: rest })
}

fn take_while(text: &str, mut wanted: impl FnMut(u8) -> bool) -> (&str, &str) {
    text.split_at(text.bytes().position(|byte| !wanted(byte)).unwrap_or(text.len()))
}

enum Suffix {
    Decimal(i32),
    /// Power of two.
    Binary(u32),
    Exponent(i32),
}

impl Suffix {
    fn read(text: &str) -> Option<Suffix> {
        Some(match text {
            "n" => Suffix::Decimal(-9),
            "u" => Suffix::Decimal(-6),
            "m" => Suffix::Decimal(-3),
            "" => Suffix::Decimal(0),
            "k" => Suffix::Decimal(3),
            "M" => Suffix::Decimal(6),
            "G" => Suffix::Decimal(9),
            "T" => Suffix::Decimal(12),
            "P" => Suffix::Decimal(15),
            "E" => Suffix::Decimal(18),
            "Ki" => Suffix::Binary(10),
            "Mi" => Suffix::Binary(20),
            "Gi" => Suffix::Binary(30),
            "Ti" => Suffix::Binary(40),
            "Pi" => Suffix::Binary(50),
            "Ei" => Suffix::Binary(60),
            // The reference parses an i64 and truncates it to 32 bits: 1e4294967299 is 1e3.
            _ => Suffix::Exponent(text.strip_prefix(['e', 'E'])?.parse::<i64>().ok()? as i32),
        })
    }

    fn format(&self) -> Format {
        match self {
            Suffix::Decimal(_) => Format::DecimalSi,
            Suffix::Binary(_) => Format::BinarySi,
            Suffix::Exponent(_) => Format::DecimalExponent,
        }
    }
}

/// Parses numbers that surely fit an `i64` and need no rounding. This path is observable: they print as written if
/// that looks canonical at first glance, even with a plus sign, leading zeros or a point (`1.500`, `+1`).
fn parse_small(text: &str, parts: &Parts<'_>, suffix: &Suffix) -> Option<Quantity> {
    let length = parts.whole.len() + parts.fraction.len();
    let (scale, factor) = match suffix {
        Suffix::Decimal(exponent) | Suffix::Exponent(exponent) if length <= SAFE_DIGITS => (*exponent, 1),
        // Each factor of 1024 counts as three digits.
        Suffix::Binary(exponent)
            if parts.fraction.is_empty() && length + *exponent as usize * 3 / 10 < 15 =>
        {
            (0, 1i64 << exponent)
        }
        _ => return None,
    };
    let scale = scale.wrapping_sub(parts.fraction.len() as i32);
    if scale < NANO {
        return None;
    }
    let digits = parts.whole.bytes().chain(parts.fraction.bytes());
    let value = digits.fold(0i64, |sum, digit| sum * 10 + i64::from(digit - b'0'));
    let product = value.checked_mul(factor)?;
    let amount = Amount::Int { value: if parts.negative { -product } else { product }, scale };
    let mut quantity = Quantity { amount, format: suffix.format(), text: None };

    let looks_canonical = match suffix {
        Suffix::Binary(_) => value & 7 != 0,
        _ => {
            let ends_in_thousands = value % 1000 == 0 && length >= 3;
            scale % 3 == 0 && !ends_in_thousands && !parts.whole.starts_with('0')
        }
    };
    let plain = text.len() == usize::from(parts.negative) + parts.whole.len() + parts.suffix.len()
        && quantity.format != Format::DecimalExponent;
    // Kept only if the canonical form differs, which is rare.
    if looks_canonical && !plain && quantity.to_string() != text {
        quantity.text = Some(text.into());
    }
    Some(quantity)
}

fn parse_exact(parts: &Parts<'_>, suffix: &Suffix) -> Result<Quantity, Error> {
    if !parts.has_digits {
        return Err(Error::Numeric);
    }
    let digits = parts.whole.bytes().chain(parts.fraction.bytes()).map(|digit| digit - b'0').collect();
    let fraction = parts.fraction.len() as i32;
    let mut format = suffix.format();
    let mut amount = match suffix {
        Suffix::Decimal(exponent) | Suffix::Exponent(exponent) => {
            Decimal::new(false, digits, i64::from(exponent.wrapping_sub(fraction)))
        }
        Suffix::Binary(exponent) => Decimal::new(false, digits, -i64::from(fraction)).multiply(1 << exponent),
    };
    amount = amount.round_up(i64::from(NANO));
    if format == Format::BinarySi {
        let largest = Decimal::from_int(i64::MAX, 0);
        if amount.cmp(&largest).is_gt() {
            amount = largest;
        }
        if !amount.is_zero() && amount.top() <= 0 {
            format = Format::DecimalSi;
        }
    }
    if parts.negative {
        amount.negate();
    }
    Ok(Quantity { amount: Amount::Big(Box::new(amount)), format, text: None })
}
