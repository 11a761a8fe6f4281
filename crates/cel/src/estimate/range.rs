//! Interval of sizes or costs, with saturating arithmetic.

/// Minimum and maximum of a size or cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    pub min: u64,
    pub max: u64,
}

impl Range {
    pub const UNKNOWN: Range = Range { min: 0, max: u64::MAX };
    /// Neutral element of a union.
    pub(super) const NOTHING: Range = Range { min: u64::MAX, max: 0 };

    pub const fn fixed(value: u64) -> Range {
        Range { min: value, max: value }
    }

    pub(super) fn add(self, other: Range) -> Range {
        Range { min: self.min.saturating_add(other.min), max: self.max.saturating_add(other.max) }
    }

    pub(super) fn multiply(self, other: Range) -> Range {
        Range { min: self.min.saturating_mul(other.min), max: self.max.saturating_mul(other.max) }
    }

    /// Multiplies by a factor, rounding up.
    pub(super) fn times(self, factor: f64) -> Range {
        // Conversions from floats saturate.
        let times = |value: u64| (value as f64 * factor).ceil() as u64;
        Range { min: times(self.min), max: times(self.max) }
    }

    pub(super) fn union(self, other: Range) -> Range {
        Range { min: self.min.min(other.min), max: self.max.max(other.max) }
    }
}
