//! The demand of a priority level for seats, integrated over an adjustment period.

/// Integrates a value that changes now and then: its average, deviation and highest value.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Integrator {
    value: f64,
    seconds: f64,
    first: f64,
    second: f64,
    highest: f64,
}

/// The demand of the last period.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Demand {
    pub(crate) seconds: f64,
    pub(crate) average: f64,
    pub(crate) deviation: f64,
    pub(crate) highest: f64,
}

impl Integrator {
    pub(crate) fn set(&mut self, value: f64) {
        self.value = value;
        self.highest = self.highest.max(value);
    }

    pub(crate) fn pass(&mut self, nanoseconds: u64) {
        let seconds = nanoseconds as f64 / 1e9;
        self.seconds += seconds;
        self.first += self.value * seconds;
        self.second += self.value * self.value * seconds;
    }

    /// Returns the demand since the last call.
    pub(crate) fn take(&mut self) -> Demand {
        let Integrator { value, seconds, first, second, highest } = *self;
        *self = Integrator { value, highest: value, ..Integrator::default() };
        let average = if seconds > 0.0 { first / seconds } else { 0.0 };
        let variance = if seconds > 0.0 { second / seconds - average * average } else { 0.0 };
        // Rounding may make it less than nothing.
        Demand { seconds, average, deviation: variance.max(0.0).sqrt(), highest }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_weighted_by_time() {
        let mut demand = Integrator::default();
        demand.pass(1_000_000_000);
        demand.set(4.0);
        demand.pass(3_000_000_000);
        let found = demand.take();
        assert_eq!((found.seconds, found.average, found.highest), (4.0, 3.0, 4.0));
        assert!((found.deviation - 3.0_f64.sqrt()).abs() < 1e-9);
        demand.set(1.0);
        let found = demand.take();
        assert_eq!((found.seconds, found.average, found.deviation, found.highest), (0.0, 0.0, 0.0, 4.0));
    }
}
