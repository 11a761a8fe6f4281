//! `strconv`: booleans, integers, floats.

use super::quote;

type Result<T> = std::result::Result<T, String>;

fn syntax<T>(function: &str, input: &str) -> Result<T> {
    Err(format!("strconv.{function}: parsing {}: invalid syntax", quote(input)))
}

fn range<T>(function: &str, input: &str) -> Result<T> {
    Err(format!("strconv.{function}: parsing {}: value out of range", quote(input)))
}

pub(crate) fn parse_bool(input: &str) -> Result<bool> {
    match input {
        "1" | "t" | "T" | "TRUE" | "true" | "True" => Ok(true),
        "0" | "f" | "F" | "FALSE" | "false" | "False" => Ok(false),
        _ => syntax("ParseBool", input),
    }
}

/// `strconv.ParseInt(input, 0, bits)`: a sign, a prefix (0x, 0o, 0b, or 0 for octal) and underscores are allowed.
pub(crate) fn parse_int(input: &str, bits: u32) -> Result<i64> {
    let (negative, digits) = match input.as_bytes().first() {
        Some(b'-') => (true, &input[1..]),
        Some(b'+') => (false, &input[1..]),
        _ => (false, input),
    };
    let limit = 1u64 << (bits - 1);
    match magnitude(digits) {
        Err(Bad::Syntax) => syntax("ParseInt", input),
        Ok(value) if negative && value <= limit => Ok((value as i64).wrapping_neg()),
        Ok(value) if !negative && value < limit => Ok(value as i64),
        _ => range("ParseInt", input),
    }
}

/// `strconv.ParseUint(input, 0, 64)`.
pub(crate) fn parse_uint(input: &str) -> Result<u64> {
    match magnitude(input) {
        Ok(value) => Ok(value),
        Err(Bad::Syntax) => syntax("ParseUint", input),
        Err(Bad::Range) => range("ParseUint", input),
    }
}

/// `strconv.ParseUint(input, 10, bits)`: digits only.
pub(crate) fn parse_uint_decimal(input: &str, bits: u32) -> Result<u64> {
    if input.is_empty() || !input.bytes().all(|b| b.is_ascii_digit()) {
        return syntax("ParseUint", input);
    }
    match input.parse::<u64>() {
        Ok(value) if value >> bits == 0 => Ok(value),
        _ => range("ParseUint", input),
    }
}

/// `strconv.Atoi`: decimal with an optional sign.
pub(crate) fn atoi(input: &str) -> Result<i64> {
    let digits = input.strip_prefix(['-', '+']).unwrap_or(input);
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return syntax("Atoi", input);
    }
    input.parse().or_else(|_| range("Atoi", input))
}

/// `strconv.ParseFloat(input, bits)`, without hexadecimal floats.
pub(crate) fn parse_float(input: &str, bits: u32) -> Result<f64> {
    let Ok(value) = input.parse::<f64>() else {
        return syntax("ParseFloat", input);
    };
    let value = if bits == 32 { f64::from(value as f32) } else { value };
    // Rust rounds what is too large to infinity; Go says so. Only a spelled-out infinity may be one.
    let spelled_out = input.bytes().any(|b| b.eq_ignore_ascii_case(&b'i'));
    if value.is_infinite() && !spelled_out { range("ParseFloat", input) } else { Ok(value) }
}

enum Bad {
    Syntax,
    Range,
}

fn magnitude(input: &str) -> std::result::Result<u64, Bad> {
    let lower = input.to_ascii_lowercase();
    let (radix, digits) = match lower.as_bytes() {
        [b'0', b'x', ..] => (16, &lower[2..]),
        [b'0', b'o', ..] => (8, &lower[2..]),
        [b'0', b'b', ..] => (2, &lower[2..]),
        [b'0', _, ..] => (8, &lower[1..]),
        _ => (10, &lower[..]),
    };
    // An underscore stands between two digits, of which the prefix is one.
    let after_prefix = lower.len() > digits.len();
    let bytes = digits.as_bytes();
    let misplaced = |(at, byte): (usize, &u8)| {
        let follows_digit = if at == 0 { after_prefix } else { bytes[at - 1] != b'_' };
        *byte == b'_' && !(follows_digit && at + 1 < bytes.len())
    };
    if bytes.iter().enumerate().any(misplaced) {
        return Err(Bad::Syntax);
    }
    let plain: Vec<u8> = bytes.iter().copied().filter(|b| *b != b'_').collect();
    if plain.is_empty() || !plain.iter().all(|b| char::from(*b).is_digit(radix)) {
        return Err(Bad::Syntax);
    }
    plain.iter().try_fold(0u64, |value, byte| {
        let digit = char::from(*byte).to_digit(radix).ok_or(Bad::Syntax)?;
        let value = value.checked_mul(u64::from(radix)).ok_or(Bad::Range)?;
        value.checked_add(u64::from(digit)).ok_or(Bad::Range)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_take_gos_prefixes_and_underscores() {
        let good = [
            ("0", 0),
            ("6443", 6443),
            ("-5", -5),
            ("+7", 7),
            ("0x1F", 31),
            ("0o17", 15),
            ("017", 15),
            ("0b101", 5),
            ("1_000", 1000),
            ("0x_ff", 255),
            ("-9223372036854775808", i64::MIN),
            ("9223372036854775807", i64::MAX),
        ];
        for (input, want) in good {
            assert_eq!(parse_int(input, 64), Ok(want), "{input}");
        }
        for input in ["", "x", "-", "+", "1__0", "_1", "1_", "0x", "09", "1.5", " 1", "١"] {
            let want = format!("strconv.ParseInt: parsing {input:?}: invalid syntax");
            assert_eq!(parse_int(input, 64), Err(want), "{input}");
        }
        for (input, bits) in
            [("9223372036854775808", 64), ("99999999999999999999999", 64), ("2147483648", 32)]
        {
            let want = format!("strconv.ParseInt: parsing {input:?}: value out of range");
            assert_eq!(parse_int(input, bits), Err(want), "{input}");
        }
        assert_eq!(parse_int("-2147483648", 32), Ok(-2_147_483_648));
        assert!(parse_uint("-1").is_err());
        assert_eq!(atoi("+80"), Ok(80));
        assert_eq!(atoi("0x50"), Err(r#"strconv.Atoi: parsing "0x50": invalid syntax"#.into()));
        assert_eq!(parse_uint_decimal("2147483647", 31), Ok(2_147_483_647));
        assert!(parse_uint_decimal("2147483648", 31).is_err_and(|e| e.ends_with("value out of range")));
    }

    #[test]
    fn booleans_take_gos_spellings_only() {
        for yes in ["1", "t", "T", "TRUE", "true", "True"] {
            assert_eq!(parse_bool(yes), Ok(true));
        }
        for no in ["0", "f", "F", "FALSE", "false", "False"] {
            assert_eq!(parse_bool(no), Ok(false));
        }
        assert_eq!(parse_bool("yes"), Err(r#"strconv.ParseBool: parsing "yes": invalid syntax"#.into()));
    }

    #[test]
    fn floats_out_of_range_are_errors() {
        assert_eq!(parse_float(".001", 64), Ok(0.001));
        assert_eq!(parse_float("1e-3", 64), Ok(0.001));
        assert_eq!(parse_float("inf", 64), Ok(f64::INFINITY));
        assert!(parse_float("1e999", 64).is_err_and(|e| e.ends_with("value out of range")));
        assert!(parse_float("1e39", 32).is_err_and(|e| e.ends_with("value out of range")));
        assert!(parse_float("ten", 64).is_err_and(|e| e.ends_with("invalid syntax")));
    }
}
