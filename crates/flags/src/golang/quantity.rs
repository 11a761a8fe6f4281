//! `resource.Quantity`, as far as flags need it: a number of bytes such as `512`, `1.5Ki` or `2M`.

const FORMAT: &str =
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
const SUFFIX: &str = "unable to parse quantity's suffix";

/// The value rounded up to a whole number, and cut off at the largest one.
pub(crate) fn parse_quantity(input: &str) -> Result<i64, String> {
    let split = input
        .char_indices()
        .find(|(at, c)| !(c.is_ascii_digit() || *c == '.' || (*at == 0 && matches!(c, '+' | '-'))))
        .map_or(input.len(), |(at, _)| at);
    let (number, suffix) = input.split_at(split);
    let digits = number.strip_prefix(['+', '-']).unwrap_or(number);
    if !digits.bytes().any(|b| b.is_ascii_digit()) || digits.bytes().filter(|b| *b == b'.').count() > 1 {
        return Err(FORMAT.into());
    }
    let number: f64 = number.parse().map_err(|_| FORMAT.to_owned())?;
    let value = number * factor(suffix)?;
    // Away from zero, as the reference rounds; the cast saturates.
    Ok(if value < 0.0 { value.floor() as i64 } else { value.ceil() as i64 })
}

fn factor(suffix: &str) -> Result<f64, String> {
    const DECIMAL: [(&str, i32); 10] = [
        ("n", -9),
        ("u", -6),
        ("m", -3),
        ("", 0),
        ("k", 3),
        ("M", 6),
        ("G", 9),
        ("T", 12),
        ("P", 15),
        ("E", 18),
    ];
    const BINARY: [(&str, i32); 6] = [("Ki", 10), ("Mi", 20), ("Gi", 30), ("Ti", 40), ("Pi", 50), ("Ei", 60)];
    if let Some((_, power)) = DECIMAL.iter().find(|(name, _)| *name == suffix) {
        return Ok(10f64.powi(*power));
    }
    if let Some((_, power)) = BINARY.iter().find(|(name, _)| *name == suffix) {
        return Ok(2f64.powi(*power));
    }
    let exponent = suffix.strip_prefix(['e', 'E']).and_then(|digits| digits.parse::<i32>().ok());
    exponent.map(|power| 10f64.powi(power)).ok_or_else(|| SUFFIX.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suffixes_multiply() {
        let cases = [
            ("0", 0),
            ("512", 512),
            ("1k", 1000),
            ("2Ki", 2048),
            ("1.5Ki", 1536),
            ("3M", 3_000_000),
            ("6Gi", 6_442_450_944),
            ("1e3", 1000),
            ("100m", 1),
            ("-1", -1),
            ("100Ei", i64::MAX),
        ];
        for (input, want) in cases {
            assert_eq!(parse_quantity(input), Ok(want), "{input}");
        }
        assert_eq!(parse_quantity("1K"), Err(SUFFIX.into()));
        assert_eq!(parse_quantity("1 Ki"), Err(SUFFIX.into()));
        for input in ["", "Ki", "1.2.3", "."] {
            assert_eq!(parse_quantity(input), Err(FORMAT.into()), "{input}");
        }
    }
}
