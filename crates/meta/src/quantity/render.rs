//! Formats quantities, and converts them to floating point.

use std::fmt;

use super::{Amount, Format, Quantity, divide_up, scaled};

const BINARY_SUFFIXES: [&str; 7] = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
const DECIMAL_SUFFIXES: [&str; 10] = ["n", "u", "m", "", "k", "M", "G", "T", "P", "E"];

/// Formats the canonical form. Two of the reference's traits lose information: amounts between -1024 and 1024 in
/// binary notation print as decimals, and a number too large for the last suffix prints its mantissa alone (`1000E`
/// is `1`).
impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(text) = &self.text {
            return f.write_str(text);
        }
        if self.is_zero() {
            return f.write_str("0");
        }
        match self.format {
            Format::BinarySi if self.cmp_i64(-1024).is_gt() && self.cmp_i64(1024).is_lt() => {
                self.fmt_decimal(f, true)
            }
            // Binary notation cannot represent a fraction.
            Format::BinarySi if !self.is_integer() => self.fmt_decimal(f, true),
            Format::BinarySi => self.fmt_binary(f),
            Format::DecimalSi => self.fmt_decimal(f, true),
            Format::DecimalExponent => self.fmt_decimal(f, false),
        }
    }
}

impl Quantity {
    /// Returns the nearest floating point number, within the last digit; infinite out of range of `f64`.
    pub fn as_approximate_f64(&self) -> f64 {
        match &self.amount {
            Amount::Int { value, scale: 0 } => *value as f64,
            Amount::Int { value, scale } => *value as f64 * power_of_ten(*scale),
            Amount::Big(decimal) => {
                let text = render_digits(decimal.is_negative(), decimal.digits());
                // The reference holds large amounts in nano units, except for the cap of binary ones.
                let capped = decimal.exponent() == 0 && text.trim_start_matches('-') == "9223372036854775807";
                let (shift, power) = if capped { (0, 1.0) } else { (9, power_of_ten(-9)) };
                let units = format!("{text}e{}", decimal.exponent().saturating_add(shift)).parse::<f64>();
                units.unwrap_or(0.0) * power
            }
        }
    }

    fn is_integer(&self) -> bool {
        match &self.amount {
            Amount::Int { value, scale } => *scale >= 0 || divide_up(*value, -i64::from(*scale)).1,
            Amount::Big(decimal) => decimal.exponent() >= 0,
        }
    }

    fn fmt_decimal(&self, f: &mut fmt::Formatter<'_>, suffixed: bool) -> fmt::Result {
        let exponent = match &self.amount {
            Amount::Int { value, scale } => {
                let (mut mantissa, mut exponent) = (*value, i64::from(*scale));
                while mantissa % 10 == 0 && mantissa != 0 {
                    mantissa /= 10;
                    exponent += 1;
                }
                let zeros = exponent.rem_euclid(3);
                write!(f, "{mantissa}{:.*}", zeros as usize, "00")?;
                exponent - zeros
            }
            Amount::Big(decimal) => {
                let zeros = decimal.exponent().rem_euclid(3);
                f.write_str(&render_digits(decimal.is_negative(), decimal.digits()))?;
                write!(f, "{:.*}", zeros as usize, "00")?;
                decimal.exponent() - zeros
            }
        };
        match (suffixed, exponent) {
            (true, _) => {
                let suffix =
                    usize::try_from((exponent + 9) / 3).ok().and_then(|index| DECIMAL_SUFFIXES.get(index));
                f.write_str(suffix.copied().unwrap_or_default())
            }
            (false, 0) => Ok(()),
            (false, exponent) => write!(f, "e{exponent}"),
        }
    }

    fn fmt_binary(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let small = match &self.amount {
            Amount::Int { value, scale } if *scale >= 0 => scaled(*value, i64::from(*scale)),
            Amount::Int { value, scale } => Some(divide_up(*value, -i64::from(*scale)).0),
            Amount::Big(_) => None,
        };
        let times = match small {
            Some(mut value) => {
                let mut times = 0;
                while value % 1024 == 0 && value != 0 {
                    value /= 1024;
                    times += 1;
                }
                write!(f, "{value}")?;
                times
            }
            None => {
                let decimal = self.decimal();
                // Only arithmetic yields thousands of digits; dividing them by 1024 would take too long.
                let Some((digits, times)) = decimal.without_factors_of_1024() else {
                    return self.fmt_decimal(f, false);
                };
                f.write_str(&render_digits(decimal.is_negative(), &digits))?;
                times
            }
        };
        f.write_str(BINARY_SUFFIXES.get(times as usize).copied().unwrap_or_default())
    }
}

fn render_digits(negative: bool, digits: &[u8]) -> String {
    let mut out = String::with_capacity(digits.len() + 1);
    if negative {
        out.push('-');
    }
    out.extend(digits.iter().map(|digit| char::from(b'0' + digit)));
    out
}

/// Go's `math.Pow10`: a product or quotient of two table entries, not always the nearest number.
fn power_of_ten(exponent: i32) -> f64 {
    const COARSE: [f64; 10] = [1e0, 1e32, 1e64, 1e96, 1e128, 1e160, 1e192, 1e224, 1e256, 1e288];
    const COARSE_BELOW: [f64; 11] =
        [1e0, 1e-32, 1e-64, 1e-96, 1e-128, 1e-160, 1e-192, 1e-224, 1e-256, 1e-288, 1e-320];
    const FINE: [f64; 32] = [
        1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17,
        1e18, 1e19, 1e20, 1e21, 1e22, 1e23, 1e24, 1e25, 1e26, 1e27, 1e28, 1e29, 1e30, 1e31,
    ];
    let size = exponent.unsigned_abs() as usize;
    match exponent {
        0..=308 => COARSE[size / 32] * FINE[size % 32],
        -323..0 => COARSE_BELOW[size / 32] / FINE[size % 32],
        309.. => f64::INFINITY,
        _ => 0.0,
    }
}
