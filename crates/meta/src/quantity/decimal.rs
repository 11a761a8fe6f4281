//! Arbitrary-precision amount of a quantity that does not fit an `i64` and a power of ten.
//!
//! Digits are decimal because the text is: parsing, printing, rounding and scaling are linear in the length of the
//! text, and a huge exponent costs nothing, since it is never expanded.

use std::cmp::Ordering;

/// Number of zeros that arithmetic pads to align two numbers. `1e1000000000 + 1` has a billion digits; past this
/// distance the smaller addend, which does not reach the other's last digit, is dropped.
const MAX_PADDING: i64 = 4096;

/// `±digits * 10^exponent`, normalized: no leading and no trailing zeros; zero has no digits and exponent 0. Equal
/// numbers are therefore equal values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Decimal {
    negative: bool,
    /// Values 0..=9, most significant first.
    digits: Vec<u8>,
    exponent: i64,
}

impl Decimal {
    pub(super) fn new(negative: bool, mut digits: Vec<u8>, mut exponent: i64) -> Decimal {
        let leading = digits.iter().take_while(|digit| **digit == 0).count();
        digits.drain(..leading);
        while digits.last() == Some(&0) {
            digits.pop();
            exponent = exponent.saturating_add(1);
        }
        if digits.is_empty() {
            return Decimal { negative: false, digits, exponent: 0 };
        }
        Decimal { negative, digits, exponent }
    }

    pub(super) fn from_int(value: i64, scale: i32) -> Decimal {
        let digits = value.unsigned_abs().to_string().bytes().map(|byte| byte - b'0').collect();
        Decimal::new(value < 0, digits, i64::from(scale))
    }

    pub(super) fn is_zero(&self) -> bool {
        self.digits.is_empty()
    }

    pub(super) fn is_negative(&self) -> bool {
        self.negative
    }

    pub(super) fn digits(&self) -> &[u8] {
        &self.digits
    }

    pub(super) fn exponent(&self) -> i64 {
        self.exponent
    }

    /// Returns the position above the most significant digit: the number is below `10^top` and not below
    /// `10^(top-1)`.
    pub(super) fn top(&self) -> i64 {
        self.exponent.saturating_add(self.digits.len() as i64)
    }

    pub(super) fn negate(&mut self) {
        self.negative = !self.negative && !self.is_zero();
    }

    pub(super) fn cmp(&self, other: &Decimal) -> Ordering {
        match (self.signum(), other.signum()) {
            (1, 1) => self.cmp_magnitude(other),
            (-1, -1) => other.cmp_magnitude(self),
            (mine, theirs) => mine.cmp(&theirs),
        }
    }

    pub(super) fn signum(&self) -> i32 {
        match (self.is_zero(), self.negative) {
            (true, _) => 0,
            (false, true) => -1,
            (false, false) => 1,
        }
    }

    /// Compares magnitudes. Without trailing zeros, digits of numbers with the same top compare like text.
    fn cmp_magnitude(&self, other: &Decimal) -> Ordering {
        self.top().cmp(&other.top()).then_with(|| self.digits.cmp(&other.digits))
    }

    /// Returns the sum, exact unless one addend lies wholly below the other's last digit, by more than
    /// [`MAX_PADDING`] digits.
    pub(super) fn add(&self, other: &Decimal) -> Decimal {
        if self.is_zero() {
            return other.clone();
        }
        if other.is_zero() {
            return self.clone();
        }
        let (high, low) = if self.exponent >= other.exponent { (self, other) } else { (other, self) };
        let padding = high.exponent.saturating_sub(low.exponent);
        if padding > MAX_PADDING && padding > low.digits.len() as i64 {
            return high.clone();
        }
        let mut padded = high.digits.clone();
        padded.resize(padded.len() + padding as usize, 0);
        if high.negative == low.negative {
            return Decimal::new(high.negative, sum(&padded, &low.digits), low.exponent);
        }
        match high.cmp_magnitude(low) {
            Ordering::Less => Decimal::new(low.negative, difference(&low.digits, &padded), low.exponent),
            _ => Decimal::new(high.negative, difference(&padded, &low.digits), low.exponent),
        }
    }

    pub(super) fn multiply(&self, factor: u64) -> Decimal {
        let mut out = Vec::with_capacity(self.digits.len() + 20);
        let mut carry: u128 = 0;
        for digit in self.digits.iter().rev() {
            carry += u128::from(*digit) * u128::from(factor);
            out.push((carry % 10) as u8);
            carry /= 10;
        }
        while carry > 0 {
            out.push((carry % 10) as u8);
            carry /= 10;
        }
        out.reverse();
        Decimal::new(self.negative, out, self.exponent)
    }

    /// Rounds away from zero to a multiple of `10^scale`.
    pub(super) fn round_up(&self, scale: i64) -> Decimal {
        if self.exponent >= scale || self.is_zero() {
            return self.clone();
        }
        let kept = usize::try_from(self.top().saturating_sub(scale)).unwrap_or(0);
        // The dropped part ends in a nonzero digit, so the number is always rounded up.
        let digits = sum(&self.digits[..kept.min(self.digits.len())], &[1]);
        Decimal::new(self.negative, digits, scale)
    }

    /// Returns the magnitude in units of `10^scale`, truncated, modulo 2^64; and whether there was no fraction.
    pub(super) fn wrapping_units(&self, scale: i64) -> (u64, bool) {
        let exponent = self.exponent.saturating_sub(scale);
        let whole = self.digits.len().saturating_sub(usize::try_from(-exponent).unwrap_or(0));
        let units = self.digits[..whole]
            .iter()
            .fold(0u64, |sum, digit| sum.wrapping_mul(10).wrapping_add(u64::from(*digit)));
        // Ten to the 64th is a multiple of two to the 64th.
        let power = if exponent >= 64 { 0 } else { 10u64.wrapping_pow(u32::try_from(exponent).unwrap_or(0)) };
        (units.wrapping_mul(power), exponent >= 0 || self.is_zero())
    }

    /// Divides an integer's mantissa by 1024 as often as possible and returns the count. `None` for a fraction, or if
    /// that exceeds a bounded effort.
    pub(super) fn without_factors_of_1024(&self) -> Option<(Vec<u8>, u32)> {
        if self.exponent < 0 || self.top() > MAX_PADDING {
            return None;
        }
        let mut digits = self.digits.clone();
        digits.resize(digits.len() + self.exponent as usize, 0);
        let mut times = 0;
        while let Some(quotient) = exact_quotient(&digits, 1024) {
            digits = quotient;
            times += 1;
        }
        Some((digits, times))
    }
}

fn sum(long: &[u8], short: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(long.len().max(short.len()) + 1);
    let (mut left, mut right) = (long.iter().rev(), short.iter().rev());
    let mut carry = 0;
    loop {
        let (left, right) = (left.next(), right.next());
        if left.is_none() && right.is_none() {
            break;
        }
        let digit = left.copied().unwrap_or(0) + right.copied().unwrap_or(0) + carry;
        out.push(digit % 10);
        carry = digit / 10;
    }
    out.push(carry);
    out.reverse();
    out
}

/// Returns `large - small`, where `large` is not the smaller one; either may have leading zeros.
fn difference(large: &[u8], small: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(large.len());
    let mut right = small.iter().rev();
    let mut borrow = 0;
    for left in large.iter().rev() {
        let taken = right.next().copied().unwrap_or(0) + borrow;
        borrow = u8::from(*left < taken);
        out.push(*left + 10 * borrow - taken);
    }
    out.reverse();
    out
}

fn exact_quotient(digits: &[u8], divisor: u32) -> Option<Vec<u8>> {
    let mut rest = 0;
    let mut out = Vec::with_capacity(digits.len());
    for digit in digits {
        rest = rest * 10 + u32::from(*digit);
        // The remainder was below the divisor, so this is a digit.
        out.push((rest / divisor) as u8);
        rest %= divisor;
    }
    let leading = out.iter().take_while(|digit| **digit == 0).count();
    out.drain(..leading);
    (rest == 0 && !out.is_empty()).then_some(out)
}
