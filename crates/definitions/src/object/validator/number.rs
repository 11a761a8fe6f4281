//! Numbers against what a schema asks of them.
//!
//! Bounds are floats whatever the numbers are; an integer is compared with the bound cut to one. That is how the reference
//! does it, including what comes of bounds that no integer can reach.

use std::fmt;

use pintle_meta::field_path;
use pintle_schema::structural::Validation;

/// A number of an object.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Number {
    Int(i64),
    Float(f64),
}

/// Which numbers a type and its format allow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Range {
    #[default]
    Any,
    Int,
    Int32,
    Int64,
    Float32,
}

/// Constraints on a number.
#[derive(Debug)]
pub(super) struct Numbers {
    range: Range,
    multiple_of: Option<f64>,
    minimum: Option<f64>,
    exclusive_minimum: bool,
    maximum: Option<f64>,
    exclusive_maximum: bool,
}

/// A violated constraint on a number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Problem {
    /// This is none that the type allows: the number itself, or what it is compared with.
    Range(&'static str, Range),
    NotMultipleOf(Number),
    NoFactor(Number),
    Less {
        bound: Number,
        exclusive: bool,
    },
    Greater {
        bound: Number,
        exclusive: bool,
    },
}

impl Numbers {
    /// Nothing where nothing is asked.
    pub(super) fn new(range: Range, of: Option<&Validation>) -> Option<Numbers> {
        let bounds = of.map(|of| (of.multiple_of, of.minimum, of.maximum)).unwrap_or_default();
        if range == Range::Any && bounds == (None, None, None) {
            return None;
        }
        Some(Numbers {
            range,
            multiple_of: bounds.0,
            minimum: bounds.1,
            exclusive_minimum: of.is_some_and(|of| of.exclusive_minimum),
            maximum: bounds.2,
            exclusive_maximum: of.is_some_and(|of| of.exclusive_maximum),
        })
    }

    /// Tells everything that is wrong, in the reference's order.
    pub(super) fn check(&self, number: Number, mut wrong: impl FnMut(Problem)) {
        if !self.range.has(number) {
            wrong(Problem::Range("Checked", self.range));
        }
        if let Some(factor) = self.multiple_of {
            let number = self.comparable(number, factor, "MultipleOf", &mut wrong);
            multiple_of(number, factor).into_iter().for_each(&mut wrong);
        }
        if let Some(bound) = self.minimum {
            let exclusive = self.exclusive_minimum;
            let less = match self.comparable(number, bound, "Minimum boundary", &mut wrong) {
                Number::Int(int) if int < cut(bound) || (exclusive && int == cut(bound)) => {
                    Some(Number::Int(cut(bound)))
                }
                Number::Float(float) if float < bound || (exclusive && float == bound) => {
                    Some(Number::Float(bound))
                }
                _ => None,
            };
            less.into_iter().for_each(|bound| wrong(Problem::Less { bound, exclusive }));
        }
        if let Some(bound) = self.maximum {
            let exclusive = self.exclusive_maximum;
            let greater = match self.comparable(number, bound, "Maximum boundary", &mut wrong) {
                Number::Int(int) if int > cut(bound) || (exclusive && int == cut(bound)) => {
                    Some(Number::Int(cut(bound)))
                }
                Number::Float(float) if float > bound || (exclusive && float == bound) => {
                    Some(Number::Float(bound))
                }
                _ => None,
            };
            greater.into_iter().for_each(|bound| wrong(Problem::Greater { bound, exclusive }));
        }
    }

    /// The number as it is compared with something of the schema: as a float, if that is none of the type.
    fn comparable(
        &self,
        number: Number,
        with: f64,
        what: &'static str,
        wrong: &mut impl FnMut(Problem),
    ) -> Number {
        if self.range.has(Number::Float(with)) {
            return number;
        }
        wrong(Problem::Range(what, self.range));
        match number {
            Number::Int(int) => Number::Float(int as f64),
            float => float,
        }
    }
}

impl Range {
    fn has(self, number: Number) -> bool {
        match (self, number) {
            (Range::Any, _) | (Range::Int | Range::Int64 | Range::Float32, Number::Int(_)) => true,
            (Range::Int32, Number::Int(int)) => i32::try_from(int).is_ok(),
            (Range::Float32, Number::Float(float)) => (float as f32).is_finite(),
            // The least integer is none: its shortest digits name a lesser one.
            (Range::Int | Range::Int64, Number::Float(float)) => is_whole(float) && float.abs() < LIMIT,
            (Range::Int32, Number::Float(float)) => {
                is_whole(float) && (f64::from(i32::MIN)..=f64::from(i32::MAX)).contains(&float)
            }
        }
    }

    /// As messages have it.
    pub(super) fn words(self) -> &'static str {
        match self {
            Range::Any => "",
            Range::Int => "integer (default format)",
            Range::Int32 => "integer with format int32",
            Range::Int64 => "integer with format int64",
            Range::Float32 => "number with format float",
        }
    }
}

impl Problem {
    /// Returns the part of the message after the path.
    pub(super) fn words(self) -> String {
        match self {
            Problem::NotMultipleOf(factor) => format!("should be a multiple of {factor}"),
            Problem::Less { bound, exclusive: true } => format!("should be greater than {bound}"),
            Problem::Less { bound, .. } => format!("should be greater than or equal to {bound}"),
            Problem::Greater { bound, exclusive: true } => format!("should be less than {bound}"),
            Problem::Greater { bound, .. } => format!("should be less than or equal to {bound}"),
            Problem::Range(..) | Problem::NoFactor(_) => String::new(),
        }
    }
}

impl From<Number> for field_path::Value {
    fn from(number: Number) -> field_path::Value {
        match number {
            Number::Int(int) => int.into(),
            Number::Float(float) => float.into(),
        }
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        field_path::Value::from(*self).fmt(f)
    }
}

/// 2^63, the first that is no integer.
const LIMIT: f64 = 9_223_372_036_854_775_808.0;

/// 2^53 - 1, the greatest up to which floats are sure to be what they were.
const SAFE: f64 = 9_007_199_254_740_991.0;

fn is_whole(float: f64) -> bool {
    float.fract() == 0.0
}

/// A float cut to an integer as Go does it, for which all that do not fit are the least one.
pub(super) fn cut(float: f64) -> i64 {
    if (-LIMIT..LIMIT).contains(&float) { float as i64 } else { i64::MIN }
}

/// Whether a float counts as an integer: it is one, or so little above one that it may be an error of computing.
pub(super) fn is_integer(float: f64) -> bool {
    if !(-SAFE..=SAFE).contains(&float) {
        return false;
    }
    let whole = float.trunc();
    float == whole || (whole > 0.0 && (float - whole) / (float + whole) < 1e-9)
}

fn multiple_of(number: Number, factor: f64) -> Option<Problem> {
    match number {
        Number::Int(int) => {
            let factor = cut(factor);
            match factor {
                ..=0 => Some(Problem::NoFactor(Number::Int(factor))),
                _ => (int % factor != 0).then_some(Problem::NotMultipleOf(Number::Int(factor))),
            }
        }
        Number::Float(_) if factor <= 0.0 => Some(Problem::NoFactor(Number::Float(factor))),
        Number::Float(float) => {
            let times = if factor < 1.0 { 1.0 / factor * float } else { float / factor };
            (!is_integer(times)).then_some(Problem::NotMultipleOf(Number::Float(factor)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_float_is_an_integer_if_it_nearly_is_one() {
        for (float, whole) in [
            (0.0, true),
            (-0.0, true),
            (3.0, true),
            (-3.0, true),
            (3.000_000_000_1, true),
            (2.999_999_999_9, false),
            (-3.000_000_000_1, false),
            (0.5, false),
            (1e-300, false),
            (SAFE, true),
            (SAFE + 1.0, false),
            (f64::NAN, false),
            (f64::INFINITY, false),
        ] {
            assert_eq!(is_integer(float), whole, "{float}");
        }
    }

    #[test]
    fn ranges_are_those_of_the_formats() {
        let cases = [
            (Range::Any, Number::Float(1e300), true),
            (Range::Int, Number::Float(1.5), false),
            (Range::Int, Number::Float(1e18), true),
            (Range::Int64, Number::Float(1e19), false),
            (Range::Int64, Number::Float(-9_223_372_036_854_775_808.0), false),
            (Range::Int64, Number::Int(i64::MIN), true),
            (Range::Int32, Number::Int(2_147_483_648), false),
            (Range::Int32, Number::Float(-2_147_483_648.0), true),
            (Range::Float32, Number::Float(3.5e38), false),
            (Range::Float32, Number::Float(3.4e38), true),
        ];
        for (range, number, has) in cases {
            assert_eq!(range.has(number), has, "{range:?} {number}");
        }
    }
}
