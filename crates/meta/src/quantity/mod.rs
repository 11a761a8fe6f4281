//! `resource.Quantity`: the fixed-point numbers of CPU, memory and storage.
//!
//! A quantity keeps the notation it was written in, one of three, and prints in the canonical form of that notation: no
//! fraction, the largest suffix that allows it (`1.5` is `1500m`, `1024Mi` is `1Gi`). Nearly all fit an `i64` and a
//! power of ten; the rest is a [`Decimal`] on the heap. The representation determines a few visible details
//! ([`Quantity::as_i64`], rounding below zero), so arithmetic switches exactly where the reference does.
//!
//! The cost of every operation is linear in the length of the quantity's text. The reference expands large exponents
//! (comparing `1e1000000000` with 1 takes it minutes and gigabytes); here they stay exponents, and only a sum that would
//! have to be expanded loses its much smaller addend.

mod decimal;
mod json;
mod parse;
#[cfg(test)]
mod properties;
mod render;
#[cfg(test)]
mod tests;

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

use decimal::Decimal;

/// The notation of a quantity.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// `12e6`
    DecimalExponent,
    /// `12Mi`, 12 * 2^20
    BinarySi,
    /// `12M`, 12 * 10^6
    #[default]
    DecimalSi,
}

/// Parse error in the reference's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Error {
    Format,
    Numeric,
    Suffix,
}

/// A number and its notation. Comparison is of the numbers alone.
#[derive(Clone, Debug)]
pub struct Quantity {
    amount: Amount,
    format: Format,
    /// Printed text, if it is neither the canonical form nor to be changed into it; see `parse`.
    text: Option<Box<str>>,
}

#[derive(Clone, Debug)]
enum Amount {
    /// `value * 10^scale`
    Int {
        value: i64,
        scale: i32,
    },
    Big(Box<Decimal>),
}

impl Quantity {
    pub const NANO: i32 = -9;
    pub const MICRO: i32 = -6;
    pub const MILLI: i32 = -3;

    pub fn new(value: i64, format: Format) -> Quantity {
        Quantity { amount: Amount::Int { value, scale: 0 }, format, text: None }
    }

    /// `value / 1000`
    pub fn from_milli(value: i64, format: Format) -> Quantity {
        Quantity { amount: Amount::Int { value, scale: Self::MILLI }, format, text: None }
    }

    /// `value * 10^scale`
    pub fn from_scaled(value: i64, scale: i32) -> Quantity {
        Quantity { amount: Amount::Int { value, scale }, format: Format::DecimalSi, text: None }
    }

    pub fn parse(text: &str) -> Result<Quantity, Error> {
        parse::parse(text)
    }

    pub fn format(&self) -> Format {
        self.format
    }

    pub fn is_zero(&self) -> bool {
        self.signum() == 0
    }

    /// -1, 0 or 1
    pub fn signum(&self) -> i32 {
        match &self.amount {
            Amount::Int { value, .. } => value.signum() as i32,
            Amount::Big(decimal) => decimal.signum(),
        }
    }

    /// Returns the number if it is an integer that was written without a fraction, a suffix below one or excessive
    /// length; not of `1000m`.
    pub fn as_i64(&self) -> Option<i64> {
        match &self.amount {
            Amount::Int { value, scale } if *scale >= 0 => scaled(*value, i64::from(*scale)),
            _ => None,
        }
    }

    /// Returns the number rounded up to an integer.
    pub fn value(&self) -> i64 {
        self.scaled_value(0)
    }

    /// Returns the number in thousandths, rounded up.
    pub fn milli_value(&self) -> i64 {
        self.scaled_value(Self::MILLI)
    }

    /// Returns the number in units of `10^scale`, rounded up, with the reference's behaviour out of range: small
    /// amounts give 0, large ones wrap around. Below zero, small amounts round away from zero, large ones to one more
    /// than their integer part. Where the reference loses the upper bits of large negative amounts before it divides,
    /// and is off by any factor (`-4Pi`), the result is the correct one instead.
    pub fn scaled_value(&self, scale: i32) -> i64 {
        match &self.amount {
            Amount::Int { value, scale: own } => {
                let difference = i64::from(*own) - i64::from(scale);
                if difference < 0 {
                    divide_up(*value, -difference).0
                } else {
                    scaled(*value, difference).unwrap_or(0)
                }
            }
            Amount::Big(decimal) => {
                let (units, exact) = decimal.wrapping_units(i64::from(scale));
                let units = if decimal.is_negative() { units.wrapping_neg() } else { units };
                units.wrapping_add(u64::from(!exact)) as i64
            }
        }
    }

    /// Rounds away from zero to a multiple of `10^scale`; returns whether it was exact.
    pub fn round_up(&mut self, scale: i32) -> bool {
        match &mut self.amount {
            Amount::Int { scale: own, .. } if *own >= scale => true,
            Amount::Int { value, scale: own } => {
                let (rounded, exact) = divide_up(*value, i64::from(scale) - i64::from(*own));
                (*value, *own) = (rounded, scale);
                self.text = None;
                exact
            }
            Amount::Big(decimal) => {
                let rounded = decimal.round_up(i64::from(scale));
                let exact = rounded == **decimal;
                **decimal = rounded;
                exact
            }
        }
    }

    /// Adds in place. A zero takes the notation of the other.
    pub fn add(&mut self, other: &Quantity) {
        if self.is_zero() {
            self.format = other.format;
        }
        self.text = None;
        if let (Amount::Int { value: a, scale: a_scale }, Amount::Int { value: b, scale: b_scale }) =
            (&self.amount, &other.amount)
            && let Some((value, scale)) = add_small((*a, *a_scale), (*b, *b_scale))
        {
            self.amount = Amount::Int { value, scale };
            return;
        }
        self.amount = Amount::Big(Box::new(self.decimal().add(&other.decimal())));
    }

    /// Subtracts in place. A zero takes the notation of the other.
    pub fn sub(&mut self, other: &Quantity) {
        let mut negated = other.clone();
        negated.neg();
        self.add(&negated);
    }

    pub fn neg(&mut self) {
        self.text = None;
        match &mut self.amount {
            Amount::Int { value, scale } => match value.checked_neg() {
                Some(negated) => *value = negated,
                None => {
                    let mut decimal = Decimal::from_int(*value, *scale);
                    decimal.negate();
                    self.amount = Amount::Big(Box::new(decimal));
                }
            },
            Amount::Big(decimal) => decimal.negate(),
        }
    }

    pub fn cmp_i64(&self, other: i64) -> Ordering {
        self.cmp(&Quantity::new(other, Format::DecimalSi))
    }

    fn decimal(&self) -> Decimal {
        match &self.amount {
            Amount::Int { value, scale } => Decimal::from_int(*value, *scale),
            Amount::Big(decimal) => (**decimal).clone(),
        }
    }
}

/// Returns `value * 10^power` if it fits.
fn scaled(value: i64, power: i64) -> Option<i64> {
    match u32::try_from(power) {
        _ if value == 0 => Some(0),
        Ok(power) => 10i64.checked_pow(power)?.checked_mul(value),
        Err(_) => None,
    }
}

/// Returns `value / 10^power` rounded away from zero, and whether that is exact.
fn divide_up(value: i64, power: i64) -> (i64, bool) {
    match u32::try_from(power).ok().and_then(|power| 10i64.checked_pow(power)) {
        Some(divisor) if value % divisor == 0 => (value / divisor, true),
        Some(divisor) => (value / divisor + value.signum(), false),
        None => (value.signum(), value == 0),
    }
}

fn add_small((a, a_scale): (i64, i32), (b, b_scale): (i64, i32)) -> Option<(i64, i32)> {
    if b == 0 {
        return Some((a, a_scale));
    }
    if a == 0 {
        return Some((b, b_scale));
    }
    let scale = a_scale.min(b_scale);
    let to_common = |value, own: i32| scaled(value, i64::from(own) - i64::from(scale));
    Some((to_common(a, a_scale)?.checked_add(to_common(b, b_scale)?)?, scale))
}

impl Ord for Quantity {
    fn cmp(&self, other: &Quantity) -> Ordering {
        if let (Amount::Int { value: a, scale: a_scale }, Amount::Int { value: b, scale: b_scale }) =
            (&self.amount, &other.amount)
        {
            let scale = i64::from(*a_scale.min(b_scale));
            let to_common = |value, own: i32| scaled(value, i64::from(own) - scale);
            if let (Some(a), Some(b)) = (to_common(*a, *a_scale), to_common(*b, *b_scale)) {
                return a.cmp(&b);
            }
        }
        self.decimal().cmp(&other.decimal())
    }
}

impl PartialOrd for Quantity {
    fn partial_cmp(&self, other: &Quantity) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Quantity {
    fn eq(&self, other: &Quantity) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Quantity {}

impl Default for Quantity {
    fn default() -> Quantity {
        Quantity::new(0, Format::default())
    }
}

impl FromStr for Quantity {
    type Err = Error;

    fn from_str(text: &str) -> Result<Quantity, Error> {
        Quantity::parse(text)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Error::Format => {
                "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
            }
            Error::Numeric => "unable to parse numeric part of quantity",
            Error::Suffix => "unable to parse quantity's suffix",
        })
    }
}

impl std::error::Error for Error {}
